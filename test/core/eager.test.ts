// Small expressions that are like one that ran before are not traced: whatever runs instead must be what was written.

import { describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();

/** A value as a tensor and as the numbers that it stands for. */
interface Both {
  readonly tensor: Tensor;
  readonly values: readonly number[];
}

/** Whole numbers from 0 on, the same for a seed. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Numbers that have programs of their own, and others. */
const numbers = [0, 1, 2, -1, 3, 4, 5, 7];

/** An expression of a few ops, some of whose parts are used twice. Values stay whole and small, so that every order gives the same. */
function grow(inputs: readonly Both[], draw: (below: number) => number): Both {
  const made: Both[] = [];
  const any = (): Both => (made.length > 0 && draw(3) > 0 ? made[draw(made.length)]! : inputs[draw(inputs.length)]!);
  const count = 1 + draw(4);
  for (let i = 0; i < count; i++) {
    const [a, b, number] = [any(), any(), numbers[draw(numbers.length)]!];
    const next: readonly (() => Both)[] = [
      () => ({ tensor: a.tensor.add(b.tensor), values: a.values.map((v, k) => v + b.values[k]!) }),
      () => ({ tensor: a.tensor.sub(b.tensor), values: a.values.map((v, k) => v - b.values[k]!) }),
      () => ({ tensor: a.tensor.add(number), values: a.values.map((v) => v + number) }),
      () => ({ tensor: a.tensor.sub(number), values: a.values.map((v) => v - number) }),
      () => ({ tensor: a.tensor.maximum(number), values: a.values.map((v) => Math.max(v, number)) }),
      () => ({ tensor: a.tensor.flip(0), values: [...a.values].reverse() }),
      () => ({ tensor: a.tensor.reshape([2, 3]).transpose().reshape([6]), values: transposed(a.values) }),
      () => ({ tensor: a.tensor.max().add(b.tensor), values: b.values.map((v) => v + Math.max(...a.values)) }),
    ];
    made.push(next[draw(next.length)]!());
  }
  return made[made.length - 1]!;
}

const transposed = (v: readonly number[]): number[] => [v[0]!, v[3]!, v[1]!, v[4]!, v[2]!, v[5]!];

const inputsOf = (rt: Runtime, draw: (below: number) => number): Both[] =>
  Array.from({ length: 3 }, () => {
    const values = Array.from({ length: 6 }, () => draw(20) - 10);
    return { tensor: rt.tensor(values).compute(), values };
  });

describe('expressions that came before in other forms', () => {
  it.each([1, 2, 3])('give what they say, whatever ran before them: %s', async (seed) => {
    const rt = await runtime();
    const draw = drawing(seed);
    for (let round = 0; round < 250; round++) {
      // One form three times in a row, each time on other inputs: from the third time on it is not traced.
      const form = draw(60);
      for (let i = 0; i < 3; i++) {
        const { tensor, values } = grow(inputsOf(rt, draw), drawing(form));
        expect([...tensor.dataSync()].map(Number), `form ${form}, round ${round}`).toEqual(values);
      }
    }
  });

  it('are told apart by what is used twice, by their numbers and by what they read', async () => {
    const rt = await runtime();
    const [x, y] = [rt.tensor([1, 2, 3]).compute(), rt.tensor([10, 20, 30]).compute()];
    const i32 = rt.tensor([1, 2, 3], { dtype: 'i32' }).compute();
    const forms: readonly (readonly [() => Tensor, readonly number[]])[] = [
      [() => x.mul(y), [10, 40, 90]],
      [() => x.mul(x), [1, 4, 9]],
      [() => y.mul(x.add(0)), [10, 40, 90]],
      [() => x.add(5).mul(x.add(5)), [36, 49, 64]],
      [() => x.add(5).mul(x.add(6)), [42, 56, 72]],
      [() => x.add(5).mul(y.add(5)), [90, 175, 280]],
      [() => shared(x.add(5)), [36, 49, 64]],
      [() => x.add(1).mul(x.add(2)), [6, 12, 20]],
      [() => x.add(2).mul(x.add(1)), [6, 12, 20]],
      [() => i32.add(5).mul(i32.add(5)), [36, 49, 64]],
    ];
    // In turns, and each several times before the next.
    for (const times of [1, 4, 1, 3])
      for (const [make, values] of forms)
        for (let i = 0; i < times; i++) expect([...make().dataSync()].map(Number)).toEqual(values);
  });

  it('keep what a tensor still holds apart from what nobody does', async () => {
    const rt = await runtime();
    const x = rt.tensor(new Float32Array(6).fill(2), [2, 3]).compute();
    const once = (dispose: boolean): readonly number[] => {
      const product = x.matmul(x.transpose());
      const result = product.add(1);
      if (dispose) product.dispose();
      const values = [...result.dataSync()];
      if (!dispose) expect([...product.dataSync()]).toEqual([12, 12, 12, 12]);
      return values;
    };
    for (let i = 0; i < 12; i++) expect(once(i % 4 < 2)).toEqual([13, 13, 13, 13]);
  });

  it('run where their inputs are asked to stay', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = rt.tensor([1, 2]).compute();
    for (let i = 0; i < 4; i++) expect([...x.add(1).mul(7).dataSync()]).toEqual([14, 21]);
    await x.to('cpu');
    expect([...x.add(1).mul(7).dataSync()]).toEqual([14, 21]);
    x.dispose();
    const y = rt.tensor([3, 4]);
    expect([...y.add(1).mul(7).dataSync()]).toEqual([28, 35]);
  });

  it('run where others would, if those that came before were told where to run', async () => {
    await using rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
    });
    const there = { device: 'reference' } as const;
    const made = (): Tensor => rt.scope(there, () => rt.tensor([1, 2]).mul(4).compute());
    const [x, pinned] = [made(), await made().to('reference')];
    const ran: string[] = [];
    rt.on('launch', ({ device }) => ran.push(device));
    const once = (t: Tensor): void => t.add(3).compute().dispose();
    for (let i = 0; i < 4; i++) rt.scope(there, () => once(x));
    for (let i = 0; i < 4; i++) once(pinned);
    expect(new Set(ran.splice(0))).toEqual(new Set(['reference']));
    once(x);
    expect(ran).toEqual(['cpu']);
  });

  it('count as runs that found their program ready', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = rt.tensor([1, 2]).compute();
    const once = (): Tensor => x.mul(0.3).add(x).sub(0.2).compute();
    once();
    const before = rt.stats();
    for (let i = 0; i < 10; i++) once();
    const { programs, programHits, launches } = rt.stats();
    expect(programs - before.programs).toBe(0);
    expect(programHits - before.programHits).toBe(10);
    expect(launches - before.launches).toBe(10);
  });

  it.each(['compute', 'dataSync', 'data'] as const)('are tried again when a launch fails: %s', async (how) => {
    let device: FaultyDevice | null = null;
    const wrap = (inner: Device): Device => (device = withFaults(inner));
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, wrap });
    const x = rt.tensor([1, 2]).compute();
    const once = async (): Promise<readonly number[]> => {
      const result = x.add(1).mul(7);
      if (how === 'compute') result.compute();
      return [...(how === 'data' ? await result.data() : result.dataSync())];
    };
    for (let i = 0; i < 4; i++) await once();
    const { launch } = device!.counters().calls;
    device!.plan({ faults: [{ at: 'launch', nth: launch + 1, as: 'transient' }] });
    expect(await once()).toEqual([14, 21]);
    expect(device!.counters().injected.length).toBe(1);
    expect(rt.recovery.history().map((h) => h.kind)).toEqual(['failure']);
  });
});

const shared = (part: Tensor): Tensor => part.mul(part);
