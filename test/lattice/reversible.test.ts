// Register programs, formulas, automata: everything undone exactly.

import { afterAll, describe, expect, it } from 'vitest';
import {
  compileFormula,
  NotReversibleError,
  type Ring,
  registerProgram,
  secondOrder,
} from '../../src/lattice/index.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { numbers } from './plain.ts';

afterAll(closeAll);

const word = (random: () => number): bigint =>
  (BigInt(Math.floor(random() * 2 ** 32)) << 32n) | BigInt(Math.floor(random() * 2 ** 32));

const product = (ring: Ring) => {
  const p = registerProgram({ registers: 3, ring });
  return p
    .add(2, p.mul(0, 1))
    .addInput(0, 'x')
    .sub(2, p.mul(0, 1))
    .addInput(1, 'y')
    .add(2, p.mul(0, 1))
    .subInput(0, 'x')
    .sub(2, p.mul(0, 1))
    .subInput(1, 'y');
};

describe('register programs', () => {
  it('multiply in registers of any content, which are as before', () => {
    const p = product('u64');
    const random = numbers(31);
    for (let i = 0; i < 1000; i++) {
      const before = BigUint64Array.from([word(random), word(random), word(random)]);
      const [x, y] = [word(random), word(random)];
      const words = before.slice();
      p.apply(words, { x, y });
      expect([words[0], words[1]]).toEqual([before[0], before[1]]);
      expect(words[2]).toBe(BigInt.asUintN(64, before[2]! + x * y));
      p.inverse().apply(words, { x, y });
      expect(words).toEqual(before);
    }
  });

  it('work over GF(2^64) and prime fields', async () => {
    const { gfMul } = await import('../../src/lattice/index.ts');
    const random = numbers(32);
    const words = [word(random), word(random), word(random)];
    const [x, y] = [word(random), word(random)];
    const after = [...words];
    product('gf64').apply(after, { x, y });
    expect(after).toEqual([words[0], words[1], words[2]! ^ gfMul(x, y)]);
    const small = [200n, 100n, 7n];
    product({ field: 257 }).apply(small, { x: 16n, y: 32n });
    expect(small).toEqual([200n, 100n, (7n + 512n) % 257n]);
  });

  it('print themselves and their inverse, and refuse what cannot be undone', () => {
    const p = product('u64');
    expect(String(p).split('\n').slice(0, 3)).toEqual(['r2 += r0*r1', 'r0 += x', 'r2 -= r0*r1']);
    expect(String(p.inverse()).split('\n').at(-1)).toBe('r2 -= r0*r1');
    expect(String(p.add(0, p.scaled(3n, 1)))).toMatch(/r0 \+= 3\*r1$/);
    const refused = (): unknown => p.add(1, p.mul(0, 1));
    expect(refused).toThrow(NotReversibleError);
    expect(refused).toThrow(/step 8 reads r1/);
    expect(() => p.add(3, p.mul(0))).toThrow(/register 3/);
    expect(() => p.apply(new BigUint64Array(3), { x: 1n })).toThrow(/no value for y/);
    expect(() => p.apply(new BigUint64Array(2), { x: 1n, y: 1n })).toThrow(/24 bytes/);
  });

  it('run in lent tensors, which are what they were', async () => {
    const rt = await runtimeOf('cpu');
    const registers = rt.tensor(BigUint64Array.from([9n, 8n, 7n])).compute();
    expect([...(await product('u64').run(rt, registers, { x: 5n, y: 7n }))]).toEqual([0n, 0n, 35n]);
    expect([...(await registers.data())]).toEqual([9n, 8n, 7n]);
    await expect(product('u64').run(rt, rt.tensor([1, 2, 3]), { x: 1n, y: 1n })).rejects.toThrow(/of f32/);
  });

  it('are made from formulas, whose steps are counted before', () => {
    const random = numbers(33);
    const cases: readonly [string, (v: Record<string, bigint>) => bigint][] = [
      ['x*y + z', ({ x, y, z }) => x! * y! + z!],
      ['(x + 3)*(y - z)*x', ({ x, y, z }) => (x! + 3n) * (y! - z!) * x!],
      ['x - 2*(y + z*z)', ({ x, y, z }) => x! - 2n * (y! + z! * z!)],
    ];
    for (const [text, value] of cases) {
      const p = compileFormula(text);
      const before = BigUint64Array.from({ length: p.registers }, () => word(random));
      const inputs = { x: word(random), y: word(random), z: word(random) };
      const words = before.slice();
      p.apply(words, inputs);
      expect(words[0]).toBe(BigInt.asUintN(64, before[0]! + value(inputs)));
      expect(words.slice(1)).toEqual(before.slice(1));
    }
    expect(compileFormula('x*y').steps.length).toBe(8);
    expect(() => compileFormula('a*b*c*d', { maxSteps: 20 })).toThrow(/takes \d+ steps, the most is 20/);
    expect(() => compileFormula('x * (y')).toThrow(/goes wrong/);
    expect(() => compileFormula('x ? y')).toThrow(/goes wrong at '\?'/);
    // Long texts end in an answer or a refusal too.
    const brackets = (n: number): string => `${'('.repeat(n)}x${')'.repeat(n)}`;
    expect(compileFormula(brackets(500)).steps.length).toBe(1);
    expect(() => compileFormula(brackets(501))).toThrow(/more than 500 brackets/);
    expect(() => compileFormula(brackets(50_000))).toThrow(/more than 500 brackets/);
    expect(() => compileFormula(`${'x*'.repeat(50_000)}x`)).toThrow(/takes Infinity steps, the most is 65536/);
    const words = new BigUint64Array(1);
    compileFormula(`${'x+y-'.repeat(20_000)}x`).apply(words, { x: 5n, y: 3n });
    expect(words[0]).toBe(BigInt.asUintN(64, 5n + 20_000n * (3n - 5n)));
  });

  it('average over roots of unity: Σ p(ω^j τ + x) = m p(x)', () => {
    const p = 257n;
    const power = (a: bigint, e: bigint): bigint =>
      e === 0n ? 1n : (power(a, e / 2n) ** 2n * (e % 2n === 1n ? a : 1n)) % p;
    const random = numbers(34);
    for (const m of [2n, 4n, 8n, 16n, 32n]) {
      const root = power(3n, 256n / m);
      const coefficients = Array.from({ length: Number(m) }, () => BigInt(Math.floor(random() * 257)));
      const poly = (v: bigint): bigint => coefficients.reduce((sum, c) => (sum * v + c) % p, 0n);
      const [tau, x] = [BigInt(Math.floor(random() * 257)), BigInt(Math.floor(random() * 257))];
      let sum = 0n;
      for (let j = 0n; j < m; j++) sum += poly((power(root, j) * tau + x) % p);
      expect(sum % p).toBe((m * poly(x)) % p);
    }
  });
});

