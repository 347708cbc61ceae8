"""NumPy's half of the bench: the same protocol as lib/side.mjs, the same inputs, the same way of measuring."""

import json
import os
import sys
import time

import numpy as np

# As lib/side.mjs says.
clock = time.process_time if os.environ.get("GPUFORGE_BENCH_CLOCK") == "processor" else time.perf_counter
SAMPLE = 0.004
WARM_UP = 0.25


def words(n, seed=0):
    return (np.arange(n, dtype=np.uint64) + np.uint64(seed)).astype(np.uint32) * np.uint32(2654435761)


def floats(n, seed=0):
    return (words(n, seed).astype(np.float64) / 2**31 - 1).astype(np.float32)


def fractions(n, seed=0):
    return (words(n, seed).astype(np.float64) / 2**32).astype(np.float32)


def digest(a):
    a = np.asarray(a).reshape(-1)
    n = a.size
    count = min(n, 64)
    at = [(k * (n - 1)) // max(count - 1, 1) for k in range(count)]
    return {"length": int(n), "samples": [float(a[i]) for i in at], "mean": float(a.astype(np.float64).sum() / n)}


class Job:
    def __init__(self, run, result=None):
        self.last = None
        self.call = run
        self.pick = result

    def run(self):
        self.last = self.call()

    def result(self):
        return self.pick(self.last) if self.pick else self.last


F = np.float32


def chain_of(n):
    x = floats(n)
    return Job(lambda: np.tanh((x * F(0.99) + F(0.5)) * x - F(0.1)))


def add5():
    a, b = floats(5), floats(5, 7)
    return Job(lambda: a + b)


def xor16m():
    a, b = words(2**24), words(2**24, 7)
    out = np.empty_like(a)
    return Job(lambda: np.bitwise_xor(a, b, out=out))


def field():
    f = floats(2**21).reshape(32, 32, 32, 64)

    def step():
        around = f * F(-6)
        for axis in (0, 1, 2):
            for s in (1, -1):
                around += np.roll(f, s, axis)
        return np.tanh(f * F(0.99) + around * F(0.1))

    return Job(step)


def sum_of(n):
    x = fractions(n)
    return Job(lambda: x.sum(), lambda s: np.array([s]))


def concat62():
    xs = [floats(10**5, i) for i in range(62)]
    return Job(lambda: np.concatenate(xs))


def matmul1024():
    a, b = floats(2**20).reshape(1024, 1024), floats(2**20, 1).reshape(1024, 1024)
    return Job(lambda: a @ b)


def matmul256x10():
    xs = [floats(2**16, i).reshape(256, 256) for i in range(11)]
    return Job(lambda: [a @ xs[10] for a in xs[:10]], lambda out: out[9])


def matmul64():
    a, b = (floats(64 * 64, seed).reshape(64, 64) for seed in (0, 1))
    return Job(lambda: a @ b)


def ops200():
    x = floats(64)

    def run():
        y = x
        for _ in range(100):
            y = y * F(0.99) + x
        return y

    return Job(run)


TABLE = {
    "matmul64": lambda _: matmul64(), "ops200": lambda _: ops200(),
    "add5": lambda _: add5(), "xor16m": lambda _: xor16m(), "chain4m": lambda _: chain_of(2**22), "field": lambda _: field(),
    "sum16m": lambda _: sum_of(2**24), "matmul1024": lambda _: matmul1024(), "matmul256x10": lambda _: matmul256x10(),
    **{f"chain{n}": lambda _, n=n: chain_of(n) for n in (100, 1000, 4096, 16384)},
    "sum1000": lambda _: sum_of(1000), "concat62": lambda _: concat62(), "chain": chain_of, "sum": sum_of,
}


def warm_up(job):
    start = time.perf_counter()
    job.run()
    while time.perf_counter() - start < WARM_UP:
        job.run()


def timed(run, runs):
    start = clock()
    for _ in range(runs):
        run()
    return clock() - start


def measure(run, budget):
    runs, took = 1, timed(run, 1)
    while took < SAMPLE:
        runs = int(runs * max(2, min(16, SAMPLE / max(took, 1e-6)))) + 1
        took = timed(run, runs)
    times = []
    # One look is enough at what takes seconds.
    least = 1 if took > 1 else 3
    start = time.perf_counter()
    while len(times) < least or time.perf_counter() - start < budget:
        times.append(timed(run, runs) / runs * 1000)
    return times


def handle(ready, request, table):
    command, work = request["command"], request.get("work", "")
    if command == "prepare":
        name, _, size = work.partition(":")
        if name not in table:
            return {"unsupported": True}
        job = ready[work] = table[name](int(size or 0))
        warm_up(job)
        result = job.result()
        if request.get("values"):
            np.asarray(result).astype(np.float64).tofile(request["values"])
        return {"digest": digest(result)}
    if command == "measure":
        return {"times": measure(ready[work].call, request["seconds"])}
    if command == "drop":
        ready.pop(work, None)
    return {}


def blas():
    """The BLAS library that is loaded, as the system names it."""
    np.ones((2, 2), F) @ np.ones((2, 2), F)
    try:
        with open("/proc/self/maps") as maps:
            names = {line.rsplit("/", 1)[-1].strip() for line in maps if "blas" in line}
        return ", ".join(sorted(names)) or "none seen"
    except OSError:
        return "unknown"


def main(table):
    """Answers requests for the works of a table: name → the function that makes one, given a size."""
    ready = {}
    print(json.dumps({"ready": True, "about": {"version": np.__version__, "blas": blas()}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = handle(ready, request, table)
        except Exception as error:  # The parent shows it; the other works go on.
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
        if request["command"] == "quit":
            break


if __name__ == "__main__":
    main(TABLE)
