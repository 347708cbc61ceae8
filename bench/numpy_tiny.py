"""NumPy's half of `npm run bench -- tiny`: the works of host/tiny-works.ts."""

import numpy as np

from numpy_side import F, Job, floats, main

DRAWS = np.random.default_rng(1)


def work(f, *shape):
    def make(_):
        n = int(np.prod(shape or (100,)))
        x, y = (floats(n, seed).reshape(shape or (100,)) for seed in (0, 7))
        return Job(lambda: f(x, y))

    return make


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


TABLE = {
    "add": work(lambda x, y: x + y),
    "addnumber": work(lambda x, y: x + F(0.1)),
    "square": work(lambda x, y: x * x),
    "less": work(lambda x, y: x < y),
    "greater": work(lambda x, y: x > F(0.1)),
    "sqrt": work(lambda x, y: np.sqrt(np.abs(x))),
    "exp": work(lambda x, y: np.exp(x)),
    "axpy": work(lambda x, y: x * F(0.3) + y),
    "where": work(lambda x, y: np.where(x > y, x, y)),
    "clip": work(lambda x, y: x.clip(F(-0.5), F(0.5))),
    "cast": work(lambda x, y: x.astype(np.int32)),
    "row": work(lambda x, y: x + y[3:4], 10, 10),
    "flat": work(lambda x, y: x.reshape(100) + F(0.1), 10, 10),
    "transposed": work(lambda x, y: x.T + y, 10, 10),
    "concat": work(lambda x, y: np.concatenate((x, y))),
    "stack": work(lambda x, y: np.stack((x, y))),
    "slice": work(lambda x, y: x[20:30].copy()),
    "sum": work(lambda x, y: x.sum()),
    "mean": work(lambda x, y: x.mean()),
    "max": work(lambda x, y: x.max()),
    "argmax": work(lambda x, y: x.argmax()),
    "any": work(lambda x, y: (x > F(2)).any()),
    "std": work(lambda x, y: x.std()),
    "rowsums": work(lambda x, y: x.sum(1), 10, 10),
    "columnsums": work(lambda x, y: x.sum(0), 10, 10),
    "softmax": work(lambda x, y: softmax(x), 10, 10),
    "dot": work(lambda x, y: x.dot(y)),
    "product": work(lambda x, y: x @ y, 8, 8),
    "vector": work(lambda x, y: x @ y[0], 10, 10),
    "sort": work(lambda x, y: np.sort(x)),
    "cumsum": work(lambda x, y: x.cumsum(0)),
    "addread": work(lambda x, y: x + y, 5),
    "sumread": work(lambda x, y: x.sum(), 5),
    "chainread": work(lambda x, y: (x + y) * F(0.3), 5),
    "uniform": work(lambda x, y: np.floor(DRAWS.random(100, dtype=F))),
    "normal": work(lambda x, y: DRAWS.standard_normal(100, dtype=F) * F(0)),
    "integers": work(lambda x, y: DRAWS.integers(0, 1, 100, dtype=np.int32)),
    "addawait": work(lambda x, y: x + y, 5),
    "sumawait": work(lambda x, y: x.sum()),
}

if __name__ == "__main__":
    main(TABLE)
