// Counter-based random numbers: Threefry-2x32 with 16 rounds (`base/threefry.ts`).
//
// Element i of a tensor is a function of (seed, stream, i) alone, in 32-bit integer arithmetic and float operations that every device
// rounds alike, so the numbers are the same on every device, for any split of the work, and may be fused into whatever reads them.

import { checkFinite } from '../base/arguments.ts';
import { type DType, dtypeInfo, intRange, isFloat } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import { checkMethods } from '../base/signatures.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import { args, drawnArg } from '../graph/args.ts';
import { within } from '../graph/distributions.ts';
import { type Draw, drawn } from '../graph/draws.ts';
import { noInts } from '../graph/intern.ts';
import { makeNode, Node } from '../graph/node.ts';
import { alu, cast, constant, reshape } from './build.ts';
import { nodeOf } from './core.ts';
import type { TensorHost } from './host.ts';
import { tensorKinds } from './signatures.ts';
import { Tensor } from './tensor.ts';

export interface RandomOptions<D extends DType = DType> {
  /** A whole number; equal seeds give equal numbers. Without one, the runtime's own sequence goes on. */
  readonly seed?: number | undefined;
  /**
   * Two words (or one) of an integer dtype to draw from instead of a seed: equal keys give equal numbers. See `key`. A tensor of
   * shape [n, 2] has a key for each of the n rows of the result: row i is what key i alone would give.
   */
  readonly key?: Tensor | undefined;
  readonly dtype?: D | undefined;
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
  uniform<D extends DType = 'f32'>(
    shape: Shape,
    options: RandomOptions<D> & { readonly low?: number; readonly high?: number } = {},
  ): Tensor<D> {
    const { low = 0, high = 1 } = options;
    const dtype: DType = options.dtype ?? 'f32';
    checkFinite(low, 'low', 'uniform');
    checkFinite(high, 'high', 'uniform');
    const u = this.#float(['unit', 'unit f64'], dtype, shape, options, 'uniform');
    return this.#tensor(within(u, low, high, dtype), shape, dtype);
  }

  /**
   * Normally distributed.
   * @example rt.random.normal([3], { seed: 1 }).shape // → [3]
   */
  normal<D extends DType = 'f32'>(
    shape: Shape,
    options: RandomOptions<D> & { readonly mean?: number; readonly std?: number } = {},
  ): Tensor<D> {
    const { mean = 0, std = 1 } = options;
    const dtype: DType = options.dtype ?? 'f32';
    checkFinite(mean, 'mean', 'normal');
    checkFinite(std, 'std', 'normal');
    const z = this.#float(['normal', 'normal f64'], dtype, shape, options, 'normal');
    const scaled =
      mean === 0 && std === 1 ? z : alu('add', alu('mul', z, constant(z.dtype, std)), constant(z.dtype, mean));
    return this.#tensor(scaled, shape, dtype);
  }

  /**
   * Whole numbers in [low, high).
   * @example rt.random.integers([2], { seed: 1, low: 3, high: 4 }) // → [3, 3]
   */
  integers<D extends DType = 'i32'>(
    shape: Shape,
    options: RandomOptions<D> & { readonly low?: number; readonly high: number },
  ): Tensor<D> {
    const { low = 0, high } = options;
    const dtype: DType = options.dtype ?? 'i32';
    const limits = dtypeInfo[dtype].class === 'int' ? intRange[dtype as keyof typeof intRange] : null;
    if (
      !limits ||
      !Number.isSafeInteger(low) ||
      !Number.isSafeInteger(high) ||
      !Number.isSafeInteger(high - low) ||
      high <= low ||
      BigInt(low) < limits[0] ||
      BigInt(high) - 1n > limits[1]
    ) {
      throw new ArgumentError({
        code: 'BAD_RANGE',
        message: `integers: from ${String(low)} to ${String(high)} as ${dtype}`,
        fix: 'Use whole numbers with low < high that an integer dtype holds.',
        where: 'integers',
      });
    }
    const value = this.#draw('below', dtype, shape, options, 'integers', high - low);
    return this.#tensor(alu('add', value, constant(dtype, low)), shape, dtype);
  }

