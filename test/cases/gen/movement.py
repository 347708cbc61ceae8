"""Ops that only move elements: expected values are NumPy's own, bit for bit."""

import numpy as np

from .core import DTYPES, T, VIEWS, make, rng_for, sample, text_of, value, view

SPREAD = ["f32", "i32", "u8", "f64", "bool", "f16", "i64", "bf16", "u32", "u64"]


class Turn:
    """Deals out dtypes and views in turn, so that every op meets many of them without a full product."""

    def __init__(self):
        self.n = 0

    def input(self, shape, dtype=None, views=True):
        self.n += 1
        d = dtype or SPREAD[self.n % len(SPREAD)]
        how = (["plain", "plain", *VIEWS][self.n % (len(VIEWS) + 2)]) if views else "plain"
        return view(rng_for("movement", self.n, shape), d, shape, how, "wide")


def out(x, array):
    return T(value(x).dtype, np.array(array))


def write(w):
    turn = Turn()
    w.file("movement")

    def run(op, shape, args, f, repeat=3, **kw):
        for _ in range(repeat):
            x = turn.input(shape, **kw)
            w.add(op, [x], out(x, f(value(x).a)), args)

    for a, b in [((2, 3), (6,)), ((6,), (3, 2)), ((2, 3, 4), (4, 6)), ((4, 6), (2, 2, 3, 2)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0, 2)), ((2, 3, 4), (-1, 2)), ((1, 5, 1), (5,)), ((2, 2, 3, 2, 2), (8, 6)), ((12,), (2, -1, 3))]:
        run("reshape", a, [b], lambda x, b=b: x.reshape(b))
    for shape, axes in [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)), ((1, 2, 3, 2, 2), (4, 2, 0, 3, 1)), ((0, 2), (1, 0)), ((), ()), ((5,), (0,)), ((2, 3, 4), (-1, 0, 1))]:
        run("permute", shape, [axes], lambda x, axes=axes: x.transpose(axes))
    for shape in [(2, 3), (2, 3, 4), (4,), (), (1, 0, 2)]:
        run("transpose", shape, [], lambda x: x.transpose())
    for a, b in [((1, 3), (2, 3)), ((3,), (2, 3)), ((), (2, 2)), ((2, 1, 3), (2, 4, 3)), ((1,), (0,)), ((1, 1), (3, 1)), ((2, 1, 1, 2, 1), (2, 3, 2, 2, 2))]:
        run("broadcastTo", a, [b], lambda x, b=b: np.broadcast_to(x, b))
        run("expand", a, [b], lambda x, b=b: np.broadcast_to(x, b), repeat=1)
    slices = [
        ((7,), [[1, 5]]), ((7,), [[0, 7, 2]]), ((7,), [[5, 0, -2]]), ((7,), [[-4, -1]]), ((4, 5), [[1, 3], [0, 5, 3]]), ((4, 5), [[2, 3]]),
        ((4, 5), [[0, 0], [0, 5]]), ((3, 4, 5), [[0, 3, 2], [1, 4, 2], [4, 1, -1]]), ((2, 2, 3, 2, 2), [[1, 2], [0, 2], [0, 3, 2]]), ((5,), [[2, 100]]), ((5,), [[-100, 3]]), ((5,), [[3, 1]]),
    ]
    for shape, spec in slices:
        run("slice", shape, [spec], lambda x, s=spec: x[tuple(slice(*p) for p in s)])
    for shape, pads in [((3,), [[1, 2]]), ((2, 3), [[0, 1], [2, 0]]), ((2, 2, 2), [[1, 1], [0, 0], [1, 0]]), ((), []), ((0, 2), [[1, 1], [0, 1]]), ((1, 2, 1, 2, 1), [[0, 0], [1, 0], [0, 1], [1, 1], [0, 0]])]:
        run("pad", shape, [pads], lambda x, p=pads: np.pad(x, p) if p else x)
    for dtype, v in [("f32", 1.5), ("f32", float("nan")), ("f32", float("-inf")), ("i32", -7), ("u8", 255), ("f16", 0.5), ("f64", -0.0), ("bool", 1)]:
        x = turn.input((2, 3), dtype)
        w.add("pad", [x], out(x, np.pad(value(x).a, [[1, 0], [0, 2]], constant_values=v)), [[[1, 0], [0, 2]], v])
    for shape, axes in [((4,), [0]), ((2, 3), [1]), ((2, 3), [0, 1]), ((2, 3, 4), [-1]), ((2, 3, 4), [0, 2]), ((0, 3), [0]), ((1, 1), [0])]:
        run("flip", shape, [axes], lambda x, a=axes: np.flip(x, a))
    for shape, shift, axis in [((5,), 2, 0), ((5,), -1, 0), ((5,), 12, 0), ((3, 4), 1, 1), ((3, 4), -7, 0), ((2, 3, 4), 2, 1), ((3, 4), [1, 2], [0, 1]), ((1, 4), 3, 0), ((0,), 1, 0), ((2, 2, 2, 2, 3), 1, -1)]:
        run("roll", shape, [shift, axis], lambda x, s=shift, a=axis: np.roll(x, s, a))
    for shape, reps in [((3,), [2]), ((2, 3), [2, 1]), ((2, 3), [1, 3]), ((2,), [2, 3]), ((2, 2), [0, 1]), ((), [3]), ((1, 2, 2), [2, 2, 1]), ((2, 3), [2])]:
        run("tile", shape, [reps], lambda x, r=reps: np.tile(x, r))
    for shape, n, axis in [((3,), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, 0), ((2, 1, 2), 2, -1), ((2, 2), 0, 0), ((2, 3), 1, 0)]:
        run("repeat", shape, [n, axis], lambda x, n=n, a=axis: np.repeat(x, n, a))
    for shape, axis in [((1, 3), 0), ((2, 1), 1), ((1, 2, 1), None), ((1, 1), None), ((1, 2, 1), -1), ((3, 2), None)]:
        run("squeeze", shape, [] if axis is None else [axis], lambda x, a=axis: np.squeeze(x, a), repeat=2)
    for shape, axis in [((3,), 0), ((3,), 1), ((2, 3), -1), ((), 0), ((2, 3), 1), ((0,), 0)]:
        run("unsqueeze", shape, [axis], lambda x, a=axis: np.expand_dims(x, a), repeat=1)
        run("expandDims", shape, [axis], lambda x, a=axis: np.expand_dims(x, a), repeat=1)
    for shape in [(2, 3), (), (0, 2), (2, 2, 2), (5,)]:
        run("flatten", shape, [], lambda x: x.reshape(-1))
    for shape, s, d in [((2, 3, 4), 0, 2), ((2, 3, 4), -1, 0), ((2, 3, 4), 1, 1), ((2, 3, 4, 2, 2), 0, -2)]:
        run("moveaxis", shape, [s, d], lambda x, s=s, d=d: np.moveaxis(x, s, d), repeat=2)
        run("swapaxes", shape, [s, d], lambda x, s=s, d=d: np.swapaxes(x, s, d), repeat=2)
    for shape, k in [((3, 3), 0), ((3, 4), 1), ((4, 3), -2), ((2, 3, 3), 0), ((3, 3), 5), ((2, 2, 3, 2), 1)]:
        # Ours takes the last two axes, NumPy the first two unless told.
        run("diagonal", shape, [k], lambda x, k=k: np.diagonal(x, k, -2, -1), repeat=2)
        run("tril", shape, [k], lambda x, k=k: np.tril(x, k), repeat=2)
        run("triu", shape, [k], lambda x, k=k: np.triu(x, k), repeat=2)
    w.file("joining")
    for shapes, axis in [([(2, 3), (2, 3)], 0), ([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1), (2, 2)], 1), ([(2,), (0,), (3,)], 0), ([(2, 2, 2), (2, 2, 1)], -1), ([(3,)], 0), ([(1, 2, 1, 2, 2), (1, 2, 3, 2, 2)], 2), ([(0, 2), (0, 2)], 1)]:
        for d in ["f32", "i32", "u8", "f16", "bool", "i64"]:
            xs = [turn.input(s, d) for s in shapes]
            w.add("concat", xs, out(xs[0], np.concatenate([value(x).a for x in xs], axis)), [axis])
    for shape, n, axis in [((2, 3), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, -1), ((), 3, 0), ((0,), 2, 1), ((1, 1), 1, 2)]:
        for d in ["f32", "u32", "bf16", "bool"]:
            xs = [turn.input(shape, d) for _ in range(n)]
            w.add("stack", xs, out(xs[0], np.stack([value(x).a for x in xs], axis)), [axis])
    mixed = [make("u8", np.array([1, 2])), make("f32", np.array([0.5, 1.5]))]
    w.add("concat", mixed, make("f32", np.array([1, 2, 0.5, 1.5])), [0])
    for shape, n, axis in [((6,), 3, 0), ((2, 4), 2, 1), ((4, 2), 4, 0), ((2, 6), 3, -1)]:
        for _ in range(3):
            x = turn.input(shape)
            w.add("split", [x], [out(x, p) for p in np.split(value(x).a, n, axis)], [n, axis])
    for shape, at, axis in [((7,), [2, 5], 0), ((3, 5), [1], 1), ((4, 2), [1, 3], 0)]:
        x = turn.input(shape)
        w.add("split", [x], [out(x, p) for p in np.split(value(x).a, at, axis)], [at, axis])

    w.file("indexing")
    for shape, indices, axis in [((5,), [3, 0, 0, 4], 0), ((3, 4), [2, 1], 0), ((3, 4), [[0, 3], [1, 1]], 1), ((3, 4), 2, 1), ((2, 3, 4), [2, 0], 1), ((3, 4), [], 0), ((2, 3, 2), [1, 0, 1, 1], -1), ((4,), [[0], [3]], 0), ((2, 1, 3, 2, 2), [2, 2], 2), ((5,), [-1, -5, 2], 0), ((3, 4), [-4, 3], 1)]:
        for d in ["f32", "i32", "bool", "f64", "u8"]:
            x = turn.input(shape, d)
            for di in ["i32", "i64"] if d == "f32" else ["i32"]:
                at = make(di, np.array(indices, np.int64))
                w.add("gather", [x, at], out(x, np.take(value(x).a, at.a, axis)), [axis])
    for shape, axis, n in [((3, 4), 1, 2), ((3, 4), 0, 5), ((4,), 0, 3), ((2, 3, 2), 1, 3), ((2, 3), -1, 0)]:
        for d in ["f32", "i32", "f16", "u8"]:
            x = turn.input(shape, d)
            s = list(shape)
            s[axis] = n
            at = make("i32", rng_for("along", shape, axis, d).integers(0, shape[axis], s))
            w.add("takeAlongAxis", [x, at], out(x, np.take_along_axis(value(x).a, at.a.astype(np.int64), axis)), [axis])

    w.file("scatter")
    for mode in ["set", "add", "mul", "min", "max"]:
        for shape, indices, axis in [((5,), [1, 3], 0), ((5,), [2, 2, 0, 2], 0), ((3, 4), [2, 0], 0), ((3, 4), [1, 1, 3], 1), ((2, 3, 2), [0, 2, 2], 1), ((4,), [], 0), ((2, 3), [1], -1), ((5,), [-1, 0], 0)]:
            for d in ["f32", "i32", "f64", "u8", "i64", "f16"]:
                rng = rng_for("scatter", mode, shape, indices, axis, d)
                x = sample(rng, d, shape, "whole")
                s = list(shape)
                s[axis] = len(indices)
                u = sample(rng, d, s, "whole")
                r = scatter(x.a, np.array(indices, np.int64), u.a, axis, mode)
                w.add("scatter", [x, make("i32", np.array(indices, np.int64)), u], make(d, r), [{"axis": axis, "mode": mode}])
        for shape, n, axis in [((3, 4), 2, 1), ((4, 3), 3, 0)]:
            for d in ["f32", "i32"]:
                rng = rng_for("scatter each", mode, shape, axis, d)
                x = sample(rng, d, shape, "whole")
                s = list(shape)
                s[axis] = n
                at = rng.integers(0, shape[axis], s)
                u = sample(rng, d, s, "whole")
                r = x.a.copy()
                for i in np.ndindex(*s):
                    to = list(i)
                    to[axis] = at[i]
                    r[tuple(to)] = COMBINE[mode](r[tuple(to)], u.a[i])
                w.add("scatter", [x, make("i32", at), u], make(d, r), [{"axis": axis, "mode": mode}])


COMBINE = {"set": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def scatter(x, at, updates, axis, mode):
    out = np.moveaxis(x, axis, 0).copy()
    u = np.moveaxis(updates, axis, 0)
    with np.errstate(all="ignore"):
        for j, i in enumerate(at):
            out[i] = COMBINE[mode](out[i], u[j])
    return np.moveaxis(out, 0, axis)
