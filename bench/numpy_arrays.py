"""NumPy's half of `npm run bench -- arrays`: the works of host/array-works.ts, in the same order, and those of numpy_odd.py, numpy_linear.py and numpy_classes.py."""

import numpy as np

from numpy_classes import CLASSES
from numpy_inputs import M, integers, matrix, of, positive, row, square, two, whole
from numpy_linear import LINEAR
from numpy_odd import ODD
from numpy_side import F, floats, main
from numpy_usage import USAGE


def chain(x):
    return np.tanh((x * F(0.99) + F(0.5)) * x - F(0.1))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def scatter_add(x, at, y):
    out = x.copy()
    np.add.at(out, at, y)
    return out


TABLE = {
    "sin4m": of(np.sin, row(4 * M)),
    "cos4m": of(np.cos, row(4 * M)),
    "exp4m": of(np.exp, row(4 * M)),
    "log1m": of(np.log, positive()),
    "tanh1m": of(np.tanh, row()),
    "sqrt1m": of(np.sqrt, positive()),
    "pow1m": of(lambda x: x ** F(2.5), positive()),
    "exp64": of(np.exp, lambda: floats(M).astype(np.float64)),
    "chain10": of(chain, row(10)),
    "chain16k": of(chain, row(16384)),
    "add1m": two(np.add),
    "clip1m": of(lambda x: np.clip(x, F(-0.5), F(0.5)), row()),
    "where1m": two(lambda x, y: np.where(x > y, x, F(0))),
    "compare1m": two(np.less),
    "count1m": of(lambda x: (x > F(0.5)).sum(), row()),
    "any1m": of(lambda x: (x > F(2)).any(), row()),
    "sum1m": of(np.sum, positive()),
    "sum64": of(np.sum, lambda: positive()().astype(np.float64)),
    "dot1m": two(np.dot, M, positive),
    "norm1m": of(np.linalg.norm, row()),
    "std1m": of(np.std, row()),
    "sumrows": of(lambda x: x.sum(1), square()),
    "sumcolumns": of(lambda x: x.sum(0), square()),
    "maxrows": of(lambda x: x.max(1), square()),
    "maxcolumns": of(lambda x: x.max(0), square()),
    "argmaxrows": of(lambda x: x.argmax(1), square()),
    "argmaxcolumns": of(lambda x: x.argmax(0), square()),
    "meancolumns": of(lambda x: x.mean(0), square()),
    "stdrows": of(lambda x: x.std(1), square()),
    "softmax": of(softmax, square()),
    "cumsum1m": of(np.cumsum, positive()),
    "cumsumcolumns": of(lambda x: x.cumsum(0), square()),
    "matmul64": of(np.matmul, square(64), square(64, 1)),
    "matmul128": of(np.matmul, lambda: matrix(128, 1024), lambda: matrix(1024, 128, 1)),
    "matvec": of(np.matmul, square(2048), row(2048, 1)),
    "outer": two(np.outer, 1024),
    "sort1m": of(np.sort, row()),
    "argsort1m": of(lambda x: np.argsort(x, kind="stable"), row()),
    "sortrows": of(lambda x: np.sort(x, 1), square()),
    "unique": of(np.unique, lambda: whole(M, 1000)),
    "histogram": of(lambda x: np.histogram(x, 100, (-1, 1))[0], row()),
    "bincount": of(np.bincount, lambda: whole(M, 1000)),
    "mask": of(lambda x: x[x > 0], row()),
    "searchsorted": of(np.searchsorted, lambda: np.sort(floats(100000)), row(100000, 7)),
    "takerows": of(lambda x, at: x[at], lambda: matrix(4096, 256), lambda: whole(10000, 4096)),
    "take1m": of(lambda x, at: x[at], row(), lambda: whole(M, M)),
    "scatteradd": of(scatter_add, lambda: np.zeros(1000, F), lambda: whole(M, 1000), positive()),
    "transpose": of(lambda x: x.T.copy(), square(2048)),
    "concat": of(lambda x, y: np.concatenate((x, y), 1), square(), square(1024, 1)),
    "roll": of(lambda x: np.roll(x, 3, 1), square()),
    "flip": of(lambda x: x[::-1].copy(), row()),
    "repeat": of(lambda x: np.repeat(x, 4), row(M // 4)),
    "broadcast": of(lambda x, r, c: x + r + c, square(), row(1024), lambda: matrix(1024, 1)),
    "tof16": of(lambda x: x.astype(np.float16), row()),
    "fromf16": of(lambda x: x.astype(F), lambda: floats(M).astype(np.float16)),
    "toint": of(lambda x: (x * F(1000)).astype(np.int32), row()),
    "sumint": integers(lambda x, y: x.sum()),
    "arithint": integers(lambda x, y: x * np.int32(3) + y),
    "floordiv": integers(lambda x, y: x // y),
    "modint": integers(lambda x, y: x % np.int32(7)),
    "maxint": integers(lambda x, y: x.max()),
}


if __name__ == "__main__":
    main({**TABLE, **ODD, **LINEAR, **CLASSES, **USAGE})
