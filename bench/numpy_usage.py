"""NumPy's half of host/usage-works.ts, in the same order."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from numpy_inputs import M, of, positive, row, square, whole
from numpy_side import F, floats


def shaped(f, *shapes):
    return of(f, *((lambda s=s, i=i: floats(int(np.prod(s)), i).reshape(s)) for i, s in enumerate(shapes)))


def small(f, dtype):
    return of(f, lambda: whole(M, 200).astype(dtype), lambda: whole(M, 50, 7).astype(dtype))


def points(n, seed=0):
    return lambda: floats(n * 3, seed).reshape(n, 3)


def moving_mean(x):
    sums = np.cumsum(x, dtype=np.float64)
    return (sums[10:] - sums[:-10]) / 10


def masked_mean(x):
    above = x > 0
    return np.where(above, x, F(0)).sum(1) / above.sum(1).astype(F)


def lowpass(x):
    spectrum = np.fft.rfft(x)
    spectrum[1000:] = 0
    return np.fft.irfft(spectrum, 65536)


def cosines(x, y):
    return (x * y).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1))


def pairwise(x):
    squares = (x * x).sum(1)
    return squares[:, None] + squares - 2 * (x @ x.T)


def blur(x):
    rows = x[:-2] + x[1:-1] + x[2:]
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / F(9)


def lexsort(first, second):
    return np.lexsort((second, first))


def group_sums(x, group):
    return np.bincount(group, x, 500).astype(F)


def polynomial(x):
    total = x * F(0.1)
    for c in (0.25, -0.5, 0.75, 1, -2):
        total = total * x + F(c)
    return total


def scale(x):
    least = x.min(0)
    return (x - least) / (x.max(0) - least)


def slopes(x):
    dx, dy = np.diff(x, axis=1), np.diff(x, axis=0)
    return dx[1:] ** 2 + dy[:, 1:] ** 2


USAGE = {
    "cross": of(np.cross, points(100000), points(100000, 7)),
    "kron": shaped(np.kron, (40, 40), (30, 30)),
    "trapezoid": of(lambda x, y: np.trapz(y, x), lambda: np.linspace(0, 1, M, dtype=F), lambda: floats(M) + F(1.5)),
    "interp": of(lambda xs, ys, x: np.interp(x, xs, ys), lambda: np.linspace(-1, 1, 1000, dtype=F), row(1000, 3), row(100000)),
    "digitize": of(lambda edges, x: np.digitize(x, edges), lambda: np.linspace(0, 1, 20, dtype=F) ** 2, positive()),
    "movingmean": of(moving_mean, row()),
    "windowmax": of(lambda x: sliding_window_view(x, 8).max(1), row(100000)),
    "windowmean": of(lambda x: sliding_window_view(x, 16).mean(1), row(100000)),
    "onehot": of(lambda x, c: (x[:, None] == c).astype(F), lambda: whole(100000, 10), lambda: np.arange(10, dtype=np.int32)),
    "maskedmean": of(masked_mean, square()),
    "cumsumodd": shaped(lambda x: x.cumsum(0), (1537, 333)),
    "cumsumnarrow": shaped(lambda x: x.cumsum(0), (100000, 7)),
    "u8blend": small(lambda x, y: ((x.astype(np.int32) + y.astype(np.int32)) // 2).astype(np.uint8), np.uint8),
    "u8shift": small(lambda x, y: (x >> 2) | (y << 3), np.uint8),
    "u8table": of(lambda table, x: table[x], lambda: whole(256, 256, 5).astype(np.uint8), lambda: whole(M, 200).astype(np.uint8)),
    "u8histogram": small(lambda x, y: np.abs(x.astype(np.int32) - y.astype(np.int32)).sum(), np.uint8),
    "logic": shaped(lambda x, y: ((x > 0) & (y < F(0.5))) | ~(x < y), (M,), (M,)),
    "outside": of(lambda x: ((x < F(-0.5)) | (x > F(0.5))).sum(), row()),
    "f16axpy": small(lambda x, y: x * np.float16(2) + y, np.float16),
    "f16max": small(lambda x, y: x.max(), np.float16),
    "f16relu": small(lambda x, y: np.maximum(x - np.float16(50), np.float16(0)), np.float16),
    "lowpass": of(lowpass, row(65536)),
    "small3x3": shaped(np.matmul, (100000, 3, 3), (100000, 3, 3)),
    "rotate": shaped(np.matmul, (100000, 3), (3, 3)),
    "norms3": shaped(lambda x: np.linalg.norm(x, axis=1), (100000, 3)),
    "unit3": shaped(lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), (100000, 3)),
    "cosines": shaped(cosines, (1000, 300), (1000, 300)),
    "pairwise": shaped(pairwise, (300, 20)),
    "oddbroadcast": shaped(np.add, (1000, 1, 37), (53, 1)),
    "oddbroadcastsum": shaped(lambda x, y: (x * y).sum(1), (1000, 1, 37), (53, 1)),
    "columnscale": shaped(lambda x: x / np.abs(x).max(0), (999, 1001)),
    "channels": of(lambda x: x.mean((0, 1)), lambda: positive(150528)().reshape(224, 224, 3)),
    "gray": shaped(lambda x: x[..., 0] * F(0.299) + x[..., 1] * F(0.587) + x[..., 2] * F(0.114), (512, 512, 3)),
    "planes": shaped(lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)), (512, 512, 3)),
    "interleave": shaped(lambda x: np.ascontiguousarray(x.transpose(1, 2, 0)), (3, 512, 512)),
    "pool2": shaped(lambda x: x.reshape(512, 2, 512, 2).mean((1, 3)), (1024, 1024)),
    "pool8": shaped(lambda x: x.reshape(128, 8, 128, 8).max((1, 3)), (1024, 1024)),
    "blur": shaped(blur, (512, 512)),
    "lexsort": of(lexsort, lambda: whole(100000, 100), lambda: whole(100000, 1000, 7)),
    "ranks": of(lambda x: np.argsort(np.argsort(x)), row(100000)),
    "groupsums": of(group_sums, positive(), lambda: whole(M, 500, 3)),
    "polynomial": of(polynomial, row()),
    "sigmoid": of(lambda x: 1 / (1 + np.exp(-x)), row()),
    "gaussian": of(lambda x: np.exp(x * x * F(-0.5)), row()),
    "entropy": of(lambda p: -(p * np.log(p)).sum(1), lambda: positive(1000000)().reshape(1000, 1000)),
    "minmaxscale": of(scale, square()),
    "zeroedges": of(slopes, square()),
    "i64sumodd": small(lambda x, y: x[::3].sum(), np.int64),
    "evenodd": small(lambda x, y: np.where(x % 2 == 0, x, 3 * x + 1), np.int32),
    "take1000": of(lambda x, at: x[at], row(1000), lambda: whole(1000, 1000)),
    "search1000": of(np.searchsorted, lambda: np.linspace(0, 1, 100, dtype=F), positive(1000)),
    "columns30": shaped(lambda x: x.sum(0), (30, 30)),
    "norm1000": of(np.linalg.norm, row(1000)),
    "vector30": shaped(lambda x: x @ x[0], (30, 30)),
    "rows150": shaped(lambda x: np.sort(x, 1), (150, 150)),
    "argmax20k": of(np.argmax, row(20000)),
    "log20k": of(np.log, positive(20000)),
    "concat20k": of(lambda x, y: np.concatenate((x, y)), row(20000), row(20000, 7)),
    "reverse1000": of(lambda x: x[::-1].copy(), row(1000)),
    "weighted": of(lambda x, w: np.average(x, 0, w), lambda: floats(200000).reshape(1000, 200), positive(1000)),
    "everyother": of(lambda x: x[:, ::2].sum(0), square()),
    "mirrored": of(lambda x: x[:, ::-1].sum(0), square()),
    "everythird": of(lambda x: x[:, ::3].max(0), square()),
    "argsort10": shaped(lambda x: np.argsort(x, 1), (100000, 10)),
    "argsort30": shaped(lambda x: np.argsort(x, 1), (10000, 30)),
    "argsort50": shaped(lambda x: np.argsort(x, 1), (10000, 50)),
    "turnedcube": shaped(lambda x: x.transpose(2, 1, 0).sum(1), (64, 128, 128)),
}
