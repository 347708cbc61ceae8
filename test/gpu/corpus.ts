// Kernels that between them use every op, dtype, cast, access pattern and reduction form of the PTX renderer.
//
// On any machine they are assembled by ptxas; on a GPU they run, and their results are compared with the reference.

import { type DType, dtypes, isFloat } from '../../src/base/dtype.ts';
import { nativeOps } from '../../src/devices/cuda/ptx/alu.ts';
import type { Target } from '../../src/devices/cuda/ptx/target.ts';
import { decompose } from '../../src/kernel/decompose/index.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { type AluOp, aluOps, type ReduceOp } from '../../src/kernel/ops.ts';
import { KernelBuilder } from './build.ts';

export interface Case {
  readonly kernel: Kernel;
  readonly scalars: readonly number[];
  /** What the device was given, if it is not the kernel itself but its decomposition. */
  readonly lowered?: Kernel;
  /** Inputs that hold positions, and how many there are to choose from. */
  readonly positions?: ReadonlyMap<number, number>;
  /** Moderate values only, where sums and products of extremes would say nothing. */
  readonly mild?: boolean;
  /** Allowed relative error; 0 means bit for bit (NaNs are equal). */
  readonly tolerance: number;
}

const exact = (kernel: Kernel, scalars: readonly number[] = []): Case => ({ kernel, scalars, tolerance: 0 });

export function elementwiseCases(target: Target, size: number): Case[] {
  const cases: Case[] = [];
  for (const type of dtypes) {
    for (const op of nativeOps(type, target)) {
      if (approximations.has(op)) continue;
      const k = new KernelBuilder([size]);
      const src: Expr[] = op === 'where' ? [k.whole('bool')] : [];
      while (src.length < aluOps[op].arity) src.push(k.whole(type));
      k.output(k.b.raw(op, src));
      cases.push(exact(k.done(`${op}_${type}_${size}`)));
    }
  }
  return cases;
}

/** Native only with fastMath, and then not exact. */
const approximations = new Set<AluOp>(['exp', 'exp2', 'log', 'log2', 'log10', 'sin', 'cos', 'tanh']);

export function castCases(size: number): Case[] {
  const cases: Case[] = [];
  for (const from of dtypes) {
    for (const to of dtypes) {
      if (from === to) continue;
      const k = new KernelBuilder([size]);
      k.output(k.b.cast(to, k.whole(from)));
      cases.push(exact(k.done(`cast_${from}_${to}_${size}`)));
    }
    const k = new KernelBuilder([3, size]);
    k.output(k.b.cast(from, k.op('add', k.op('mul', k.axis(0), k.index(7)), k.axis(1))));
    cases.push(exact(k.done(`iota_${from}_${size}`)));
  }
  for (const [from, to] of [
    ['f32', 'i32'],
    ['f32', 'u32'],
    ['i32', 'u32'],
    ['u32', 'f32'],
    ['i32', 'f32'],
    ['f64', 'i64'],
    ['f64', 'u64'],
    ['u64', 'f64'],
    ['i64', 'f64'],
  ] as const) {
    const k = new KernelBuilder([size]);
    k.output(k.b.bitcast(to, k.whole(from)));
    cases.push(exact(k.done(`bits_${from}_${to}_${size}`)));
  }
  for (const type of dtypes) {
    const k = new KernelBuilder([size]);
    const x = k.whole(type);
    const s = k.scalar(type);
    k.output(type === 'bool' ? k.op('xor', x, s) : k.op('max', x, s));
    k.output(k.b.const(type, 1));
    cases.push(exact(k.done(`scalar_${type}_${size}`), [isFloat(type) ? 1.5 : 3]));
  }
  return cases;
}

/** Powers of two, and numbers whose reciprocals take each form there is; small and large. */
const divisors = [1, 2, 3, 7, 14, 64, 100, 127, 200] as const;
const largeDivisors = [641, 50257, 65536, 274177, 0x7fffffff] as const;

/** Whole numbers divided by numbers that are known when the kernel is made. */
function dividedByKnown(): Case[] {
  return (['u8', 'i32', 'u32', 'i64', 'u64'] as const).map((type) => {
    const k = new KernelBuilder([4099]);
    const x = k.whole(type);
    for (const d of type === 'u8' ? divisors : [...divisors, ...largeDivisors]) {
      k.output(k.b.raw('idiv', [x, k.b.const(type, d)]));
      k.output(k.b.raw('imod', [x, k.b.const(type, d)]));
    }
    return exact(k.done(`divided_by_known_${type}`));
  });
}

