"""What NumPy does where an argument is left out or stands for several, and NumPy's own names of ops."""

import numpy as np

from .core import FLOATS, T, cast, make, rng_for, sample, sum_type

SHAPES = [(7,), (3, 4), (2, 3, 2), (1, 3), (0, 3), ()]


def write(w):
    w.file("defaults")
    for dtype in ["f32", "i32", "bool", "u8", "f16", "f64"]:
        for shape in SHAPES:
            x = sample(rng_for("defaults", dtype, shape), dtype, shape, "whole")
            for shift in [1, -2, 9]:
                w.add("roll", [x], T(dtype, np.roll(x.a, shift)), [shift])
            w.add("roll", [x], T(dtype, np.roll(x.a, (1, 2))), [[1, 2]])
            w.add("repeat", [x], T(dtype, np.repeat(x.a, 2)), [2])
            w.add("ravel", [x], T(dtype, np.ravel(x.a)))
            for op, f in [("cumsum", np.cumsum), ("cumprod", np.cumprod)]:
                d = sum_type(dtype)
                wide = x.a.astype(np.float64) if dtype in FLOATS else cast(x, d).a
                w.add(op, [x], make(d, f(wide).astype(np.float64)) if dtype in FLOATS else T(d, f(wide, dtype=wide.dtype)))
            if x.a.size > 0:
                n = x.a.size
                for at in [[0, n - 1, -1], [[0], [n - 1]]]:
                    w.add("take", [x], T(dtype, np.take(x.a, at)), [at])
            if shape:
                w.add("take", [x], T(dtype, np.take(x.a, [0, -1], -1)), [[0, -1], -1])
                w.add("roll", [x], T(dtype, np.roll(x.a, (1, 1), -1)), [[1, 1], -1])
                w.add("split", [x], [T(dtype, p) for p in np.split(x.a, 1)], [1])
            if len(shape) > 1:
                w.add("roll", [x], T(dtype, np.roll(x.a, 1, (0, 1))), [1, [0, 1]])
            if dtype != "bool":
                w.add("clip", [x], T(dtype, np.maximum(x.a, x.a.dtype.type(1))), [1])
            w.add("astype", [x], make("f32", x.a.astype(np.float64)), ["f32"])
        x = sample(rng_for("var", dtype), dtype, (3, 4), "whole")
        if dtype in ("f32", "f64"):
            for axis in [0, 1]:
                w.add("var", [x], make(dtype, np.var(x.a.astype(np.float64), axis)), [{"axis": axis}], acc=(4, 400.0))
