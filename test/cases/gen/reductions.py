"""Reductions and scans.

Small whole numbers make float sums and products exact, so those cases allow no error. Cases with fractions carry `acc`:
the number of terms and the sum of their magnitudes, from which the runner derives the rounding error it allows.
"""

import numpy as np

from .core import ACC_EPS, DTYPES, EPS, FLOATS, INTS, NP, NUMERIC, T, VIEWS, View, cast, float_for, ints, make, rng_for, sample, special_floats, specials, sum_type, value, view

LD = np.longdouble
CONFIGS = [((7,), None, False), ((3, 4), 0, False), ((3, 4), 1, True), ((2, 3, 4), (0, 2), False), ((2, 3, 4), None, True), ((), None, False), ((5, 1), 1, False), ((2, 2, 3, 2, 2), (1, 3), False), ((3, 4), -1, False)]


def options(axis, keep, **more):
    o = {}
    if axis is not None:
        o["axis"] = list(axis) if isinstance(axis, tuple) else axis
    if keep:
        o["keepdims"] = True
    o.update(more)
    return [o] if o else []


def fold_int(x, axis, keep, start, f):
    """Integer folds on Python integers; the result wraps into the sum's type."""
    a = ints(x)
    if axis is None:
        axis = tuple(range(a.ndim))
    axes = tuple(sorted(d % a.ndim for d in (axis if isinstance(axis, tuple) else (axis,)))) if a.ndim else ()
    kept = [d for d in range(a.ndim) if d not in axes]
    moved = a.transpose([*kept, *axes]).reshape([a.shape[d] for d in kept] + [count(a.shape, axes)]) if a.ndim else a.reshape(1)
    lead = moved.shape[:-1]
    out = np.empty(lead, object)
    for i in np.ndindex(*lead):
        v = start
        for e in moved[i]:
            v = f(v, e)
        out[i] = v
    if not lead:
        out = np.array(out[()], object)
    if keep:
        out = out.reshape([1 if d in axes else a.shape[d] for d in range(a.ndim)])
    return out


def count(shape, axis):
    if axis is None:
        return int(np.prod(shape, dtype=np.int64))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return int(np.prod([shape[d] for d in axes], dtype=np.int64))


def wide(x):
    return x.a.astype(LD)


def magnitude(x, axis):
    m = np.abs(wide(x)).sum(axis)
    return float(np.max(m)) if np.size(m) else 0.0


def total(op, x, axis, keep):
    """sum and prod, in the type NumPy gives."""
    if x.dtype in FLOATS:
        with np.errstate(all="ignore"):
            return make(x.dtype, (np.sum if op == "sum" else np.prod)(wide(x), axis=axis, keepdims=keep).astype(np.float64))
    f, start = ((lambda a, b: a + b), 0) if op == "sum" else ((lambda a, b: a * b), 1)
    return make(sum_type(x.dtype), fold_int(x, axis, keep, start, f))


def statistic(op, x, axis, keep, ddof=0):
    y = cast(x, float_for(x.dtype))
    with np.errstate(all="ignore"):
        if op == "mean":
            r = np.mean(wide(y), axis=axis, keepdims=keep)
        else:
            r = (np.var if op == "variance" else np.std)(wide(y), axis=axis, keepdims=keep, ddof=ddof)
    return make(y.dtype, r.astype(np.float64))


def spread(op, x, axis, ddof):
    """How far rounding of the inputs' mean can move a variance or deviation."""
    a = wide(x)
    v = np.var(a, axis=axis, ddof=ddof)
    s = np.sqrt(v)
    m = np.max(np.abs(a), axis=axis) if a.size else np.zeros(())
    r = v + s * m if op == "variance" else s + m
    return float(np.max(r)) if np.size(r) else 0.0


