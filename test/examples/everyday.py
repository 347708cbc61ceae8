#!/usr/bin/python3
"""Makes everyday.json with NumPy: /usr/bin/python3 test/examples/everyday.py

Inputs, and what the programs of examples/everyday must give for them, each written here in NumPy's own terms.
"""

import json
import pathlib

import numpy as np

rng = np.random.default_rng(7)


def f32(a):
    return np.asarray(a, dtype=np.float32)


def kmeans():
    corners = np.tile([[0, 0], [8, 0], [4, 7]], (20, 1))
    x = f32(corners + rng.normal(size=(60, 2)))
    centres = x[:3].copy()
    for _ in range(8):
        groups = ((x[:, None] - centres[None]) ** 2).sum(2).argmin(1)
        centres = np.stack([x[groups == g].mean(0) for g in range(3)])
    groups = ((x[:, None] - centres[None]) ** 2).sum(2).argmin(1)
    return {"points": x, "k": 3, "rounds": 8}, {"centres": centres, "groups": groups}


def pca():
    x = f32(rng.normal(size=(50, 4)) @ np.diag([5, 2, 1, 0.2]) @ np.linalg.qr(rng.normal(size=(4, 4)))[0])
    values, vectors = np.linalg.eigh(np.cov(x.astype("f8").T))
    components = vectors[:, ::-1].T[:2]
    components = components * np.where(components.sum(1, keepdims=True) < 0, -1, 1)
    projected = (x - x.mean(0)) @ components.T
    return {"data": x, "count": 2}, {"components": components, "variances": values[::-1][:2], "projected": projected}


def logistic():
    x = f32(rng.normal(size=(40, 3)))
    y = (x @ [2, -1, 0.5] > 0.2).astype("f8")
    w, b = np.zeros(3), 0.0
    for _ in range(50):
        error = 1 / (1 + np.exp(-(x @ w + b))) - y
        w, b = w - 0.5 * x.T @ error / 40, b - 0.5 * error.mean()
    p = 1 / (1 + np.exp(-(x @ w + b)))
    loss = -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))
    return {"features": x, "labels": y, "steps": 50}, {"weights": w, "bias": b, "loss": loss}


def attention():
    q, k, v = (f32(rng.normal(size=(2, 5, 4))) for _ in range(3))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(4)
    scores = np.where(np.tri(5) > 0, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return {"q": q, "k": k, "v": v}, {"out": e / e.sum(-1, keepdims=True) @ v}


def blur():
    image = f32(rng.random((9, 12)))
    taps = np.exp(-0.5 * (np.arange(-3, 4) / 1.0) ** 2)
    taps /= taps.sum()
    along = lambda a: np.stack([np.convolve(r, taps, "full")[3:-3] for r in a])  # noqa: E731
    return {"image": image, "sigma": 1}, {"out": along(along(image).T).T}


def life():
    board = f32(rng.random((12, 16)) < 0.35)
    b = board
    for _ in range(6):
        n = sum(np.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b
        b = f32((n == 3) | ((n == 2) & (b == 1)))
    return {"board": board, "generations": 6}, {"out": b}


def mandelbrot():
    re, im = np.meshgrid(np.linspace(-2, 0.5, 24), np.linspace(-1.2, 1.2, 16))
    c, z, count = re + 1j * im, np.zeros((16, 24), complex), np.zeros((16, 24))
    for _ in range(20):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return {"width": 24, "height": 16, "limit": 20}, {"out": count}


def n_body():
    p, v, m = f32(rng.normal(size=(6, 3))), f32(0.1 * rng.normal(size=(6, 3))), f32(rng.random(6) + 0.5)

    def acceleration(p):
        d = p[None] - p[:, None]
        return (d * (m / ((d**2).sum(2) + 0.01) ** 1.5)[..., None]).sum(1)

    q, u = p.astype("f8"), v.astype("f8")
    for _ in range(20):
        half = u + 0.005 * acceleration(q)
        q = q + 0.01 * half
        u = half + 0.005 * acceleration(q)
    return {"positions": p, "velocities": v, "masses": m, "steps": 20}, {"positions": q, "velocities": u}


def page_rank():
    pages, links = 8, rng.integers(0, 8, (2, 20))
    links = links[:, links[0] != 5]  # page 5 links to nothing
    matrix = np.zeros((pages, pages))
    np.add.at(matrix, (links[1], links[0]), 1)
    out = matrix.sum(0)
    matrix = np.where(out > 0, matrix / np.maximum(out, 1), 1 / pages)
    rank = np.linalg.solve(np.eye(pages) - 0.85 * matrix, np.full(pages, 0.15 / pages))
    return {"from": links[0], "to": links[1], "pages": pages}, {"rank": rank}


def heat():
    plate = f32(100 * rng.random((8, 10)))
    u = plate.astype("f8")
    for _ in range(15):
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.2 * flow
    return {"plate": plate, "steps": 15}, {"out": u}


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


cases = [kmeans, pca, logistic, attention, blur, life, mandelbrot, n_body, page_rank, heat]
rows = {c.__name__: dict(zip(("given", "wanted"), map(plain, c()))) for c in cases}
text = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
(pathlib.Path(__file__).parent / "everyday.json").write_text("{\n" + text + "\n}\n")
