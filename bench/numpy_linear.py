"""NumPy's half of host/linear-works.ts, in the same order."""

import numpy as np

from numpy_inputs import M, of, row
from numpy_side import F, floats


def filled(shape, seed=0):
    return lambda: floats(int(np.prod(shape)), seed).reshape(shape)


def shaped(f, *shape):
    return of(f, filled(shape))


def between(a, b, f=np.matmul):
    return of(f, filled(a), filled(b, 1))


def correlations(x):
    d = x - x.mean(1, keepdims=True)
    d /= np.sqrt((d * d).sum(1, keepdims=True))
    return d @ d.T


def irfft(re, im):
    return np.fft.irfft(re + 1j * im).astype(F)


LINEAR = {
    "gramrows": shaped(lambda x: x @ x.T, 200, 1000),
    "gramtall": shaped(lambda x: x.T @ x, 100000, 8),
    "gram500": shaped(lambda x: x.T @ x, 1000, 500),
    "corrcoef": shaped(correlations, 100, 1000),
    "transposedb": between((512, 512), (512, 512), lambda x, y: x @ y.T),
    "transposeda": between((512, 512), (512, 512), lambda x, y: x.T @ y),
    "everysecond": between((512, 1024), (512, 512), lambda x, y: x[:, ::2] @ y),
    "tworows": between((2, 1024), (1024, 1024)),
    "fourrows": between((4, 2048), (2048, 512)),
    "threecolumns": between((20000, 64), (64, 3)),
    "narrow": between((100000, 16), (16, 16)),
    "batch4": between((10000, 4, 4), (10000, 4, 4)),
    "batch16": between((1000, 16, 16), (1000, 16, 16)),
    "batch64": between((64, 64, 64), (64, 64, 64)),
    "fft1k": of(lambda x: np.fft.fft(x).real, row(1024)),
    "fft16k": of(lambda x, y: np.fft.fft(x + 1j * y).real, row(16384), row(16384, 1)),
    "fft1m": of(lambda x: np.fft.rfft(x).real, row(M)),
    "fft3k": of(lambda x: np.fft.rfft(x).real, row(3 * 2**14)),
    "fftprime": of(lambda x: np.fft.rfft(x).real, row(10007)),
    "fftshort": shaped(lambda x: np.fft.rfft(x).real, 4096, 64),
    "fftcolumns": shaped(lambda x: np.fft.fft(x, axis=0).real, 1000, 256),
    "fft2d": shaped(lambda x: np.fft.fft2(x).real, 512, 512),
    "irfft": of(irfft, row(32769), row(32769, 1)),
}
