"""The source of the polynomial coefficients in src/kernel/decompose: minimax fits by Remez' exchange.

    python3 scripts/coefficients.py [name …]     (needs python3-mpmath; all fits take a few minutes)

Each fit prints its coefficients, lowest power first, with the error before and after rounding them to the type, and says
whether src/kernel/decompose holds just these.
"""

import pathlib
import re
import sys

import mpmath as mp
from mpmath import mpf

mp.mp.prec = 200
TINY = mpf(10) ** -25
SOURCES = "".join(p.read_text() for p in (pathlib.Path(__file__).parent.parent / "src/kernel/decompose").glob("*.ts"))
KNOWN = {float(t) for t in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", SOURCES)}


def nodes(low, high, count):
    """Chebyshev's points, in rising order."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def remez(f, weight, powers, low, high, grid):
    """Coefficients c that minimise the largest weight(x)·|f(x) - Σ c_i·x^powers_i|, and that error."""
    n = len(powers)
    grid = [(x, f(x), weight(x)) for x in nodes(low, high, grid)]
    points = [(x, f(x), weight(x)) for x in nodes(low, high, n + 1)]
    for _ in range(30):
        system, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for i, (x, fx, w) in enumerate(points):
            for j, p in enumerate(powers):
                system[i, j] = x**p * w
            system[i, n] = (-1) ** i
            right[i] = fx * w
        solution = mp.lu_solve(system, right)
        c, level = list(solution[:n]), abs(solution[n])
        errors = [w * (fx - sum(a * x**p for a, p in zip(c, powers))) for x, fx, w in grid]
        extrema, best = [], 0
        for k in range(1, len(grid)):
            if (errors[k] > 0) != (errors[best] > 0):
                extrema.append(best)
                best = k
            elif abs(errors[k]) > abs(errors[best]):
                best = k
        extrema.append(best)
        worst = max(map(abs, errors))
        if len(extrema) < n + 1 or worst <= level * mpf("1.001"):
            break
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        points = [grid[k] for k in extrema]
    return c, worst


def rounded(v, bits):
    m, e = mp.frexp(v)
    return mp.ldexp(mp.nint(mp.ldexp(m, bits)), e - bits)


def fit(f, weight, count, low, high, bits, grid):
    """Rounds the lowest power first and fits the others again, or rounds all at once, whichever errs less."""
    low, high = mpf(low), mpf(high)
    powers = list(range(count))
    plain, exact = remez(f, weight, powers, low, high, grid)
    stepwise, rest, current = [], powers, plain
    while rest:
        stepwise.append(rounded(current[0], bits))
        rest = rest[1:]
        if rest:
            left = lambda x: f(x) - sum(c * x**p for p, c in enumerate(stepwise))
            current, _ = remez(left, weight, rest, low, high, grid)
    samples = [(x, f(x), weight(x)) for x in nodes(low, high, 700)]
    error = lambda cs: max(abs(w * (fx - sum(c * x**p for p, c in enumerate(cs)))) for x, fx, w in samples)
    return min(stepwise, [rounded(c, bits) for c in plain], key=error), exact, error


def odd_tail(f):
    """(f(s) - s)/s³ as a function of z = s², for odd f with f'(0) = 1."""

    def tail(z):
        s = mp.sqrt(max(z, mpf(10) ** -20))
        return (f(s) - s) / s**3

    return tail, lambda z: z * mp.sqrt(z) / f(mp.sqrt(z)) if z > TINY else z


def exp_tail(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > mpf(10) ** -20 else mpf(1) / 2


def log_series(z):
    s = mp.sqrt(max(z, mpf(10) ** -20))
    return (2 * mp.atanh(s) - 2 * s) / s**3


def pow_series(z):
    if z < mpf(10) ** -12:
        return mpf(3) / 5 + mpf(3) / 7 * z + z * z / 3
    s = mp.sqrt(z)
    return (3 * mp.atanh(s) / s - 3 - z) / z**2


def cos_tail(z):
    if z < mpf(10) ** -14:
        return mpf(1) / 24
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_ratio(z):
    s = mp.sqrt(z)
    return mp.erf(s) / s if z > mpf(10) ** -30 else 2 / mp.sqrt(mp.pi)


HALF_LN2 = mp.log(2) / 2 * mpf("1.0005")
LOG_Z = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.01")
TRIG_Z = (mp.pi / 4) ** 2 * mpf("1.002")
exp_fit = (exp_tail, lambda r: r * r / abs(mp.expm1(r)) if r else mpf(0))
log_fit = (log_series, lambda z: z / 2)
pow_fit = (pow_series, lambda z: z * z / 3)
cos_fit = (cos_tail, lambda z: z * z / mp.cos(mp.sqrt(z)))
erf_fit = (lambda z: erf_ratio(z) - 1, lambda z: 1 / erf_ratio(z))
erfc_fit = (lambda a: -mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a))

# name: (function and weight, coefficients, interval, bits of the type, points of the grid)
FITS = {
    "exp f32": (exp_fit, 5, -HALF_LN2, HALF_LN2, 24, 1500),
    "exp f64": (exp_fit, 11, -HALF_LN2, HALF_LN2, 53, 700),
    "log f32": (log_fit, 3, TINY, LOG_Z, 24, 1500),
    "log f64": (log_fit, 7, TINY, LOG_Z, 53, 1500),
    "pow f32": (pow_fit, 3, mpf(10) ** -13, LOG_Z, 24, 500),
    "pow f64": (pow_fit, 7, mpf(10) ** -13, LOG_Z, 53, 500),
    "sin f32": (odd_tail(mp.sin), 3, TINY, TRIG_Z, 24, 1500),
    "sin f64": (odd_tail(mp.sin), 6, TINY, TRIG_Z, 53, 1500),
    "cos f32": (cos_fit, 3, mpf(10) ** -13, TRIG_Z, 24, 1500),
    "cos f64": (cos_fit, 6, mpf(10) ** -13, TRIG_Z, 53, 1500),
    "atan f32": (odd_tail(mp.atan), 9, TINY, 1, 24, 1500),
    "atan f64": (odd_tail(mp.atan), 21, TINY, 1, 53, 800),
    "asin f32": (odd_tail(mp.asin), 5, TINY, "0.2502", 24, 1500),
    "asin f64": (odd_tail(mp.asin), 13, TINY, "0.2502", 53, 800),
    "erf f32, |x| < 0.875": (erf_fit, 6, mpf(10) ** -31, mpf("0.875") ** 2, 24, 1500),
    "erf f64, |x| < 1": (erf_fit, 13, mpf(10) ** -31, 1, 53, 600),
    "-log erfc f32": (erfc_fit, 7, "0.875", "3.95", 24, 600),
    "-log erfc f64": (erfc_fit, 20, 1, "5.95", 53, 600),
}


def tanh_half(top=mpf("9.02"), k=2, m=3, count=160):
    """tanh(x/2) ≈ (x/2)·P(x²)/Q(x²) with P(0) = Q(0) = 1, weighted by what an error does to tanh x: Lawson's iteration."""
    xs = [top * (1 - mp.cos(mp.pi * (i + mpf(1) / 2) / (2 * count))) for i in range(count)]
    g = [mp.tanh(x / 2) / x * 2 for x in xs]
    u = [(x / top) ** 2 for x in xs]
    weight = [mp.sech(x) + mpf(2) ** -40 for x in xs]
    share, below, best = [mpf(1)] * count, [mpf(1)] * count, None
    for _ in range(60):
        rows, right = [], []
        for i in range(count):
            s = mp.sqrt(share[i]) * weight[i] / (g[i] * below[i])
            rows.append([s * u[i] ** j for j in range(1, k + 1)] + [-s * g[i] * u[i] ** j for j in range(1, m + 1)])
            right.append(s * (g[i] - 1))
        a, b = mp.matrix(rows), mp.matrix(right)
        c = mp.lu_solve(a.T * a, a.T * b)
        p = [mpf(1)] + [c[j] for j in range(k)]
        q = [mpf(1)] + [c[k + j] for j in range(m)]
        below = [mp.polyval(q[::-1], t) for t in u]
        errors = [abs(mp.polyval(p[::-1], u[i]) / below[i] / g[i] - 1) * weight[i] for i in range(count)]
        worst = max(errors)
        if best is None or worst < best[0]:
            best = worst, [v / top ** (2 * j) for j, v in enumerate(p)][1:], [v / top ** (2 * j) for j, v in enumerate(q)][1:]
        share = [s * (e / worst + mpf("1e-3")) for s, e in zip(share, errors)]
    return best


def report(name, error, coefficients):
    values = [float(c) for c in coefficients]
    held = all(any(abs(v - k) <= 1e-9 * abs(v) for k in KNOWN) for v in values)
    print(f"{name}: error 2^{float(mp.log(error, 2)):.2f}{'' if held else '   (NOT what the sources hold)'}")
    print("  " + ", ".join(map(repr, values)), flush=True)


def main(wanted):
    for name, ((f, weight), *how) in FITS.items():
        if not wanted or any(name.startswith(w) for w in wanted):
            coefficients, _, error = fit(f, weight, *how)
            report(name, error(coefficients), coefficients)
    if not wanted or "tanh" in wanted:
        error, p, q = tanh_half()
        report("tanh(x/2) f32, numerator and denominator", error, p + q)


main(sys.argv[1:])
