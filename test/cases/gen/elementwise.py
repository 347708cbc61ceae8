"""Unary, binary and ternary ops, casts, JavaScript scalars.

Functions that devices approximate are computed in extended precision (x87, 64 bits of mantissa) and rounded once, so the
expected value is the correctly rounded one and the suite's tolerance is the device's own error.
"""

import math

import numpy as np

from .core import (DTYPES, FLOATS, INTS, NP, NUMERIC, T, VIEWS, View, cast, float_for, ints, make, promote, rng_for, sample,
                   special_floats, special_ints, specials, subnormals, value, view)

LD = np.longdouble
erf = np.vectorize(lambda x: math.erf(float(x)), otypes=[np.float64])


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


# Functions that are not exact: computed wide. Ranges are where the function is interesting, per type.
WIDE = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": erf, "sigmoid": sigmoid,
}
EXACT = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "sqrt": np.sqrt, "square": np.square,
    "sign": lambda x: np.where(np.isnan(x), x, np.sign(x)),
    "relu": lambda x: np.where(np.isnan(x), x, np.where(x > 0, x, 0)),
}
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logicalNot": lambda x: x == 0}

UNIT = {"asin", "acos", "atanh"}
POSITIVE = {"log", "log2", "log10", "sqrt", "rsqrt"}
EXPONENT = {"exp", "exp2", "expm1", "sinh", "cosh"}
LIMIT = {"f16": 10.0, "bf16": 85.0, "f32": 85.0, "f64": 700.0}
EXPONENTS = {"f16": (-13, 14), "bf16": (-120, 120), "f32": (-120, 120), "f64": (-1000, 1000)}


def unary(op, x):
    """What the op gives for a float tensor."""
    with np.errstate(all="ignore"):
        if op in TESTS:
            return T("bool", TESTS[op](x.a))
        if op in EXACT:
            wide = x.a.astype(np.float64) if x.dtype in ("f16", "bf16") else x.a
            return make(x.dtype, EXACT[op](wide))
        if op == "reciprocal" and x.dtype in ("f32", "f64"):
            return make(x.dtype, 1 / x.a)
        return make(x.dtype, WIDE[op](x.a.astype(LD)).astype(np.float64))


