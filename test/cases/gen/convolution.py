"""Convolutions with the channels first or last, their gradients, and windows that are folded back: plain loops over the definitions."""

import itertools

import numpy as np

from .core import DTYPES, FLOATS, make, rng_for, sample


def places(size, window, stride, sides, dilation):
    """How many windows there are along each axis."""
    return [(d + b + a - (m - 1) * l - 1) // s + 1 for d, m, s, (b, a), l in zip(size, window, stride, sides, dilation)]


def reads(counts, window, stride, sides, dilation, size):
    """Every window, and every position in it: the place it reads, unless that is padding."""
    for at in itertools.product(*map(range, counts)):
        for p in itertools.product(*map(range, window)):
            place = tuple(a * s + q * l - b for a, s, q, l, (b, _) in zip(at, stride, p, dilation, sides))
            if all(0 <= v < d for v, d in zip(place, size)):
                yield at, p, place


def conv(x, k, stride, sides, dilation, groups):
    """[N, C, …] with kernels [O, C / groups, …]."""
    size, window = x.shape[2:], k.shape[2:]
    counts = places(size, window, stride, sides, dilation)
    out = np.zeros([x.shape[0], k.shape[0], *counts])
    per_in, per_out = k.shape[1], k.shape[0] // groups
    for at, p, place in reads(counts, window, stride, sides, dilation, size):
        for o in range(k.shape[0]):
            g = o // per_out
            out[(slice(None), o, *at)] += x[(slice(None), slice(g * per_in, (g + 1) * per_in), *place)] @ k[(o, slice(None), *p)]
    return out


def transpose(y, k, shape, stride, sides, dilation, groups):
    """The gradient of the input."""
    out = np.zeros(shape)
    per_in, per_out = k.shape[1], k.shape[0] // groups
    for at, p, place in reads(y.shape[2:], k.shape[2:], stride, sides, dilation, shape[2:]):
        for o in range(k.shape[0]):
            g = o // per_out
            out[(slice(None), slice(g * per_in, (g + 1) * per_in), *place)] += np.outer(y[(slice(None), o, *at)], k[(o, slice(None), *p)])
    return out


def kernel_gradient(x, y, shape, stride, sides, dilation, groups):
    out = np.zeros(shape)
    per_in, per_out = shape[1], shape[0] // groups
    for at, p, place in reads(y.shape[2:], shape[2:], stride, sides, dilation, x.shape[2:]):
        for o in range(shape[0]):
            g = o // per_out
            out[(o, slice(None), *p)] += y[(slice(None), o, *at)] @ x[(slice(None), slice(g * per_in, (g + 1) * per_in), *place)]
    return out


def fold(y, shape, axes, window, stride, sides, dilation):
    """The opposite of windows: their axes are the last of y."""
    out = np.zeros(shape)
    n = len(window)
    counts = [y.shape[a] for a in axes]
    for at, p, place in reads(counts, window, stride, sides, dilation, [shape[a] for a in axes]):
        index = lambda where: tuple(where[axes.index(i)] if i in axes else slice(None) for i in range(len(shape)))  # noqa: E731
        out[index(place)] += y[(*index(at), *p)]
    assert y.ndim == len(shape) + n
    return out


# Input, kernel (channels first), stride, padding, dilation, groups.
CASES = [
    ((2, 3, 7), (4, 3, 3), [2], [[1, 2]], [1], 1),
    ((1, 4, 9), (4, 2, 3), [1], [[0, 1]], [2], 2),
    ((2, 3, 6), (6, 1, 2), [1], [[1, 0]], [1], 3),
    ((2, 3, 6, 5), (4, 3, 3, 2), [2, 1], [[0, 1], [1, 0]], [1, 1], 1),
    ((1, 4, 5, 7), (4, 1, 3, 3), [1, 1], [[1, 1], [1, 1]], [1, 1], 4),
    ((2, 3, 8, 7), (3, 1, 3, 3), [2, 2], [[0, 1], [1, 1]], [1, 1], 3),
    ((1, 2, 9, 8), (6, 1, 5, 5), [1, 2], [[2, 2], [0, 0]], [1, 1], 2),
    ((1, 2, 11, 9), (2, 1, 3, 3), [1, 1], [[3, 0], [0, 3]], [3, 2], 2),
    ((1, 2, 9, 10), (2, 1, 6, 5), [3, 2], [[0, 0], [2, 1]], [1, 1], 2),
    ((2, 2, 4, 4), (3, 2, 1, 1), [1, 1], [[0, 0], [0, 0]], [1, 1], 1),
    ((2, 2, 5, 5), (3, 2, 1, 1), [2, 3], [[0, 0], [0, 0]], [1, 1], 1),
    ((1, 1, 3, 3), (1, 1, 3, 3), [1, 1], [[0, 0], [0, 0]], [1, 1], 1),
    ((1, 1, 1, 1), (2, 1, 3, 3), [1, 1], [[1, 1], [1, 1]], [1, 1], 1),
    ((0, 3, 5, 5), (3, 1, 3, 3), [1, 1], [[1, 1], [1, 1]], [1, 1], 3),
    ((0, 2, 5, 5), (4, 2, 3, 3), [1, 1], [[0, 0], [0, 0]], [1, 1], 1),
    ((1, 2, 3, 4, 3), (4, 1, 2, 2, 2), [2, 1, 1], [[0, 1], [0, 0], [1, 0]], [1, 1, 1], 2),
    ((1, 2, 3, 3, 3), (2, 2, 3, 3, 3), [1, 1, 1], [[1, 1], [1, 1], [1, 1]], [1, 1, 1], 1),
]

LAST = lambda a: np.moveaxis(a, 1, -1)  # noqa: E731
KERNEL_LAST = lambda a: np.moveaxis(a, (0, 1), (-1, -2))  # noqa: E731


def values(rng, dtype, shape):
    """Small whole numbers, so that sums are exact. No zeros: the sign of a product with zero depends on whether it is added to anything."""
    if dtype == "bool":
        return sample(rng, dtype, shape)
    return made(dtype, rng.integers(1, 4, shape))


def made(dtype, whole):
    """Integers wrap, floats are rounded once."""
    return make(dtype, np.asarray(whole).astype(np.float64 if dtype in FLOATS else np.int64))


def write(w):
    w.file("conv-layouts")
    for sx, sk, stride, sides, dilation, groups in CASES:
        plain = {"stride": stride, "padding": sides, "dilation": dilation, "groups": groups}
        counts = places(sx[2:], sk[2:], stride, sides, dilation)
        sy = (sx[0], sk[0], *counts)
        for dtype in DTYPES:
            rng = rng_for("layouts", sx, sk, stride, dilation, dtype)
            x, k, y = (values(rng, dtype, s) for s in (sx, sk, sy))
            full = (stride, sides, dilation, groups)
            results = {
                f"conv{len(sx) - 2}d": (x, k, None, conv(*[t.a.astype(np.float64) for t in (x, k)], *full)),
                "convTranspose": (y, k, sx, transpose(*[t.a.astype(np.float64) for t in (y, k)], sx, *full)),
                "convKernelGradient": (x, y, sk, kernel_gradient(*[t.a.astype(np.float64) for t in (x, y)], sk, *full)),
            }
            for op, (a, b, shape, r) in results.items():
                if dtype == "bool" and op == "convTranspose":
                    continue
                sizes = [] if shape is None else [list(shape)]
                w.add(op, [a, b], made(dtype, r), [*sizes, plain])
                # The same with the channels last.
                if dtype not in ("f32", "f16", "i32", "u8"):
                    continue
                second = LAST if op == "convKernelGradient" else KERNEL_LAST
                back = KERNEL_LAST if op == "convKernelGradient" else LAST
                turned = [make(dtype, np.ascontiguousarray(LAST(a.a))), make(dtype, np.ascontiguousarray(second(b.a)))]
                sizes = [] if shape is None else [list(np.moveaxis(np.empty(shape), (0, 1), (-1, -2)).shape if op == "convKernelGradient" else (shape[0], *shape[2:], shape[1]))]
                w.add(op, turned, made(dtype, np.ascontiguousarray(back(r))), [*sizes, {**plain, "layout": "channelsLast"}])
        # Sums that round.
        for dtype in ["f32", "f64", "f16"]:
            rng = rng_for("layouts mixed", sx, sk, dtype)
            x, k = sample(rng, dtype, sx, "mixed"), sample(rng, dtype, sk, "mixed")
            if x.a.size == 0 or dtype == "f16" and groups == 1:
                continue
            wide = [t.a.astype(np.float64) for t in (x, k)]
            r = conv(*wide, *full)
            acc = (int(np.prod(sk[1:])), float(np.max(conv(*map(np.abs, wide), *full))))
            w.add(f"conv{len(sx) - 2}d", [x, k], make(dtype, r), [plain], acc=acc)
    folds(w)


def folds(w):
    w.file("folds")
    cases = [
        ((6,), [0], [3], [1], [[0, 0]], [1]),
        ((7,), [0], [3], [2], [[1, 1]], [1]),
        ((5, 6), [0, 1], [2, 3], [1, 2], [[0, 1], [1, 0]], [2, 1]),
        ((2, 5, 3), [1], [2], [2], [[0, 0]], [1]),
        ((2, 6, 5, 3), [1, 2], [4, 3], [2, 1], [[1, 1], [2, 0]], [1, 2]),
        ((2, 4, 4), [1, 2], [1, 1], [1, 1], [[0, 0], [0, 0]], [1, 1]),
        ((0, 4), [1], [2], [1], [[0, 0]], [1]),
    ]
    for shape, axes, window, stride, sides, dilation in cases:
        counts = places([shape[a] for a in axes], window, stride, sides, dilation)
        own = [counts[axes.index(i)] if i in axes else d for i, d in enumerate(shape)]
        for dtype in ["f32", "f64", "f16", "bf16", "i32", "u8", "i64"]:
            y = values(rng_for("fold", shape, dtype), dtype, (*own, *window))
            r = fold(y.a.astype(np.float64), shape, axes, window, stride, sides, dilation)
            o = {"axes": axes, "stride": stride, "padding": sides, "dilation": dilation}
            w.add("fold", [y], made(dtype, r), [list(shape), o])
