"""Shapes that depend on the data: nonzero, mask, unique, bincount, histogram; searchsorted; segment reductions; and positions that are data."""

import numpy as np

from .core import DTYPES, FLOATS, INTS, NUMERIC, T, float_for, make, rng_for, sample, specials, view


def shuffled(t, *name):
    """The values in another order, so that nothing is sorted by chance."""
    return T(t.dtype, t.a[rng_for("shuffled", *name).permutation(t.a.shape[0])])


def sparse(rng, dtype, shape):
    """About half of it is zero."""
    x = sample(rng, dtype, shape)
    return T(dtype, np.where(rng.random(shape) < 0.5, x.a, np.zeros((), x.a.dtype)).astype(x.a.dtype))


def counting(w, dtype):
    for shape in [(7,), (3, 4), (2, 3, 4), (0,), (3, 0), (1,), (130,)]:
        x = sparse(rng_for("nonzero", dtype, shape), dtype, shape)
        w.add("nonzero", [x], [make("i32", i) for i in np.nonzero(x.a)])
    w.add("nonzero", [make(dtype, np.zeros((2, 3)))], [make("i32", np.zeros(0))] * 2)
    x = specials(dtype)
    w.add("nonzero", [x], [make("i32", i) for i in np.nonzero(x.a)])
    for shape, rank in [((7,), 1), ((3, 4), 2), ((3, 4), 1), ((2, 3, 4), 2), ((5, 0), 1), ((0, 4), 1), ((130,), 1)]:
        rng = rng_for("mask", dtype, shape, rank)
        x = view(rng, dtype, shape, "plain")
        for share in (0.5, 0.0, 1.1):
            m = T("bool", rng.random(shape[:rank]) < share)
            w.add("mask", [x, m], T(dtype, x.t.a[m.a]))
    for x in [
        sample(rng_for("unique", dtype), dtype, (20,)),
        sample(rng_for("unique wide", dtype), dtype, (40,), "wide"),
        sample(rng_for("unique rows", dtype), dtype, (4, 5)),
        sample(rng_for("unique long", dtype), dtype, (140,), "whole"),
        make(dtype, np.zeros((0, 3))),
        make(dtype, np.ones(1)),
        shuffled(specials(dtype), dtype),
        shuffled(T(dtype, np.tile(specials(dtype).a, 3)), dtype),
    ]:
        # With the index NumPy sorts stably: of 0 and -0 the first one stands for both.
        values, _, inverse, counts = np.unique(x.a, return_index=True, return_inverse=True, return_counts=True)
        w.add("unique", [x], [T(dtype, values), make("i32", inverse.reshape(x.shape)), make("i32", counts)])


def searching(w, dtype, other):
    rng = rng_for("searchsorted", dtype, other)
    for n in (0, 1, 2, 7, 8, 100):
        a = T(dtype, np.sort(sample(rng, dtype, (n,)).a))
        for shape in [(9,), (2, 3), (0,)]:
            v = sample(rng, other, shape)
            for side in ("left", "right"):
                # NumPy searches in the common type, as arithmetic does.
                w.add("searchsorted", [a, v], make("i32", np.searchsorted(a.a, v.a, side)), [{"side": side}])
    if dtype == other:
        s = specials(dtype)
        a = T(dtype, np.sort(s.a))
        for side in ("left", "right"):
            w.add("searchsorted", [a, s], make("i32", np.searchsorted(a.a, s.a, side)), [{"side": side}])


def binning(w):
    for dtype in INTS:
        rng = rng_for("bincount", dtype)
        for n, least in [(10, 0), (0, 0), (0, 4), (5, 12), (130, 0), (1, 0)]:
            x = make(dtype, rng.integers(0, 9, n))
            w.add("bincount", [x], make("i32", np.bincount(x.a.astype(np.int64), minlength=least)), [{"minLength": least}])
            for kind in ("f32", "f64"):
                weights = sample(rng, kind, (n,), "whole")
                sums = np.bincount(x.a.astype(np.int64), weights.a, minlength=least).astype(weights.a.dtype)
                w.add("bincount", [x, weights], T(kind, sums), [{"minLength": least}])
    for dtype in INTS + ["f16", "f32", "f64"]:
        rng = rng_for("histogram", dtype)
        edge_type = dtype if dtype in FLOATS else "f64"
        for n, bins, limits in [(50, 10, None), (130, 7, None), (1, 3, None), (0, 4, None), (60, 5, (-2.0, 5.5)), (30, 1, None), (40, 4, (1.0, 1.0))]:
            x = sample(rng, dtype, (n,))
            counts, edges = np.histogram(x.a, bins, limits)
            o = {"bins": bins, **({"range": list(limits)} if limits else {})}
            w.add("histogram", [x], [make("i32", counts), T(edge_type, edges.astype(x.a.dtype if dtype in FLOATS else np.float64))], [o])
        for given in [[0.0, 1.0], [-3.5, -1.25, 0.0, 0.0, 2.5, 8.0], [0.1, 0.2, 0.3], [100.0, 200.0], [-50.0, -2.0], [-1e30, 4.5, 1e30], [250.5, 300.0, 1e12]]:
            x = sample(rng, dtype, (80,))
            counts, _ = np.histogram(x.a, np.array(given))
            w.add("histogram", [x], [make("i32", counts), T("f64", np.array(given))], [{"bins": given}])


