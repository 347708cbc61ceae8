"""Where ops go wrong at their edges: axes of size 0 and 1, every dtype in products and windows, numbers that f64 cannot tell apart."""

import itertools

import numpy as np

from .core import DTYPES, FLOATS, INTS, make, rng_for, sample, sum_type
from .linear import conv, pool

def labels_of(spec):
    return spec.split("->")[0].split(",")


def shaped(spec, sizes):
    return [tuple(sizes[label] for label in part) for part in labels_of(spec)]


def einsum_of(spec, xs):
    """In the dtype of the operands: bools as `any` of `and`, integers wrapping, halves through one rounding."""
    dtype = xs[0].dtype
    if dtype == "bool":
        return make("bool", np.asarray(np.einsum(spec, *[x.a for x in xs])))
    if dtype in FLOATS:
        return make(dtype, np.asarray(np.einsum(spec, *[x.a.astype(np.float64) for x in xs])))
    return make(dtype, np.asarray(np.einsum(spec, *[x.a.astype(np.int64) for x in xs])))


def positive(rng, dtype, shape):
    """No zeros: the sign of a product with zero depends on whether it is added to anything."""
    if dtype == "bool":
        return sample(rng, dtype, shape)
    return make(dtype, rng.integers(1, 4, shape).astype(np.float64 if dtype in FLOATS else np.int64))


SPECS = ["ij,jk->ik", "i,j->ij", "i,j->j", "i,j", "f,c", "i,i->", "i,i->i", "ij,kj->ki", "bij,bjk->bik", "ij->ji", "ij->", "ij->j", "ii->i", "ii", "ij,j,k->ik", "caeY,dac->acdeY", "YaXd,a,b", "ij,ij->", "ab,b,b->a"]


def einsums(w):
    w.file("einsum-edges")
    for spec in SPECS:
        letters = sorted(set("".join(labels_of(spec))))
        rng = rng_for("edges", spec)
        for zeros in itertools.chain(*[itertools.combinations(letters, n) for n in (1, 2)]):
            sizes = {label: 0 if label in zeros else 2 + i % 3 for i, label in enumerate(letters)}
            xs = [positive(rng, "f32", s) for s in shaped(spec, sizes)]
            w.add("einsum", xs, einsum_of(spec, xs), [spec])
        sizes = {label: 2 + i % 3 for i, label in enumerate(letters)}
        for dtype in DTYPES:
            xs = [positive(rng, dtype, s) for s in shaped(spec, sizes)]
            w.add("einsum", xs, einsum_of(spec, xs), [spec])
    # Between operands an axis of size 1 stretches, to nothing too.
    for spec, shapes in [("ij,jk->ik", [(2, 1), (3, 4)]), ("i,i->i", [(1,), (4,)]), ("i,i->i", [(0,), (1,)]), ("i,i->", [(1,), (5,)]), ("i,i,i->i", [(1,), (1,), (3,)]), ("ij,j->i", [(3, 0), (1,)]), ("...i,...i->...", [(1, 3), (4, 3)]), ("...i,i", [(0, 3), (3,)]), ("i...,i...->...", [(2, 0, 3), (2, 3)])]:
        xs = [positive(rng_for("stretch", spec, str(shapes)), "f32", s) for s in shapes]
        w.add("einsum", xs, einsum_of(spec, xs), [spec])
    # Halves are summed in f32 and rounded once.
    for dtype in ("f16", "bf16"):
        tenth = make(dtype, np.full(2000, 0.1))
        for spec, xs in [("i,j->j", [tenth, make(dtype, np.array([1.0, 0.5, -2.0]))]), ("i->", [tenth]), ("i,i->", [tenth, make(dtype, np.ones(2000))]), ("i,j,k->", [tenth, make(dtype, np.array([3.0])), make(dtype, np.array([1 / 3, 1 / 3]))])]:
            r = np.asarray(np.einsum(spec, *[x.a.astype(np.float64) for x in xs]))
            w.add("einsum", xs, make(dtype, r), [spec], acc=(2000, float(np.max(np.abs(r)))))
    # f16 leaves its range on the way, and comes back.
    many, small = make("f16", np.full(2000, 100.0)), make("f16", np.array([2.0**-10]))
    w.add("einsum", [many, small], make("f16", np.array([200000 * 2.0**-10])), ["i,j->j"])