  /**
   * True with probability p.
   * @example rt.random.bernoulli([2], { seed: 1, p: 1 }) // → [true, true]
   */
  bernoulli(shape: Shape, options: Omit<RandomOptions, 'dtype'> & { readonly p?: number } = {}): Tensor<'bool'> {
    const { p = 0.5 } = options;
    if (!(p >= 0 && p <= 1)) {
      throw new ArgumentError({
        code: 'BAD_PROBABILITY',
        message: `bernoulli: p is ${String(p)}`,
        fix: 'Use a number from 0 to 1.',
        where: 'bernoulli',
      });
    }
    const u = this.#draw('unit', 'f32', shape, options, 'bernoulli');
    return this.#tensor(alu('lt', u, constant('f32', p)), shape, 'bool');
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
    const [key0, key1] = keyWords(key, this.#host, 'split');
    // Apart from the counters that numbers are drawn with.
    const parity = alu('xor', key1, constant('u32', 0x9e3779b9, true));
    const column = (word: Draw): Node => reshape(drawn(word, 'u32', [1, count], [key0, parity]), [count, 1]);
    const words = [column('first'), column('second')];
    return new Tensor<'u32'>(this.#host, makeNode('concat', 'u32', [count, 2], words, args.axis(1)));
  }

  /** A float of a distribution, in f64 for that alone. */
  #float(
    [short, long]: readonly [Draw, Draw],
    dtype: DType,
    shape: Shape,
    options: RandomOptions,
    where: string,
  ): Node {
    const wide = floatType(dtype, where);
    return this.#draw(wide === 'f64' ? long : short, wide, shape, options, where);
  }

  /** The elements of a tensor in one row, or in a row for each key. */
  #draw(draw: Draw, dtype: DType, shape: Shape, options: RandomOptions, where: string, range = 0): Node {
    this.#host.checkOpen(where);
    checkShape(shape, where);
    if (options.seed !== undefined) checkSeed(options.seed, where);
    const rows = rowsOf(options.key, shape, where);
    const size = rows > 1 ? sizeOf(shape) / rows : sizeOf(shape);
    return drawn(draw, dtype, [rows, size], this.#words(options, rows, where), range);
  }

  #words({ seed, key }: RandomOptions, rows: number, where: string): readonly [Node, Node] {
    if (key !== undefined) {
      if (seed !== undefined) throw badKey(where, 'both a seed and a key were given');
      return keyWords(key, this.#host, where, rows);
    }
    if (seed !== undefined) return [word(seed), word(Math.floor(seed / 2 ** 32))];
    return [word(this.#seed), new Node('const', 'u32', noInts, [], drawnArg, this.#host.nextKey() >>> 0)];
  }

  #tensor<D extends DType>(flat: Node, shape: Shape, dtype: DType): Tensor<D> {
    return new Tensor<D>(this.#host, cast(reshape(flat, shape), dtype));
  }
}

const draw = 'seed:number,key:tensor';

checkMethods(
  Random.prototype,
  {
    uniform: `shape:shape options:{${draw},dtype:dtype,low:number,high:number}?`,
    normal: `shape:shape options:{${draw},dtype:dtype,mean:number,std:number}?`,
    integers: `shape:shape options:{${draw},dtype:dtype,low:number,high:number!}`,
    bernoulli: `shape:shape options:{${draw},p:number}?`,
    key: 'seed:number',
    split: 'key:tensor count:number?',
  },
  tensorKinds,
);

const word = (value: number): Node => constant('u32', value >>> 0);

/** How many rows have keys of their own. */
function rowsOf(key: unknown, shape: Shape, where: string): number {
  if (!(key instanceof Tensor) || key.shape.length !== 2) return 1;
  const [rows, words] = key.shape as [number, number];
  if (rows === 1 || words !== 2) return 1;
  if (rows === 0 || shape[0] !== rows) throw badKey(where, `there are ${rows} keys for the shape ${show(shape)}`);
  return rows;
}

/** The two words of a key as values of rank 0; of several keys, as columns. */
function keyWords(key: Tensor, host: TensorHost, where: string, rows = 1): readonly [Node, Node] {
  const node = nodeOf(key, host, where);
  const words = node.size / rows;
  if (dtypeInfo[node.dtype].class !== 'int' || !(words === 1 || words === 2))
    throw badKey(where, `the key is ${node.dtype} ${show(node.shape.values)}`);
  const table = reshape(cast(node, 'u32'), [rows, words]);
  const at = (i: number): Node => {
    const column = makeNode('slice', 'u32', [rows, 1], [table], args.slice([0, i], [1, 1]));
    return rows === 1 ? reshape(column, []) : column;
  };
  return words === 1 ? [at(0), constant('u32', 0)] : [at(0), at(1)];
}

/** A seed must be exact. */
export function checkSeed(seed: number, where: string): void {
  if (Number.isSafeInteger(seed)) return;
  throw new ArgumentError({
    code: 'BAD_SEED',
    message: `${where}: seed is ${String(seed)}`,
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

function floatType(dtype: DType, where: string): 'f32' | 'f64' {
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
