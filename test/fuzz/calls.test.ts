// Calls with arguments that no type checker saw: each gives a result or is refused by an error of the library. Nothing else is
// thrown, nothing is kept, and nothing hangs.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shown } from '../../src/base/arguments.ts';
import { createRuntime, ForgeError, type Runtime, Tensor } from '../../src/index.ts';
import { TensorCore } from '../../src/tensor/core.ts';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';

let rt: Runtime;
let other: Runtime;
beforeAll(async () => {
  const options = { devices: ['cpu'] as const, cpu: { threads: 1 } };
  [rt, other] = [await createRuntime(options), await createRuntime(options)];
});
let calls = 0;
afterAll(async () => {
  console.log(`seed ${seed}: ${calls} calls with odd arguments`);
  await Promise.all([rt.close(), other.close()]);
});

const count = Number(process.env.FUZZ_RUNS ?? (all ? 4000 : 1000));

const methods: string[] = [];
for (let p = Tensor.prototype; p !== TensorCore.prototype; p = Object.getPrototypeOf(p))
  methods.push(...Object.getOwnPropertyNames(p));
/** Helpers of the classes, which no caller sees: their names are known from their types. */
const helpers =
  'constructor arithmetic operand unaryFloat allFalse refuse triangle positions startsOf waiting scan conv extremes segmentsOf'.split(
    ' ',
  );
const ops = methods.filter((name) => !helpers.includes(name)).sort();
const making = 'tensor fromBytes zeros ones full arange linspace eye tri iota where concat stack einsum'.split(' ');
const drawing = ['uniform', 'normal', 'integers', 'bernoulli'];

function dice(from: number): (sides: number) => number {
  let s = from | 0;
  return (sides) => {
    s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((s ^ (s >>> 13)) >>> 0) % sides;
  };
}

const cyclic: unknown[] = [];
cyclic.push(cyclic);

/** What may stand where something else is meant. */
const odd: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -1,
  () => 0,
  () => 1,
  () => 2,
  () => 0.5,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 1e300,
  () => 5n,
  () => -(2n ** 70n),
  () => 'f32',
  () => 'x',
  () => '',
  () => 'ij,jk->ik',
  () => true,
  () => [],
  () => [0],
  () => [1, 1],
  () => [-1],
  () => [[0, 1]],
  () => [
    [1, 1],
    [0, 0],
  ],
  () => [null],
  () => ['a'],
  () => [Number.NaN],
  () => [[1], [2, 3]],
  () => cyclic,
  () => ({}),
  () => ({ axis: 0 }),
  () => ({ axis: 'x' }),
  () => ({ axis: [0, 0] }),
  () => ({ dtype: 'i64' }),
  () => ({ dtype: 'x' }),
  () => ({ keepdims: 'yes', axis: -1 }),
  () => ({ high: 3 }),
  () => ({ high: Symbol('s') }),
  () => ({ ord: Symbol('s'), ddof: 1 }),
  () => ({ seed: 0.5, p: 2 }),
  () => ({ stride: 0 }),
  () => ({ padding: 'same' }),
  () => ({ bins: 3 }),
  () => ({ bins: 2 ** 31 }),
  () => ({ bins: null }),
  () => ({ bins: Symbol('s') }),
  () => ({ bins: [1, Symbol('s')] }),
  () => ({ bins: [0, 2, 4] }),
  () => ({ bins: 2, range: 5 }),
  () => ({ range: [0, Symbol('s')] }),
  () => ({ range: [2, 1] }),
  () => ({ range: [1, 3] }),
  () => ({ minLength: Symbol('s') }),
  () => ({ minLength: 5 }),
  () => ({ weights: null }),
  () => ({ weights: 0 }),
  () => ({ weights: rt.tensor([1, 2]) }),
  () => ({ weights: other.tensor([1, 2]) }),
  () => ({ side: 'right' }),
  () => ({ side: Symbol('s') }),
  () => ({
    get axis() {
      return 0;
    },
  }),
  () => Symbol('s'),
  () => () => 0,
  () => new Map(),
  () => new Date(0),
  () => new Float32Array([1, 2, 3]),
  () => new Uint8Array(4),
  () => new DataView(new ArrayBuffer(4)),
  () => new ArrayBuffer(4),
  () => rt.tensor([1, 2, 3]),
  () =>
    rt.tensor([
      [1, 2],
      [3, 4],
    ]),
  () => rt.tensor([1, 0], [2], { dtype: 'i32' }),
  () => rt.tensor([true, false]),
  () => rt.zeros([0, 3]),
  () => rt.tensor(2),
  () => [rt.tensor([1]), rt.tensor([2])],
  () => other.tensor([1, 2]),
  () => {
    const t = rt.tensor([1]);
    t.dispose();
    return t;
  },
];

const targets: readonly (() => Tensor)[] = [
  () => rt.tensor([1, 2, 3]),
  () =>
    rt.tensor([
      [1, 2],
      [3, 4],
    ]),
  () =>
    rt.tensor(
      [
        [1, 2],
        [3, 4],
      ],
      undefined,
      { dtype: 'i32' },
    ),
  () => rt.tensor([1, 0], [2], { dtype: 'i32' }),
  () => rt.tensor([true, false]),
  () => rt.zeros([0, 3]),
  () => rt.tensor(2),
  () => rt.ones([1, 2, 4, 4], { dtype: 'f16' }),
];

/** Results are read up to this many elements. */
const most = 10_000;

/** Runs one call, and waits for it if it waits; tells what is wrong with how it ended, or null. */
async function problem(target: object, name: string, args: readonly unknown[]): Promise<string | null> {
  try {
    const result: unknown = await Reflect.apply((target as Record<string, () => unknown>)[name]!, target, args);
    const parts = result instanceof TensorCore ? [result] : Object.values(result ?? {});
    const tensors = parts.filter((t) => t instanceof TensorCore);
    const odd = tensors.find(
      (t) => !t.shape.every((d) => Number.isSafeInteger(d) && d >= 0) || !Number.isSafeInteger(t.size),
    );
    if (odd) return `made ${odd}`;
    // What was taken must also compute.
    for (const t of tensors) if (!t.disposed && t.size <= most) await t.data();
    return null;
  } catch (e) {
    return e instanceof ForgeError ? null : `threw ${e instanceof Error ? (e.stack ?? e) : String(e)}`;
  }
}

describe('calls with odd arguments are refused by name or give a tensor:', () => {
  const rows = [
    ...ops.map((op) => ['a tensor', op, () => targets] as const),
    ...making.map((op) => ['a runtime', op, () => [() => rt]] as const),
    ...drawing.map((op) => ['random numbers', op, () => [() => rt.random]] as const),
  ];
  it.each(rows)('%s, %s', async (_, op, on) => {
    const roll = dice(seed + op.length * 7919 + op.charCodeAt(0));
    const problems = new Map<string, string>();
    for (let i = 0; i < Math.ceil(count / 20); i++) {
      await rt.scope(async () => {
        const list = on();
        const target = list[roll(list.length)]!();
        const args = Array.from({ length: roll(4) }, () => odd[roll(odd.length)]!());
        calls++;
        const found = await problem(target, op, args);
        if (found)
          problems.set(found.split('\n').slice(0, 3).join('\n'), `${op}(${args.map((a) => shown(a)).join(', ')})`);
      });
    }
    expect([...problems].slice(0, 4)).toEqual([]);
  });
});
