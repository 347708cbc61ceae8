// Diffusion: x ← x + rate · Σ (neighbour − x), one fused kernel per step, on a field of any shape.

import { checked } from '../base/signatures.ts';
import type { Border, KernelValue, Runtime, Tensor } from '../index.ts';
import type { BatchOption } from './batch.ts';
import { invalidArgument, oneOf, wholeNumber } from './errors.ts';
import { kept } from './on-device/kept.ts';
import { latticeKinds } from './signatures.ts';
import { neighborSum } from './stencil.ts';

const diffuseBoundaries = ['insulated', 'periodic', 'zero'] as const;

/** How a field spreads. */
export interface SpreadOptions {
  /** Default 1/(2d+1), at most 1/(2d): beyond that values grow without bound. */
  readonly rate?: number | undefined;
  /** Nothing leaves (default), what leaves comes in at the other end, or the outside is zero. */
  readonly boundary?: (typeof diffuseBoundaries)[number] | undefined;
}

export interface DiffuseOptions extends SpreadOptions, BatchOption {
  /** Ends `Lattice.diffuse`. A call of a batch looks at it before it joins the others. */
  readonly signal?: AbortSignal | undefined;
}

export interface Diffusion {
  readonly rate: number;
  readonly boundary: (typeof diffuseBoundaries)[number];
}

export function resolveDiffusion(d: number, o: SpreadOptions): Diffusion {
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
  "rt:runtime field:own steps:own o:{rate:number,boundary:'zero'|'insulated'|'periodic'}?",
  (rt: Runtime, field: Tensor, steps: number, o: SpreadOptions = {}): Tensor => {
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
      if (steps === 0) return start.add(0).compute();
      return advance(spreadOf(rt, start, how), start, steps).compute();
    });
  },
  latticeKinds,
);

/** Whole numbers spread as f32. */
export const floatOf = (x: Tensor): Tensor => (x.dtype === 'f64' || x.dtype === 'f32' ? x : x.cast('f32'));

/** Steps that are compiled together: a device that records launches then repeats them with one call. */
const together = 30;

/** One compiled step, and `together` of them. */
export interface Spread {
  readonly one: (x: Tensor) => Tensor;
  readonly many: (x: Tensor) => Tensor;
  /** Tensors that the steps read. */
  readonly reads: readonly Tensor[];
  /** Gives up what nobody else uses: compiled steps without a mask are kept for the next call. */
  end(): void;
}

/**
 * The steps for fields such as this one, one value per vertex of a grid. `blocked`, one byte per value: those keep their values and
 * pass nothing on. The grid has the first `axes` axes; fields side by side are a last one.
 */
export function spreadOf(
  rt: Runtime,
  field: Tensor,
  { rate, boundary }: Diffusion,
  blocked: Uint8Array | null = null,
  axes = field.rank,
): Spread {
  if (blocked) return aroundBlocked(rt, field, axes, blocked, rate, boundary);
  const steps = kept(rt, `diffuse ${field.rank} ${axes} ${rate} ${boundary}`, () =>
    compiled(rt, everywhere(rt, field.rank, axes, rate, boundary)),
  );
  return { ...steps, reads: [], end: () => {} };
}

/** The field after so many steps, one at least; it is left as it is. */
export function advance(spread: Spread, field: Tensor, steps: number): Tensor {
  let x = field;
  for (let left = steps; left > 0; ) {
    const old = x;
    const taken = left >= together ? together : 1;
    x = (taken === 1 ? spread.one : spread.many)(old);
    left -= taken;
    if (old !== field) old.dispose();
  }
  return x;
}

interface Compiled extends Pick<Spread, 'one' | 'many'> {
  dispose(): void;
}

function compiled(rt: Runtime, one: { (x: Tensor): Tensor; dispose(): void }): Compiled {
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

function everywhere(
  rt: Runtime,
  rank: number,
  axes: number,
  rate: number,
  boundary: Diffusion['boundary'],
): { (x: Tensor): Tensor; dispose(): void } {
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
  return kernel as unknown as { (x: Tensor): Tensor; dispose(): void };
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
  const { one, many, dispose } = compiled(rt, step);
  const reads = [free, degree];
  const end = (): void => {
    dispose();
    for (const t of reads) t.dispose();
  };
  return { one, many, reads, end };
}
