"""How PyTorch is timed beside us: medians of 15 rounds of calls in a row, µs a call."""

import statistics
import time

import torch


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
