// Discrete Fourier transforms of one axis, of any length. A complex value is a pair of tensors.
//
// Where every device has a transform of its own (the `fourier` routine), lengths of small prime factors and short ones of any go there. Otherwise:
// a length that has a divisor of at most `largest` is split (Cooley and Tukey, 1965): products with small matrices, which
// every device does well. A longer prime becomes a convolution of a power of two (Bluestein, 1970). The matrices and the other
// roots of unity are tables that a runtime keeps (roots.ts).

import { shown } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor, promote } from '../base/dtype.ts';
import { normalizeAxis, type Shape, sameShape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { transformed } from '../kernel/fourier.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { filled } from './compact.ts';
import type { TensorHost } from './host.ts';
import { concat } from './joining.ts';
import { matmulNode } from './linear.ts';
import { root, rootTable } from './roots.ts';
import { padded, strided } from './views.ts';

/** Real and imaginary parts; null where they are all zero. */
type Pair = readonly [real: Node, imag: Node | null];
type Whole = readonly [real: Node, imag: Node];

/** Divisors up to this one are taken out at once. */
const largest = 64;
/** Up to here one product with the whole matrix is quicker than anything else. */
const dense = 128;

/** The divisor of n, up to `largest`, by which as few and as small matrices as possible are needed; 1 if there is none. */
function divisor(n: number): number {
  const stages = Math.max(1, Math.ceil(Math.log(n) / Math.log(largest)));
  const ideal = n ** (1 / stages);
  let best = 1;
  for (let d = Math.min(largest, n); d > 1; d--)
    if (n % d === 0 && (best === 1 || Math.abs(d - ideal) < Math.abs(best - ideal))) best = d;
  return best;
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
    if (this.takes(count, n)) return this.#routine(x, n, sign);
    const a = divisor(n);
    if (n <= dense && (a === 1 || a === n || n <= largest)) return this.#matrix(x, n, sign);
    return a === 1 ? this.#convolved(x, n, sign) : this.#split(x, a, n / a, sign);
  }

  /** The first `frequencies` of each row by the devices' own transform, which is forwards: backwards it is that of exchanged parts. */
  #routine([real, imag]: Pair, frequencies: number, sign: number): Whole {
    const shape = [real.shape.values[0]!, frequencies];
    const [a, b] = imag && sign > 0 ? [imag, real] : [real, imag];
    const made = makeNode('fourier', this.#dtype, shape, b ? [a, b] : [a]);
    const [first, second] = [
      makeNode('first', this.#dtype, shape, [made]),
      makeNode('second', this.#dtype, shape, [made]),
    ];
    if (sign < 0) return [first, second];
    return imag ? [second, first] : [first, alu('neg', second)];
  }

  /** Whether devices have a transform of their own for these rows. */
  takes(count: number, n: number): boolean {
    return count > 0 && this.#host.everywhere('fourier') && transformed(n);
  }

  /** The first half of the frequencies of real rows of even length that devices take. */
  halves(x: Node): Whole {
    return this.#routine([x, null], x.shape.values[1]! / 2 + 1, -1);
  }

  /** Real rows of even length from the first half of their frequencies, divided by the length. */
  back([real, imag]: Pair, length: number): Node {
    const { values } = real.shape;
    const parts = [real, imag ?? filled(this.#dtype, 0, values)];
    return makeNode('fourier', this.#dtype, [values[0]!, length], parts, args.fourierBack);
  }

  /**
   * Position b·j + k, frequency p + a·q: transform over j, turn by the root of k·p, transform over k. Neighbouring k stay neighbours up
   * to the last transform, and all of a step is one product.
   */
  #split(x: Pair, a: number, b: number, sign: number): Whole {
    const [count, n] = x[0].shape.values as readonly [number, number];
    const columns = each(x, (t) =>
      // One row lies as its columns do: nothing is moved.
      count === 1 ? reshape(t, [a, b]) : reshape(permute(reshape(t, [count, a, b]), [1, 0, 2]), [a, count * b]),
    );
    const first = both(this.#fromLeft(columns, a, sign), (t) => reshape(t, [a, count, b]));
    const turns = this.#table(`turns ${n} ${sign}`, [a, b], (p, k) => root(k * p, n, sign));
    const turned = product(
      first,
      both(turns, (t) => expand(reshape(t, [a, 1, b]), [a, count, b])),
    );
    const rows = both(turned, (t) => reshape(t, [a * count, b]));
    return both(this.rows(rows, sign), (t) => reshape(permute(reshape(t, [a, count, b]), [1, 2, 0]), [count, n]));
  }

  /** Rows times a matrix: [real, imag] · [[cos, sin], [-sin, cos]]. */
  #matrix([real, imag]: Pair, n: number, sign: number): Whole {
    const [count] = real.shape.values as readonly [number, number];
    const matrix = this.#roots(n, [imag ? 2 * n : n, 2 * n], sign, false);
    const y = matmulNode(imag ? concat([real, imag], 1) : real, matrix, 'exact', 'fft');
    const half = (at: number): Node => strided(y, [0, at], [1, 1], [count, n]);
    return [half(0), half(n)];
  }

  /** A matrix times columns: the same, transposed. */
  #fromLeft([real, imag]: Pair, n: number, sign: number): Whole {
    const [, count] = real.shape.values as readonly [number, number];
    const matrix = this.#roots(n, [2 * n, imag ? 2 * n : n], sign, true);
    const y = matmulNode(matrix, imag ? concat([real, imag], 0) : real, 'exact', 'fft');
    const half = (at: number): Node => strided(y, [at, 0], [1, 1], [n, count]);
    return [half(0), half(n)];
  }

  /** The matrix of a transform of n complex values, or of the real ones among them; its columns for rows if transposed. */
  #roots(n: number, size: readonly [number, number], sign: number, transposed: boolean): Node {
    const at = (j: number, k: number): number => {
      const [cos, sin] = root((j % n) * (k % n), n, sign);
      return j < n ? (k < n ? cos : sin) : k < n ? -sin : cos;
    };
    const name = `matrix ${n} ${sign} ${transposed}`;
    return this.#numbers(name, size, transposed ? (i, j) => at(j, i) : at);
  }

  #convolved(x: Pair, n: number, sign: number): Whole {
    const [count] = x[0].shape.values as readonly [number, number];
    const size = 2 ** Math.ceil(Math.log2(2 * n - 1));
    // k² modulo 2n stays exact where k² itself would not.
    const chirp = both(
      this.#table(`chirp ${sign}`, [1, n], (_, k) => root((k * k) % (2 * n), 2 * n, sign)),
      (t) => expand(t, [count, n]),
    );
    const around = (k: number): number => (k < n ? k : size - k < n ? size - k : -1);
    const wrapped = this.#table(`wrapped ${n} ${sign}`, [1, size], (_, k) => {
      const d = around(k);
      const [cos, sin] = d < 0 ? [0, 0] : root((d * d) % (2 * n), 2 * n, sign);
      return [cos, -sin];
    });
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

  /** Complex numbers: the name tells the table from all others of its size. */
  #table(
    name: string,
    size: readonly [number, number],
    at: (i: number, j: number) => readonly [number, number],
  ): Whole {
    const part = (k: 0 | 1): Node => this.#numbers(`${name} ${k}`, size, (i, j) => at(i, j)[k]);
    return [part(0), part(1)];
  }

  #numbers(name: string, size: readonly [number, number], at: (i: number, j: number) => number): Node {
    return rootTable(this.#host, this.#dtype, name, size, at);
  }
}

