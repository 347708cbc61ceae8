"""NumPy's half of host/class-works.ts."""

import numpy as np

from numpy_inputs import M, matrix, of, positive, row, square, two, whole
from numpy_side import F, floats

TYPES = {"u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "f16": np.float16, "f32": F, "f64": np.float64}
NUMBERS = ("u8", "i32", "i64", "f32", "f64")
CASTS = (
    ("f32", "u8"), ("f32", "i64"), ("f32", "f64"), ("f64", "f32"), ("f64", "i32"), ("f64", "i64"), ("i32", "f32"), ("i32", "f64"),
    ("i32", "i64"), ("i32", "u8"), ("i64", "i32"), ("i64", "f32"), ("i64", "f64"), ("u8", "i32"), ("u8", "i64"), ("f16", "f64"),
)


def typed(f, dtype):
    return of(f, lambda: whole(M, 200).astype(TYPES[dtype]), lambda: (whole(M, 50, 7) + np.int32(1)).astype(TYPES[dtype]))


def table(f, dtype):
    def make():
        x = whole(M, 200).reshape(1024, 1024)
        return x > 100 if dtype == "bool" else x.astype(TYPES[dtype])

    return of(f, make)


def cube(f, *shape):
    return of(f, lambda: floats(int(np.prod(shape))).reshape(shape))


def wide(n=M, seed=0):
    return lambda: floats(n, seed).astype(np.float64)


def wide_positive(n=M, seed=0):
    return lambda: positive(n, seed)().astype(np.float64)


def both(name, f, above0=False):
    return {
        name + "32": of(f, positive() if above0 else row()),
        name + "64": of(f, wide_positive() if above0 else wide()),
    }


def products(a, b, dtype):
    def make(shape, seed):
        n = int(np.prod(shape))
        return lambda: (floats(n, seed) if dtype[0] == "f" else whole(n, 10, seed)).reshape(shape).astype(TYPES[dtype])

    return of(np.matmul, make(a, 0), make(b, 1))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def stencil(x):
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - x[1:-1, 1:-1] * F(4)


def positions(x):
    return np.argsort(x.reshape(-1), kind="stable")


def of_dtype(t):
    small = TYPES[t]
    return {
        t + "mul": typed(np.multiply, t),
        t + "floordivide": typed(np.floor_divide, t),
        t + "mod7": typed(lambda x, y: x % small(7), t),
        t + "equal": typed(np.equal, t),
        t + "clip": typed(lambda x, y: np.clip(x, small(10), small(100)), t),
        t + "div": typed(lambda x, y: np.divide(x, y, dtype=F) if t == "u8" else np.divide(x, y), t),
        t + "sumrows": table(lambda x: x.sum(1), t),
        t + "sumcolumns": table(lambda x: x.sum(0), t),
        t + "maxrows": table(lambda x: x.max(1), t),
        t + "maxcolumns": table(lambda x: x.max(0), t),
        t + "mean": table(np.mean, t),
        t + "var": table(np.var, t),
        t + "argmaxrows": table(lambda x: x.argmax(1), t),
        t + "argmaxcolumns": table(lambda x: x.argmax(0), t),
        t + "transpose": table(lambda x: x.T.copy(), t),
        t + "flip": table(lambda x: x[:, ::-1].copy(), t),
        t + "gather": table(lambda x: x[::7].sum(0), t),
        t + "cumsum": table(lambda x: x.cumsum(1), t),
        t + "sortrows": table(lambda x: np.sort(x, 1), t),
        t + "argsort": table(positions, t),
    }


CLASSES = {
    **both("exp2", np.exp2),
    **both("expm1", np.expm1),
    **both("log", np.log, True),
    **both("log2", np.log2, True),
    **both("log10", np.log10, True),
    **both("log1p", np.log1p, True),
    **both("cos", np.cos),
    **both("tan", np.tan),
    **both("asin", np.arcsin),
    **both("acos", np.arccos),
    **both("atan", np.arctan),
    **both("sinh", np.sinh),
    **both("cosh", np.cosh),
    **both("tanh", np.tanh),
    **both("sqrt", np.sqrt, True),
    **both("reciprocal", np.reciprocal, True),
    **both("abs", np.abs),
    **both("sign", np.sign),
    **both("floor", np.floor),
    **both("isnan", np.isnan),
    "pow64": of(lambda x: x**2.5, wide_positive()),
    "pow4": of(lambda x: x ** F(4), row()),
    "powinverse": of(lambda x: x ** F(-0.5), positive()),
    "ipow": typed(lambda x, y: x ** np.int32(3), "i32"),
    "atan264": two(np.arctan2, M, wide),
    "maximum64": two(np.maximum, M, wide),
    "maximum32": two(np.maximum),
    "fma64": two(lambda x, y: x * y + x, M, wide),
    **{k: v for t in NUMBERS for k, v in of_dtype(t).items()},
    **{a + "to" + b: typed(lambda x, y, to=TYPES[b]: x.astype(to), a) for a, b in CASTS},
    "boolany": table(lambda x: x.any(1), "bool"),
    "boolsum": table(np.sum, "bool"),
    "boolrows": table(lambda x: x.sum(1), "bool"),
    "boolnot": table(np.logical_not, "bool"),
    "boolf32": table(lambda x: x.astype(F), "bool"),
    "boolwhere": two(lambda x, y: np.where(x > 0, x, y)),
    "middlemax": cube(lambda x: x.max(1), 64, 128, 128),
    "middleargmax": cube(lambda x: x.argmax(1), 64, 128, 128),
    "middlecumsum": cube(lambda x: x.cumsum(1), 64, 128, 128),
    "firstmean": cube(lambda x: x.mean(0), 64, 128, 128),
    "shortrows": cube(lambda x: x.sum(1), 262144, 4),
    "shortmax": cube(lambda x: x.max(1), 131072, 8),
    "shortsort": cube(lambda x: np.sort(x, 1), 65536, 16),
    "shortsoftmax": cube(softmax, 65536, 10),
    "shortcolumns": cube(lambda x: x.sum(0), 262144, 4),
    "cumprod": cube(lambda x: (np.abs(x) + F(0.5)).cumprod(1), 1024, 1024),
    "cummax": cube(lambda x: np.maximum.accumulate(x, 1), 1024, 1024),
    "center": of(lambda x: x - x.mean(1, keepdims=True), square()),
    "standardize": of(lambda x: (x - x.mean(0)) / x.std(0), square()),
    "sliced": of(lambda x: x[12:1012, 12:1012] * F(2), square()),
    "reversedrows": of(lambda x: x + x[::-1], square()),
    "addcolumn": of(lambda x: x * x[:, :1], square()),
    "stepped": of(lambda x: x[::2, ::2].copy(), square(2048)),
    "stencil": of(stencil, square()),
    "padone": of(lambda x: np.pad(x, 5), row()),
    "quantile": of(lambda x: np.sort(x)[M // 10 - 1 : int(M * 0.9) : M // 10], row()),
    "medianrows": of(lambda x: np.median(x, 1), square()),
    "searchint": of(np.searchsorted, lambda: np.arange(0, 2000, 2, dtype=np.int32), lambda: whole(M, 2000)),
    "batch5": products((100, 5, 7), (100, 7, 3), "f32"),
    "batchwide": products((32, 33, 65), (32, 65, 17), "f32"),
    "oddproduct": products((333, 257), (257, 129), "f32"),
    "oddproduct64": products((333, 257), (257, 129), "f64"),
    "longproduct": products((7, 10000), (10000, 5), "f32"),
    "intproduct": products((128, 128), (128, 128), "i64"),
    "matvec64": products((1024, 1024), (1024, 1), "f64"),
    "outer64": two(np.outer, 1024, wide),
    "einsumsum": of(lambda x: np.einsum("ij->j", x), square()),
    "triu": of(np.triu, square()),
    "diagonal": of(lambda x: np.diagonal(x).copy(), square()),
    "matrixpower": of(lambda a, b, c: a @ b + c, square(256), square(256, 1), square(256, 2)),
}
