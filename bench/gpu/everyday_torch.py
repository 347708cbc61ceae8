# PyTorch on the programs of everyday.ts: eager and torch.compile, medians in µs per call, as one JSON object.
import json
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("python3 has no torch: the PyTorch side is skipped", file=sys.stderr)
    sys.exit(0)
if not torch.cuda.is_available():
    print("torch sees no GPU: the PyTorch side is skipped", file=sys.stderr)
    sys.exit(0)

torch.backends.cuda.matmul.allow_tf32 = False
d = "cuda"
out = {"version": torch.__version__, "eager": {}, "compiled": {}}


def per_call(f, calls):
    for _ in range(3):
        f()
    torch.cuda.synchronize()
    samples = []
    for _ in range(15):
        t = time.perf_counter()
        for _ in range(calls):
            f()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - t) * 1e6 / calls)
    return round(statistics.median(samples), 2)


def row(name, f, args, calls, compiled=True):
    out["eager"][name] = per_call(lambda: f(*args), calls)
    if compiled:
        try:
            g = torch.compile(f)
            out["compiled"][name] = per_call(lambda: g(*args), calls)
        except Exception as e:  # a compiler that is not there
            print(f"{name}: torch.compile: {type(e).__name__}", file=sys.stderr)


def norm(x, s, b):
    c = x - x.mean(1, keepdim=True)
    return c / torch.sqrt((c * c).mean(1, keepdim=True) + 1e-5) * s + b


def chain(x):
    for _ in range(100):
        x = x * 0.99 + 0.01
    return x


x = torch.rand(4096, 4096, device=d) * 2 - 1
row("softmax over rows of 4096² f32", lambda v: torch.softmax(v, 1), (x,), 20)
row("topk 100 of each row of 4096²", lambda v: torch.topk(v, 100).values, (x,), 3, False)
row("topk 5 of each row of 65536 x 256", lambda v: torch.topk(v, 5).values, (x.view(65536, 256),), 5, False)
n = torch.rand(8192, 1024, device=d)
s, b = torch.rand(1024, device=d), torch.rand(1024, device=d)
row("layer norm 8192 x 1024 f32", norm, (n, s, b), 20)
eager = out["eager"]["layer norm 8192 x 1024 f32"]
fused = per_call(lambda: torch.nn.functional.layer_norm(n, (1024,), s, b), 20)
out["eager"]["layer norm 8192 x 1024 f32"] = min(eager, fused)
w = torch.rand(64, 1024, 1024, device=d)
row("variance over the middle axis, 64x1024x1024", lambda v: torch.var(v, 1, correction=0), (w,), 10)
t = w.view(8192, 8192)
row("transpose + 1 of 8192² f32", lambda v: (v.t() + 1).contiguous(), (t,), 10)
row("cumulative sum of 64M f32", lambda v: torch.cumsum(v, 0), (w.view(-1),), 10, False)
r = torch.rand(16 << 20, device=d)
row("sort of 16M f32", lambda v: torch.sort(v).values, (r,), 3, False)
for dtype, name in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
    q, k, v = (torch.rand(128, 1024, 64, device=d, dtype=dtype) * 2 - 1 for _ in range(3))
    row(f"attention 128x1024x64 {name}", lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.125, 2) @ v, (q, k, v), 5)
    sdpa = per_call(lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None]), 5)
    key = f"attention 128x1024x64 {name}"
    out["eager"][key] = min(out["eager"][key], sdpa)
    seen = torch.ones(1024, 1024, device=d, dtype=torch.bool).tril()
    key = f"causal attention 128x1024x64 {name}"
    row(key, lambda q, k, v: torch.softmax((q @ k.transpose(1, 2) * 0.125).masked_fill(~seen, float("-inf")), 2) @ v, (q, k, v), 5)
    sdpa = per_call(lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True), 5)
    out["eager"][key] = min(out["eager"][key], sdpa)
row("normal random numbers, 64M f32", lambda: torch.randn(64 << 20, device=d), (), 5, False)
c = torch.rand(64, device=d)
row("200 dependent ops on 64 values, lazy", chain, (c,), 20)
print(json.dumps(out))
