"""The lattice's works in Python: python-igraph, NetworkX, SciPy. One library a process.

Reads one JSON object a line ({"command", "work", "seconds"}), answers with one: milliseconds of each run, and a result to compare.
"""

import json
import sys
import time

import numpy as np

library, rows_file = sys.argv[1], sys.argv[2]
# What is measured: time on the wall, or time of the processor, which a busy machine changes less.
clock = time.process_time if "--cpu" in sys.argv else time.perf_counter
SAMPLES = 64


def sample(values):
    """A few values of a long list, spread over it, in the order of vertices."""
    values = np.asarray(values, dtype=np.float64).ravel()
    at = np.linspace(0, len(values) - 1, min(SAMPLES, len(values))).astype(np.int64)
    return [float(values[i]) for i in at]


def igraph_works():
    import igraph

    lattice = lambda d, n: igraph.Graph.Lattice([n] * d, circular=False)
    kept = {}
    once = lambda key, make: kept.setdefault(key, None) or kept.update({key: make()}) or kept[key]

    def build(d, n):
        g = lattice(d, n)
        return [g.vcount(), g.ecount()]

    def analyse():
        g = once("4 10", lambda: lattice(4, 10))
        n, m = g.vcount(), g.ecount()
        return [n, m, int(g.is_connected()), g.diameter(), 2 * m / n, g.transitivity_undirected(mode="zero"), g.density()]

    def path():
        g = once("4 10", lambda: lattice(4, 10))
        return [len(g.get_shortest_paths(0, 9999)[0]) - 1]

    def distances():
        g = once("3 100", lambda: lattice(3, 100))
        found = g.distances(source=0)[0]
        return sample(found)

    def betweenness():
        g = once("4 8", lambda: lattice(4, 8))
        return sample(g.betweenness(directed=False))

    return igraph.__version__, {
        "build (4, 10)": lambda: build(4, 10),
        "build (3, 100)": lambda: build(3, 100),
        "analyse (4, 10)": analyse,
        "path in (4, 10)": path,
        "distances in (3, 100)": distances,
        "betweenness of (4, 8)": betweenness,
    }


def networkx_works():
    import networkx

    grid = lambda d, n: networkx.grid_graph([n] * d)
    kept = {}

    def small():
        if "4 10" not in kept:
            kept["4 10"] = grid(4, 10)
        return kept["4 10"]

    def build():
        g = grid(4, 10)
        return [g.number_of_nodes(), g.number_of_edges()]

    return networkx.__version__, {
        "build (4, 10)": build,
        "path in (4, 10)": lambda: [len(networkx.shortest_path(small(), (0,) * 4, (9,) * 4)) - 1],
    }


def scipy_works():
    import scipy
    from scipy import ndimage, sparse
    from scipy.sparse import csgraph

    kept = {}

    def cube():
        if "cube" not in kept:
            n = 100
            line = sparse.diags([1.0, 1.0], [-1, 1], shape=(n, n), format="csr")
            one = sparse.identity(n, format="csr")
            kron = sparse.kron
            kept["cube"] = (kron(kron(line, one), one) + kron(kron(one, line), one) + kron(kron(one, one), line)).tocsr()
        return kept["cube"]

    def distances():
        g = cube()
        return sample(csgraph.dijkstra(g, directed=False, indices=0, unweighted=True))

    def rank():
        if "rank" not in kept:
            words = np.fromfile(rows_file, dtype=np.int32)
            n = int(words[0])
            offsets, neighbors = words[1 : n + 2], words[n + 2 :]
            matrix = sparse.csr_matrix((np.ones(len(neighbors)), neighbors, offsets), shape=(n, n))
            kept["rank"] = (n, matrix, np.diff(offsets).astype(np.float64))
        n, matrix, out = kept["rank"]
        x = np.full(n, 1 / n)
        share = np.divide(1.0, out, out=np.zeros(n), where=out > 0)
        for _ in range(8):
            idle = x[out == 0].sum()
            x = 0.85 * (matrix @ (x * share)) + (0.15 + 0.85 * idle) / n
        return sample(x)

    def diffuse():
        if "field" not in kept:
            v = np.arange(128**3, dtype=np.int64)
            kept["field"] = ((v * 7919 % 10007) / 10007).astype(np.float32).reshape(128, 128, 128)
        x = kept["field"].copy()
        for _ in range(30):
            x += np.float32(1 / 7) * ndimage.laplace(x, mode="nearest")
        return sample(x)

    return scipy.__version__, {
        "distances in (3, 100)": distances,
        "PageRank, 8 rounds": rank,
        "diffusion 128³ × 30": diffuse,
    }


version, works = {"igraph": igraph_works, "networkx": networkx_works, "scipy": scipy_works}[library]()
print(json.dumps({"version": version, "works": list(works)}), flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    if ask["command"] == "quit":
        print("{}", flush=True)
        break
    work = works.get(ask["work"])
    if work is None:
        print(json.dumps({"error": "has no such work"}), flush=True)
        continue
    if ask["command"] == "check":
        print(json.dumps({"result": work()}), flush=True)
        continue
    samples, end = [], time.perf_counter() + ask["seconds"]
    while not samples or time.perf_counter() < end:
        start = clock()
        work()
        samples.append(1000 * (clock() - start))
    print(json.dumps({"samples": samples}), flush=True)
