// Kernels that move elements: slices, joins, borders, orders of axes.

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels, Native, Out } from '../kernel.ts';

/** `counts` elements of each axis, from `begin` in steps, which may be negative. */
export function strided(
  x: Tensor,
  begin: readonly number[],
  steps: readonly number[],
  counts: readonly number[],
): Tensor {
  return x.slice(
    counts.map((count, i) => {
      if (count <= 0) return [0, 0] as const;
      const [from, step] = [begin[i]!, steps[i]!];
      const last = from + (count - 1) * step;
      if (step > 0) return [from, last + 1, step] as const;
      return [from, last === 0 ? null : last - 1, step] as const;
    }),
  );
}

/** Runs a movement on a tensor, or on both halves of a complex value. */
const moving = (
  name: string,
  f: (x: Tensor, c: Call) => Tensor,
): { readonly plain: Native; readonly complex: Native } => ({
  plain: (c) => f(c.x(name), c),
  complex: (c) => {
    const { real, imag } = c.complex(name);
    return { real: f(real, c), imag: f(imag, c) };
  },
});

const slice = moving('x', (x, c) => {
  const attrs = c.attrs<{ begin: number | number[]; size: number | number[] }>();
  const { slice_util } = c.tf;
  const [begin, size] = slice_util.parseSliceParams(c.info('x') as never, attrs.begin, attrs.size) as [
    number[],
    number[],
  ];
  slice_util.assertParamsValid(c.info('x') as never, begin, size);
  return strided(
    x,
    begin,
    size.map(() => 1),
    size,
  );
});

const transpose = moving('x', (x, c) => x.permute(c.attrs<{ perm: number[] }>().perm));

const reverse = moving('x', (x, c) => {
  const { dims } = c.attrs<{ dims: number[] }>();
  if (x.rank === 0) return x.clone();
  return x.flip(c.tf.util.parseAxisParam(dims, [...x.shape]));
});

function stridedSlice(c: Call): Out {
  const x = c.info('x');
  const a = c.attrs<Record<'begin' | 'end' | 'strides', number[]> & Record<string, number>>();
  const info = c.tf.slice_util.sliceInfo(
    x.shape,
    a.begin,
    a.end,
    a.strides,
    a.beginMask as number,
    a.endMask as number,
    a.ellipsisMask as number,
    a.newAxisMask as number,
    a.shrinkAxisMask as number,
  );
  if (info.isIdentity) return c.share('x', info.finalShape);
  const counts = c.tf.slice_util.computeOutShape(info.begin, info.end, info.strides);
  return strided(c.x('x'), info.begin, info.strides, counts).reshape(info.finalShape);
}

/** Tensors without elements add nothing, whatever their shape. */
function joined(rt: Runtime, list: readonly Tensor[], axis: number, shape: readonly number[]): Tensor {
  const full = list.filter((x) => x.size > 0);
  if (full.length === 0) return rt.zeros(shape, { dtype: list[0]!.dtype });
  return full.length === 1 ? full[0]!.clone() : rt.concat(full, axis);
}

function concatInfo(c: Call): { axis: number; shape: number[] } {
  const shapes = Object.values(c.inputs).map((x) => x!.shape);
  const axis = c.tf.util.parseAxisParam(c.attrs<{ axis: number }>().axis, shapes[0]!)[0]!;
  const { backend_util } = c.tf;
  backend_util.assertParamsConsistent(shapes, axis);
  return { axis, shape: backend_util.computeOutShape(shapes, axis) };
}

function pairsOf(c: Call, join: (list: Tensor[]) => Tensor): Out {
  const parts = Object.keys(c.inputs).map((name) => c.complex(name));
  return { real: join(parts.map((p) => p.real)), imag: join(parts.map((p) => p.imag)) };
}

function checkPack(c: Call): number {
  const [first, ...rest] = Object.values(c.inputs);
  for (const x of rest) {
    c.tf.util.assertShapesMatch(first!.shape, x!.shape, 'All tensors passed to stack must have matching shapes');
    c.tf.util.assert(first!.dtype === x!.dtype, () => 'All tensors passed to stack must have matching dtypes');
  }
  return c.attrs<{ axis: number }>().axis;
}

function unpacked(x: Tensor, c: Call): Tensor[] {
  const { axis } = c.attrs<{ axis: number }>();
  const at = axis < 0 ? axis + x.rank : axis;
  const shape = x.shape.filter((_, i) => i !== at);
  return Array.from({ length: x.shape[at]! }, (_, i) =>
    x.slice(x.shape.map((_, j) => (j === at ? [i, i + 1] : null))).reshape(shape),
  );
}

function split(x: Tensor, c: Call): Tensor[] {
  const { numOrSizeSplits, axis } = c.attrs<{ numOrSizeSplits: number | number[]; axis: number }>();
  const at = c.tf.util.parseAxisParam(axis, [...x.shape])[0]!;
  let from = 0;
  return c.tf.backend_util.prepareSplitSize({ shape: [...x.shape] } as never, numOrSizeSplits, at).map((size) => {
    const part = strided(
      x,
      x.shape.map((_, i) => (i === at ? from : 0)),
      x.shape.map(() => 1),
      x.shape.map((d, i) => (i === at ? size : d)),
    );
    from += size;
    return part;
  });
}

