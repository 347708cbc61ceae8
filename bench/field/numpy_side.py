# The cycle of a field's model `fused` in NumPy, from its description, as one would write it there. Reads one line per turn (a number
# of cycles) and answers with the milliseconds of each cycle as JSON.
import json
import sys
import time

import numpy as np

R, C, S = int(sys.argv[1]), int(sys.argv[2]), 16
KEEP, Q, NOISE, GAIN = np.float32(0.999), np.float32(0.05), np.float32(0.001), 5.0
content, kept = C // 2, C - 16
rng = np.random.default_rng(0)
field = (rng.standard_normal((R, R, R, C), dtype=np.float32) * 0.2 + 0.05).astype(np.float32)
keep = np.where(np.arange(C) < kept, KEEP, np.float32(1)).astype(np.float32)
owner = np.arange(content) % S
axis = np.arange(R)


def three(x, a):
    return x + np.roll(x, 1, a) + np.roll(x, -1, a)


def sum27(x):
    return three(three(three(x, 0), 1), 2)


def smooth(x, a):
    return 2 * x + np.roll(x, 1, a) + np.roll(x, -1, a)


def profile(p):
    off = np.abs(axis - p)
    off = np.minimum(off, R - off)
    return np.where(off <= 2, np.float32(0.8) ** off, 0).astype(np.float32)


def cycle(field, sensors, reward):
    place = int(np.argmin(sum27(np.abs(field).mean(-1))))
    x = field
    if max(np.abs(sensors).max(), abs(reward)) > 0.01:
        p = np.unravel_index(place, (R, R, R))
        cube = profile(p[0])[:, None, None] * profile(p[1])[:, None] * profile(p[2])
        x = field.copy()
        x[..., :content] += np.float32(0.5 * (0.5 + 0.5 * abs(reward))) * cube[..., None] * sensors[owner]
    x = x * keep
    x = (1 - Q) * x + (Q / np.float32(27)) * sum27(x)
    x += NOISE * rng.standard_normal(x.shape, dtype=np.float32)
    own = x[..., :content]
    mean, size = own.mean(-1), np.abs(own).mean(-1)
    slopes = []
    for a in range(3):
        g = smooth(smooth(mean, (a + 1) % 3), (a + 2) % 3)
        slopes.append((size * (np.roll(g, -1, a) - np.roll(g, 1, a))).sum() / 32)
    motors = np.tanh(GAIN * np.array(slopes) / size.sum())
    stats = (np.abs(own).max(), np.square(own).sum(), (np.abs(own) < 0.01).sum(), own.sum(), np.abs(x).sum())
    return x, motors, stats


t = 0
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        sensors = (np.sin(0.1 * t + np.arange(S)) * 0.5).astype(np.float32)
        start = time.perf_counter()
        field, motors, stats = cycle(field, sensors, 0.0)
        times.append((time.perf_counter() - start) * 1000)
        t += 1
    assert np.isfinite(stats).all() and np.abs(motors).max() <= 1
    print(json.dumps(times), flush=True)