/** The dtype of what a transform gives; refuses parts that do not fit together. */
function typeOf([real, imag]: Pair, where: string): DType {
  if (imag && !sameShape(real.shape.values, imag.shape.values))
    throw unlike(real.shape.values, imag.shape.values, where);
  return floatFor(imag ? promote(real.dtype, imag.dtype) : real.dtype);
}

/** An axis as the last of rows, and rows of any length back in its place. */
function rowsOf(
  x: Node,
  axis: number,
  where: string,
): { readonly rows: Shape; readonly order: readonly number[]; back(t: Node): Node } {
  const shape = x.shape.values;
  const at = normalizeAxis(axis, shape.length, where);
  if (shape[at] === 0) throw nothing(shape, at, where);
  const order = [...shape.keys()].filter((i) => i !== at).concat(at);
  const others = order.slice(0, -1).map((i) => shape[i]!);
  const inverse = [...shape.keys()].map((i) => order.indexOf(i));
  const back = (t: Node): Node => permute(reshape(t, [...others, t.shape.values[1]!]), inverse);
  return { rows: [sizeOf(others), shape[at]!], order, back };
}

/** The transform of an axis; backwards it is divided by the length. */
export function fourierNodes(host: TensorHost, x: Pair, axis: number, inverse: boolean, where: string): Whole {
  const type = typeOf(x, where);
  const { rows, order, back } = rowsOf(x[0], axis, where);
  const wide = accumulatorFor(type);
  const flat = each(x, (t) => reshape(permute(cast(t, wide), order), rows));
  const made = new Transform(host, wide).rows(flat, inverse ? 1 : -1);
  const scale = inverse && rows[1]! > 1 ? constant(wide, 1 / rows[1]!) : null;
  return both(made, (t) => cast(back(scale ? times(t, scale) : t), type));
}

/** The first half of the frequencies of an axis of real values. */
export function realFourierNodes(host: TensorHost, x: Node, axis: number, where: string): Whole {
  const type = typeOf([x, null], where);
  const { rows, order, back } = rowsOf(x, axis, where);
  const [count, n] = rows as readonly [number, number];
  const wide = accumulatorFor(type);
  const transform = new Transform(host, wide);
  if (n % 2 === 0 && transform.takes(count, n)) {
    const made = transform.halves(reshape(permute(cast(x, wide), order), rows));
    return both(made, (t) => cast(back(t), type));
  }
  return both(fourierNodes(host, [x, null], axis, false, where), (t) => firstOf(t, axis, Math.floor(n / 2) + 1, where));
}

/** The real values of an axis, so many of them, from the first half of their frequencies. */
export function fourierBack(host: TensorHost, half: Pair, axis: number, length: number, where: string): Node {
  const type = typeOf(half, where);
  const { rows, order, back } = rowsOf(half[0], axis, where);
  const [count, given] = rows as readonly [number, number];
  const wide = accumulatorFor(type);
  const transform = new Transform(host, wide);
  if (length !== 2 * given - 2 || !transform.takes(count, length))
    return fourierNodes(host, hermitian(half, axis, length, where), axis, true, where)[0];
  const flat = each(half, (t) => reshape(permute(cast(t, wide), order), rows));
  return cast(back(transform.back(flat, length)), type);
}

/** The frequencies of a real signal of so many values, from the first half of them. */
function hermitian(half: Pair, axis: number, length: number, where: string): Whole {
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
function firstOf(x: Node, axis: number, count: number, where: string): Node {
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
    message: `${where}: length ${shown(length)} does not go with frequencies of size ${given} along the axis`,
    fix: given === 1 ? 'The length is 1: leave it out.' : `The length is ${2 * given - 2} or ${2 * given - 1}.`,
    where,
  });