/** Roots of numbers with a known lower bound, infinity and NaN among them; and of what has none. */
function boundedRoots(size: number): Case {
  const k = new KernelBuilder([size]);
  const x = k.whole('f32');
  const number = (v: number): Expr => k.b.const('f32', v);
  k.output(k.op('sqrt', k.op('max', x, number(2 ** -20))));
  k.output(k.op('sqrt', k.op('add', k.op('mul', x, x), number(2 ** -99))));
  k.output(k.op('sqrt', k.op('add', k.op('abs', x), number(2 ** -126))));
  k.output(k.op('sqrt', k.op('mul', x, x)));
  return exact(k.done(`bounded_roots_${size}`));
}

export function movementCases(): Case[] {
  const cases: Case[] = [...dividedByKnown(), boundedRoots(4099), boundedRoots(1 << 16)];
  for (const type of ['f32', 'u8', 'f16', 'i64', 'bool'] as const) {
    cases.push(roll(type), pad(type), concat(type), transpose(type), flip(type), gather(type), broadcastRow(type));
    cases.push(reshaped(type), strided(type), offsetRead(type), twoOutputs(type), inPlace(type));
  }
  for (const type of dtypes)
    cases.push(crossed(type, [300, 257]), crossed(type, [1088, 1024]), crossed(type, [33, 2000]));
  for (const type of ['f32', 'f64', 'u8'] as const)
    cases.push(crossedAxes(type), crossedPair(type), crossedBehind(type));
  cases.push(fieldStep(), chain(70_001), chain(1 << 16), scalarKernel(), largeRank());
  return cases;
}

const sum2 = (k: KernelBuilder, a: Expr, b: Expr): Expr => k.op(a.type === 'bool' ? 'xor' : 'add', a, b);

function roll(type: DType): Case {
  const k = new KernelBuilder([12, 40]);
  const slot = k.input(type, 480);
  const shifted = (axis: number, n: number, s: number): Expr =>
    k.op('add', k.axis(axis), k.op('where', k.op('lt', k.axis(axis), k.index(n - s)), k.index(s), k.index(s - n)));
  const outer = k.at(slot, k.flat([12, 40], [shifted(0, 12, 5), k.axis(1)]));
  const inner = k.at(slot, k.flat([12, 40], [k.axis(0), shifted(1, 40, 3)]));
  k.output(sum2(k, outer, inner));
  return { ...exact(k.done(`roll_${type}`)), mild: true };
}

function pad(type: DType): Case {
  const k = new KernelBuilder([20, 36]);
  const slot = k.input(type, 16 * 32);
  const [i, j] = [k.axis(0), k.axis(1)];
  const inside = (e: Expr, lo: number, hi: number): Expr =>
    k.op('and', k.op('le', k.index(lo), e), k.op('lt', e, k.index(hi)));
  const gate = k.op('and', inside(i, 2, 18), inside(j, 4, 36));
  const at = k.flat([16, 32], [k.op('sub', i, k.index(2)), k.op('sub', j, k.index(4))]);
  k.output(k.op('where', gate, k.at(slot, at, gate), k.b.const(type, 1)));
  return exact(k.done(`pad_${type}`));
}

function concat(type: DType): Case {
  const k = new KernelBuilder([50]);
  const [a, b] = [k.input(type, 20), k.input(type, 30)];
  const first = k.op('lt', k.axis(0), k.index(20));
  const second = k.op('le', k.index(20), k.axis(0));
  const left = k.at(a, k.axis(0), first);
  const right = k.at(b, k.op('sub', k.axis(0), k.index(20)), second);
  k.output(k.op('where', first, left, right));
  return exact(k.done(`concat_${type}`));
}

function transpose(type: DType): Case {
  const k = new KernelBuilder([33, 44]);
  k.output(k.at(k.input(type, 33 * 44), k.flat([44, 33], [k.axis(1), k.axis(0)])));
  return exact(k.done(`transpose_${type}`));
}

/** Large enough for squares in shared memory, beside an operand that lies as the output does. */
function crossed(type: DType, [rows, columns]: readonly [number, number]): Case {
  const k = new KernelBuilder([rows, columns]);
  const turned = k.at(k.input(type, rows * columns), k.flat([columns, rows], [k.axis(1), k.axis(0)]));
  k.output(sum2(k, turned, k.whole(type)));
  return { ...exact(k.done(`crossed_${type}_${rows}_${columns}`)), mild: true };
}

