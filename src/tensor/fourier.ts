// Discrete Fourier transforms of one axis, of any length. A complex value is a pair of tensors.
//
// A length that has a divisor of at most `largest` is split (Cooley and Tukey, 1965): products with small matrices, which
// every device does well. A longer prime becomes a convolution of a power of two (Bluestein, 1970).

import { shown } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor, promote } from '../base/dtype.ts';
import { normalizeAxis, type Shape, sameShape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { filled } from './compact.ts';
import type { TensorHost } from './host.ts';
import { concat } from './joining.ts';
import { matmulNode } from './linear.ts';
import { padded, strided } from './views.ts';

/** Real and imaginary parts; null where they are all zero. */
type Pair = readonly [real: Node, imag: Node | null];
type Whole = readonly [real: Node, imag: Node];

/** Divisors up to this one are taken out at once. */
const largest = 64;
/** Up to here one product with the whole matrix is quicker than anything else. */
const dense = 128;

/** Quarters of the circle, exactly. */
const quarters = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
] as const;

/** exp(±2πi · a / n), with the angle reduced in whole numbers first. */
function root(a: number, n: number, sign: number): readonly [number, number] {
  const turns = (4 * (a % n)) / n;
  // A list asked for a fraction makes text of it first, which takes longer than all else here.
  if (Number.isInteger(turns)) return [quarters[turns]![0], sign * quarters[turns]![1]];
  return [Math.cos((Math.PI / 2) * turns), sign * Math.sin((Math.PI / 2) * turns)];
}

/** Tables of the transforms made last, by what is in them: computing one takes longer than using it. */
const tables = new Map<string, Float32Array | Float64Array>();
const mostTables = 32;
/** Elements; longer ones are not kept. */
const longestTable = 2 ** 16;

/** The largest divisor of n up to `largest`; 1 if there is none. */
function divisor(n: number): number {
  for (let d = Math.min(largest, n); d > 1; d--) if (n % d === 0) return d;
  return 1;
}

const times = (a: Node, b: Node): Node => alu('mul', a, b);

function product([a, b]: Pair, [c, d]: Whole): Whole {
  if (b === null) return [times(a, c), times(a, d)];
  return [alu('sub', times(a, c), times(b, d)), alu('add', times(a, d), times(b, c))];
}

/** Both parts changed in the same way. */
const both = ([a, b]: Whole, f: (x: Node) => Node): Whole => [f(a), f(b)];
const each = ([a, b]: Pair, f: (x: Node) => Node): Pair => [f(a), b && f(b)];

/** The transforms of one call: of rows, [rows, n], forwards (sign -1) or backwards (+1). */
class Transform {
  readonly #host: TensorHost;
  readonly #dtype: DType;

  constructor(host: TensorHost, dtype: DType) {
    this.#host = host;
    this.#dtype = dtype;
  }

  rows(x: Pair, sign: number): Whole {
    const [count, n] = x[0].shape.values as readonly [number, number];
    if (n === 1) return [x[0], x[1] ?? filled(this.#dtype, 0, [count, n])];
    const a = divisor(n);
    if (n <= dense && (a === 1 || a === n || n <= largest)) return this.#matrix(x, n, sign);
    return a === 1 ? this.#convolved(x, n, sign) : this.#split(x, a, n / a, sign);
  }

  /** Position b·j + k, frequency p + a·q: transform over j, turn by the root of k·p, transform over k. */
  #split(x: Pair, a: number, b: number, sign: number): Whole {
    const [count, n] = x[0].shape.values as readonly [number, number];
    const inner = each(x, (t) => reshape(permute(reshape(t, [count, a, b]), [0, 2, 1]), [count * b, a]));
    const first = both(this.#matrix(inner, a, sign), (t) => reshape(t, [count, b, a]));
    const turned = product(
      first,
      this.#table(`split ${sign}`, [b, a], count, (k, p) => root(k * p, n, sign)),
    );
    const outer = both(turned, (t) => reshape(permute(t, [0, 2, 1]), [count * a, b]));
    return both(this.rows(outer, sign), (t) => reshape(permute(reshape(t, [count, a, b]), [0, 2, 1]), [count, n]));
  }

  /** As one product: [real, imag] times [[cos, sin], [-sin, cos]]. */
  #matrix([real, imag]: Pair, n: number, sign: number): Whole {
    const [count] = real.shape.values as readonly [number, number];
    const height = imag ? 2 * n : n;
    const matrix = this.#numbers(`matrix ${sign}`, [height, 2 * n], (j, k) => {
      const [cos, sin] = root((j % n) * (k % n), n, sign);
      return j < n ? (k < n ? cos : sin) : k < n ? -sin : cos;
    });
    const y = matmulNode(imag ? concat([real, imag], 1) : real, matrix, 'exact', 'fft');
    const half = (at: number): Node => strided(y, [0, at], [1, 1], [count, n]);
    return [half(0), half(n)];
  }

  #convolved(x: Pair, n: number, sign: number): Whole {
    const [count] = x[0].shape.values as readonly [number, number];
    const size = 2 ** Math.ceil(Math.log2(2 * n - 1));
    // k² modulo 2n stays exact where k² itself would not.
    const chirp = this.#table(`chirp ${sign}`, [1, n], count, (_, k) => root((k * k) % (2 * n), 2 * n, sign), [
      count,
      n,
    ]);
    const around = (k: number): number => (k < n ? k : size - k < n ? size - k : -1);
    const wrapped = this.#table(
      `wrapped ${n} ${sign}`,
      [1, size],
      1,
      (_, k) => {
        const d = around(k);
        const [cos, sin] = d < 0 ? [0, 0] : root((d * d) % (2 * n), 2 * n, sign);
        return [cos, -sin];
      },
      [1, size],
    );
    const long = both(product(x, chirp), (t) =>
      padded(
        t,
        [
          [0, 0],
          [0, size - n],
        ],
        0,
        'fft',
      ),
    );
    const kernel = both(this.rows(wrapped, -1), (t) => expand(t, [count, size]));
    const back = this.rows(product(this.rows(long, -1), kernel), 1);
    const scale = constant(this.#dtype, 1 / size);
    return product(
      both(back, (t) => times(strided(t, [0, 0], [1, 1], [count, n]), scale)),
      chirp,
    );
  }

  /** A table of roots, the same for every row. `name`: what is in it, together with its size. */
  #table(
    name: string,
    size: readonly [number, number],
    count: number,
    at: (i: number, j: number) => readonly [number, number],
    shape: Shape = [count, ...size],
  ): Whole {
    const part = (k: 0 | 1): Node => {
      const table = this.#numbers(`${name} ${k}`, size, (i, j) => at(i, j)[k]);
      return expand(shape.length === 2 ? table : reshape(table, [1, ...size]), shape);
    };
    return [part(0), part(1)];
  }

  #numbers(name: string, [rows, columns]: readonly [number, number], at: (i: number, j: number) => number): Node {
    const key = `${name} ${rows} ${columns} ${this.#dtype}`;
    let table = tables.get(key);
    if (!table) {
      table = new (this.#dtype === 'f64' ? Float64Array : Float32Array)(rows * columns);
      for (let i = 0; i < table.length; i++) table[i] = at(Math.floor(i / columns), i % columns);
      if (tables.size === mostTables) tables.delete(tables.keys().next().value!);
      if (table.length <= longestTable) tables.set(key, table);
    }
    // A copy: what is uploaded belongs to the runtime.
    return this.#host.upload(new Uint8Array(table.slice().buffer), this.#dtype, [rows, columns]);
  }
}

