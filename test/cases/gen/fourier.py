"""Fourier transforms of one axis: NumPy's, in double precision."""

import numpy as np

from .core import make, rng_for, sample

# Lengths of every way to compute one: a matrix, parts, primes up to 128 and beyond.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 15, 31, 60, 64, 67, 96, 127, 131, 169, 210, 256, 262]
SHAPES = [((4, 6), 0), ((4, 6), 1), ((2, 3, 5), 1), ((2, 3, 5), -3), ((3, 1), -1), ((0, 4), 1), ((3, 130), -1), ((131, 2), 0)]
FLOAT = {"f32": "f32", "f64": "f64", "f16": "f16", "bf16": "bf16", "i32": "f64", "u8": "f32", "bool": "f32", "i64": "f64"}


def parts(dtype, z):
    return [make(dtype, np.ascontiguousarray(z.real)), make(dtype, np.ascontiguousarray(z.imag))]


def bound(n, *tensors):
    """Every result is a sum of n products with numbers of at most 1."""
    total = sum(float(np.abs(t.a.astype(np.float64)).max(initial=0)) for t in tensors)
    return (8 + 2 * int(np.log2(n)), max(total * np.sqrt(n), 1e-30))


def transforms(w, shape, axis, dtype, kind):
    rng = rng_for("fft", shape, axis, dtype, kind)
    x, y = sample(rng, dtype, shape, kind), sample(rng, dtype, shape, kind)
    n, out = shape[axis], FLOAT[dtype]
    real, imag = x.a.astype(np.float64), y.a.astype(np.float64)
    at = {} if axis == -1 else {"axis": axis}
    w.add("fft", [x], parts(out, np.fft.fft(real, axis=axis)), [at], acc=bound(n, x))
    w.add("fft", [x, y], parts(out, np.fft.fft(real + 1j * imag, axis=axis)), [at], acc=bound(n, x, y))
    back = np.fft.ifft(real + 1j * imag, axis=axis)
    w.add("fft", [x, y], parts(out, back), [{**at, "inverse": True}], acc=bound(n, x, y))
    w.add("rfft", [x], parts(out, np.fft.rfft(real, axis=axis)), [at], acc=bound(n, x))
    for length in [1] if n == 1 else [2 * n - 2] if n > 64 else [2 * n - 2, 2 * n - 1]:
        r = np.fft.irfft(real + 1j * imag, n=length, axis=axis)
        given = {**at, "length": length} if length % 2 == 1 else at
        w.add("irfft", [x, y], make(out, r), [given], acc=bound(length, x, y))


def write(w):
    w.file("fourier")
    for n in LENGTHS:
        for dtype in ["f32", "f64"] if n <= 15 or n in (96, 131) else ["f32"]:
            transforms(w, (n,), -1, dtype, "mixed")
    for shape, axis in SHAPES:
        transforms(w, shape, axis, "f32", "mixed")
    for dtype in ["f16", "bf16", "i32", "u8", "bool", "i64"]:
        transforms(w, (2, 12), -1, dtype, "whole")
    x, y = (sample(rng_for("fft wrong", s), "f32", s) for s in ((4,), (5,)))
    w.add("fft", [x, y], args=[{}], throws="ShapeError")
    w.add("fft", [x], args=[{"axis": 1}], throws="ShapeError")
    w.add("irfft", [x, x], args=[{"length": 9}], throws="ArgumentError")
    empty = make("f32", np.zeros((3, 0)))
    w.add("fft", [empty], args=[{}], throws="ShapeError")
    w.add("rfft", [empty], args=[{}], throws="ShapeError")
