# PyTorch on the programs of everyday.ts: eager and torch.compile, medians in µs per call, as one JSON object.
#
#   python3 everyday_torch.py [--only TEXT,...] [--seconds N]
#
# After N seconds nothing more is compiled.
import json
import sys
import time

try:
    import torch
    from torch_timing import per_call
except ImportError:
    print("python3 has no torch: the PyTorch side is skipped", file=sys.stderr)
    sys.exit(0)
if not torch.cuda.is_available():
    print("torch sees no GPU: the PyTorch side is skipped", file=sys.stderr)
    sys.exit(0)

F = torch.nn.functional
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
d = "cuda"
out = {"version": torch.__version__, "eager": {}, "compiled": {}}


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


only = option("--only")
only = only and only.split(",")
end = time.perf_counter() + float(option("--seconds") or 1e9)


rows_wanted = []


def row(name, f, make, calls, compiled=True, fused=None):
    """`make` makes the arguments; `fused` is PyTorch's own function for the same, if it has one."""
    if not only or any(text in name for text in only):
        rows_wanted.append((name, f, make, calls, compiled, fused))


def run():
    for name, f, make, calls, _, fused in rows_wanted:
        args = make()
        best = per_call(lambda: f(*args), calls)
        if fused:
            best = min(best, per_call(lambda: fused(*args), calls))
        out["eager"][name] = best
    for name, f, make, calls, compiled, _ in rows_wanted:
        if not compiled or time.perf_counter() > end:
            continue
        args = make()
        try:
            torch._dynamo.reset()
            g = torch.compile(f)
            out["compiled"][name] = per_call(lambda: g(*args), calls)
        except Exception as e:  # a compiler that is not there
            print(f"{name}: torch.compile: {type(e).__name__}", file=sys.stderr)


def spread(*shape, dtype=torch.float32):
    return lambda: (torch.rand(*shape, device=d) * 2 - 1).to(dtype)


def each(*makers):
    return lambda: tuple(m() for m in makers)


def norm(x, s, b):
    c = x - x.mean(1, keepdim=True)
    return c / torch.sqrt((c * c).mean(1, keepdim=True) + 1e-5) * s + b


def chain(x):
    for _ in range(100):
        x = x * 0.99 + 0.01
    return x


square = each(spread(4096, 4096))
row("softmax over rows of 4096² f32", lambda v: torch.softmax(v, 1), square, 20)
row("topk 100 of each row of 4096²", lambda v: torch.topk(v, 100).values, square, 3, False)
row("topk 5 of each row of 65536 x 256", lambda v: torch.topk(v, 5).values, each(spread(65536, 256)), 5, False)
row(
    "layer norm 8192 x 1024 f32",
    norm,
    each(spread(8192, 1024), spread(1024), spread(1024)),
    20,
    fused=lambda n, s, b: F.layer_norm(n, (1024,), s, b),
)
row("variance over the middle axis, 64x1024x1024", lambda v: torch.var(v, 1, correction=0), each(spread(64, 1024, 1024)), 10)
row("transpose + 1 of 8192² f32", lambda v: (v.t() + 1).contiguous(), each(spread(8192, 8192)), 10)
row("cumulative sum of 64M f32", lambda v: torch.cumsum(v, 0), each(spread(64 << 20)), 10, False)
row("sort of 16M f32", lambda v: torch.sort(v).values, each(spread(16 << 20)), 3, False)
seen = torch.ones(1024, 1024, device=d, dtype=torch.bool).tril()
for dtype, name in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
    qkv = each(*[spread(128, 1024, 64, dtype=dtype)] * 3)
    row(
        f"attention 128x1024x64 {name}",
        lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.125, 2) @ v,
        qkv,
        5,
        fused=lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None]),
    )
    row(
        f"causal attention 128x1024x64 {name}",
        lambda q, k, v: torch.softmax((q @ k.transpose(1, 2) * 0.125).masked_fill(~seen, float("-inf")), 2) @ v,
        qkv,
        5,
        fused=lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True),
    )
row("normal random numbers, 64M f32", lambda: torch.randn(64 << 20, device=d), tuple, 5, False)
row("200 dependent ops on 64 values, lazy", chain, each(spread(64)), 20)

# Models.
row(
    "log softmax and mean loss, 8192 x 8192 f32",
    lambda x, t: -torch.log_softmax(x, 1).gather(1, t).mean(),
    each(spread(8192, 8192), lambda: torch.randint(0, 8192, (8192, 1), device=d)),
    5,
    fused=lambda x, t: F.cross_entropy(x, t[:, 0]),
)


def rms(x, s):
    w = x.float()
    return (w * torch.rsqrt((w * w).mean(1, keepdim=True) + 1e-6)).to(x.dtype) * s


