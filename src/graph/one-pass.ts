// Sums of squared distances from a mean, in the pass that computes the mean.
//
// Σ(x - μ)² reads every x a second time. With distances d = x - c from any number c, and e = μ - c, it is Σd² + e·(n·e - 2·Σd): sums that are
// ready when Σx is. Digits that these have in common would be lost, so they are f64, and c is the first x of each sum. What f64 loses then is
// less than what the f32 mean of the other way loses: the mean is off by up to 2⁻²⁴ of itself, the sums by about 2⁻⁵³ of (μ - c)². Rows that a
// device keeps on the chip are read once anyhow, and stay as they are.

import type { Capabilities } from '../devices/device.ts';
import type { AluOp } from '../kernel/ops.ts';
import { args } from './args.ts';
import type { Described, Vertex } from './canonical.ts';
import { noInts } from './intern.ts';

type Add = (what: Described) => Vertex;

/** The last vertex of what takes the place of such a sum, the others added; the reduction itself where it stays one. */
export function inOnePass(
  reduction: Described,
  add: Add,
  { dtypes, rows }: Pick<Capabilities, 'dtypes' | 'rows'>,
): Described {
  const found = dtypes.has('f64') && reduction.size > 0 ? distancesOf(reduction) : null;
  if (!found) return reduction;
  const { value, mean, axes } = found;
  const count = value.size / reduction.size;
  if (rows && count * bytesOfValue <= longestOnChip(rows, axes, value.shape.length)) return reduction;
  const { shape, size } = reduction;
  const plain = { dtype: 'f64', slot: -1, value: 0, arg: noInts } as const;
  const alu = (op: AluOp, a: Vertex, b: Vertex, like: Pick<Vertex, 'shape' | 'size'>): Vertex =>
    add({ ...plain, op: 'alu', shape: like.shape, size: like.size, arg: args.alu(op), sources: [a, b] });
  const number = (v: number): Vertex => add({ ...plain, op: 'const', shape: [], size: 1, value: v, sources: [] });
  const wide = add({ ...plain, op: 'cast', shape: value.shape, size: value.size, sources: [value] });
  const one = value.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const start = args.slice(
    one.map(() => 0),
    one.map(() => 1),
  );
  const first = add({ ...plain, op: 'slice', shape: one, size, arg: start, sources: [wide] });
  const spread = add({ ...plain, op: 'expand', shape: value.shape, size: value.size, sources: [first] });
  const distance = alu('sub', wide, spread, value);
  const sum = (of: Vertex): Vertex => add({ ...plain, op: 'reduce', shape, size, arg: reduction.arg, sources: [of] });
  const result = { shape, size };
  const small = (v: Vertex): Vertex => add({ ...plain, dtype: v.dtype, op: 'reshape', ...result, sources: [v] });
  const middle = add({ ...plain, op: 'cast', ...result, sources: [small(mean)] });
  const e = alu('sub', middle, small(first), result);
  const squares = sum(alu('mul', distance, distance, value));
  const twice = alu('mul', sum(distance), number(2), result);
  const rest = alu('mul', e, alu('sub', alu('mul', e, number(count), result), twice, result), result);
  const whole = alu('max', alu('add', squares, rest, result), number(0), result);
  return { ...reduction, op: 'cast', arg: noInts, sources: [whole] };
}

const bytesOfValue = 4;

/** Bytes of a sum's values that the device holds at once: of a row, or of a column beside others. */
function longestOnChip(
  { bytes, columnBytes }: NonNullable<Capabilities['rows']>,
  axes: readonly number[],
  rank: number,
): number {
  return axes.every((a) => a >= rank - axes.length) ? bytes : columnBytes;
}

const isAlu = (v: Vertex, op: AluOp): boolean => v.op === 'alu' && args.aluOf(v) === op;

/** Σ(value - mean)² in f32, where the mean is made of the sum of the same values along the same axes. */
function distancesOf(r: Described): { value: Vertex; mean: Vertex; axes: readonly number[] } | null {
  const { op, axes } = args.reduceOf(r);
  const [squares] = r.sources as [Vertex];
  if (op !== 'sum' || r.dtype !== 'f32' || !isAlu(squares, 'mul') || squares.sources[0] !== squares.sources[1])
    return null;
  const [distance] = squares.sources as [Vertex];
  if (!isAlu(distance, 'sub') || distance.dtype !== 'f32') return null;
  const [value, spread] = distance.sources as [Vertex, Vertex];
  if (spread.op !== 'expand' || value.size !== squares.size) return null;
  const [mean] = spread.sources as [Vertex];
  if (
    mean.shape.length !== value.shape.length ||
    mean.shape.some((d, i) => d !== (axes.includes(i) ? 1 : value.shape[i]))
  )
    return null;
  const quotient = unshaped(mean);
  if (!isAlu(quotient, 'div') && !isAlu(quotient, 'mul')) return null;
  const sum = unshaped(quotient.sources[0]!);
  if (quotient.sources[1]!.op !== 'const' || sum.op !== 'reduce' || sum.sources[0] !== value) return null;
  const same = args.reduceOf(sum);
  return same.op === 'sum' && same.axes.join() === axes.join() ? { value, mean, axes } : null;
}

function unshaped(v: Vertex): Vertex {
  while (v.op === 'reshape') v = v.sources[0]!;
  return v;
}
