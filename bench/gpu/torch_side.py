# PyTorch on the same work as main.ts, for the table: medians of device or issue-to-done times, as JSON lines.
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


def show(name, samples):
    us = statistics.median(samples)
    print(json.dumps({"name": name, "us": round(us, 2), "low": round(min(samples), 2), "high": round(max(samples), 2)}), flush=True)


def device_time(f, repeats, rounds=15):
    for _ in range(5):
        f()
    torch.cuda.synchronize()
    out = []
    for _ in range(rounds):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(repeats):
            f()
        b.record()
        b.synchronize()
        out.append(a.elapsed_time(b) * 1000 / repeats)
    return out


def done_time(f, repeats=200):
    out = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        t = time.perf_counter()
        f()
        torch.cuda.synchronize()
        out.append((time.perf_counter() - t) * 1e6)
    return out[20:]


print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(0)}))
x = torch.rand(1024, device=d)
samples = []
for _ in range(40):
    t = time.perf_counter()
    for _ in range(500):
        x + 1
    samples.append((time.perf_counter() - t) * 1e6 / 500)
    torch.cuda.synchronize()
show("tiny op (issue)", samples[5:])

x = torch.rand(4 << 20, device=d) * 2 - 1
chain = lambda v: torch.tanh((v * 0.99 + 0.5) * v - 0.1)
show("tanh((x*.99+.5)*x-.1), 4M f32 (device)", device_time(lambda: chain(x), 50))
show("tanh((x*.99+.5)*x-.1), 4M f32 (done)", done_time(lambda: chain(x)))

u = torch.randint(0, 2**31 - 1, (16 << 20,), device=d, dtype=torch.int32)
show("xor of 16M u32, in place (device)", device_time(lambda: u.bitwise_xor_(0x5BD1E99), 100))
show("xor of 16M u32, in place (done)", done_time(lambda: u.bitwise_xor_(0x5BD1E99)))

s = torch.rand(64 << 20, device=d)
show("sum of 64M f32 (device)", device_time(lambda: s.sum(), 20))
show("argmax of 64M f32 (device)", device_time(lambda: s.argmax(), 20))
m = s.view(16384, 4096)
show("sum of rows, 16384 x 4096 f32 (device)", device_time(lambda: m.sum(1), 20))
show("sum of columns, 16384 x 4096 f32 (device)", device_time(lambda: m.sum(0), 20))

field = torch.rand(32, 32, 32, 64, device=d)


def step(f):
    r = f.roll(1, 0) + f.roll(-1, 0) + f.roll(1, 1) + f.roll(-1, 1) + f.roll(1, 2) + f.roll(-1, 2)
    return torch.tanh(f * 0.99 + (r - 6 * f) * 0.1 + (torch.rand_like(f) - 0.5) * 0.01)


show("field step 32x32x32x64 (device)", device_time(lambda: step(field), 50))
try:
    compiled = torch.compile(step)
    for _ in range(3):
        compiled(field)
    show("field step, torch.compile (device)", device_time(lambda: compiled(field), 50))
    fast = torch.compile(chain)
    for _ in range(3):
        fast(x)
    show("tanh chain, torch.compile (done)", done_time(lambda: fast(x)))
except Exception as e:  # torch.compile needs a C compiler and Triton
    print(f"torch.compile: {str(e)[:200]}", file=sys.stderr)

for dtype, side, tf32, batch in [
    (torch.float32, 1024, False, 1),
    (torch.float32, 4096, False, 1),
    (torch.float32, 4096, True, 1),
    (torch.bfloat16, 4096, False, 1),
    (torch.float16, 4096, False, 1),
    (torch.bfloat16, 8192, False, 1),
    (torch.float32, 256, False, 10),
]:
    torch.backends.cuda.matmul.allow_tf32 = tf32
    shape = (batch, side, side) if batch > 1 else (side, side)
    a, b = (torch.rand(shape, device=d) * 2 - 1).to(dtype), (torch.rand(shape, device=d) * 2 - 1).to(dtype)
    f = lambda: torch.matmul(a, b)
    name = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    label = f"matmul {f'{batch} x ' if batch > 1 else ''}{side}² {name} {'tf32' if tf32 else 'exact'}"
    show(f"{label} (device)", device_time(f, 10 if side >= 4096 else 200, 7))
    if batch > 1:
        show(f"{label} (done)", done_time(f))

torch.backends.cuda.matmul.allow_tf32 = False
xw = [(torch.rand(4096, 4096, device=d) * 2 - 1).to(torch.bfloat16) for _ in range(2)]
bias = torch.rand(4096, device=d).to(torch.bfloat16)
layer = lambda: torch.tanh(torch.matmul(xw[0], xw[1]) + bias)
show("tanh(x·w + b), 4096² bf16 (device)", device_time(layer, 10, 7))
try:
    fused = torch.compile(layer)
    for _ in range(3):
        fused()
    show("tanh(x·w + b), torch.compile (device)", device_time(fused, 10, 7))
except Exception as e:
    print(f"torch.compile: {str(e)[:200]}", file=sys.stderr)

n = 2_500_000
host = torch.rand(n)
pinned = torch.rand(n).pin_memory()
for label, src in [("ordinary arrays", host), ("pinned arrays", pinned)]:
    samples = []
    for _ in range(60):
        t = time.perf_counter()
        (src.to(d) + 0).cpu()
        samples.append((time.perf_counter() - t) * 1e6)
    show(f"10 MB up, +0, down, {label} (done)", samples[10:])
k = torch.rand(1 << 24, device=d)
show("sort of 16M f32 with positions (device)", device_time(lambda: torch.sort(k, stable=True), 3, 5))
show("cumulative sum of 16M f32 (device)", device_time(lambda: torch.cumsum(k, 0), 10, 7))
