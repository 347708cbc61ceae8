"""NumPy's half of host/odd-works.ts, in the same order."""

import numpy as np

from numpy_inputs import M, matrix, of, positive, row, square, two, whole
from numpy_side import F, Job, floats, fractions


def shaped(f, *shape):
    return of(f, lambda: floats(int(np.prod(shape))).reshape(shape))


def typed(f, dtype):
    def x():
        return whole(M, 200).astype(dtype)

    def y():
        return (whole(M, 50, 7) + np.int32(1)).astype(dtype)

    return of(f, x, y)


def products(m, k, n, dtype=F):
    def make(rows, columns, seed):
        if dtype == np.int32:
            return lambda: whole(rows * columns, 10, seed).reshape(rows, columns)
        return lambda: matrix(rows, columns, seed).astype(dtype)

    return of(np.matmul, make(m, k, 0), make(k, n, 1))


def random(f):
    generator = np.random.default_rng(0)
    return lambda _: Job(lambda: f(generator), lambda a: np.array([a.size]))


def logsumexp(x):
    m = x.max(1)
    return np.log(np.exp(x - m[:, None]).sum(1)) + m


def softmax_columns(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


def where_chain(x):
    return np.where(x < F(-0.5), F(-1), np.where(x > F(0.5), F(1), np.where(x < 0, x * F(2), x)))


def scatter_set(x, at, y):
    out = x.copy()
    out[at] = y
    return out


def scatter_rows(x, at, y):
    out = x.copy()
    np.add.at(out, at, y)
    return out


def covariance(x):
    d = x - x.mean(1, keepdims=True)
    return d @ d.T / F(x.shape[1] - 1)


def cubes(shape, seed=0):
    return lambda: floats(int(np.prod(shape)), seed).reshape(shape)


ODD = {
    "anyrows": of(lambda x: (x > F(0.9)).any(1), square()),
    "allcolumns": of(lambda x: (x > F(-2)).all(0), square()),
    "countcolumns": of(lambda x: (x > 0).sum(0), square()),
    "cumsumrows": of(lambda x: x.cumsum(1), square()),
    "cumsumint": typed(lambda x, y: x.cumsum(), np.int32),
    "diff": of(np.diff, row()),
    "diffcolumns": of(lambda x: np.diff(x, axis=0), square()),
    "middlesum": shaped(lambda x: x.sum(1), 64, 128, 128),
    "middlestd": shaped(lambda x: x.std(1), 64, 128, 128),
    "outersum": shaped(lambda x: x.sum((0, 1)), 64, 64, 256),
    "argmin1m": of(np.argmin, row()),
    "minmax": of(lambda x: x.max() - x.min(), row()),
    "stdcolumns": of(lambda x: x.std(0), square()),
    "normrows": of(lambda x: np.linalg.norm(x, axis=1), square()),
    "logsumexp": of(logsumexp, square()),
    "softmaxcolumns": of(softmax_columns, square()),
    "prodrows": of(lambda x: (np.abs(x) + F(0.5)).prod(1), square()),
    "wherechain": of(where_chain, row()),
    "strided": of(lambda x: x[::3] * F(2), row(3 * M)),
    "stridedsum": of(lambda x: x[:, ::2].sum(), square(2048)),
    "transposeodd": shaped(lambda x: x.T.copy(), 1000, 999),
    "permute": shaped(lambda x: x.transpose(2, 0, 1).copy(), 64, 96, 200),
    "transposeadd": of(lambda x: x + x.T, square()),
    "u8add": typed(np.add, np.uint8),
    "u8sum": typed(lambda x, y: x.sum(), np.uint8),
    "u8max": typed(lambda x, y: x.max(), np.uint8),
    "u8compare": typed(lambda x, y: x > 100, np.uint8),
    "u8tof32": typed(lambda x, y: x.astype(F) / F(255), np.uint8),
    "i64add": typed(np.add, np.int64),
    "i64mod": typed(lambda x, y: x % y, np.int64),
    "i64floordiv": typed(lambda x, y: x // 7, np.int64),
    "bits": typed(lambda x, y: (x & np.int32(15)) ^ (y << np.int32(2)), np.int32),
    "f16add": typed(np.add, np.float16),
    "f16sum": typed(lambda x, y: x.astype(F).sum(), np.float16),
    "f64div": typed(np.divide, np.float64),
    "f64sin": of(lambda x: np.sin(x.astype(np.float64)), row()),
    "f64sort": of(np.sort, lambda: floats(M).astype(np.float64)),
    "f64sortwide": of(np.sort, lambda: floats(M).astype(np.float64) * np.pi),
    "i64sort": of(np.sort, lambda: whole(M, M).astype(np.int64)),
    "u8sort": typed(lambda x, y: np.sort(x), np.uint8),
    "i32sort": typed(lambda x, y: np.sort(x), np.int32),
    "sort100": of(np.sort, row(100)),
    "sort1000": of(np.sort, row(1000)),
    "sortcolumns": of(lambda x: np.sort(x, 0), square()),
    "argsortrows": of(lambda x: np.argsort(x, 1, kind="stable"), square()),
    "median": of(np.median, row()),
    "topk": of(lambda x: -np.sort(np.partition(-x, 9)[:10]), row()),
    "topkrows": of(lambda x: -np.sort(np.partition(-x, 9, 1)[:, :10], 1), square()),
    "einsumouter": two(lambda x, y: np.einsum("i,j->ij", x, y), 1024),
    "trace": of(np.trace, square(2048)),
    "einsumbatch": of(lambda a, b: np.einsum("bij,bjk->bik", a, b), cubes((64, 32, 32)), cubes((64, 32, 32), 3)),
    "einsumdot": of(lambda a, b: np.einsum("ij,ij->i", a, b), square(), square(1024, 3)),
    "tall": products(1000, 1000, 10),
    "matmul64bit": products(256, 256, 256, np.float64),
    "matmulint": products(256, 256, 256, np.int32),
    "matmul8": products(8, 8, 8),
    "matmul100": products(100, 100, 100),
    "matmul512": products(512, 512, 512),
    "vecmat": of(np.matmul, row(2048, 1), square(2048)),
    "gram": shaped(lambda x: x.T @ x, 2000, 50),
    "pad": of(lambda x: np.pad(x, 3), square()),
    "rollboth": of(lambda x: np.roll(x, (5, -7), (0, 1)), square()),
    "flipboth": of(lambda x: np.flip(x).copy(), square()),
    "flipcolumns": of(lambda x: np.flip(x, 0).copy(), square()),
    "tile": of(lambda x: np.tile(x, 1000), row(1000)),
    "repeatrows": of(lambda x: np.repeat(x, 4, 0), square(512)),
    "stack": of(lambda *xs: np.stack(xs, 1), *(row(100000, i) for i in range(10))),
    "takecolumns": of(lambda x, at: x[:, at], square(), lambda: whole(500, 1024)),
    "alongaxis": of(lambda x, at: np.take_along_axis(x, at, 1), square(), lambda: np.argsort(matrix(1024, 1024), 1, kind="stable")),
    "scatterset": of(scatter_set, row(), lambda: whole(100000, M), lambda: np.zeros(100000, F)),
    "scatterrows": of(scatter_rows, lambda: np.zeros((256, 64), F), lambda: whole(1000, 256), lambda: positive(64000)().reshape(1000, 64)),
    "nonzero": of(lambda x: np.nonzero(x > F(0.9))[0], row()),
    "nonzerohalf": of(lambda x: np.nonzero(x > 0)[0], row()),
    "fft": of(lambda x: np.fft.rfft(x).real, row(65536)),
    "fftrows": shaped(lambda x: np.fft.fft(x).real, 256, 1000),
    "correlate": of(lambda x, k: np.correlate(x, k, "valid"), row(100000), lambda: fractions(64)),
    "cov": shaped(covariance, 50, 2000),
    "distances": of(lambda a, b: np.sqrt(((a - b) ** 2).sum(2)), cubes((500, 1, 3)), cubes((1, 500, 3), 7)),
    "hypot": two(np.hypot),
    "atan2": two(np.arctan2),
    "log1p": of(np.log1p, positive()),
    "powsquare": of(lambda x: x**2 + x**3, row()),
    "powtensor": two(np.power, M, positive),
    "round": of(lambda x: np.round(x * F(10)), row()),
    "isnan": of(np.isnan, row()),
    "modfloat": of(lambda x: x % F(0.3), row()),
    "floordivfloat": of(lambda x: x // F(0.3), row()),
    "linspace": of(lambda: np.linspace(0, 1, M, dtype=F)),
    "arange": of(lambda: np.arange(M, dtype=np.int32)),
    "eye": of(lambda: np.eye(1024, dtype=F)),
    "tril": of(np.tril, square()),
    "randomint": random(lambda g: g.integers(0, 100, M, dtype=np.int32)),
    "randomuniform": random(lambda g: g.random(M, dtype=F)),
    "randomnormal": random(lambda g: g.standard_normal(M, dtype=F)),
    "mean1000": of(np.mean, row(1000)),
    "max1000": of(np.max, row(1000)),
    "sum10x10": of(lambda x: x.sum(1), square(10)),
    "dot100": two(np.dot, 100),
    "mul100": two(np.multiply, 100),
    "concat100": two(lambda x, y: np.concatenate((x, y)), 100),
}
