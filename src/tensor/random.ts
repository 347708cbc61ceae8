// Counter-based random numbers: Threefry-2x32 with 20 rounds (Salmon et al., SC 2011).
//
// Element i of a tensor is a function of (seed, stream, i) alone, in 32-bit integer arithmetic, so the numbers are the same
// on every device, for any split of the work, and may be fused into whatever reads them.

import { type DType, dtypeInfo, intRange, is64BitInt, isFloat } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import { noInts } from '../graph/intern.ts';
import { args, drawnArg, makeNode, Node } from '../graph/node.ts';
import { alu, cast, constant, reshape } from './build.ts';
import { checkDType } from './create.ts';
import type { TensorHost } from './host.ts';
import { Tensor } from './tensor.ts';

export interface RandomOptions {
  /** A whole number; equal seeds give equal numbers. Without one, the runtime's own sequence goes on. */
  readonly seed?: number | undefined;
  /** Two words (or one) of an integer dtype to draw from instead of a seed: equal keys give equal numbers. See `key`. */
  readonly key?: Tensor | undefined;
  readonly dtype?: DType | undefined;
}

export class Random {
  readonly #host: TensorHost;
  readonly #seed: number;

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

  /**
   * A key to draw numbers from: two words. Unlike a seed it is data, so a compiled function can take it as an argument.
   * @example rt.random.normal([3], { key: rt.random.key(7) }).equal(rt.random.normal([3], { seed: 7 })).all() // → true
   */
  key(seed: number): Tensor<'u32'> {
    checkSeed(seed, 'key');
    const words = new Uint32Array([seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0]);
    return new Tensor<'u32'>(this.#host, this.#host.upload(new Uint8Array(words.buffer), 'u32', [2]));
  }

  /**
   * New keys from a key, one per row: each as good as the first, none related to another.
   * @example rt.random.split(rt.random.key(7), 3).shape // → [3, 2]
   */
  split(key: Tensor, count = 2): Tensor<'u32'> {
    this.#host.checkOpen('split');
    checkShape([count], 'split');
    const [key0, key1] = keyWords(key, 'split');
    // Apart from the counters that numbers are drawn with.
    const parity = alu('xor', key1, constant('u32', 0x9e3779b9, true));
    const [x, y] = threefry(key0, parity, makeNode('iota', 'u32', [count], [], args.axis(0)));
    const column = (n: Node): Node => reshape(n, [count, 1]);
    return new Tensor<'u32'>(this.#host, makeNode('concat', 'u32', [count, 2], [column(x), column(y)], args.axis(1)));
  }

  /** Two random words per element. */
  #bits(shape: Shape, options: RandomOptions, where: string): [Node, Node] {
    this.#host.checkOpen(where);
    checkShape(shape, where);
    if (options.seed !== undefined) checkSeed(options.seed, where);
    const [key0, key1] = this.#words(options, where);
    return threefry(key0, key1, makeNode('iota', 'u32', [sizeOf(shape)], [], args.axis(0)));
  }

  #words({ seed, key }: RandomOptions, where: string): readonly [Node, Node] {
    if (key !== undefined) {
      if (seed !== undefined) throw badKey(where, 'both a seed and a key were given');
      return keyWords(key, where);
    }
    if (seed !== undefined) return [word(seed), word(Math.floor(seed / 2 ** 32))];
    return [word(this.#seed), new Node('const', 'u32', noInts, [], drawnArg, this.#host.nextKey() >>> 0)];
  }

  #tensor(flat: Node, shape: Shape, dtype: DType): Tensor {
    return new Tensor(this.#host, cast(reshape(flat, shape), dtype));
  }
}

const word = (value: number): Node => constant('u32', value >>> 0);

/** The two words of a key, as values of rank 0. */
function keyWords(key: Tensor, where: string): readonly [Node, Node] {
  if (!(key instanceof Tensor)) throw badKey(where, 'the key is not a tensor');
  const { node } = key;
  if (dtypeInfo[node.dtype].class !== 'int' || node.size < 1 || node.size > 2)
    throw badKey(where, `the key is ${node.dtype} ${show(node.shape.values)}`);
  const flat = reshape(cast(node, 'u32'), [node.size]);
  const at = (i: number): Node => reshape(makeNode('slice', 'u32', [1], [flat], args.slice([i], [1])), []);
  return node.size === 1 ? [reshape(flat, []), constant('u32', 0)] : [at(0), at(1)];
}

function checkSeed(seed: number, where: string): void {
  if (Number.isSafeInteger(seed)) return;
  throw new ArgumentError({
    code: 'BAD_SEED',
    message: `${where}: seed is ${seed}`,
    fix: 'Use a whole number.',
    where,
  });
}

function badKey(where: string, what: string): ArgumentError {
  return new ArgumentError({
    code: 'BAD_KEY',
    message: `${where}: ${what}`,
    fix: 'Use a tensor of one or two whole numbers, such as rt.random.key(seed).',
    where,
  });
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
