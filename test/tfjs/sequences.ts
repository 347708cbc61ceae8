// Random programs that do nearly the same again and again, as programs do: procedures that are repeated with other data, other numbers, another
// step, a read in the middle, an error, or cut short; variables, nested scopes, results that are held for later.
//
// A program is a function of its seed and of shapes alone, never of values, so it does the same on every backend. It gives everything it
// read, and how many tensors TF.js counts, in order.

import { seeded, tf } from './support.ts';

type T = tf.Tensor;

/** Something that was read, or counted, or the fact that an error was thrown. */
export type Noted =
  | { readonly what: string; readonly values: ArrayLike<number>; readonly shape: readonly number[] }
  | { readonly what: string; readonly count: number };

class Draw {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = seeded(seed);
  }
  /** A whole number below n. */
  below(n: number): number {
    return Math.min(n - 1, Math.floor(((this.#next() + 1) / 2) * n));
  }
  of<X>(list: readonly X[]): X {
    return list[this.below(list.length)]!;
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
  /** Between -1 and 1. */
  number(): number {
    return Math.fround(this.#next());
  }
  array(length: number): Float32Array {
    return Float32Array.from({ length }, () => this.number());
  }
}

/** What a procedure works on: tensors of one shape, rows × columns, and what it made so far. */
interface Bench {
  readonly list: T[];
  readonly variables: readonly tf.Variable[];
  readonly numbers: () => number;
  readonly data: (length: number) => Float32Array;
}

const [rows, columns] = [3, 4];
const last = (b: Bench, back: number): T => b.list[Math.max(0, b.list.length - 1 - back)]!;

/** Steps take float32 [rows, columns] and give it, so that any may follow any. */
type Step = (b: Bench, back: number) => T;

const steps: readonly Step[] = [
  (b, k) => tf.tanh(last(b, k)),
  (b, k) => tf.sigmoid(last(b, k)),
  (b, k) => tf.mul(last(b, k), b.numbers()),
  (b, k) => tf.add(last(b, k), b.numbers()),
  (b, k) => tf.sub(b.numbers(), last(b, k)),
  (b, k) => tf.add(last(b, 0), last(b, k)),
  (b, k) => tf.mul(last(b, 0), last(b, k)),
  (b, k) => tf.mul(last(b, k), b.variables[0]!),
  (b, k) => tf.add(last(b, k), b.variables[1]!),
  (b, k) => tf.mul(last(b, k), b.variables[2]!),
  (b, k) => tf.tanh(tf.matMul(last(b, k), tf.matMul(last(b, 0), last(b, k), true, false))),
  (b, k) => tf.add(tf.mean(last(b, k), 0, true), tf.zeros([rows, columns])),
  (b, k) => tf.softmax(last(b, k)),
  (b, k) => tf.mul(last(b, k), tf.ones([rows, columns])),
  (b, k) => tf.add(last(b, k), tf.tensor2d(b.data(rows * columns), [rows, columns])),
  (b, k) => tf.add(last(b, k), tf.tensor1d(b.data(columns))),
  (b, k) => tf.add(last(b, k), tf.scalar(b.numbers()).variable(false) as T),
  (b, k) => tf.reshape(tf.reverse(tf.reshape(last(b, k), [-1]), 0), [rows, columns]),
  (b, k) => tf.reshape(tf.transpose(last(b, k)), [rows, columns]),
  (b, k) => tf.concat(tf.split(last(b, k), 2, 1).reverse(), 1),
  (b, k) => tf.stack(tf.unstack(last(b, k))),
  (b, k) => tf.gather(last(b, k), tf.tensor1d([2, 0, 1], 'int32')),
  (b, k) =>
    tf.gather(
      last(b, k),
      tf
        .argMax(last(b, 0), 1)
        .minimum(tf.scalar(rows - 1, 'int32'))
        .toInt(),
    ),
  (b, k) => tf.cast(tf.cast(tf.mul(last(b, k), 3.7), 'int32'), 'float32'),
  (b, k) => tf.cast(tf.gather(tf.cast(tf.mul(last(b, k), 3.7), 'int32'), tf.tensor1d([1, 1, 0], 'int32')), 'float32'),
  (b, k) => tf.cast(tf.gather(tf.greater(last(b, k), 0.17), tf.scalar(1, 'int32')), 'float32').add(last(b, 0)),
  // Values that are equal but for rounding are on the same side.
  (b, k) => tf.where(tf.greater(last(b, k), tf.add(last(b, 0), 0.0017)), last(b, k), tf.neg(last(b, 0))),
  (b, k) => tf.cast(tf.logicalAnd(tf.greater(last(b, k), 0.3), tf.less(last(b, 0), 0.9)), 'float32'),
  (b, k) => tf.clipByValue(last(b, k), -0.5, 0.5),
  (b, k) => tf.real(tf.complex(last(b, k), last(b, 0))) as T,
  (b, k) => tf.mul(tf.imag(tf.spectral.fft(tf.complex(last(b, k), tf.mul(last(b, 0), 0.1)))), 0.25),
  (b, k) => tf.grad((x) => tf.sum(tf.tanh(tf.mul(x, b.variables[0]!))))(last(b, k)),
  (b, k) =>
    tf.valueAndGrads((x, y) => tf.mean(tf.squaredDifference(x, y)) as tf.Scalar)([last(b, k), last(b, 0)]).grads[1]!,
  (b, k) =>
    tf.customGrad((x, save) => {
      (save as tf.GradSaveFunc)([x as T]);
      return { value: tf.square(x as T), gradFunc: (dy: T, saved: T[]) => tf.mul(dy, saved[0]!) };
    })(last(b, k)),
  (b, k) =>
    tf.tidy(() =>
      tf.add(
        tf.tidy(() => tf.mul(last(b, k), 2)),
        last(b, 0),
      ),
    ),
  (b, k) => tf.cumsum(last(b, k), 1),
  (b, k) =>
    tf.pad(tf.slice(last(b, k), [0, 1], [rows, columns - 1]), [
      [0, 0],
      [1, 0],
    ]),
];

interface Planned {
  readonly step: Step;
  readonly back: number;
  readonly number: number;
}

type Procedure = readonly Planned[];

const planned = (draw: Draw): Planned => ({ step: draw.of(steps), back: draw.below(4), number: draw.number() });

/** How a round differs from the procedure it is about. */
interface Variation {
  readonly numbers: boolean;
  readonly readAfter: number;
  readonly throwAfter: number;
  readonly stopAfter: number;
  readonly replace: number;
  readonly keeps: boolean;
  readonly dispose: boolean;
}

const never = 1000;

const plain: Variation = {
  numbers: false,
  readAfter: never,
  throwAfter: never,
  stopAfter: never,
  replace: never,
  keeps: false,
  dispose: false,
};

function varied(draw: Draw, length: number, wild: boolean): Variation {
  if (!wild && draw.chance(70)) return plain;
  const at = (percent: number): number => (draw.chance(percent) ? draw.below(length) : never);
  return {
    numbers: draw.chance(35),
    readAfter: at(15),
    throwAfter: at(8),
    stopAfter: at(8),
    replace: at(10),
    keeps: draw.chance(20),
    dispose: draw.chance(25),
  };
}

const endOfTurn = (): Promise<void> => Promise.resolve().then(() => {});

/** A program of a seed, on the backend that is set. */
export async function program(seed: number, between: () => Promise<void> = async () => {}): Promise<Noted[]> {
  const draw = new Draw(seed);
  const noted: Noted[] = [];
  const note = (what: string, t: T, values: ArrayLike<number>): void => {
    noted.push({ what: `${what} ${t.dtype}`, values: Array.from(values), shape: t.shape });
  };
  const count = (what: string, n: number): void => {
    noted.push({ what, count: n });
  };
  const before = tf.memory().numTensors;
  const matrix = (): T => tf.tensor2d(draw.array(rows * columns), [rows, columns]);
  const variables = tf.tidy(() => [
    tf.variable(matrix()),
    tf.variable(tf.ones([rows, columns])),
    tf.variable(tf.scalar(draw.number())),
  ]);
  const procedures: readonly Procedure[] = Array.from({ length: 1 + draw.below(3) }, () =>
    Array.from({ length: 2 + draw.below(draw.chance(20) ? 40 : 8) }, () => planned(draw)),
  );
  /** Rounds that differ in many ways, and run into each other; else most are alike, and each begins a turn of its own. */
  const wild = draw.chance(40);
  let held: T[] = [];

  const once = (procedure: Procedure, v: Variation, what: string): T => {
    let number = 0;
    const input = matrix();
    const data = draw.below(3);
    const b: Bench = {
      list: [input],
      variables,
      numbers: () => (v.numbers ? draw.number() : number),
      data: (n) => (data === 0 ? new Float32Array(n).fill(1) : draw.array(n)),
    };
    try {
      return tf.tidy(() => {
        for (const [i, { step, back, number: own }] of procedure.entries()) {
          if (i > v.stopAfter) break;
          number = own;
          const made = (i === v.replace ? draw.of(steps) : step)(b, back);
          b.list.push(made);
          if (i === v.readAfter) note(`${what}, read after ${i}`, made, made.dataSync());
          if (i === v.throwAfter) throw new Error('in the middle');
          if (v.keeps && i === 1) held.push(tf.keep(tf.add(made, 0.5)));
          if (v.dispose && i === 2) input.dispose();
        }
        return tf.clone(last(b, 0));
      });
    } finally {
      if (!input.isDisposed) input.dispose();
    }
  };

  /** One round: a procedure, what becomes of its result. */
  const round = async (i: number): Promise<void> => {
    if (!wild) await endOfTurn();
    const procedure = draw.of(procedures);
    let result: T;
    try {
      result = once(procedure, varied(draw, procedure.length, wild), `round ${i}`);
      if (!wild) await endOfTurn();
    } catch (e) {
      count(`round ${i} threw ${(e as Error).message === 'in the middle'}`, tf.memory().numTensors);
      return;
    }
    if (draw.chance(40)) {
      const target = variables[draw.below(2)]!;
      tf.tidy(() => target.assign(tf.tanh(tf.add(target, tf.mul(result, 0.1)))));
    }
    if (draw.chance(15)) {
      try {
        tf.tidy(() => variables[0]!.assign(tf.zeros([2, 2])));
        count('assigned another shape', i);
      } catch {
        count('another shape is refused', tf.memory().numTensors);
      }
    }
    if (draw.chance(10)) tf.tidy(() => variables[2]!.assign(tf.scalar(draw.number())));
    if (draw.chance(70)) note(`round ${i}`, result, draw.chance(70) ? await result.data() : result.dataSync());
    if (draw.chance(30)) held.push(result);
    else result.dispose();
    if (draw.chance(25)) {
      const old = held;
      held = [];
      for (const t of old) note(`held until ${i}`, t, await t.data());
      tf.dispose(old);
    }
    if (draw.chance(40)) await null;
    if (draw.chance(10)) await between();
    count(`after round ${i}`, tf.memory().numTensors);
  };

  const rounds = 12 + draw.below(20);
  for (let i = 0; i < rounds; i++) await round(i);
  for (const v of variables) note('variable', v, await v.data());
  for (const t of held) note('held', t, await t.data());
  tf.dispose([...held, ...variables]);
  // Variables that steps made stay until they are disposed of by name.
  tf.disposeVariables();
  count('left', tf.memory().numTensors - before);
  return noted;
}