/** Axes before, between and of one position; the operand is contiguous along the first. */
function crossedAxes(type: DType): Case {
  const k = new KernelBuilder([70, 5, 1, 7, 40]);
  const order = [k.axis(4), k.axis(3), k.axis(1), k.axis(2), k.axis(0)];
  k.output(k.at(k.input(type, 70 * 5 * 7 * 40), k.flat([40, 7, 5, 1, 70], order)));
  return exact(k.done(`crossed_axes_${type}`));
}

/** Two operands across, one of them read twice at a shift; two outputs. */
function crossedPair(type: DType): Case {
  const k = new KernelBuilder([3, 96, 257]);
  const slots = [k.input(type, 3 * 96 * 258), k.input(type, 3 * 96 * 257)] as const;
  const a = k.at(slots[0], k.flat([3, 258, 96], [k.axis(0), k.op('add', k.axis(2), k.index(1)), k.axis(1)]));
  const b = k.at(slots[0], k.flat([3, 258, 96], [k.axis(0), k.axis(2), k.axis(1)]));
  const c = k.at(slots[1], k.flat([257, 3, 96], [k.axis(2), k.axis(0), k.axis(1)]));
  k.output(sum2(k, sum2(k, a, b), c));
  k.output(c);
  return { ...exact(k.done(`crossed_pair_${type}`)), mild: true };
}

/** Across, from a line in the middle of its buffer, and backwards along the output. */
function crossedBehind(type: DType): Case {
  const k = new KernelBuilder([280, 300]);
  const back = k.op('sub', k.index(299), k.axis(1));
  const at = k.op('add', k.op('add', k.op('mul', back, k.index(290)), k.axis(0)), k.index(5));
  k.output(k.at(k.input(type, 300 * 290), at));
  return exact(k.done(`crossed_behind_${type}`));
}

function flip(type: DType): Case {
  const k = new KernelBuilder([9, 64]);
  const at = k.flat([9, 64], [k.op('sub', k.index(8), k.axis(0)), k.op('sub', k.index(63), k.axis(1))]);
  k.output(k.at(k.input(type, 576), at));
  return exact(k.done(`flip_${type}`));
}

function gather(type: DType): Case {
  const k = new KernelBuilder([30, 16]);
  const data = k.input(type, 7 * 16);
  const places = k.input('i32', 30);
  const where = k.b.cast('index', k.at(places, k.axis(0)));
  const clamped = k.op('max', k.op('min', where, k.index(6)), k.index(0));
  k.output(k.at(data, k.flat([7, 16], [clamped, k.axis(1)])));
  return { ...exact(k.done(`gather_${type}`)), positions: new Map([[1, 7]]) };
}

function broadcastRow(type: DType): Case {
  const k = new KernelBuilder([24, 48]);
  const a = k.at(k.input(type, 24), k.axis(0));
  const b = k.at(k.input(type, 48), k.axis(1));
  k.output(sum2(k, a, b));
  return { ...exact(k.done(`broadcast_${type}`)), mild: true };
}

function reshaped(type: DType): Case {
  const k = new KernelBuilder([6, 35]);
  const flat = k.flat([6, 35]);
  const at = k.flat([30, 7], [k.op('idiv', flat, k.index(7)), k.op('imod', flat, k.index(7))]);
  const turned = k.op('add', k.op('mul', k.op('imod', at, k.index(14)), k.index(15)), k.op('idiv', at, k.index(14)));
  k.output(k.at(k.input(type, 210), turned));
  return exact(k.done(`reshaped_${type}`));
}

function strided(type: DType): Case {
  const k = new KernelBuilder([8, 32]);
  k.output(k.at(k.input(type, 8 * 96), k.flat([8, 96], [k.axis(0), k.op('mul', k.axis(1), k.index(3))])));
  return exact(k.done(`strided_${type}`));
}

function offsetRead(type: DType): Case {
  const k = new KernelBuilder([4096]);
  const slot = k.input(type, 4102);
  const at = (d: number): Expr => k.at(slot, k.op('add', k.axis(0), k.index(d)));
  k.output(sum2(k, sum2(k, at(0), at(2)), sum2(k, at(3), at(4))));
  // The reference does not round between the additions.
  return {
    ...exact(k.done(`offset_${type}`)),
    mild: true,
    tolerance: type === 'f32' ? 1e-6 : type === 'f16' ? 2e-3 : 0,
  };
}

