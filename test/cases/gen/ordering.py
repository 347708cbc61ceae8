"""sort, argsort and topk: stable, NaN last."""

import numpy as np

from .core import DTYPES, FLOATS, NP, T, make, rng_for, sample, special_floats, specials, value, view


def order(a, axis, descending):
    """Stable positions; descending keeps ties in their order, and NaN stays last."""
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    moved = np.moveaxis(a, axis, -1)
    out = np.empty(moved.shape, np.int64)
    for i in np.ndindex(*moved.shape[:-1]):
        row = moved[i].tolist()
        out[i] = sorted(range(len(row)), key=lambda j: (row[j] != row[j], -row[j] if row[j] == row[j] else 0))
    return np.moveaxis(out, -1, axis)


def write(w):
    w.file("ordering")
    for dtype in DTYPES:
        for shape, axis, how in [((7,), 0, "plain"), ((3, 4), 1, "plain"), ((4, 3), 0, "plain"), ((2, 3, 4), 1, "plain"), ((0, 3), 1, "plain"), ((3, 0), 1, "plain"), ((1,), 0, "plain"), ((3, 5), -1, "transposed"), ((40,), 0, "plain"), ((9, 2), 0, "sliced")]:
            for descending in (False, True):
                x = view(rng_for("sort", dtype, shape, axis, descending), dtype, shape, how)
                at = order(x.t.a, axis, descending)
                sorted_ = np.take_along_axis(x.t.a, at, axis)
                if not descending:
                    assert np.array_equal(sorted_, np.sort(x.t.a, axis))
                o = [axis, *([{"descending": True}] if descending else [])]
                w.add("sort", [x], T(dtype, sorted_), o)
                w.add("argsort", [x], make("i32", at), o)
        xs = specials(dtype)
        rng = rng_for("sort specials", dtype)
        xs = T(dtype, xs.a[rng.permutation(xs.shape[0])])
        for descending in (False, True):
            at = order(xs.a, 0, descending)
            o = [0, *([{"descending": True}] if descending else [])]
            w.add("sort", [xs], T(dtype, xs.a[at]), o)
            w.add("argsort", [xs], make("i32", at), o)
        if dtype == "bool":
            continue
        for shape, k, axis in [((6,), 2, 0), ((3, 5), 3, 1), ((5, 2), 2, 0), ((4,), 4, 0), ((2, 3, 4), 1, -1), ((20,), 5, 0)]:
            x = sample(rng_for("topk", dtype, shape), dtype, shape)
            at = np.take(order(x.a, axis, True), range(k), axis)
            w.add("topk", [x], [T(dtype, np.take_along_axis(x.a, at, axis)), make("i32", at)], [k, axis])
