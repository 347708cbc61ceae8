"""Tensors, rounding, promotion and the case writer that every family of cases builds on.

A case is one JSON line: the op's public name, its inputs with exact bits, its arguments, and the outputs NumPy gives.
bf16 has no NumPy type: it is held as float32 whose values are all representable in bf16.
Everything is drawn from generators seeded by the case's own name, so adding a case changes no other.
"""

import base64
import json
import math
import zlib

import numpy as np

NP = {
    "bool": np.bool_, "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}
DTYPES = list(NP)
FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["u8", "i32", "u32", "i64", "u64"]
NUMERIC = INTS + FLOATS
EPS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
# The precision sums are kept in: half types accumulate in f32.
ACC_EPS = {"f16": 2.0**-23, "bf16": 2.0**-23, "f32": 2.0**-23, "f64": 2.0**-52}


class T:
    """A tensor of the suite: a dtype of ours and the NumPy array with its values."""

    def __init__(self, dtype, array):
        self.dtype = dtype
        self.a = np.asarray(array)
        assert self.a.dtype == NP[dtype], (dtype, self.a.dtype)

    @property
    def shape(self):
        return self.a.shape


def to_bf16(x):
    """Rounds float64 to bf16 once: to odd in float32 first, so that the second rounding sees what was below the tie."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        f = x.astype(np.float32)
    bits = f.view(np.uint32).astype(np.uint64)
    inexact = np.isfinite(f) & (f.astype(np.float64) != x)
    too_far = np.abs(f.astype(np.float64)) > np.abs(x)
    bits = np.where(inexact & too_far, bits - np.uint64(1), bits)
    bits = np.where(inexact, bits | np.uint64(1), bits)
    rounded = (bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    out = ((rounded & np.uint64(0xFFFF)) << np.uint64(16)).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(f), out, f).astype(np.float32).reshape(x.shape)


def make(dtype, values):
    """A tensor from values of any wider kind: floats round to nearest even, integers wrap."""
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            return T(dtype, to_bf16(values))
        if dtype in FLOATS:
            return T(dtype, np.asarray(values).astype(NP[dtype]))
        if dtype == "bool":
            return T(dtype, np.asarray(values).astype(bool))
        a = np.asarray(values)
        if a.dtype == object:
            width = 8 * np.dtype(NP[dtype]).itemsize
            wrapped = [int(v) & ((1 << width) - 1) for v in a.ravel()]
            return T(dtype, np.array(wrapped, np.uint64).astype(NP[dtype]).reshape(a.shape))
        return T(dtype, a.astype(NP[dtype]))


def ints(t):
    """The values as Python integers of any size, in an object array."""
    out = np.empty(t.a.shape, object)
    flat = out.reshape(-1)
    for i, v in enumerate(t.a.reshape(-1).tolist()):
        flat[i] = int(v)
    return flat.reshape(t.a.shape)


def cast(t, dtype):
    """Our cast: float to int truncates and saturates with NaN as 0, int to int wraps, to bool is != 0."""
    if t.dtype == dtype:
        return t
    if dtype == "bool":
        return T("bool", t.a != 0)
    if dtype in FLOATS:
        return make(dtype, t.a.astype(np.float64) if dtype == "bf16" else t.a)
    if t.dtype in FLOATS:
        info = np.iinfo(NP[dtype])
        flat = []
        for v in t.a.reshape(-1).tolist():
            if math.isnan(v):
                flat.append(0)
            elif math.isinf(v):
                flat.append(info.max if v > 0 else info.min)
            else:
                flat.append(min(max(int(v), int(info.min)), int(info.max)))
        return make(dtype, np.array(flat, object).reshape(t.a.shape))
    return make(dtype, ints(t))


def promote(a, b):
    """NumPy's promotion of two arrays; bf16 as f16 there, and f16 with bf16 gives f32."""
    if a == b:
        return a
    if "bf16" in (a, b):
        other = b if a == "bf16" else a
        if other == "f16":
            return "f32"
        stand_in = {np.dtype(np.float16): "bf16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
        return stand_in[np.promote_types(np.float16, NP[other])]
    names = {np.dtype(v): k for k, v in NP.items() if k != "bf16"}
    return names[np.promote_types(NP[a], NP[b])]


def float_for(dtype):
    return dtype if dtype in FLOATS else ("f32" if dtype in ("bool", "u8") else "f64")


def sum_type(dtype):
    """NumPy's, but for bools: their sum is a count, which is an i32."""
    return dtype if dtype in FLOATS else "i32" if dtype == "bool" else ("u64" if dtype.startswith("u") else "i64")


def rng_for(*name):
    return np.random.default_rng(zlib.crc32(repr(name).encode()))


def subnormals(dtype):
    """The smallest numbers beside ordinary ones. Apart from the rest, because WGSL lets a device read them as zero."""
    tiny = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}[dtype]
    normal = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}[dtype]
    return [tiny, -tiny, 3 * tiny, normal - tiny, -normal, 0.0, 1.0, -2.5, math.inf, math.nan]