/** The dtype of what a transform gives; refuses parts that do not fit together. */
function typeOf([real, imag]: Pair, where: string): DType {
  if (imag && !sameShape(real.shape.values, imag.shape.values))
    throw unlike(real.shape.values, imag.shape.values, where);
  return floatFor(imag ? promote(real.dtype, imag.dtype) : real.dtype);
}

/** The transform of an axis; backwards it is divided by the length. */
export function fourierNodes(host: TensorHost, x: Pair, axis: number, inverse: boolean, where: string): Whole {
  const type = typeOf(x, where);
  const shape = x[0].shape.values;
  const at = normalizeAxis(axis, shape.length, where);
  const n = shape[at]!;
  if (n === 0) throw nothing(shape, at, where);
  const wide = accumulatorFor(type);
  const order = [...shape.keys()].filter((i) => i !== at).concat(at);
  const last = order.map((i) => shape[i]!);
  const rows = each(x, (t) => reshape(permute(cast(t, wide), order), [sizeOf(last.slice(0, -1)), n]));
  const made = new Transform(host, wide).rows(rows, inverse ? 1 : -1);
  const scale = inverse && n > 1 ? constant(wide, 1 / n) : null;
  const back = [...shape.keys()].map((i) => order.indexOf(i));
  return both(made, (t) => cast(permute(reshape(scale ? times(t, scale) : t, last), back), type));
}

/** The frequencies of a real signal of so many values, from the first half of them. */
export function hermitian(half: Pair, axis: number, length: number, where: string): Whole {
  const type = typeOf(half, where);
  const [real, imag] = each(half, (t) => cast(t, type));
  const shape = real.shape.values;
  const at = normalizeAxis(axis, shape.length, where);
  const given = shape[at]!;
  if (!Number.isSafeInteger(length) || length < 1 || Math.floor(length / 2) + 1 !== given)
    throw badLength(length, given, where);
  const mirrored = (t: Node): Node => {
    const starts = shape.map((_, i) => (i === at ? length - given : 0));
    const steps = shape.map((_, i) => (i === at && length - given > 1 ? -1 : 1));
    return strided(
      t,
      starts,
      steps,
      shape.map((d, i) => (i === at ? length - given : d)),
    );
  };
  const other = imag ?? filled(type, 0, shape);
  if (length === given) return [real, other];
  return [concat([real, mirrored(real)], at), concat([other, alu('neg', mirrored(other))], at)];
}

/** The first `count` elements of an axis. */
export function firstOf(x: Node, axis: number, count: number, where: string): Node {
  const shape = x.shape.values;
  const at = normalizeAxis(axis, shape.length, where);
  const zeros = shape.map(() => 0);
  return strided(
    x,
    zeros,
    shape.map(() => 1),
    shape.map((d, i) => (i === at ? count : d)),
  );
}

const unlike = (real: Shape, imag: Shape, where: string): ShapeError =>
  new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `${where}: real parts of shape ${show(real)} and imaginary parts of shape ${show(imag)}`,
    fix: 'Give both parts in one shape.',
    where,
  });

const nothing = (shape: Shape, axis: number, where: string): ShapeError =>
  new ShapeError({
    code: 'EMPTY_AXIS',
    message: `${where}: axis ${axis} of ${show(shape)} has no elements`,
    fix: 'A transform takes at least one.',
    where,
  });

const badLength = (length: unknown, given: number, where: string): ArgumentError =>
  new ArgumentError({
    code: 'BAD_OPTION',
    message: `${where}: ${given} frequencies of a signal of length ${shown(length)}`,
    fix: `${given} frequencies belong to a signal of ${Math.max(1, 2 * given - 2)} or ${2 * given - 1} values.`,
    where,
  });
