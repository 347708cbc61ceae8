"""How PyTorch is timed beside us: medians of 15 rounds of calls in a row, µs a call.

Warmed up first: a GPU that was idle runs large products faster than its power lets it go on.
"""

import statistics
import time

import torch

WARM_UP = 0.2


def per_call(f, calls):
    warm = time.perf_counter() + WARM_UP
    while True:
        for _ in range(calls):
            f()
        torch.cuda.synchronize()
        if time.perf_counter() > warm:
            break
    samples = []
    for _ in range(15):
        t = time.perf_counter()
        for _ in range(calls):
            f()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - t) * 1e6 / calls)
    return round(statistics.median(samples), 2)