function twoOutputs(type: DType): Case {
  const k = new KernelBuilder([5000]);
  const [x, y] = [k.whole(type), k.whole('f32')];
  k.output(sum2(k, x, x));
  k.output(k.op('mul', y, k.b.cast('f32', x)));
  return { ...exact(k.done(`two_${type}`)), mild: true };
}

function inPlace(type: DType): Case {
  const k = new KernelBuilder([3000]);
  const x = k.whole(type);
  k.inPlace.push(0);
  k.output(sum2(k, x, x));
  return { ...exact(k.done(`inplace_${type}`)), mild: true };
}

/** decay + diffusion over six neighbours, the shape of the field benchmark in small. */
export function fieldStep(n = 8, channels = 16, tolerance = 1e-5): Case {
  const sizes = [n, n, n, channels];
  const k = new KernelBuilder(sizes);
  const slot = k.input('f32', n * n * n * channels);
  const c = (v: number): Expr => k.b.const('f32', v);
  const centre = k.at(slot, k.flat());
  let around: Expr | undefined;
  for (let axis = 0; axis < 3; axis++) {
    for (const s of [1, n - 1]) {
      const moved = k.op(
        'add',
        k.axis(axis),
        k.op('where', k.op('lt', k.axis(axis), k.index(n - s)), k.index(s), k.index(s - n)),
      );
      const positions = sizes.map((_, i) => (i === axis ? moved : k.axis(i)));
      const v = k.at(slot, k.flat(sizes, positions));
      around = around ? k.op('add', around, v) : v;
    }
  }
  const diffusion = k.op('mul', k.op('sub', around!, k.op('mul', centre, c(6))), c(0.1));
  k.output(k.op('add', k.op('mul', centre, c(0.99)), diffusion));
  return { kernel: k.done(`field_${n}_${channels}`), scalars: [], tolerance, mild: true };
}

export function chain(size: number): Case {
  const k = new KernelBuilder([size]);
  const x = k.whole('f32');
  const c = (v: number): Expr => k.b.const('f32', v);
  const y = k.op('sub', k.op('mul', k.op('add', k.op('mul', x, c(0.99)), c(0.5)), x), c(0.1));
  k.output(k.op('div', y, k.op('add', k.op('abs', y), c(1))));
  return { kernel: k.done(`chain_${size}`), scalars: [], tolerance: 1e-5, mild: true };
}

function scalarKernel(): Case {
  const k = new KernelBuilder([]);
  k.output(k.op('add', k.at(k.input('f32', 1), k.index(0)), k.b.const('f32', 1)));
  return exact(k.done('scalar_add'));
}

function largeRank(): Case {
  const k = new KernelBuilder([3, 2, 5, 4, 6, 8]);
  const at = k.flat(
    [8, 6, 4, 5, 2, 3],
    [5, 4, 3, 2, 1, 0].map((i) => k.axis(i)),
  );
  k.output(k.op('add', k.at(k.input('f32', 5760), at), k.whole('f32')));
  return { ...exact(k.done('rank6')), mild: true };
}

/** Functions that come to the device decomposed; the reference computes the original. */
export function transcendentalCases(target: Target): Case[] {
  const cases: Case[] = [];
  const native = Object.fromEntries(dtypes.map((t) => [t, nativeOps(t, target)]));
  for (const type of ['f32', 'f64', 'f16', 'bf16'] as const) {
    for (const op of Object.keys(aluOps) as AluOp[]) {
      if (nativeOps(type, target).has(op) || !aluOps[op].classes.includes('float')) continue;
      const k = new KernelBuilder([3000]);
      const src = Array.from({ length: aluOps[op].arity }, () => k.whole(type));
      k.output(k.b.raw(op, src));
      const kernel = k.done(`${op}_${type}`);
      const tolerance = { f32: 1e-6, f64: 1e-14, f16: 2e-3, bf16: 1e-2 }[type];
      cases.push({ kernel, lowered: decompose(kernel, native), scalars: [], mild: true, tolerance });
    }
  }
  return cases;
}

const reduceOps: readonly ReduceOp[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];

