#!/usr/bin/python3
"""Makes the case suite's data with NumPy: /usr/bin/python3 test/cases/generate.py [--check]

Needs Debian's python3-numpy and nothing else. The same NumPy gives the same bytes; `--check` writes nothing and fails if
the data checked in differs from what would be written.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True

from gen import convolution, creation, defaults, dynamic, edges, elementwise, fourier, linear, movement, ordering, reductions  # noqa: E402
from gen.core import Writer  # noqa: E402

DATA = pathlib.Path(__file__).parent / "data"


def main():
    w = Writer()
    for family in (elementwise, movement, reductions, linear, ordering, creation, edges, dynamic, defaults, convolution, fourier):
        family.write(w)
    made = {f"{name}.jsonl": "\n".join(rows) + "\n" for name, rows in w.files.items()}
    if "--check" in sys.argv:
        there = {p.name: p.read_text() for p in DATA.glob("*.jsonl")}
        differing = sorted(n for n in made.keys() | there.keys() if made.get(n) != there.get(n))
        if differing:
            sys.exit(f"differs from the data checked in: {', '.join(differing)}")
    else:
        DATA.mkdir(exist_ok=True)
        for old in DATA.glob("*.jsonl"):
            old.unlink()
        for name, text in made.items():
            (DATA / name).write_text(text)
    for name, rows in w.files.items():
        print(f"{len(rows):6} {name} ({sum(map(len, rows)) // 1024} KiB)")
    print(f"{sum(len(r) for r in w.files.values()):6} cases, {sum(len(t) for t in made.values()) / 2**20:.2f} MiB")


main()