describe.each(kinds)('second-order automata on %s', (kind) => {
  it('run backwards to the very start', async () => {
    const rt = await runtimeOf(kind);
    for (const [shape, steps] of [
      [[64], kind === 'reference' ? 10 : 1000],
      [[12, 9], 10],
      [[4, 5, 6], 1],
    ] as const) {
      const random = numbers(shape.length);
      const rule = [random(), random(), random()].map((r) => Math.floor(r * 2 ** 31));
      const make = (seed: number) => rt.random.integers(shape, { seed, high: 2 ** 31, dtype: 'i32' });
      const [current, previous] = [make(1), make(2)];
      const start = [await current.data(), await previous.data()];
      const automaton = secondOrder(
        (x) => x.at(1).bitwiseAnd(rule[0]!).add(x.at(-1).mul(rule[1]!)).bitwiseXor(x.bitwiseOr(rule[2]!)),
        { runtime: rt, shape, current, previous, border: shape.length === 2 ? 'zero' : 'wrap' },
      );
      automaton.step(steps);
      expect(await automaton.state.current.data()).not.toEqual(start[0]);
      automaton.swap();
      automaton.step(steps);
      automaton.swap();
      expect(await automaton.state.current.data()).toEqual(start[0]);
      expect(await automaton.state.previous.data()).toEqual(start[1]);
      automaton.dispose();
    }
    const empty = secondOrder((x) => x.add(1), { runtime: rt, shape: [3] });
    empty.step(2);
    expect([...(await empty.state.current.data())]).toEqual([2, 2, 2]);
    empty.dispose();
    const other = rt.zeros([4], { dtype: 'i32' });
    expect(() => secondOrder((x) => x, { runtime: rt, shape: [3], previous: other })).toThrow(
      /the previous state is i32/,
    );
  });
});
