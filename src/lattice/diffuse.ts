// Diffusion: x ← x + rate · Σ (neighbour − x), one fused kernel per step, on a field of any shape.

import { checked } from '../base/signatures.ts';
import type { Border, KernelValue, Runtime, Tensor } from '../index.ts';
import type { BatchOption } from './batch.ts';
import { invalidArgument, oneOf, wholeNumber } from './errors.ts';
import { kept } from './on-device/kept.ts';
import { latticeKinds } from './signatures.ts';
import { neighborSum } from './stencil.ts';

export const diffuseBoundaries = ['insulated', 'periodic', 'zero'] as const;

export interface DiffuseOptions extends BatchOption {
  /** Default 1/(2d+1), at most 1/(2d): beyond that values grow without bound. */
  readonly rate?: number | undefined;
  /** Nothing leaves (default), what leaves comes in at the other end, or the outside is zero. */
  readonly boundary?: (typeof diffuseBoundaries)[number] | undefined;
}

export interface Diffusion {
  readonly rate: number;
  readonly boundary: (typeof diffuseBoundaries)[number];
}

export function resolveDiffusion(d: number, o: DiffuseOptions): Diffusion {
  const { rate = 1 / (2 * d + 1), boundary = 'insulated' } = o;
  oneOf('diffuse', 'boundary', boundary, diffuseBoundaries);
  if (typeof rate === 'number' && rate >= 0 && rate <= 1 / (2 * d)) return { rate, boundary };
  throw invalidArgument({
    where: 'diffuse',
    problem: `the rate is ${String(rate)}`,
    fix: `Use a number from 0 to 1/(2·${d}) = ${1 / (2 * d)}: beyond that diffusion is unstable.`,
  });
}

/**
 * Diffusion on a field of any shape, such as 128 × 128 × 128; `Lattice.diffuse` is the same on a lattice.
 *
 * ```ts
 * import { diffuseField } from 'gpuforge/lattice';
 * const field = rt.tensor([0, 0, 1, 0, 0]);
 * diffuseField(rt, field, 1, { rate: 0.25 }); // → [0, 0.25, 0.5, 0.25, 0]
 * ```
 */
export const diffuseField = checked(
  'diffuseField',
  "rt:runtime field:own steps:own o:{rate:number,boundary:'zero'|'insulated'|'periodic',batch:batch}?",
  (rt: Runtime, field: Tensor, steps: number, o: DiffuseOptions = {}): Tensor => {
    wholeNumber('diffuse', 'steps', steps);
    if (field.rank === 0)
      throw invalidArgument({
        where: 'diffuse',
        problem: 'the field has no axes',
        fix: 'Give a field of rank 1 or more.',
      });
    const how = resolveDiffusion(field.rank, o);
    return rt.scope({ op: 'transform' }, () => {
      const start = floatOf(field);
      return (steps === 0 ? start.add(0) : diffuse(rt, start, steps, how)).compute();
    });
  },
  latticeKinds,
);

/** Whole numbers spread as f32. */
export const floatOf = (x: Tensor): Tensor => (x.dtype === 'f64' || x.dtype === 'f32' ? x : x.cast('f32'));

/**
 * `steps` steps on a field of any shape, one value per vertex of a grid: new values, the field is left as it is. `blocked`, one byte
 * per value: those keep their values and pass nothing on. The grid has the first `axes` axes; fields side by side are a last one.
 */
export function diffuse(
  rt: Runtime,
  field: Tensor,
  steps: number,
  { rate, boundary }: Diffusion,
  blocked: Uint8Array | null = null,
  axes = field.rank,
): Tensor {
  const spread = blocked
    ? aroundBlocked(rt, field, axes, blocked, rate, boundary)
    : kept(rt, `diffuse ${field.rank} ${axes} ${rate} ${boundary}`, () =>
        everywhere(rt, field.rank, axes, rate, boundary),
      );
  let x = field;
  for (let left = steps; left > 0; ) {
    const old = x;
    const taken = left >= together ? together : 1;
    x = (taken === 1 ? spread.one : spread.many)(old);
    left -= taken;
    if (old !== field) old.dispose();
  }
  if (blocked) spread.dispose();
  return x;
}

/** Steps that are compiled together: a device that records launches then repeats them with one call. */
const together = 30;

/** One step, and `together` of them. */
interface Spread {
  readonly one: (x: Tensor) => Tensor;
  readonly many: (x: Tensor) => Tensor;
  dispose(): void;
}

function spreadBy(rt: Runtime, one: { (x: Tensor): Tensor; dispose(): void }): Spread {
  const many = rt.compile((x: Tensor): Tensor => {
    let last = x;
    for (let i = 0; i < together; i++) last = one(last);
    return last;
  });
  return {
    one,
    many,
    dispose: () => {
      many.dispose();
      one.dispose();
    },
  };
}

/** A neighbour beyond the border that nothing is exchanged with is the vertex itself. */
const borders: Readonly<Record<Diffusion['boundary'], Border>> = { insulated: 'clamp', periodic: 'wrap', zero: 'zero' };

function everywhere(rt: Runtime, rank: number, axes: number, rate: number, boundary: Diffusion['boundary']): Spread {
  const offsets = Array.from({ length: axes }, (_, axis) =>
    [-1, 1].map((by) => Array.from({ length: rank }, (_, k) => (k === axis ? by : 0))),
  ).flat();
  const kernel = rt.kernel(
    (x: KernelValue): Tensor => {
      const sum = offsets.map((o) => x.at(...o)).reduce((a, b) => a.add(b));
      return x.add(sum.sub(x.mul(offsets.length)).mul(rate)).cast(x.dtype);
    },
    { border: borders[boundary] },
  );
  return spreadBy(rt, kernel as unknown as { (x: Tensor): Tensor; dispose(): void });
}

function aroundBlocked(
  rt: Runtime,
  { shape, dtype }: Tensor,
  axes: number,
  blocked: Uint8Array,
  rate: number,
  boundary: Diffusion['boundary'],
): Spread {
  const edge = boundary === 'periodic' ? 'wrap' : 'zero';
  const free = rt
    .tensor(
      blocked.map((b) => 1 - b),
      shape,
      { dtype: 'u8' },
    )
    .cast(dtype)
    .compute();
  // How many neighbours each vertex exchanges with. Beyond a 'zero' border lies a neighbour of value zero.
  const inside = neighborSum(free, edge, axes);
  const outside = neighborSum(rt.ones(shape, { dtype }), 'zero', axes)
    .neg()
    .add(2 * axes);
  const degree = (boundary === 'zero' ? inside.add(outside) : inside).compute();
  const step = rt.compile((x: Tensor): Tensor => {
    const change = neighborSum(x.mul(free), edge, axes).sub(degree.mul(x)).mul(rate);
    return x.add(change.mul(free)).cast(dtype);
  });
  return spreadBy(rt, step);
}