def write(w):
    w.file("reductions")
    for op in ["sum", "prod"]:
        for dtype in DTYPES:
            for i, (shape, axis, keep) in enumerate(CONFIGS):
                x = sample(rng_for(op, dtype, i), dtype, shape, "whole")
                w.add(op, [x], total(op, x, axis, keep), options(axis, keep))
            x = sample(rng_for(op, dtype, "wide"), dtype, (4, 3), "wide")
            if dtype not in FLOATS:
                w.add(op, [x], total(op, x, 0, False), options(0, False))
    for dtype in FLOATS:
        for shape, axis, kind in [((64,), None, "positive"), ((300,), None, "mixed"), ((9, 33), 1, "mixed"), ((40, 3), 0, "mixed")]:
            x = sample(rng_for("sum real", dtype, shape), dtype, shape, kind)
            w.add("sum", [x], total("sum", x, axis, False), options(axis, False), acc=(count(shape, axis), magnitude(x, axis)))
        x = make(dtype, rng_for("prod real", dtype).uniform(0.5, 1.5, (5, 6)))
        r = total("prod", x, 1, False)
        w.add("prod", [x], r, options(1, False), acc=(6, float(np.max(np.abs(r.a)))))
        # Half sums are kept in f32: 2048 and 256 are where f16 and bf16 stop counting.
        x = make(dtype, np.ones(2100))
        w.add("sum", [x], total("sum", x, None, False))
        for special in ([1.0, np.nan, 2.0], [np.inf, 1.0, -np.inf], [np.inf, 1.0], [-0.0, -0.0], [0.0, -0.0], [-np.inf, 3.0]):
            x = make(dtype, np.array(special))
            # The sum of negative zeros may start from a positive one, as NumPy's does.
            if special != [-0.0, -0.0]:
                w.add("sum", [x], total("sum", x, None, False))
            w.add("prod", [x], total("prod", x, None, False))

    for op in ["max", "min"]:
        f = np.max if op == "max" else np.min
        for dtype in DTYPES:
            for i, (shape, axis, keep) in enumerate(CONFIGS):
                x = sample(rng_for(op, dtype, i), dtype, shape, "wide")
                w.add(op, [x], T(dtype, np.asarray(f(x.a, axis=axis, keepdims=keep))), options(axis, keep))
            x = specials(dtype)
            w.add(op, [x], T(dtype, np.asarray(f(x.a))))
            if dtype in FLOATS:
                clean = make(dtype, np.array([v for v in special_floats(dtype) if v == v]))
                w.add(op, [clean], T(dtype, np.asarray(f(clean.a))))
                x = make(dtype, np.array([[1.0, np.nan, 3.0], [2.0, -np.inf, np.inf]]))
                w.add(op, [x], T(dtype, f(x.a, axis=1)), options(1, False))
    for op in ["argmax", "argmin"]:
        f = np.argmax if op == "argmax" else np.argmin
        for dtype in DTYPES:
            for i, (shape, axis, keep) in enumerate(CONFIGS):
                if isinstance(axis, tuple):
                    continue
                x = sample(rng_for(op, dtype, i), dtype, shape)
                r = np.asarray(f(x.a.reshape(-1) if axis is None else x.a, axis=None if axis is None else axis))
                if keep:
                    r = r.reshape([1] * len(shape)) if axis is None else np.expand_dims(r, axis)
                w.add(op, [x], make("i32", r), options(axis, keep))
            x = specials(dtype)
            w.add(op, [x], make("i32", np.asarray(f(x.a))))
            ties = T(dtype, np.array([1, 0, 1, 0, 1]).astype(NP[dtype]))
            w.add(op, [ties], make("i32", np.asarray(f(ties.a))))
    for op in ["any", "all", "countNonzero"]:
        for dtype in DTYPES:
            for i, (shape, axis, keep) in enumerate(CONFIGS[:6]):
                x = sample(rng_for(op, dtype, i), dtype, shape, "whole")
                if op == "countNonzero":
                    r = make("i32", np.asarray(np.sum(x.a != 0, axis=axis, keepdims=keep)))
                else:
                    r = T("bool", np.asarray((np.any if op == "any" else np.all)(x.a != 0, axis=axis, keepdims=keep)))
                w.add(op, [x], r, options(axis, keep))
        x = make("f32", np.array([[np.nan, 0.0], [-0.0, 0.0]]))
        r = x.a != 0
        w.add(op, [x], make("i32", r.sum(1)) if op == "countNonzero" else T("bool", r.any(1) if op == "any" else r.all(1)), options(1, False))

    w.file("statistics")
    for op in ["mean", "variance", "std"]:
        for dtype in NUMERIC + (["bool"] if op == "mean" else []):
            for i, (shape, axis, keep) in enumerate(CONFIGS):
                x = sample(rng_for(op, dtype, i), dtype, shape)
                n = count(shape, axis)
                r = statistic(op, x, axis, keep)
                mag = magnitude(x, axis) / max(n, 1) if op == "mean" else spread(op, x, axis, 0)
                w.add(op, [x], r, options(axis, keep), acc=(n, mag))
            if op != "mean":
                x = sample(rng_for(op, dtype, "ddof"), dtype, (4, 5))
                w.add(op, [x], statistic(op, x, 1, False, 1), options(1, False, ddof=1), acc=(5, spread(op, x, 1, 1)))
    for dtype in ["f32", "f64"]:
        # A mean a thousand times the deviation: the sum of squares minus the square of the sum would lose it.
        x = make(dtype, 4096 + rng_for("offset", dtype).normal(0, 2, (3, 50)))
        for op in ["variance", "std"]:
            w.add(op, [x], statistic(op, x, 1, False), options(1, False), acc=(50, spread(op, x, 1, 0)))
        for special in ([np.nan, 1.0], [np.inf, 1.0]):
            y = make(dtype, np.array(special))
            for op in ["mean", "variance", "std"]:
                w.add(op, [y], statistic(op, y, None, False))
    for dtype in FLOATS:
        for i, (shape, axis, keep) in enumerate(CONFIGS):
            x = sample(rng_for("norm", dtype, i), dtype, shape)
            for order in [1, 2, float("inf"), 3]:
                if order == 3 and (shape == () or dtype in ("f16", "bf16")):
                    continue
                a = np.abs(wide(x))
                if order == float("inf"):
                    r = a.max(axis=axis, keepdims=keep)
                else:
                    r = (a**order).sum(axis=axis, keepdims=keep) ** (LD(1) / order)
                w.add("norm", [x], make(dtype, r.astype(np.float64)), options(axis, keep, ord=order), acc=(count(shape, axis), float(np.max(r))))
            w.add("norm", [x], make(dtype, np.sqrt((wide(x) ** 2).sum(axis=axis, keepdims=keep)).astype(np.float64)), options(axis, keep), acc=(count(shape, axis), magnitude(x, axis)))
            m = wide(x).max(axis=axis, keepdims=True)
            r = np.log(np.exp(wide(x) - m).sum(axis=axis, keepdims=True)) + m
            r = r if keep else (r.reshape(()) if axis is None else np.squeeze(r, axis))
            w.add("logsumexp", [x], make(dtype, r.astype(np.float64)), options(axis, keep), acc=(4, float(np.max(np.abs(wide(x)))) + 1))
        big = make(dtype, np.array([[1000.0, 1000.0], [-1000.0, -1000.0], [-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 1.0]]))
        m = np.where(np.isfinite(wide(big).max(1)), wide(big).max(1), 0)
        with np.errstate(all="ignore"):
            r = np.log(np.exp(wide(big) - m[:, None]).sum(1)) + m
        w.add("logsumexp", [big], make(dtype, r.astype(np.float64)), options(1, False), acc=(4, 1001.0))

    w.file("reductions-empty")
    for dtype in DTYPES:
        e = sample(rng_for("empty"), dtype, (0, 3))
        z = sample(rng_for("empty"), dtype, (3, 0))
        for op in ["sum", "prod"]:
            w.add(op, [e], total(op, e, None, False))
            w.add(op, [e], total(op, e, 0, False), options(0, False))
            w.add(op, [e], total(op, e, 1, False), options(1, False))
            w.add(op, [z], total(op, z, 1, True), options(1, True))
        for op in ["any", "all"]:
            f = np.any if op == "any" else np.all
            w.add(op, [z], T("bool", f(z.a, axis=1)), options(1, False))
        w.add("countNonzero", [z], make("i32", np.zeros(3)), options(1, False))
        w.add("max", [e], T(dtype, np.zeros((0,), NP[dtype])), options(1, False))
        for op in ["max", "min", "argmax", "argmin"]:
            w.add(op, [e], args=options(0, False), throws="ShapeError")
    for dtype in ["f32", "f64"]:
        z = sample(rng_for("empty"), dtype, (2, 0))
        w.add("mean", [z], make(dtype, np.array([np.nan, np.nan])), options(1, False))

    w.file("reductions-views")
    for how in VIEWS:
        for dtype in ["f32", "i32", "u8", "f64"]:
            for shape, axis in [((4, 5), 0), ((4, 5), 1), ((3, 2, 4), (0, 2)), ((4, 5), None)]:
                v = view(rng_for("reduce view", how, dtype, shape, axis), dtype, shape, how, "whole")
                w.add("sum", [v], total("sum", v.t, axis, False), options(axis, False))
                w.add("max", [v], T(dtype, np.asarray(np.max(v.t.a, axis=axis))), options(axis, False))
                if not isinstance(axis, tuple):
                    w.add("argmin", [v], make("i32", np.asarray(np.argmin(v.t.a, axis=axis))), options(axis, False))

    scans(w)


