// Diffusion: x ← x + rate · Σ (neighbour − x), one fused kernel per step.

import type { Runtime, Tensor } from '../index.ts';
import { invalidArgument, oneOf } from './errors.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { neighborSum } from './stencil.ts';

export const diffuseBoundaries = ['insulated', 'periodic', 'zero'] as const;

export interface DiffuseOptions {
  /** Default 1/(2d+1), at most 1/(2d): beyond that values grow without bound. */
  readonly rate?: number | undefined;
  /** Nothing leaves (default), what leaves comes in at the other end, or the outside is zero. */
  readonly boundary?: (typeof diffuseBoundaries)[number] | undefined;
}

export interface Diffusion {
  readonly rate: number;
  readonly boundary: (typeof diffuseBoundaries)[number];
}

export function resolveDiffusion({ dimensions: d }: Grid, o: DiffuseOptions): Diffusion {
  const { rate = 1 / (2 * d + 1), boundary = 'insulated' } = o;
  oneOf('diffuse', 'boundary', boundary, diffuseBoundaries);
  if (typeof rate === 'number' && rate >= 0 && rate <= 1 / (2 * d)) return { rate, boundary };
  throw invalidArgument({
    where: 'diffuse',
    problem: `the rate is ${String(rate)}`,
    fix: `Use a number from 0 to 1/(2·${d}) = ${1 / (2 * d)}: beyond that diffusion is unstable.`,
  });
}

/** `steps` steps on a field of the grid's shape; blocked vertices keep their values and pass nothing on. */
export function diffuse(
  rt: Runtime,
  grid: Grid,
  mask: Mask | null,
  field: Tensor,
  steps: number,
  how: Diffusion,
): Tensor {
  const { rate, boundary } = how;
  const edge = boundary === 'periodic' ? 'wrap' : 'zero';
  const free = mask
    ? rt
        .tensor(
          Uint8Array.from(mask.bytes, (b) => 1 - b),
          grid.shape,
        )
        .cast(field.dtype)
        .compute()
    : null;
  // How many neighbours each vertex exchanges with. Beyond a 'zero' border lies a neighbour of value zero.
  const inside = neighborSum(free ?? rt.ones(grid.shape, { dtype: field.dtype }), edge);
  const outside = neighborSum(rt.ones(grid.shape, { dtype: field.dtype }))
    .neg()
    .add(2 * grid.dimensions);
  const degree = (boundary === 'zero' ? inside.add(outside) : inside).compute();
  const spread = (x: Tensor, n: Tensor, f?: Tensor): Tensor => {
    const change = neighborSum(f ? x.mul(f) : x, edge)
      .sub(n.mul(x))
      .mul(rate);
    return x.add(f ? change.mul(f) : change).cast(field.dtype);
  };
  const step = free
    ? rt.compile((x: Tensor, n: Tensor, f: Tensor) => spread(x, n, f))
    : rt.compile((x: Tensor, n: Tensor) => spread(x, n));
  const run = step as unknown as (...args: readonly Tensor[]) => Tensor;
  let x = field;
  for (let i = 0; i < steps; i++) {
    const old = x;
    x = free ? run(old, degree, free) : run(old, degree);
    if (old !== field) old.dispose();
  }
  step.dispose();
  return x;
}