def products(w):
    w.file("empty-products")
    for dtype in DTYPES:
        def zeros(*shape):
            return make(dtype, np.zeros(shape))
        for a, b in [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((0, 0), (0, 0)), ((0,), (0,)), ((0,), (0, 2)), ((2, 0), (0,)), ((0, 2, 3), (3, 2)), ((1, 2, 0), (3, 0, 2)), ((0, 2, 0), (0, 0, 2))]:
            x, y = zeros(*a), zeros(*b)
            r = np.matmul(x.a, y.a)
            w.add("matmul", [x, y], make(dtype, r))
        for a, b in [((0,), (0,)), ((2, 0), (0, 3)), ((0,), (2, 0, 3)), ((2, 0), (4, 0, 3)), ((2, 3), (4, 3, 0)), ((0, 3), (4, 3, 2)), ((2, 3), (0, 3, 2))]:
            x, y = zeros(*a), zeros(*b)
            w.add("dot", [x, y], make(dtype, np.dot(x.a, y.a)))
        for a, b in [((0,), (3,)), ((2,), (0,)), ((0, 2), (2, 2)), ((), (0,))]:
            x, y = zeros(*a), zeros(*b)
            w.add("outer", [x, y], make(dtype, np.outer(x.a, y.a)))
        for shape in [(0, 3), (3, 0), (0, 0), (2, 0, 3)]:
            d = sum_type(dtype)
            if dtype != "bool":
                w.add("trace", [zeros(*shape)], make(d, np.zeros(shape[:-2])))
            w.add("diagonal", [zeros(*shape)], make(dtype, np.zeros((*shape[:-2], 0))))


CONVS = [((0, 2, 5), (3, 2, 2)), ((2, 0, 5), (3, 0, 2)), ((2, 2, 5), (0, 2, 2)), ((2, 0, 5), (0, 0, 1))]


