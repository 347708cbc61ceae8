// Parts that start where a tensor says, and rolls as far as one says, beyond their values (test/cases/data/positions.jsonl).

import { describe, expect, it } from 'vitest';
import { createRuntime, type RuntimeOptions, type Tensor } from '../../src/index.ts';

const machines: readonly (readonly [string, RuntimeOptions])[] = [
  ['cpu', { devices: ['cpu'], cpu: { threads: 1 } }],
  ['webgpu', { devices: ['webgpu'] }],
  ['reference', { devices: ['reference'] }],
];

describe.each(machines)('positions that are data, on %s', (_, options) => {
  it('are one program in a compiled function, at whatever position', async () => {
    await using rt = await createRuntime(options);
    const x = rt.arange(40).reshape([8, 5]).compute();
    const window = rt.compile((t: Tensor, i: Tensor) => t.sliceAt([i], [2]).mul(10).roll(i, 1));
    const at = (i: number): Tensor => rt.tensor([i], [], { dtype: 'i32' });
    await window(x, at(0)).data();
    const { programs } = rt.stats();
    for (let i = -2; i < 10; i++) {
      const first = Math.min(Math.max(i < 0 ? i + 8 : i, 0), 6);
      const rows = [first, first + 1].map((r) => {
        const row = [0, 1, 2, 3, 4].map((c) => (5 * r + c) * 10);
        return row.map((_v, c) => row[(((c - i) % 5) + 5) % 5]!);
      });
      expect(await window(x, at(i)).array()).toEqual(rows);
    }
    expect(rt.stats().programs).toBe(programs);
    expect(window.kernels.length).toBe(1);
  });

  it('may be mixed with numbers, and come from a computation', async () => {
    await using rt = await createRuntime(options);
    const x = rt.arange(24).cast('f32').reshape([4, 6]);
    const largest = x.sum({ axis: 1 }).argmax({ axis: 0 });
    expect(await x.sliceAt([largest, 2], [1, 3]).array()).toEqual([[20, 21, 22]]);
    expect(await x.sliceAt([largest, -2], [1, 2]).array()).toEqual([[22, 23]]);
    expect(await x.roll([1, largest], [1, 0]).array()).toEqual(
      [1, 2, 3, 0].map((r) => [5, 0, 1, 2, 3, 4].map((c) => 6 * r + c)),
    );
  });
});

describe('positions that are no positions', () => {
  it('are refused by name', async () => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    const x = rt.arange(6);
    const two = rt.tensor([1, 2], [2], { dtype: 'i32' });
    expect(() => x.sliceAt([0.5], [2])).toThrow(/sliceAt: 0.5 is no position/);
    expect(() => x.sliceAt([two], [2])).toThrow(/sliceAt: a position is i32 \[2\]/);
    expect(() => x.sliceAt(['a' as never], [2])).toThrow(/sliceAt/);
    expect(() => x.sliceAt([0], [7])).toThrow(/1 starts and sizes \[7\] for a tensor of shape \[6\]/);
    expect(() => x.sliceAt([0, 0], [2])).toThrow(/2 starts/);
    expect(() => x.roll(two, 0)).toThrow(/roll: a position is i32 \[2\]/);
    await using other = await createRuntime({ devices: ['cpu'] });
    expect(() => x.sliceAt([other.tensor([1], [1], { dtype: 'i32' })], [2])).toThrow(/different runtimes/);
  });
});

describe('indices that are tensors', () => {
  it('are checked once for an axis of one length, and again for a shorter one', async () => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    const [long, x, short] = [rt.arange(9), rt.arange(5), rt.arange(4)];
    const at = rt.tensor([4, -5, 0], [3], { dtype: 'i32' });
    const kernels = (t: Tensor): number => rt.explain(t).kernels.length;
    expect(kernels(x.gather(at, 0))).toBe(2);
    expect([...x.gather(at, 0).dataSync()].map(Number)).toEqual([4, 0, 0]);
    expect(kernels(x.gather(at, 0))).toBe(1);
    expect([...long.gather(at, 0).dataSync()].map(Number)).toEqual([4, 4, 0]);
    expect(() => short.gather(at, 0).dataSync()).toThrow(/out of range for an axis of size 4/);
    expect(() => short.gather(at, 0).dataSync()).toThrow(/out of range for an axis of size 4/);
  });

  it('are checked whenever a compiled function is given others', async () => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    const x = rt.arange(5).compute();
    const [good, bad] = [
      [4, -5],
      [4, 5],
    ].map((list) => rt.tensor(list, [2], { dtype: 'i32' })) as [Tensor, Tensor];
    const look = rt.compile((at: Tensor) => x.gather(at, 0));
    for (let i = 0; i < 3; i++) {
      x.gather(good, 0).compute();
      expect([...look(good).dataSync()].map(Number)).toEqual([4, 0]);
      expect(() => look(bad).dataSync()).toThrow(/out of range/);
      expect(() => x.gather(bad, 0).dataSync()).toThrow(/out of range/);
    }
  });
});