function reduction(
  op: ReduceOp,
  type: DType,
  space: readonly number[],
  reduced: readonly number[],
  order: readonly number[],
): Case {
  const k = new KernelBuilder(space, reduced);
  const sizes = [...space, ...reduced];
  const value = k.at(
    k.input(
      type,
      sizes.reduce((n, d) => n * d, 1),
    ),
    k.flat(
      order.map((i) => sizes[i]!),
      order.map((i) => k.axis(i)),
    ),
  );
  const wide = (op === 'sum' || op === 'prod') && (type === 'f16' || type === 'bf16') ? k.b.cast('f32', value) : value;
  const acc = k.reduce(op, op === 'any' || op === 'all' ? k.b.cast('bool', wide) : wide);
  k.output(wide === value || acc.type === 'i32' ? acc : k.b.cast(type, acc));
  const name = `${op}_${type}_${space.join('x') || 's'}_over_${reduced.join('x')}_${order.join('')}`;
  const rounds = isFloat(type) && (op === 'sum' || op === 'prod');
  const tolerance = !rounds ? 0 : type === 'f64' ? 1e-12 : type === 'f32' ? 1e-5 : 0.02;
  return { kernel: k.done(name), scalars: [], tolerance, mild: rounds || op === 'prod' };
}

export function reductionCases(): Case[] {
  const cases: Case[] = [];
  for (const type of dtypes) {
    for (const op of reduceOps) {
      if (type === 'bool' && (op === 'sum' || op === 'prod' || op === 'max' || op === 'min')) continue;
      cases.push(reduction(op, type, [7], [131], [0, 1]), reduction(op, type, [64], [70], [1, 0]));
      cases.push(reduction(op, type, [], [20_011], [0]));
    }
  }
  // Shapes: every group size, ragged rows, splits in both forms, reductions in the middle and over several axes.
  for (const op of ['sum', 'max', 'argmin'] as const) {
    for (const columns of [1, 2, 3, 5, 8, 17, 33, 100, 513, 1024, 4099, 40_000]) {
      cases.push(reduction(op, 'f32', [3], [columns], [0, 1]), reduction(op, 'f32', [37], [columns], [0, 1]));
    }
    for (const width of [1, 3, 4, 12, 37, 100, 126, 130]) {
      cases.push(reduction(op, 'f32', [width], [700], [1, 0]), reduction(op, 'f32', [width], [9001], [1, 0]));
    }
    cases.push(reduction(op, 'f32', [5, 12], [33], [0, 2, 1]), reduction(op, 'f32', [140, 37], [301], [0, 2, 1]));
    cases.push(reduction(op, 'f32', [6], [4, 5, 8], [1, 0, 2, 3]));
    cases.push(reduction(op, 'f32', [6, 10], [4, 50], [2, 0, 3, 1]));
    cases.push(reduction(op, 'u8', [16], [5000], [1, 0]), reduction(op, 'f64', [8], [5001], [1, 0]));
  }
  cases.push(reduction('sum', 'f32', [], [1 << 20], [0]), reduction('sum', 'f32', [4096], [64], [0, 1]));
  cases.push(meanAndSpread([24], [300]), meanAndSpread([], [50_000]), withEpilogue());
  return cases;
}

function meanAndSpread(space: readonly number[], reduced: readonly number[]): Case {
  const k = new KernelBuilder(space, reduced);
  const x = k.whole('f32');
  const count = reduced.reduce((n, d) => n * d, 1);
  const total = k.reduce('sum', x);
  const squares = k.reduce('sum', k.op('mul', x, x));
  const peak = k.reduce('argmax', x);
  const mean = k.op('div', total, k.b.const('f32', count));
  k.output(mean);
  k.output(k.op('div', squares, k.b.const('f32', count)));
  k.output(peak);
  return { kernel: k.done(`moments_${space.join('x') || 's'}_${count}`), scalars: [], tolerance: 1e-4, mild: true };
}

function withEpilogue(): Case {
  const k = new KernelBuilder([40], [200]);
  const x = k.whole('f32');
  const bias = k.at(k.input('f32', 40), k.axis(0));
  const s = k.scalar('f32');
  k.output(
    k.op(
      'max',
      k.op('add', k.op('mul', k.reduce('sum', k.op('mul', x, s)), k.b.const('f32', 0.5)), bias),
      k.b.const('f32', 0),
    ),
  );
  return { kernel: k.done('sum_bias_relu'), scalars: [0.25], tolerance: 1e-4, mild: true };
}

export function allKernelCases(target: Target): Case[] {
  return [
    ...elementwiseCases(target, 1001),
    ...elementwiseCases(target, 36_992),
    ...castCases(517),
    ...movementCases(),
    ...transcendentalCases(target),
    ...reductionCases(),
  ];
}