bf = torch.bfloat16
row(
    "RMS norm 8192 x 4096 bf16",
    rms,
    each(spread(8192, 4096, dtype=bf), spread(4096, dtype=bf)),
    20,
    fused=lambda x, s: F.rms_norm(x, (4096,), s, 1e-6),
)
row(
    "group norm 64x256x32x32 f32, 32 groups",
    lambda x, s, b: F.group_norm(x, 32, s, b),
    each(spread(64, 256, 32, 32), spread(256), spread(256)),
    20,
)
row(
    "gelu(x·w + b) 4096 x 1024 x 4096 bf16",
    lambda x, w, b: F.gelu(x @ w + b),
    each(spread(4096, 1024, dtype=bf), spread(1024, 4096, dtype=bf), spread(4096, dtype=bf)),
    10,
)
for dtype, name in ((torch.float32, "f32"), (bf, "bf16")):
    row(f"256 products of 128² {name}", torch.bmm, each(*[spread(256, 128, 128, dtype=dtype)] * 2), 20, False)
row(
    "convolution 3x3 of 32x64x56x56, 64 out, f32",
    lambda x, w: F.conv2d(x, w, padding=1),
    each(spread(32, 64, 56, 56), spread(64, 64, 3, 3)),
    5,
    False,
)
row(
    "convolution of 5, 64x128x4096, 128 out, f32",
    lambda x, w: F.conv1d(x, w, padding=2),
    each(spread(64, 128, 4096), spread(128, 128, 5)),
    3,
    False,
)
row("max pool 2x2 of 64x64x112x112 f32", lambda x: F.max_pool2d(x, 2), each(spread(64, 64, 112, 112)), 20)
row(
    "rows of a table 100k x 64, 1M of them, f32",
    lambda t, i: F.embedding(i, t),
    each(spread(100_000, 64), lambda: torch.randint(0, 100_000, (1 << 20,), device=d)),
    10,
)
row("dropout of 64M f32", lambda x: F.dropout(x, 0.1), each(spread(64 << 20)), 5)

# Data.
row("argmax of each row of 4096² f32", lambda x: x.argmax(1), square, 20)
row(
    "mean of the positive ones of each row of 4096²",
    lambda x: torch.where(x > 0, x, 0).sum(1) / (x > 0).float().sum(1),
    square,
    20,
)
row("cumulative maximum of the rows of 4096² f32", lambda x: torch.cummax(x, 1).values, square, 10, False)
row("every other of every other row of 4096², + 1", lambda x: x[::2, ::2] + 1, square, 20)
rows = each(spread(16384, 1024))
row("sort of each row of 16384 x 1024 f32", lambda x: torch.sort(x, 1).values, rows, 5, False)
row("median of each row of 16384 x 1024 f32", lambda x: torch.median(x, 1).values, rows, 5, False)
row("mean over the long axis of 1M x 64 f32", lambda x: x.mean(0), each(spread(1 << 20, 64)), 10)
row(
    "scatter add of 4M f32 into 65,536",
    lambda i, v: torch.zeros(65536, device=d).index_add(0, i, v),
    lambda: (torch.randint(0, 65536, (4 << 20,), device=d), torch.ones(4 << 20, device=d)),
    10,
)
row(
    "histogram of 16M bytes",
    lambda i: torch.bincount(i, minlength=256),
    lambda: (torch.randint(0, 256, (16 << 20,), device=d, dtype=torch.int32),),
    5,
    False,
)


def cosine(x):
    u = x / torch.sqrt((x * x).sum(1, keepdim=True))
    return u @ u.t()


row("cosine similarities 4096 x 4096 of 512, f32", cosine, each(spread(4096, 512)), 10)
row(
    "distances 4096 x 4096 of 64, f32",
    lambda x, y: ((x * x).sum(1, keepdim=True) + (y * y).sum(1) - (x @ y.t()) * 2).clamp(min=0).sqrt(),
    each(spread(4096, 64), spread(4096, 64)),
    10,
    fused=torch.cdist,
)


def means(x, c):
    at = ((c * c).sum(1) - x @ c.t() * 2).argmin(1)
    sums = torch.zeros(64, 16, device=d).index_add(0, at, x)
    return sums / torch.zeros(64, device=d).index_add(0, at, torch.ones_like(at, dtype=torch.float32))[:, None]


row("k-means step, 1M x 16, 64 centres, f32", means, each(spread(1 << 20, 16), spread(64, 16)), 5)


def polynomial(x):
    y = x * 0.1
    for i in range(2, 11):
        y = (y + 0.1 * i) * x
    return y + 1


def choices(x):
    bent = torch.where(x < -0.5, x * 0.1, torch.where(x > 0.5, x * x, x.abs()))
    return torch.where(bent.isfinite(), bent, 0).clamp(0.01, 0.9)


long = each(spread(16 << 20))
row("polynomial of 10 terms, 16M f32", polynomial, long, 20)
row("chain of choices, 16M f32", choices, long, 20)
row("all sums of 8192 + 8192 f32", lambda x, y: x[:, None] + y, each(spread(8192), spread(8192)), 10)
row("chain of 5 ops, 64M f16", lambda x: ((x * 0.5 + 1) * x - 0.25).abs(), each(spread(64 << 20, dtype=torch.float16)), 10)
row("sum of 64M i32", lambda x: x.sum(), lambda: (torch.ones(64 << 20, device=d, dtype=torch.int32),), 10)
row("even random numbers, 64M f32", lambda: torch.rand(64 << 20, device=d), tuple, 5, False)
run()
print(json.dumps(out))