def segments(w, dtype):
    rng = rng_for("segments", dtype)
    info = None if dtype in FLOATS else np.iinfo(make(dtype, 0).a.dtype)
    for shape, count in [((8,), 3), ((8,), 10), ((6, 4), 4), ((0,), 2), ((5, 2, 3), 2), ((130,), 7)]:
        x = sample(rng, dtype, shape, "whole")
        ids = make("i32", rng.integers(0, count, shape[0]))
        target = (count, *shape[1:])
        total = np.zeros(target, x.a.dtype)
        np.add.at(total, ids.a, x.a)
        w.add("segmentSum", [x, ids], T(dtype, total), [count])
        for name, combine, empty in [
            ("segmentMax", np.maximum, -np.inf if info is None else info.min),
            ("segmentMin", np.minimum, np.inf if info is None else info.max),
        ]:
            out = np.full(target, empty, x.a.dtype)
            combine.at(out, ids.a, x.a)
            w.add(name, [x, ids], T(dtype, out), [count])
        sums, rows = np.zeros(target), np.zeros((count, *(1 for _ in shape[1:])))
        np.add.at(sums, ids.a, x.a.astype(np.float64))
        np.add.at(rows, ids.a, 1.0)
        with np.errstate(all="ignore"):
            w.add("segmentMean", [x, ids], make(float_for(dtype), sums / rows), [count])


def slice_at(x, starts, sizes):
    """What jax.lax.dynamic_slice gives: starts below 0 count from the end, then move to the nearest one that fits."""
    cuts = []
    for n, start, size in zip(x.shape, starts, sizes):
        first = min(max(int(start) + (n if start < 0 else 0), 0), n - size)
        cuts.append(slice(first, first + size))
    return x[tuple(cuts)]


def positions(w):
    for kind in INTS:
        info = np.iinfo(make(kind, 0).a.dtype)
        fits = lambda starts: all(info.min <= s <= info.max for s in starts)
        for dtype in ["f32", "bool", "i64"] if kind == "i32" else ["f32"]:
            rng = rng_for("positions", kind, dtype)
            for shape, sizes in [((7,), [3]), ((7,), [7]), ((7,), [0]), ((0,), [0]), ((5, 6), [2, 3]), ((5, 6), [4]), ((3, 4, 5), [1, 4, 2])]:
                x = sample(rng, dtype, shape)
                for starts in [[0, 1, 2], [3, 0, 3], [-1, -2, -5], [100, -100, 7], [info.max, info.min, info.max], [info.min, info.max, 0]]:
                    starts = starts[: len(sizes)]
                    if fits(starts):
                        w.add("sliceAt", [x, make(kind, np.array(starts, info.dtype))], T(dtype, slice_at(x.a, starts, sizes)), [sizes])
            for shape, axis in [((5,), 0), ((3, 4), 0), ((3, 4), -1), ((1, 2), 0), ((0, 3), 0)]:
                x = sample(rng, dtype, shape)
                for shift in [0, 1, -3, 5, 131, -1000, info.max, info.min]:
                    if fits([shift]):
                        by = make(kind, np.array([shift], info.dtype))
                        n = shape[axis]
                        w.add("roll", [x, by], T(dtype, np.roll(x.a, int(shift) % n if n else 0, axis)), [axis])
    x = make("f32", np.arange(6).reshape(2, 3))
    at = make("i32", np.array([1, 0]))
    w.add("sliceAt", [x, at], args=[[1, 4]], throws="ShapeError")
    w.add("sliceAt", [x, at], args=[[1]], throws="ShapeError")
    w.add("sliceAt", [x, make("f32", np.array([1, 0]))], args=[[1, 1]], throws="DTypeError")
    w.add("sliceAt", [x, make("i32", np.zeros((1, 2)))], args=[[1, 1]], throws="ShapeError")
    w.add("roll", [x, at], args=[0], throws="ShapeError")
    w.add("roll", [x, make("bool", np.ones(1))], args=[0], throws="DTypeError")


def write(w):
    w.file("positions")
    positions(w)
    w.file("dynamic")
    for dtype in DTYPES:
        counting(w, dtype)
        searching(w, dtype, dtype)
    for dtype, other in [("i32", "f32"), ("f32", "i32"), ("u8", "i32"), ("f32", "f64"), ("bool", "u8")]:
        searching(w, dtype, other)
    binning(w)
    for dtype in NUMERIC:
        segments(w, dtype)