def scans(w):
    w.file("scans")
    for dtype in DTYPES:
        for op in ["cumsum", "cumprod", "cummax", "cummin"]:
            if dtype == "bool" and op in ("cummax", "cummin"):
                continue
            for shape, axis in [((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), -2), ((0, 3), 0), ((1,), 0), ((2, 2, 3, 2, 1), 2)]:
                for how in ["plain", "transposed"] if shape == (3, 4) else ["plain"]:
                    x = view(rng_for(op, dtype, shape, axis, how), dtype, shape, how, "whole")
                    if op in ("cumsum", "cumprod"):
                        f = np.cumsum if op == "cumsum" else np.cumprod
                        d = sum_type(dtype)
                        r = make(d, f(wide(x.t), axis).astype(np.float64)) if dtype in FLOATS else T(d, f(cast(x.t, d).a, axis, dtype=NP[d]))
                    else:
                        r = T(dtype, (np.maximum if op == "cummax" else np.minimum).accumulate(x.t.a, axis))
                    w.add(op, [x], r, [axis])
    for dtype in FLOATS:
        x = sample(rng_for("cumsum long", dtype), dtype, (150,), "positive")
        r = np.cumsum(wide(x))
        w.add("cumsum", [x], make(dtype, r.astype(np.float64)), [0], acc=(150, float(r[-1])))
        x = make(dtype, np.array([1.0, np.nan, 2.0, np.inf, -np.inf]))
        with np.errstate(all="ignore"):
            w.add("cumsum", [x], make(dtype, np.cumsum(x.a.astype(np.float64))), [0])
            w.add("cummax", [x], T(dtype, np.maximum.accumulate(x.a)), [0])
            w.add("cummin", [x], T(dtype, np.minimum.accumulate(x.a)), [0])
    exclusive(w)


def exclusive(w):
    """Scans without the element itself, from either end, in a dtype that is asked for."""
    w.file("scans-exclusive")
    for dtype in ["f32", "f64", "i32", "u8", "f16"]:
        for op, f, identity in [("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)]:
            for shape, axis in [((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), -2), ((0, 3), 0), ((1,), 0)]:
                for reverse in [False, True]:
                    for result in [None, "i32"] if dtype in ("i32", "u8") else [None]:
                        x = sample(rng_for("exclusive", op, dtype, shape, axis, reverse), dtype, shape, "whole")
                        d = result or sum_type(dtype)
                        a = np.moveaxis(wide(x) if dtype in FLOATS else cast(x, d).a, axis, 0)
                        a = a[::-1] if reverse else a
                        shifted = np.concatenate([np.full_like(a[:1], identity), a[:-1]])
                        r = f(shifted, 0).astype(shifted.dtype)
                        r = np.moveaxis(r[::-1] if reverse else r, 0, axis)
                        options = {"exclusive": True, **({"reverse": True} if reverse else {}), **({"dtype": result} if result else {})}
                        w.add(op, [x], make(d, r.astype(np.float64)) if dtype in FLOATS else T(d, r), [axis, options])
