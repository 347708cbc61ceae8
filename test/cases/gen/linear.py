"""Matrix products, einsum, convolution, pooling, and the composed layers."""

import itertools

import numpy as np

from .core import FLOATS, INTS, T, VIEWS, cast, ints, make, promote, rng_for, sample, value, view

LD = np.longdouble


def product(x, y):
    """matmul in the promoted type: exact for whole numbers, wrapping for integers."""
    d = promote(x.dtype, y.dtype)
    if d in FLOATS:
        return make(d, np.matmul(x.a.astype(LD), y.a.astype(LD)).astype(np.float64))
    return make(d, np.matmul(ints(x), ints(y)))


def acc_of(x, y):
    m = np.matmul(np.abs(x.a.astype(LD)), np.abs(y.a.astype(LD)))
    return (x.shape[-1], float(np.max(m)) if m.size else 0.0)


MATMUL = [((2, 3), (3, 4)), ((1, 5), (5, 1)), ((4,), (4,)), ((3, 4), (4,)), ((3,), (3, 2)), ((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 2)), ((2, 4), (3, 4, 2)), ((2, 1, 3, 2), (3, 2, 2)), ((7, 5), (5, 9)), ((17, 13), (13, 18)), ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((1, 1), (1, 1)), ((1, 33), (33, 5)), ((9, 2), (2, 3)), ((2, 1, 1, 3, 2), (1, 2, 2, 2, 1))]


def matmuls(w):
    w.file("matmul")
    for sa, sb in MATMUL:
        for dtype in ["f32", "f64", "f16", "bf16", "i32", "u8", "i64", "u32"]:
            if dtype in ("u8", "u32", "i64") and len(sa) > 2:
                continue
            rng = rng_for("matmul", sa, sb, dtype)
            x, y = sample(rng, dtype, sa, "whole"), sample(rng, dtype, sb, "whole")
            w.add("matmul", [x, y], product(x, y))
        for dtype in FLOATS:
            rng = rng_for("matmul real", sa, sb, dtype)
            x, y = sample(rng, dtype, sa), sample(rng, dtype, sb)
            w.add("matmul", [x, y], product(x, y), acc=acc_of(x, y))
    # No products: every entry is the empty sum.
    x, y = make("f32", np.zeros((2, 0))), make("f32", np.zeros((0, 3)))
    w.add("matmul", [x, y], make("f32", np.zeros((2, 3))))
    for how in VIEWS:
        for dtype in ["f32", "f64", "i32"]:
            rng = rng_for("matmul view", how, dtype)
            x, y = view(rng, dtype, (5, 6), how, "whole"), view(rng, dtype, (6, 4), "plain", "whole")
            w.add("matmul", [x, y], product(x.t, y.t))
            x, y = view(rng, dtype, (5, 6), "plain", "whole"), view(rng, dtype, (6, 4), how, "whole")
            w.add("matmul", [x, y], product(x.t, y.t))
            x, y = view(rng, dtype, (2, 5, 6), how, "whole"), view(rng, dtype, (2, 6, 4), how, "whole")
            w.add("matmul", [x, y], product(x.t, y.t))
    for special in (np.nan, np.inf):
        x, y = make("f32", np.array([[special, 1.0], [0.0, 2.0]])), make("f32", np.array([[0.0, 1.0], [1.0, 1.0]]))
        with np.errstate(all="ignore"):
            w.add("matmul", [x, y], product(x, y))
    for da, db in [("f32", "f64"), ("i32", "f32"), ("u8", "i32"), ("f16", "f32"), ("bf16", "f16")]:
        rng = rng_for("matmul mixed", da, db)
        x, y = sample(rng, da, (3, 4), "whole"), sample(rng, db, (4, 2), "whole")
        w.add("matmul", [x, y], product(x, y))
    for dtype in ["f32", "i32", "f64", "f16"]:
        rng = rng_for("dot", dtype)
        x, y = sample(rng, dtype, (6,), "whole"), sample(rng, dtype, (6,), "whole")
        w.add("dot", [x, y], product(x, y))
        x2, y2 = sample(rng, dtype, (3, 6), "whole"), sample(rng, dtype, (6, 2), "whole")
        w.add("dot", [x2, y2], product(x2, y2))
        w.add("outer", [x, y], make(dtype, np.outer(x.a.astype(np.float64), y.a.astype(np.float64))))
        for k, shape in [(0, (4, 4)), (1, (3, 5)), (-1, (4, 2))]:
            z = sample(rng, dtype, shape, "whole")
            d = dtype if dtype in FLOATS else "i64"
            w.add("trace", [z], make(d, np.trace(z.a.astype(np.float64), k)), [k] if k else [])


