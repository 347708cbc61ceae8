// Counter-based random numbers: Threefry-2x32 with 20 rounds (Salmon et al., SC 2011).
//
// Element i of a tensor is a function of (seed, stream, i) alone, in 32-bit integer arithmetic, so the numbers are the same
// on every device, for any split of the work, and may be fused into whatever reads them.

import { type DType, dtypeInfo, intRange, is64BitInt, isFloat } from '../base/dtype.ts';
import { checkShape, type Shape, sizeOf } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import { args, makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, reshape } from './build.ts';
import { checkDType } from './create.ts';
import type { TensorHost } from './host.ts';
import { Tensor } from './tensor.ts';

export interface RandomOptions {
  /** A whole number; equal seeds give equal numbers. Without one, the runtime's own sequence goes on. */
  readonly seed?: number | undefined;
  readonly dtype?: DType | undefined;
}

export class Random {
  readonly #host: TensorHost;
  readonly #seed: number;
  #next = 0;

  constructor(host: TensorHost, seed: number) {
    this.#host = host;
    this.#seed = seed;
  }

  /**
   * Evenly distributed in [low, high).
   * @example rt.random.uniform([2], { seed: 1, low: 5, high: 6 }).floor() // → [5, 5]
   */
  uniform(shape: Shape, options: RandomOptions & { readonly low?: number; readonly high?: number } = {}): Tensor {
    const { low = 0, high = 1 } = options;
    const u = unit(this.#bits(shape, options, 'uniform'), floatType(options, 'uniform'));
    const scaled =
      low === 0 && high === 1 ? u : alu('add', alu('mul', u, constant(u.dtype, high - low)), constant(u.dtype, low));
    return this.#tensor(scaled, shape, options.dtype ?? 'f32');
  }

  /**
   * Normally distributed.
   * @example rt.random.normal([3], { seed: 1 }).shape // → [3]
   */
  normal(shape: Shape, options: RandomOptions & { readonly mean?: number; readonly std?: number } = {}): Tensor {
    const { mean = 0, std = 1 } = options;
    const bits = this.#bits(shape, options, 'normal');
    const z = gauss(bits, floatType(options, 'normal'));
    const scaled =
      mean === 0 && std === 1 ? z : alu('add', alu('mul', z, constant(z.dtype, std)), constant(z.dtype, mean));
    return this.#tensor(scaled, shape, options.dtype ?? 'f32');
  }

  /**
   * Whole numbers in [low, high).
   * @example rt.random.integers([2], { seed: 1, low: 3, high: 4 }) // → [3, 3]
   */
  integers(shape: Shape, options: RandomOptions & { readonly low?: number; readonly high: number }): Tensor {
    const { low = 0, high, dtype = 'i32' } = options;
    checkDType(dtype, 'integers');
    const range = high - low;
    const limits = dtypeInfo[dtype].class === 'int' ? intRange[dtype as keyof typeof intRange] : null;
    if (
      !limits ||
      !Number.isSafeInteger(low) ||
      !Number.isSafeInteger(high) ||
      range <= 0 ||
      BigInt(low) < limits[0] ||
      BigInt(high) - 1n > limits[1]
    ) {
      throw new ArgumentError({
        code: 'BAD_RANGE',
        message: `integers: from ${low} to ${high} as ${dtype}`,
        fix: 'Use whole numbers with low < high that an integer dtype holds.',
        where: 'integers',
      });
    }
    const [x, y] = this.#bits(shape, options, 'integers');
    // The remainder favours small values by at most range / 2^32 (or 2^64), far below what could be noticed.
    const wide = range > 2 ** 32 || is64BitInt(dtype);
    const word = wide ? alu('or', alu('shl', cast(x, 'u64'), constant('u64', 32, true)), cast(y, 'u64')) : x;
    const rest = range === 2 ** 32 ? word : alu('imod', word, constant(word.dtype, range, true));
    const value = alu('add', cast(rest, dtype), constant(dtype, low));
    return this.#tensor(value, shape, dtype);
  }

  /**
   * True with probability p.
   * @example rt.random.bernoulli([2], { seed: 1, p: 1 }) // → [true, true]
   */
  bernoulli(shape: Shape, options: RandomOptions & { readonly p?: number } = {}): Tensor<'bool'> {
    const { p = 0.5 } = options;
    if (!(p >= 0 && p <= 1)) {
      throw new ArgumentError({
        code: 'BAD_PROBABILITY',
        message: `bernoulli: p is ${p}`,
        fix: 'Use a number from 0 to 1.',
        where: 'bernoulli',
      });
    }
    const u = unit(this.#bits(shape, options, 'bernoulli'), 'f32');
    return this.#tensor(alu('lt', u, constant('f32', p)), shape, 'bool') as Tensor<'bool'>;
  }

  /** Two random words per element. */
  #bits(shape: Shape, options: RandomOptions, where: string): [Node, Node] {
    this.#host.checkOpen(where);
    checkShape(shape, where);
    const { seed } = options;
    if (seed !== undefined && !Number.isSafeInteger(seed)) {
      throw new ArgumentError({
        code: 'BAD_SEED',
        message: `${where}: seed is ${seed}`,
        fix: 'Use a whole number.',
        where,
      });
    }
    const [key0, key1] = seed === undefined ? [this.#seed, ++this.#next] : [seed, Math.floor(seed / 2 ** 32)];
    const i = makeNode('iota', 'u32', [sizeOf(shape)], [], args.axis(0));
    return threefry(constant('u32', key0 >>> 0), constant('u32', key1 >>> 0), i);
  }

  #tensor(flat: Node, shape: Shape, dtype: DType): Tensor {
    return new Tensor(this.#host, cast(reshape(flat, shape), dtype));
  }
}

const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

function threefry(key0: Node, key1: Node, counter: Node): [Node, Node] {
  const parity = alu('xor', alu('xor', key0, key1), constant('u32', 0x1bd11bda, true));
  const keys = [key0, key1, parity];
  let x = alu('add', counter, key0);
  let y = key1;
  for (let block = 0; block < 5; block++) {
    for (const r of rotations[block % 2]!) {
      x = alu('add', x, y);
      y = alu('or', alu('shl', y, constant('u32', r, true)), alu('shr', y, constant('u32', 32 - r, true)));
      y = alu('xor', y, x);
    }
    x = alu('add', x, keys[(block + 1) % 3]!);
    y = alu('add', alu('add', y, keys[(block + 2) % 3]!), constant('u32', block + 1, true));
  }
  return [x, y];
}

/** Bits as a float in [0, 1): 24 of them for f32, 53 for f64. */
function unit([x, y]: readonly [Node, Node], type: 'f32' | 'f64'): Node {
  if (type === 'f32') {
    return alu('mul', cast(alu('shr', x, constant('u32', 8, true)), 'f32'), constant('f32', 2 ** -24, true));
  }
  const high = cast(alu('shr', x, constant('u32', 5, true)), 'f64');
  const low = cast(alu('shr', y, constant('u32', 6, true)), 'f64');
  return alu('mul', alu('add', alu('mul', high, constant('f64', 2 ** 26, true)), low), constant('f64', 2 ** -53, true));
}

// Box and Muller's transform; 1 - u keeps zero out of the logarithm.
function gauss([x, y]: readonly [Node, Node], type: 'f32' | 'f64'): Node {
  const one = constant(type, 1);
  const u = alu('sub', one, unit([x, y], type));
  const v = unit([y, x], type);
  const radius = alu('sqrt', alu('mul', alu('log', u), constant(type, -2)));
  return alu('mul', radius, alu('cos', alu('mul', v, constant(type, 2 * Math.PI, true))));
}

function floatType(options: RandomOptions, where: string): 'f32' | 'f64' {
  const dtype = options.dtype ?? 'f32';
  checkDType(dtype, where);
  if (!isFloat(dtype)) {
    throw new DTypeError({
      code: 'UNSUPPORTED_DTYPE',
      message: `${where}: ${dtype} cannot hold fractions`,
      fix: 'Use a float dtype, or rt.random.integers.',
      where,
    });
  }
  return dtype === 'f64' ? 'f64' : 'f32';
}