def special_floats(dtype, few=False):
    """Where float arithmetic goes wrong: NaN, zeros, infinities, the ends of the range, ties of rounding."""
    normal = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}[dtype]
    top = {"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127, "f32": float(np.finfo(np.float32).max), "f64": np.finfo(np.float64).max}[dtype]
    base = [math.nan, 0.0, -0.0, math.inf, -math.inf, 1.0, -1.0, -normal, top, -2.5, 0.5]
    if few:
        return base
    more = [normal, -top, 1 + EPS[dtype], 1 - EPS[dtype] / 2, -0.5, 1.5, 2.5, 2.0, -3.0, 7.25, 1 / 3, -1e-3, 100.0, 1e4]
    return base + more


def special_ints(dtype, few=False):
    info = np.iinfo(NP[dtype])
    lo, hi = int(info.min), int(info.max)
    base = [0, 1, 2, 3, 7, hi, hi - 1, hi // 2 + 1] + ([-1, -2, -7, lo, lo + 1] if lo else [5, 12, 200])
    return base if few else base + [10, 31, 32, 33, 63, 64, 100, hi // 3]


def specials(dtype, few=False):
    if dtype == "bool":
        return make("bool", [True, False, True, True, False])
    if dtype in FLOATS:
        return make(dtype, np.array(special_floats(dtype, few), np.float64))
    return make(dtype, np.array(special_ints(dtype, few), object))


def sample(rng, dtype, shape, kind="mixed"):
    """Ordinary values. `whole`: small whole numbers, so that sums and products of floats are exact. `positive`: no cancellation."""
    n = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return T("bool", rng.integers(0, 2, shape).astype(bool))
    if dtype in FLOATS:
        if kind == "whole":
            return make(dtype, rng.integers(-4, 5, shape).astype(np.float64))
        if kind == "positive":
            return make(dtype, rng.uniform(0.25, 2.0, shape))
        return make(dtype, rng.normal(0, 3, shape))
    lo = 0 if dtype.startswith("u") else -9
    values = np.array([int(v) for v in rng.integers(lo, 10, n)], object).reshape(shape)
    if kind == "wide" and n:
        width = 8 * np.dtype(NP[dtype]).itemsize
        flat = values.reshape(-1)
        for i in range(n):
            flat[i] = int.from_bytes(rng.bytes(8), "little") & ((1 << width) - 1)
        values = flat.reshape(shape)
    return make(dtype, values)


def bits_of(t):
    a = np.ascontiguousarray(t.a)
    if t.dtype == "bf16":
        a = (a.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    elif t.dtype == "bool":
        a = a.astype(np.uint8)
    return a.tobytes()


def text_of(t):
    return f"{t.dtype}[{','.join(map(str, t.shape))}]:{base64.b64encode(bits_of(t)).decode().rstrip('=')}"


class View:
    """A tensor that reaches the op through movement ops: steps for our side, the same result on NumPy's."""

    def __init__(self, base, steps, array):
        self.base = base
        self.steps = steps
        self.t = T(base.dtype, array)


def view(rng, dtype, shape, how, kind="mixed"):
    """A tensor of the given shape whose elements do not lie in order."""
    shape = tuple(shape)
    if how == "plain" or not shape:
        t = sample(rng, dtype, shape, kind)
        return View(t, [], t.a)
    if how == "transposed":
        base = sample(rng, dtype, shape[::-1], kind)
        return View(base, [["transpose"]], base.a.transpose())
    if how == "sliced":
        base = sample(rng, dtype, tuple(2 * d + 1 for d in shape), kind)
        steps = [["slice", [[1, 2 * d + 1, 2] for d in shape]]]
        return View(base, steps, base.a[tuple(slice(1, 2 * d + 1, 2) for d in shape)])
    if how == "flipped":
        base = sample(rng, dtype, shape, kind)
        axes = list(range(len(shape)))
        return View(base, [["flip", axes]], np.flip(base.a, axes))
    if how == "rolled":
        base = sample(rng, dtype, shape, kind)
        return View(base, [["roll", 1, 0]], np.roll(base.a, 1, 0))
    if how == "expanded":
        narrow = tuple(1 if i % 2 == 0 else d for i, d in enumerate(shape))
        base = sample(rng, dtype, narrow, kind)
        return View(base, [["broadcastTo", list(shape)]], np.broadcast_to(base.a, shape))
    raise ValueError(how)


VIEWS = ["transposed", "sliced", "flipped", "rolled", "expanded"]


def plain(arg):
    """Arguments as JSON; what JSON lacks travels as text the runner knows."""
    if isinstance(arg, float):
        if math.isnan(arg):
            return "NaN"
        if math.isinf(arg):
            return "Infinity" if arg > 0 else "-Infinity"
        if arg == 0 and math.copysign(1, arg) < 0:
            return "-0"
        return int(arg) if arg.is_integer() and abs(arg) < 2**53 else arg
    if isinstance(arg, (list, tuple)):
        return [plain(a) for a in arg]
    if isinstance(arg, dict):
        return {k: plain(v) for k, v in arg.items()}
    if isinstance(arg, np.integer):
        return int(arg)
    return arg


class Writer:
    """Collects cases by file and writes them, one JSON object a line."""

    def __init__(self):
        self.files = {}
        self.current = None

    def file(self, name):
        self.current = self.files.setdefault(name, [])

    def add(self, op, inputs, out=None, args=(), acc=None, throws=None):
        row = {"op": op}
        row["in"] = [
            {"t": text_of(i.base), "via": plain(i.steps)} if isinstance(i, View) and i.steps else text_of(i.base if isinstance(i, View) else i)
            for i in inputs
        ]
        if args:
            row["args"] = plain(list(args))
        if throws:
            row["throws"] = throws
        else:
            row["out"] = [text_of(o) for o in out] if isinstance(out, (list, tuple)) else text_of(out)
        if acc:
            row["acc"] = [int(acc[0]), float(f"{acc[1]:.6g}")]
        self.current.append(json.dumps(row, separators=(",", ":")))


def value(x):
    """The tensor behind an input."""
    return x.t if isinstance(x, View) else x