EINSUM = [("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("i,j->ij", (3,), (4,)), ("i,i->", (5,), (5,)), ("ij,ij->j", (3, 4), (3, 4)), ("bhid,bhjd->bhij", (1, 2, 3, 2), (1, 2, 4, 2)), ("ijk,kl->ijl", (2, 2, 3), (3, 2)), ("ij,jk", (2, 3), (3, 2)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ijk->k", (2, 3, 4)), ("ij,j,k->ik", (2, 3), (3,), (2,)), ("...ij,...jk->...ik", (2, 2, 3), (3, 2)), ("abc,cd,de->abe", (2, 1, 3), (3, 2), (2, 2))]


def einsums(w):
    w.file("einsum")
    for spec, *shapes in EINSUM:
        for dtype in ["f32", "f64", "i32"]:
            rng = rng_for("einsum", spec, dtype)
            # No zeros: the sign of an outer product with zero depends on whether it is added to anything.
            xs = [make(dtype, np.abs(sample(rng, dtype, s, "whole").a.astype(np.float64)) + 1) for s in shapes]
            r = np.asarray(np.einsum(spec, *[x.a.astype(np.float64) for x in xs]))
            w.add("einsum", xs, make(dtype, r), [spec])


def conv(x, k, stride, padding, dilation, groups):
    """Plain loops over the definition, in float64: NC… with kernels OI…."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    size = [(x.shape[2 + i] - dilation[i] * (k.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    out = np.zeros([x.shape[0], k.shape[0], *[max(s, 0) for s in size]], np.float64)
    per_in, per_out = k.shape[1], k.shape[0] // groups
    for o in range(k.shape[0]):
        g = o // per_out
        for at in itertools.product(*[range(s) for s in size]):
            window = tuple(slice(a * s, a * s + d * (m - 1) + 1, d) for a, s, d, m in zip(at, stride, dilation, k.shape[2:]))
            part = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *window)]
            out[(slice(None), o, *at)] = (part * k[o]).reshape(x.shape[0], -1).sum(1)
    return out


def pool(x, window, stride, padding, f, fill):
    n = len(window)
    x = np.pad(x, [(0, 0)] * (x.ndim - n) + [(p, p) for p in padding], constant_values=fill)
    size = [(x.shape[x.ndim - n + i] - window[i]) // stride[i] + 1 for i in range(n)]
    out = np.zeros([*x.shape[: x.ndim - n], *size], np.float64)
    for at in itertools.product(*[range(s) for s in size]):
        part = x[(Ellipsis, *[slice(a * s, a * s + m) for a, s, m in zip(at, stride, window)])]
        out[(Ellipsis, *at)] = f(part.reshape(*x.shape[: x.ndim - n], -1), -1)
    return out


CONVS = [
    ("conv1d", (1, 1, 8), (1, 1, 3), 1, 0, 1, 1), ("conv1d", (2, 3, 7), (4, 3, 3), 2, 1, 1, 1), ("conv1d", (1, 4, 9), (4, 2, 3), 1, 2, 2, 2), ("conv1d", (2, 2, 5), (3, 2, 1), 1, 0, 1, 1), ("conv1d", (1, 3, 6), (3, 1, 2), 1, 1, 1, 3),
    ("conv2d", (1, 1, 5, 5), (1, 1, 3, 3), 1, 0, 1, 1), ("conv2d", (2, 3, 6, 5), (4, 3, 3, 2), [2, 1], [1, 0], 1, 1), ("conv2d", (1, 4, 5, 5), (4, 1, 3, 3), 1, 1, 1, 4), ("conv2d", (1, 2, 7, 7), (2, 2, 3, 3), 1, 2, 2, 1), ("conv2d", (2, 2, 4, 4), (3, 2, 1, 1), 1, 0, 1, 1), ("conv2d", (1, 2, 3, 3), (2, 2, 3, 3), 1, 0, 1, 1), ("conv2d", (1, 4, 4, 4), (6, 2, 2, 2), 2, 0, 1, 2),
    ("conv3d", (1, 1, 3, 4, 3), (1, 1, 2, 2, 2), 1, 0, 1, 1), ("conv3d", (1, 2, 3, 3, 3), (2, 2, 3, 3, 3), 1, 1, 1, 1), ("conv3d", (2, 2, 4, 3, 4), (2, 1, 2, 1, 2), 2, [0, 1, 0], 1, 2),
]


def each(v, n):
    return list(v) if isinstance(v, list) else [v] * n


def convolutions(w):
    w.file("conv")
    for op, sx, sk, stride, padding, dilation, groups in CONVS:
        n = len(sx) - 2
        o = {}
        for key, v, plain in [("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1), ("groups", groups, 1)]:
            if v != plain:
                o[key] = v
        for dtype in ["f32", "f64", "f16", "i32"]:
            for kind in ["whole"] + (["mixed"] if dtype in ("f32", "f64") else []):
                rng = rng_for(op, sx, sk, dtype, kind)
                x, k = sample(rng, dtype, sx, kind), sample(rng, dtype, sk, kind)
                full = [each(stride, n), each(padding, n), each(dilation, n), groups]
                r = conv(x.a.astype(np.float64), k.a.astype(np.float64), *full)
                terms = int(np.prod(sk[1:]))
                acc = None if kind == "whole" else (terms, float(np.max(conv(np.abs(x.a.astype(np.float64)), np.abs(k.a.astype(np.float64)), *full))))
                w.add(op, [x, k], make(dtype, r), [o] if o else [], acc=acc)
    pools = [((1, 1, 4), [2], None, 0), ((2, 3, 7), [3], [2], 0), ((1, 2, 4, 4), [2, 2], None, 0), ((2, 1, 5, 6), [3, 2], [1, 2], 0), ((1, 1, 4, 4, 4), [2, 2, 2], None, 0), ((1, 2, 5, 5), [3, 3], [1, 1], 0), ((1, 1, 5, 4), [2, 2], [2, 1], 1), ((1, 1, 3), [1], [2], 0)]
    for shape, window, stride, padding in pools:
        s = stride or window
        o = {}
        if stride:
            o["stride"] = stride
        if padding:
            o["padding"] = padding
        p = [padding] * len(window)
        for dtype in ["f32", "f64", "f16", "i32"]:
            x = sample(rng_for("pool", shape, dtype), dtype, shape, "whole")
            # What lies outside never wins a maximum.
            r = pool(x.a.astype(np.float64), window, s, p, np.max, -np.inf)
            w.add("maxPool", [x], make(dtype, r), [window, *([o] if o else [])])
            if dtype in FLOATS and not padding:
                y = sample(rng_for("avg", shape, dtype), dtype, shape)
                r = pool(y.a.astype(np.float64), window, s, p, np.mean, 0)
                w.add("avgPool", [y], make(dtype, r), [window, *([o] if o else [])], acc=(int(np.prod(window)), float(np.max(np.abs(y.a)))))


def layers(w):
    w.file("layers")
    for dtype in FLOATS:
        for shape, axis in [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 5), -1), ((4, 1), 1), ((2, 2, 3, 2, 2), 2), ((2, 40), 1)]:
            x = sample(rng_for("softmax", dtype, shape, axis), dtype, shape)
            a = x.a.astype(LD)
            e = np.exp(a - a.max(axis, keepdims=True))
            s = e / e.sum(axis, keepdims=True)
            n = shape[axis]
            w.add("softmax", [x], make(dtype, s.astype(np.float64)), [axis], acc=(n, 1.0))
            ls = a - a.max(axis, keepdims=True) - np.log(e.sum(axis, keepdims=True))
            w.add("logSoftmax", [x], make(dtype, ls.astype(np.float64)), [axis], acc=(n, float(np.max(np.abs(a))) * 2 + 1))
            if n > 1:
                m = a.mean(axis, keepdims=True)
                v = ((a - m) ** 2).mean(axis, keepdims=True)
                y = (a - m) / np.sqrt(v + LD(1e-5))
                # Rounding of the mean, seen through the division by the deviation.
                w.add("layerNorm", [x], make(dtype, y.astype(np.float64)), [axis, 1e-5], acc=(n, float(np.max(np.abs(a) / np.sqrt(v + 1e-5))) + 2))
            z = sample(rng_for("cosine", dtype, shape, axis), dtype, shape)
            b = z.a.astype(LD)
            if n > 1:
                c = (a * b).sum(axis) / np.sqrt((a * a).sum(axis) * (b * b).sum(axis))
                w.add("cosineSimilarity", [x, z], make(dtype, np.asarray(c).astype(np.float64)), [axis], acc=(n, 1.0))
        x = make(dtype, np.array([[1000.0, 1001.0, 999.0], [-1000.0, -1000.0, -1000.0], [-np.inf, 0.0, 1.0], [np.nan, 0.0, 1.0], [np.inf, 0.0, 1.0], [np.inf, -np.inf, np.inf], [-np.inf] * 3]))
        a = x.a.astype(LD)
        with np.errstate(all="ignore"):
            e = np.exp(a - a.max(1, keepdims=True))
            w.add("softmax", [x], make(dtype, (e / e.sum(1, keepdims=True)).astype(np.float64)), [1], acc=(3, 1.0))


def windows(w):
    """All windows over some axes, against NumPy's own view of them."""
    w.file("windows")
    cases = [
        ((7,), [3], None, 1, 1, 0), ((2, 5), [2], None, 2, 1, 0), ((4, 6), [2, 3], [0, 1], 1, 1, 0), ((3, 5, 2), [2], [1], 1, 2, 0),
        ((2, 5, 6, 3), [3, 2], [1, 2], [2, 1], [1, 2], 0), ((2, 4, 3), [3], [1], 1, 1, 1), ((1, 1), [1], None, 1, 1, 0), ((0, 4), [2], None, 1, 1, 0),
    ]
    for dtype in ["f32", "i32", "bool", "f64"]:
        for shape, window, axes, stride, dilation, padding in cases:
            x = view(rng_for("windows", dtype, shape, window), dtype, shape, "transposed" if len(shape) == 2 else "plain", "whole")
            at = axes if axes is not None else list(range(len(shape) - len(window), len(shape)))
            per = lambda v: v if isinstance(v, list) else [v] * len(window)
            a = np.pad(x.t.a, [(per(padding)[at.index(i)],) * 2 if i in at else (0, 0) for i in range(len(shape))])
            reach = [(k - 1) * d + 1 for k, d in zip(window, per(dilation))]
            r = np.lib.stride_tricks.sliding_window_view(a, reach, axis=at)
            cut = [slice(None, None, per(stride)[at.index(i)] if i in at else 1) for i in range(len(shape))]
            r = r[(*cut, *[slice(None, None, d) for d in per(dilation)])]
            o = {"stride": stride, "dilation": dilation, **({"axes": axes} if axes is not None else {}), **({"padding": padding} if padding else {})}
            w.add("windows", [x], T(dtype, np.ascontiguousarray(r)), [window, o])


def write(w):
    matmuls(w)
    windows(w)
    einsums(w)
    convolutions(w)
    layers(w)
