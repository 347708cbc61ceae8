"""The inputs of the array benches: those of host/work.ts, number for number."""

import numpy as np

from numpy_side import F, Job, floats, fractions

M = 2**20


def whole(n, below, seed=0):
    return np.minimum(below - 1, np.floor(fractions(n, seed).astype(np.float64) * below)).astype(np.int32)


def matrix(m, n, seed=0):
    return floats(m * n, seed).reshape(m, n)


def of(f, *inputs):
    """A work: its inputs are made when it is prepared."""
    def make(_):
        made = [x() for x in inputs]
        return Job(lambda: f(*made), np.atleast_1d)
    return make


def row(n=M, seed=0):
    return lambda: floats(n, seed)


def positive(n=M, seed=0):
    """From just above 0 to 1."""
    def make():
        x = fractions(n, seed)
        return np.where(x == 0, F(0.5), x)
    return make


def square(n=1024, seed=0):
    return lambda: matrix(n, n, seed)


def two(f, n=M, make=row):
    return of(f, make(n), make(n, 7))


def integers(f):
    return of(f, lambda: whole(M, 1000), lambda: whole(M, 50, 7) + np.int32(1))
