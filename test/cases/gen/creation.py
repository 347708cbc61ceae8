"""Tensors made from nothing, and what must be refused."""

import numpy as np

from .core import DTYPES, FLOATS, INTS, NP, T, make, rng_for, sample


def write(w):
    w.file("creation")
    for dtype in DTYPES:
        for shape in [(2, 3), (), (0,), (5,), (1, 2, 1, 2, 1)]:
            d = {"dtype": dtype}
            w.add("zeros", [], T(dtype, np.zeros(shape, NP[dtype])), [shape, d])
            w.add("ones", [], T(dtype, np.ones(shape, NP[dtype])), [shape, d])
            v = 1 if dtype == "bool" else 3
            w.add("full", [], make(dtype, np.full(shape, v)), [shape, v, d])
    for dtype in ["f32", "f64", "i32", "u8", "i64", "f16", "u32"]:
        for args in [(5,), (2, 7), (0, 10, 3), (0,), (3, 3)] + ([(7, 1, -2), (-3, 3)] if dtype in ("f32", "f64", "i32", "i64", "f16") else []) + ([(0, 1, 0.25), (1, 0, -0.1)] if dtype in ("f32", "f64") else []):
            r = np.arange(*args)
            start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
            exact = start + np.arange(len(r)) * np.float64(step)
            full = [*args, *[None] * (3 - len(args)), {"dtype": dtype}]
            w.add("arange", [], make(dtype, exact), full, acc=(2, 1.0) if step in (0.25, -0.1) else None)
    for a, b, n in [(0, 1, 5), (-1, 1, 4), (2, 2, 3), (0, 10, 1), (5, -5, 11), (0, 1, 0)]:
        w.add("linspace", [], make("f32", np.linspace(a, b, n)), [a, b, n], acc=(2, max(abs(a), abs(b))))
    for args in [(3,), (2, 4), (3, 3, 1), (3, 4, -1), (0,), (2, 3, 5)]:
        w.add("eye", [], make("f32", np.eye(*args)), list(args))
        w.add("tri", [], make("f32", np.tri(*args)), list(args))
    for shape, axis in [((3, 4), 0), ((3, 4), 1), ((5,), 0), ((2, 3, 2), 1), ((0, 2), 0)]:
        n = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        w.add("iota", [], make("i32", np.broadcast_to(n, shape)), [shape, axis])

    w.file("refusals")
    rng = rng_for("refusals")

    def refuse(op, shapes, args, error, dtypes=None):
        xs = [sample(rng, (dtypes or ["f32"] * len(shapes))[i], s) for i, s in enumerate(shapes)]
        w.add(op, xs, args=args, throws=error)

    for op in ["add", "mul", "less", "pow", "maximum", "logicalAnd"]:
        refuse(op, [(2, 3), (2, 4)], [], "ShapeError")
        refuse(op, [(3,), (2,)], [], "ShapeError")
    for op in ["sum", "max", "mean", "argmax", "any", "prod", "softmax", "cumsum", "sort", "flip", "squeeze"]:
        for axis in (2, -3, 0.5):
            args = [{"axis": axis}] if op in ("sum", "max", "mean", "argmax", "any", "prod") else [[axis]] if op == "flip" else [axis]
            refuse(op, [(2, 3)], args, "ShapeError")
    refuse("sum", [(2, 3)], [{"axis": [0, 0]}], "ShapeError")
    refuse("sum", [(2, 3)], [{"axis": [1, -1]}], "ShapeError")
    for shape in [[4, 2], [7], [-1, -1], [2.5, 2], [-2, 3], [-1, 4]]:
        refuse("reshape", [(2, 3)], [shape], "ShapeError")
    for axes in [[0, 0], [0], [0, 2], [0, 1, 2]]:
        refuse("permute", [(2, 3)], [axes], "ShapeError")
    for shape in [[3], [2, 2], [3, 3]]:
        refuse("broadcastTo", [(2, 3)], [shape], "ShapeError")
    for sa, sb in [((2, 3), (2, 3)), ((4,), (3, 2)), ((2, 2, 3), (3, 3, 2)), ((), (2, 2))]:
        refuse("matmul", [sa, sb], [], "ShapeError")
    refuse("concat", [(2, 3), (3, 2)], [0], "ShapeError")
    refuse("concat", [(2, 3), (2,)], [0], "ShapeError")
    refuse("concat", [(2, 3), (2, 3)], [2], "ShapeError")
    refuse("stack", [(2, 3), (3, 2)], [0], "ShapeError")
    refuse("split", [(5,)], [2, 0], "ShapeError")
    refuse("squeeze", [(2, 3)], [0], "ShapeError")
    refuse("pad", [(2, 3)], [[[1, 1]]], "ShapeError")
    refuse("pad", [(2,)], [[[-3, 0]]], "ShapeError")
    refuse("slice", [(4,)], [[[0, 4, 0]]], "ArgumentError")
    refuse("slice", [(4,)], [[[0.5, 2]]], "ArgumentError")
    refuse("roll", [(4,)], [0.5, 0], "ArgumentError")
    refuse("slice", [(4,)], [[[0, 2], [0, 1]]], "ShapeError")
    refuse("einsum", [(2, 3), (4, 5)], ["ij,jk->ik"], "ShapeError")
    refuse("conv2d", [(1, 3, 4, 4), (2, 2, 3, 3)], [], "ShapeError")
    refuse("topk", [(3,)], [4, 0], "ArgumentError")
    refuse("scatter", [(3,), (2,), (3,)], [{"axis": 0}], "ShapeError", ["f32", "i32", "f32"])
    refuse("takeAlongAxis", [(3, 2), (3,)], [0], "ShapeError", ["f32", "i32"])
    for op in ["sub", "neg"]:
        refuse(op, [(3,)] * (2 if op == "sub" else 1), [], "DTypeError", ["bool", "bool"])
    for op in ["bitwiseAnd", "bitwiseOr", "bitwiseXor", "leftShift", "rightShift"]:
        for d in ["f32", "f64", "f16"]:
            refuse(op, [(3,), (3,)], [], "DTypeError", [d, d])
    refuse("bitwiseNot", [(3,)], [], "DTypeError", ["f32"])
    refuse("gather", [(3,), (2,)], [0], "DTypeError", ["f32", "f32"])
    for shape in [[-1], [1.5], [2, -3]]:
        w.add("zeros", [], args=[shape], throws="ShapeError")
        w.add("ones", [], args=[shape], throws="ShapeError")
    # Indices that lie outside are found when the gather runs.
    for at in ([5], [-5], [0, 3]):
        x = make("f32", np.arange(3.0))
        w.add("gather", [x, make("i32", np.array(at))], args=[0], throws="IndexError")