def domain(op, dtype, rng, n):
    lo, hi = EXPONENTS[dtype]
    if op in UNIT:
        return rng.uniform(-1, 1, n)
    if op == "acosh":
        return 1 + 2.0 ** rng.uniform(-6, min(hi, 100), n)
    if op == "log1p":
        return np.concatenate([rng.uniform(-0.99, 5, n // 2), 2.0 ** rng.uniform(lo, min(hi, 100), n - n // 2)])
    if op in POSITIVE:
        return 2.0 ** rng.uniform(lo, hi, n)
    if op in EXPONENT:
        return np.concatenate([rng.uniform(-1, 1, n // 2), rng.uniform(-LIMIT[dtype], LIMIT[dtype], n - n // 2)])
    return np.concatenate([rng.normal(0, 2, n // 2), rng.uniform(-40, 40, n - n // 2)])


def small(op, dtype, rng, n):
    """Small and large magnitudes of both signs: relative accuracy near zero, saturation and range reduction far out."""
    lo, hi = EXPONENTS[dtype]
    # Doubles beyond 2^30 are outside what the sine promises.
    top = min(hi, 30) if op in ("sin", "cos", "tan") and dtype == "f64" else min(hi, 100)
    x = np.concatenate([2.0 ** rng.uniform(lo, -1, n // 2), 2.0 ** rng.uniform(1, top, n - n // 2)])
    return x * rng.choice([-1.0, 1.0], n)


def floats(w):
    w.file("unary")
    for op in [*EXACT, *WIDE, *TESTS]:
        for dtype in FLOATS:
            rng = rng_for("unary", op, dtype)
            xs = special_floats(dtype)
            if op in ("sin", "cos", "tan") and dtype == "f64":
                xs = [v for v in xs if not (math.isfinite(v) and abs(v) > 2.0**30)]
            sets = [make(dtype, np.array(v, np.float64)) for v in (xs, subnormals(dtype))] + [make(dtype, domain(op, dtype, rng, 20))]
            if op not in TESTS:
                sets.append(make(dtype, small(op, dtype, rng, 16)))
            for x in sets:
                w.add(op, [x], unary(op, x))
        for shape, dtype in [((0,), "f32"), ((), "f32"), ((2, 0, 3), "f64"), ((1, 1, 1), "f16"), ((2, 1, 3, 1, 2), "f32")]:
            x = make(dtype, rng_for("unary shape", op, shape).uniform(0.1, 0.9, shape))
            if op == "acosh":
                x = make(dtype, 1 + x.a.astype(np.float64))
            w.add(op, [x], unary(op, x))
    for op in ["neg", "abs", "sqrt", "exp", "tanh", "floor", "sign", "isnan", "sin", "reciprocal"]:
        for how in VIEWS:
            for dtype in ["f32", "f64"]:
                v = view(rng_for("unary view", op, how, dtype), dtype, (3, 5), how, "positive")
                w.add(op, [v], unary(op, v.t))


def integers(w):
    w.file("unary")
    wrap = {"neg": lambda v: -v, "abs": abs, "sign": lambda v: (v > 0) - (v < 0), "square": lambda v: v * v,
            "bitwiseNot": lambda v: ~v, "relu": lambda v: max(v, 0), "floor": lambda v: v, "ceil": lambda v: v,
            "trunc": lambda v: v, "round": lambda v: v}
    for dtype in INTS:
        for x in (specials(dtype), sample(rng_for("int unary", dtype), dtype, (2, 9), "wide")):
            for op, f in wrap.items():
                if op == "square" and dtype == "bool":
                    continue
                w.add(op, [x], make(dtype, np.frompyfunc(f, 1, 1)(ints(x))))
            for op in TESTS:
                w.add(op, [x], T("bool", TESTS[op](x.a.astype(np.float64)) if op != "logicalNot" else x.a == 0))
        for op in ["exp", "log", "sqrt", "sin", "tanh", "reciprocal", "erf", "log1p", "sigmoid", "rsqrt", "cosh"]:
            lo = 0 if dtype.startswith("u") or op in ("log", "sqrt", "rsqrt", "log1p") else -12
            x = make(dtype, np.array(list(range(lo, 13)), object))
            w.add(op, [x], unary(op, cast(x, float_for(dtype))))
    b = make("bool", [True, False, True])
    for op in ["logicalNot", "bitwiseNot"]:
        w.add(op, [b], T("bool", ~b.a))
    w.add("isnan", [b], T("bool", np.zeros(3, bool)))
    w.add("isfinite", [b], T("bool", np.ones(3, bool)))
    for op in ["exp", "sqrt", "cos", "sigmoid"]:
        w.add(op, [b], unary(op, cast(b, "f32")))
    w.add("abs", [b], b)


def float_binary(op, a, b):
    """Operands of one float dtype."""
    dtype = a.dtype
    half = dtype in ("f16", "bf16")
    x, y = (a.a.astype(np.float64), b.a.astype(np.float64)) if half else (a.a, b.a)
    with np.errstate(all="ignore"):
        if op in ("add", "sub", "mul", "div"):
            return make(dtype, {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](x, y))
        if op == "mod":
            return make(dtype, np.mod(x, y))
        if op == "floorDivide":
            return make(dtype, np.floor_divide(x, y))
        if op in ("maximum", "minimum"):
            nan = np.isnan(x) | np.isnan(y)
            zero = (x == 0) & (y == 0)
            both = np.signbit(x) & np.signbit(y)
            either = np.signbit(x) | np.signbit(y)
            sign = both if op == "maximum" else either
            r = np.where(x > y, x, y) if op == "maximum" else np.where(x < y, x, y)
            r = np.where(zero, np.where(sign, -0.0, 0.0), r)
            return make(dtype, np.where(nan, np.nan, r))
        f = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}[op]
        return make(dtype, f(x.astype(LD), y.astype(LD)).astype(np.float64))


def floor_div(a, b):
    return 0 if b == 0 else a // b


def floor_mod(a, b):
    return 0 if b == 0 else a - b * (a // b)


def int_pow(a, b):
    if b >= 0:
        return pow(a, b, 1 << 64) if a >= 0 else (-1 if b & 1 else 1) * pow(-a, b, 1 << 64)
    return 1 if a == 1 else ((1 if b % 2 == 0 else -1) if a == -1 else 0)


def shl(width):
    return lambda a, n: 0 if n < 0 or n >= width else a << n


def shr(width):
    return lambda a, n: (-1 if a < 0 else 0) if n < 0 or n >= width else a >> n


INT_OPS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floorDivide": floor_div,
           "mod": floor_mod, "pow": int_pow, "maximum": max, "minimum": min,
           "bitwiseAnd": lambda a, b: a & b, "bitwiseOr": lambda a, b: a | b, "bitwiseXor": lambda a, b: a ^ b,
           "leftShift": None, "rightShift": None}
COMPARE = {"equal": np.equal, "notEqual": np.not_equal, "less": np.less, "lessEqual": np.less_equal,
           "greater": np.greater, "greaterEqual": np.greater_equal}
LOGIC = {"logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor}
BITS = ["bitwiseAnd", "bitwiseOr", "bitwiseXor"]
SHIFTS = ["leftShift", "rightShift"]
FLOAT_ONLY = ["div", "atan2", "hypot"]


def numpy_agrees(op, a, b, out):
    """Where NumPy has the op for these integers, it must say the same as the Python integers above."""
    f = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
         "floorDivide": np.floor_divide, "mod": np.remainder, "leftShift": np.left_shift, "rightShift": np.right_shift,
         "bitwiseAnd": np.bitwise_and, "bitwiseOr": np.bitwise_or, "bitwiseXor": np.bitwise_xor}.get(op)
    if f:
        with np.errstate(all="ignore"):
            theirs = f(np.atleast_1d(a.a), np.atleast_1d(b.a)).reshape(out.shape)
        assert np.array_equal(theirs, out.a), (op, a.dtype, theirs, out.a)


def binary(op, a, b):
    """What `a op b` gives for two tensors, promotion included."""
    dtype = promote(a.dtype, b.dtype)
    if op in LOGIC:
        return T("bool", LOGIC[op](a.a != 0, b.a != 0))
    if op in FLOAT_ONLY:
        dtype = float_for(dtype)
    a, b = cast(a, dtype), cast(b, dtype)
    if op in COMPARE:
        return T("bool", COMPARE[op](a.a, b.a))
    if dtype in FLOATS:
        return float_binary(op, a, b)
    if dtype == "bool":
        f = {"add": np.logical_or, "mul": np.logical_and, "maximum": np.logical_or, "minimum": np.logical_and,
             "bitwiseAnd": np.logical_and, "bitwiseOr": np.logical_or, "bitwiseXor": np.logical_xor}[op]
        return T("bool", f(a.a, b.a))
    width = 8 * np.dtype(NP[dtype]).itemsize
    f = {"leftShift": shl(width), "rightShift": shr(width)}.get(op) or INT_OPS[op]
    out = make(dtype, np.asarray(np.frompyfunc(f, 2, 1)(ints(a), ints(b)), object))
    numpy_agrees(op, a, b, out)
    return out


def allowed(op, dtype):
    if dtype == "bool":
        return op in COMPARE or op in LOGIC or op in BITS or op in ("add", "mul", "maximum", "minimum", "div")
    if dtype in FLOATS:
        return op not in BITS and op not in SHIFTS
    return op not in ("atan2", "hypot")


ALL = list(INT_OPS) + FLOAT_ONLY + list(COMPARE) + list(LOGIC)
ROUNDED_POW = 12  # exponents of ordinary pow cases stay small, so that results are finite


def operands(op, dtype, rng, sa, sb):
    a, b = sample(rng, dtype, sa, "wide" if dtype in INTS and op != "pow" else "mixed"), sample(rng, dtype, sb)
    if op == "pow" and dtype in FLOATS:
        a = sample(rng, dtype, sa, "positive")
    if op in SHIFTS:
        b = make(dtype, np.array([int(v) for v in rng.integers(0, 40, int(np.prod(sb)))], object).reshape(sb))
    return a, b


SHAPES = [((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((5,), ()), ((), (2, 3)), ((0, 3), (3,)), ((2, 1, 1, 3, 1), (1, 2, 2, 1, 3)), ((7,), (1,)), ((), ())]


def tensors(w):
    w.file("binary")
    for op in ALL:
        for dtype in DTYPES:
            if not allowed(op, dtype):
                continue
            few = specials(dtype, few=True)
            n = few.shape[0]
            column, row = T(dtype, few.a.reshape(n, 1)), T(dtype, few.a.reshape(1, n))
            w.add(op, [column, row], binary(op, column, row))
            if dtype in FLOATS:
                x = make(dtype, np.array(subnormals(dtype)))
                column, row = T(dtype, x.a.reshape(-1, 1)), T(dtype, x.a.reshape(1, -1))
                w.add(op, [column, row], binary(op, column, row))
            for i, (sa, sb) in enumerate(SHAPES):
                # Every shape for the types most used; the others take turns.
                if dtype not in ("f32", "i32") and (i + DTYPES.index(dtype)) % 3:
                    continue
                a, b = operands(op, dtype, rng_for("binary", op, dtype, i), sa, sb)
                w.add(op, [a, b], binary(op, a, b))
    # Quotients that have no room for a half: rounding by adding 0.5 would move them.
    for dtype, top in [("f32", 2.0**23), ("f64", 2.0**52)]:
        x = make(dtype, np.array([top + 1, top + 3, -top - 1, 0.49999997, top - 0.5, 1.0, 6.0, 7.0]))
        for d in [1.0, 0.1, -1.0, 3.0]:
            y = make(dtype, np.full(8, d))
            w.add("floorDivide", [x, y], binary("floorDivide", x, y))
            w.add("mod", [x, y], binary("mod", x, y))
    w.file("binary-views")
    for op in ["add", "sub", "mul", "div", "maximum", "less", "pow", "bitwiseXor", "mod", "logicalAnd"]:
        for how in VIEWS:
            for dtype in ["f32", "i32", "u8", "f64"]:
                if not allowed(op, dtype):
                    continue
                rng = rng_for("binary view", op, how, dtype)
                v = view(rng, dtype, (4, 3), how, "positive")
                other = view(rng, dtype, (4, 3), "plain", "positive")
                w.add(op, [v, other], binary(op, v.t, other.t))
                w.add(op, [other, v], binary(op, other.t, v.t))


def promotions(w):
    w.file("promotion")
    for op in ["add", "mul", "less", "div", "maximum"]:
        for da in DTYPES:
            for db in DTYPES:
                if da == db:
                    continue
                rng = rng_for("promotion", op, da, db)
                a, b = sample(rng, da, (2, 3)), sample(rng, db, (3,))
                w.add(op, [a, b], binary(op, a, b))
    for op in ["bitwiseAnd", "bitwiseXor", "floorDivide", "mod", "sub", "equal"]:
        for da in ["u8", "i32", "u32", "i64", "u64"]:
            for db in ["u8", "i32", "u32", "i64", "u64"]:
                if da == db or (op.startswith("bitwise") and "u64" in (da, db) and promote(da, db) == "f64"):
                    continue
                rng = rng_for("promotion", op, da, db)
                a, b = sample(rng, da, (5,), "wide"), sample(rng, db, (5,), "wide")
                w.add(op, [a, b], binary(op, a, b))
    # A tensor of rank 0 takes part like any other: only JavaScript numbers are weak.
    for da, db in [("f32", "f64"), ("u8", "i32"), ("f16", "f32"), ("i32", "f32")]:
        a, b = make(da, np.array([1, 2, 3])), make(db, np.array(2))
        w.add("add", [a, b], binary("add", a, b))


def scalars(w):
    """JavaScript numbers: whole ones take the tensor's dtype, fractions make integers f64."""
    w.file("scalars")
    for op in ALL:
        for dtype in NUMERIC:
            if not allowed(op, dtype):
                continue
            choices = [2, 0, 7] if dtype in INTS else [2, 0.1, -1.5, 0]
            if dtype in INTS and op not in BITS + SHIFTS:
                choices.append(0.5)
            if dtype in ("i32", "i64"):
                choices.append(-3)
            if dtype in ("f32", "f64") and op in ("add", "mul", "maximum", "minimum", "div", "pow", "less", "mod"):
                choices += [math.inf, -math.inf, math.nan, -0.0]
            for s in choices:
                kind = "f64" if dtype in INTS and not float(s).is_integer() else dtype
                rng = rng_for("scalar", op, dtype, s)
                x = sample(rng, dtype, (6,), "positive" if op == "pow" else "mixed")
                other = make(kind, np.array(s) if kind in FLOATS else np.array(int(s), object))
                w.add(op, [x], binary(op, cast(x, kind), other), [s])


def casts(w):
    w.file("cast")
    for da in DTYPES:
        for db in DTYPES:
            x = specials(da)
            w.add("cast", [x], cast(x, db), [db])
            if da in FLOATS:
                x = make(da, np.array(subnormals(da)))
                w.add("cast", [x], cast(x, db), [db])
            y = sample(rng_for("cast", da, db), da, (3, 3), "wide" if da in INTS else "mixed")
            w.add("cast", [y], cast(y, db), [db])
    for db in DTYPES:
        # Halves, and values just inside and outside the integer ranges.
        xs = [0.5, -0.5, 1.5, 2.5, 255.0, 255.5, 256.0, -1.0, 2147483647.0, 2147483648.0, -2147483649.0, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 65519.0, 65520.0, 1e39, 1e-46, 1e-39]
        x = make("f64", np.array(xs))
        w.add("cast", [x], cast(x, db), [db])


def choices(w):
    w.file("where")
    for dtype in DTYPES:
        for sc, sa, sb in [((3, 4), (3, 4), (3, 4)), ((4,), (3, 1), ()), ((3, 1), (1, 4), (3, 4)), ((), (2, 2), (2, 2)), ((0,), (0,), (1,)), ((2, 1, 1, 2, 1), (2, 1, 3), (1,)), ((), (), (3,)), ((), (2, 1), ()), ((2,), (), ())]:
            rng = rng_for("where", dtype, sc, sa)
            c, a, b = sample(rng, "bool", sc), sample(rng, dtype, sa), sample(rng, dtype, sb)
            w.add("where", [c, a, b], T(dtype, np.where(c.a, a.a, b.a)))
    for da, db in [("f32", "f64"), ("i32", "f32"), ("u8", "i32"), ("bool", "f16"), ("f16", "bf16"), ("u64", "i64")]:
        rng = rng_for("where mixed", da, db)
        c, a, b = sample(rng, "bool", (5,)), sample(rng, da, (5,)), sample(rng, db, (5,))
        d = promote(da, db)
        w.add("where", [c, a, b], T(d, np.where(c.a, cast(a, d).a, cast(b, d).a)))
    # A branch not taken must not leak NaN or trap.
    x = make("f32", np.array([0.0, -1.0, 4.0, np.nan, np.inf]))
    c = T("bool", x.a > 0)
    w.add("where", [c, x, make("f32", np.zeros(5))], T("f32", np.where(c.a, x.a, np.float32(0))))
    for dtype in NUMERIC:
        x = specials(dtype)
        lo, hi = (1, 3) if dtype in INTS else (-1.5, 2)
        y = binary("minimum", binary("maximum", x, make(dtype, np.array(lo))), make(dtype, np.array(hi)))
        w.add("clip", [x], y, [lo, hi])
        if dtype in FLOATS:
            w.add("clip", [x], binary("maximum", x, make(dtype, np.array(lo))), [lo, math.inf])
            w.add("clip", [x], binary("minimum", x, make(dtype, np.array(hi))), [-math.inf, hi])


def write(w):
    floats(w)
    integers(w)
    tensors(w)
    promotions(w)
    scalars(w)
    casts(w)
    choices(w)
