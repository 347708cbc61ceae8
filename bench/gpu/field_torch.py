# The cycle of a field's model `fused` in PyTorch, from its description, as one would write it there: eager, compiled, and captured
# as a CUDA graph. One JSON line per row; microseconds from sensor values on the host to motors on the host.
import json
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("python3 has no torch", file=sys.stderr)
    sys.exit(0)
if not torch.cuda.is_available():
    print("torch sees no GPU", file=sys.stderr)
    sys.exit(0)

d = "cuda"
KEEP, Q, NOISE, GAIN = 0.999, 0.05, 0.001, 5.0


def three(x, axis):
    return x + torch.roll(x, 1, axis) + torch.roll(x, -1, axis)


def sum27(x):
    return three(three(three(x, 0), 1), 2)


def smooth(x, axis):
    return 2 * x + torch.roll(x, 1, axis) + torch.roll(x, -1, axis)


def slope(x, axis):
    return torch.roll(x, -1, axis) - torch.roll(x, 1, axis)


class Cycle:
    def __init__(self, r, c, sensors=16, motors=5):
        self.r, self.motors = r, motors
        self.content, self.kept = c // 2, c - 16
        self.axis = torch.arange(r, device=d)
        self.owner = torch.arange(self.content, device=d) % sensors
        self.keep = torch.where(torch.arange(c, device=d) < self.kept, KEEP, 1.0)
        self.pad = c - self.content

    def profile(self, p):
        off = (self.axis - p).abs()
        off = torch.minimum(off, self.r - off)
        return torch.where(off <= 2, 0.8 ** off.float(), 0.0)

    def __call__(self, field, inputs):
        r = self.r
        sensors, reward = inputs[:-1], inputs[-1]
        place = sum27(field.abs().mean(-1)).flatten().argmin()
        px, py, pz = place // (r * r), place // r % r, place % r
        cube = self.profile(px)[:, None, None] * self.profile(py)[:, None] * self.profile(pz)
        strength = 0.5 * (0.5 + 0.5 * reward.abs().clamp(max=1)) * (inputs.abs().max() > 0.01)
        values = torch.nn.functional.pad(sensors[self.owner], (0, self.pad))
        x = (field + strength * cube[..., None] * values) * self.keep
        x = (1 - Q) * x + Q * sum27(x) / 27
        x = x + NOISE * torch.randn_like(x)
        own = x[..., : self.content]
        mean, size = own.mean(-1), own.abs().mean(-1)
        g = [slope(smooth(smooth(mean, (a + 1) % 3), (a + 2) % 3), a) / 32 for a in range(3)]
        total = size.sum()
        motors = torch.tanh(GAIN * torch.stack([(size * v).sum() for v in g]) / total)
        stats = torch.stack(
            [total, own.sum(), own.square().sum(), own.abs().max(), (own.abs() < 0.01).float().sum(), x.abs().sum()]
        )
        return x, torch.cat([motors, torch.zeros(self.motors - 3, device=d), stats])


def show(name, us):
    us = sorted(us)
    row = {"name": name, "median": statistics.median(us), "p99": us[int(0.99 * len(us))]}
    print(json.dumps(row), flush=True)


def measure(name, step, n):
    host = torch.zeros(17).pin_memory()
    for i in range(20):
        host[:16] = torch.sin(0.1 * i + torch.arange(16)) * 0.5
        step(host)
    us = []
    for i in range(n):
        host[:16] = torch.sin(0.1 * i + torch.arange(16)) * 0.5
        t = time.perf_counter()
        record = step(host)
        us.append((time.perf_counter() - t) * 1e6)
    assert torch.isfinite(record).all() and record[:3].abs().max() <= 1
    show(name, us)


def bench(r, c, n):
    cycle = Cycle(r, c)
    start = lambda: torch.randn(r, r, r, c, device=d) * 0.2 + 0.05
    state = {"field": start()}

    def run(f):
        def step(host):
            state["field"], record = f(state["field"], host.to(d, non_blocking=True))
            return record.cpu()

        return step

    with torch.no_grad():
        measure(f"eager {r}³×{c}", run(cycle), n)
        state["field"] = start()
        measure(f"torch.compile {r}³×{c}", run(torch.compile(cycle)), n)
        field, given = start(), torch.zeros(17, device=d)
        compiled = torch.compile(cycle)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                compiled(field, given)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            after, record = compiled(field, given)
            field.copy_(after)
        out = torch.empty(record.shape, pin_memory=True)

        def replay(host):
            given.copy_(host, non_blocking=True)
            graph.replay()
            out.copy_(record, non_blocking=True)
            torch.cuda.synchronize()
            return out

        measure(f"CUDA graph of it {r}³×{c}", replay, n)


bench(32, 64, 1000)
bench(64, 128, 200)