const several = (
  name: string,
  f: (x: Tensor, c: Call) => Tensor[],
): { readonly plain: Native; readonly complex: Native } => ({
  plain: (c) => f(c.x(name), c),
  complex: (c) => {
    const { real, imag } = c.complex(name);
    const [a, b] = [f(real, c), f(imag, c)];
    return a.map((part, i) => ({ real: part, imag: b[i]! }));
  },
});

const unpack = several('value', unpacked);
const splitV = several('x', split);

function pad(c: Call): Tensor {
  const { paddings, constantValue } = c.attrs<{ paddings: [number, number][]; constantValue: number }>();
  const x = c.x('x');
  return x.pad(paddings, x.dtype === 'f32' ? constantValue : Math.trunc(constantValue) | 0);
}

/** Which element of an axis each position of its mirrored border shows. */
function mirrored(size: number, [before, after]: readonly [number, number], offset: number): number[] {
  return Array.from({ length: before + size + after }, (_, i) => {
    if (i < before) return before - i - offset;
    return i < before + size ? i - before : 2 * (size - 1) - (i - before) + offset;
  });
}

function mirrorPad(c: Call): Tensor {
  const { paddings, mode } = c.attrs<{ paddings: [number, number][]; mode: 'reflect' | 'symmetric' }>();
  const offset = mode === 'reflect' ? 0 : 1;
  return paddings.reduce((x, widths, axis) => {
    if (widths[0] + widths[1] === 0) return x;
    return x.gather(mirrored(x.shape[axis]!, widths, offset), axis);
  }, c.x('x'));
}

function batchToSpace(c: Call): Tensor {
  const { blockShape, crops } = c.attrs<{ blockShape: number[]; crops: number[][] }>();
  const { backend_util: util } = c.tf;
  const x = c.x('x');
  const shape = [...x.shape];
  const count = blockShape.reduce((a, b) => a * b);
  const reshaped = util.getReshaped(shape, blockShape, count);
  const whole = util.getReshapedPermuted(shape, blockShape, count);
  const begin = util.getSliceBeginCoords(crops, blockShape.length);
  const size = util.getSliceSize(whole, crops, blockShape.length);
  const spread = x.reshape(reshaped).permute(util.getPermuted(reshaped.length, blockShape.length)).reshape(whole);
  return strided(
    spread,
    begin,
    size.map(() => 1),
    size,
  );
}

function spaceToBatch(c: Call): Tensor {
  const { blockShape, paddings } = c.attrs<{ blockShape: number[]; paddings: [number, number][] }>();
  const { backend_util: util } = c.tf;
  const x = c.x('x');
  const rest = x.shape.slice(1 + blockShape.length).map(() => [0, 0] as const);
  const padded = x.pad([[0, 0], ...paddings, ...rest]);
  const shape = [...padded.shape];
  const count = blockShape.reduce((a, b) => a * b, 1);
  const reshaped = util.getReshaped(shape, blockShape, count, false);
  const order = util.getPermuted(reshaped.length, blockShape.length, false);
  return padded
    .reshape(reshaped)
    .permute(order)
    .reshape(util.getReshapedPermuted(shape, blockShape, count, false));
}

function depthToSpace(c: Call): Tensor {
  const { blockSize: b, dataFormat } = c.attrs<{ blockSize: number; dataFormat: string }>();
  c.tf.util.assert(dataFormat === 'NHWC', () => `Only NHWC dataFormat supported for depthToSpace. Got ${dataFormat}`);
  const x = c.x('x');
  const [n, h, w, depth] = x.shape as readonly [number, number, number, number];
  const rest = depth / (b * b);
  return x
    .reshape([n, h, w, b, b, rest])
    .permute([0, 1, 3, 2, 4, 5])
    .reshape([n, h * b, w * b, rest]);
}

function diag(c: Call): Tensor {
  const x = c.x('x');
  const n = x.size;
  const zero = c.rt.zeros([], { dtype: x.dtype });
  return c.rt.where(c.rt.eye(n, n, 0, { dtype: 'bool' }), x.reshape([1, n]), zero).reshape([...x.shape, ...x.shape]);
}

export const movement: Kernels = {
  BatchToSpaceND: batchToSpace,
  Concat: (c) => {
    const { axis, shape } = concatInfo(c);
    return joined(c.rt, c.list(), axis, shape);
  },
  DepthToSpace: depthToSpace,
  Diag: diag,
  FlipLeftRight: (c) => c.x('image').flip([2]),
  MirrorPad: mirrorPad,
  Pack: (c) => c.rt.stack(c.list(), checkPack(c)),
  PadV2: pad,
  Reverse: reverse.plain,
  Slice: slice.plain,
  SpaceToBatchND: spaceToBatch,
  SplitV: splitV.plain,
  StridedSlice: stridedSlice,
  Tile: (c) => c.x('x').tile(c.attrs<{ reps: number[] }>().reps),
  Transpose: transpose.plain,
  Unpack: unpack.plain,
};

/** Those that move complex values too. */
export const movementOfComplex: Kernels = {
  Concat: (c) => {
    const { axis, shape } = concatInfo(c);
    return pairsOf(c, (list) => joined(c.rt, list, axis, shape));
  },
  Pack: (c) => {
    const axis = checkPack(c);
    return pairsOf(c, (list) => c.rt.stack(list, axis));
  },
  Reverse: reverse.complex,
  Slice: slice.complex,
  SplitV: splitV.complex,
  Transpose: transpose.complex,
  Unpack: unpack.complex,
};