def windows(w):
    w.file("window-edges")
    for dtype in DTYPES:
        if dtype != "bool":
            for sx, sk in CONVS:
                x, k = make(dtype, np.ones(sx)), make(dtype, np.ones(sk))
                w.add("conv1d", [x, k], make(dtype, np.zeros((sx[0], sk[0], sx[2] - sk[2] + 1))))
        rng = rng_for("windows", dtype)
        x, k = positive(rng, dtype, (2, 2, 6)), positive(rng, dtype, (3, 2, 3))
        r = conv(x.a.astype(np.float64), k.a.astype(np.float64), [2], [1], [1], 1)
        w.add("conv1d", [x, k], make(dtype, r), [{"stride": 2, "padding": 1}])
        for shape, window, stride, padding in [((2, 3, 5), [2], [1], 0), ((1, 4, 4), [2, 2], [2, 2], 1), ((0, 4), [2], [2], 0), ((0, 4, 4), [2, 3], [1, 1], 0), ((2, 1), [1], [1], 0)]:
            o = {"stride": stride, **({"padding": padding} if padding else {})}
            x = sample(rng, dtype, shape, "whole")
            if x.a.size:
                lowest = -np.inf if dtype in FLOATS else 0 if dtype == "bool" else float(np.iinfo(x.a.dtype).min)
                r = pool(x.a.astype(np.float64), window, stride, [padding] * len(window), np.max, lowest)
                mean = pool(x.a.astype(np.float64), window, stride, [padding] * len(window), np.mean, 0)
            else:
                size = [(d - m) // s + 1 for d, m, s in zip(shape[-len(window):], window, stride)]
                r = mean = np.zeros((*shape[: -len(window)], *size))
            w.add("maxPool", [x], make(dtype, r), [window, o])
            d = dtype if dtype in FLOATS else "f32" if dtype in ("bool", "u8") else "f64"
            n = int(np.prod(window))
            w.add("avgPool", [x], make(d, mean), [window, o], acc=(n, float(np.max(np.abs(x.a.astype(np.float64)))) if x.a.size else 0.0))


def scalars(w):
    w.file("scalar-edges")
    for dtype in FLOATS:
        x = make(dtype, np.array([-np.inf, -0.0, 0.0, np.inf, np.nan, -4.0, 4.0, 2.25]))
        with np.errstate(all="ignore"):
            w.add("pow", [x], make(dtype, np.sqrt(x.a.astype(np.float64))), [0.5])
        for op in ["logicalAnd", "logicalOr", "logicalXor"]:
            for v in [np.nan, np.inf, -0.0, 0.0, 1e-300]:
                r = {"logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor}[op](x.a, v)
                w.add(op, [x], make("bool", r), [v])
        for op, f in [("add", np.add), ("mul", np.multiply), ("maximum", np.maximum), ("less", np.less), ("equal", np.equal)]:
            # Which zero is the larger one is left open.
            for v in [np.nan, np.inf, -np.inf] + ([] if op == "maximum" else [-0.0]):
                with np.errstate(all="ignore"):
                    r = f(x.a.astype(np.float64), v)
                w.add(op, [x], make("bool" if r.dtype == bool else dtype, r), [v])
        large = make(dtype, np.array([[300.0, 300.0], [0.0, 0.0], [-300.0, 300.0]]))
        w.add("cosineSimilarity", [large, large], make(dtype, np.array([1.0, 0.0, 1.0])), acc=(2, 1.0))
    for dtype, v in itertools.product(DTYPES, [np.nan, 0.5, 2, 0]):
        if v in (2, 0) or dtype in FLOATS or dtype == "bool":
            w.add("full", [], make(dtype, np.full(3, v, np.float64)), [[3], float(v), {"dtype": dtype}])
    for dtype in INTS:
        info = np.iinfo(make(dtype, [0]).a.dtype)
        for v in [2.0**70, -(2.0**70), np.nan, np.inf] + ([300.0, -1.0] if dtype == "u8" else []):
            w.add("full", [], args=[[3], float(v), {"dtype": dtype}], throws="DTypeError")
            w.add("pad", [make(dtype, [1])], args=[[[1, 1]], float(v)], throws="DTypeError")
        if int(info.max) < 2**53:
            w.add("full", [], make(dtype, np.full(2, info.max)), [[2], int(info.max), {"dtype": dtype}])
    for dtype in DTYPES:
        x = make(dtype, np.array([[1, 0], [0, 0]]))
        w.add("sum", [x], make("bool", [True, False]), [{"dtype": "bool", "axis": 1}])
        w.add("prod", [x], make("bool", [False, False]), [{"dtype": "bool", "axis": 1}])
    w.add("sum", [make("i32", [1, -1])], make("bool", True), [{"dtype": "bool"}])
    c = make("bool", [True, False])
    for a, b, r in [(True, 2, make("f32", [1, 2])), (2, True, make("f32", [2, 1])), (True, False, make("bool", [True, False])), (0.5, 2, make("f32", [0.5, 2]))]:
        w.add("where", [c], r, [a, b])
    empty = make("f32", np.zeros((0, 3)))
    w.add("reshape", [empty], args=[[0, -1]], throws="ShapeError")
    w.add("reshape", [empty], make("f32", np.zeros((3, 0))), [[3, -1]])
    for start, stop, step in [(1_700_000_000_000, 1_700_000_000_003, 1), (2**31 - 2, 2**31 + 2, 1), (-(2**31) - 1, -(2**31) + 1, 1), (0, 2**33, 2**31), (2**40, 2**40 - 3, -1)]:
        w.add("arange", [], make("i64", np.arange(start, stop, step)), [start, stop, step])
    w.add("arange", [], make("i32", np.arange(2**31 - 3, 2**31)), [2**31 - 3, 2**31])
    w.add("arange", [], args=[2**53 - 1, 2**53 + 4], throws="ArgumentError")


def comparisons(w):
    """i64 beside u64: exact, though their common dtype is f64."""
    w.file("comparison-edges")
    signed = [-1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 5]
    unsigned = [2**64 - 1, 0, 1, 2**53 + 1, 2**53, 2**63, 2**63 + 1, 5]
    ops = {"equal": lambda a, b: a == b, "notEqual": lambda a, b: a != b, "less": lambda a, b: a < b, "lessEqual": lambda a, b: a <= b, "greater": lambda a, b: a > b, "greaterEqual": lambda a, b: a >= b}
    pairs = list(itertools.product(signed, unsigned))
    x, y = (make(d, np.array(list(v), object)) for d, v in zip(("i64", "u64"), zip(*pairs)))
    for op, f in ops.items():
        w.add(op, [x, y], make("bool", [f(a, b) for a, b in pairs]))
        w.add(op, [y, x], make("bool", [f(b, a) for a, b in pairs]))
        w.add(op, [make("i64", np.array(signed, object).reshape(8, 1)), make("u64", np.array(unsigned, object))], make("bool", np.array([f(a, b) for a, b in pairs]).reshape(8, 8)))


def write(w):
    einsums(w)
    products(w)
    windows(w)
    scalars(w)
    comparisons(w)
