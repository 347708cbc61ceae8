// Kernels of one's own: scalars, several results, names, memory that is taken over, and their end.

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  createRuntime,
  DisposedError,
  type Events,
  type KernelValue,
  type Tensor,
  withFaults,
} from '../../src/index.ts';

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;

describe('rt.kernel', () => {
  it('takes numbers: each call uses its own', async () => {
    await using rt = await createRuntime(cpu);
    const blend = rt.kernel((x: KernelValue, k: number, y: KernelValue) => x.mul(k).add(y.at(1).mul(1 - k)));
    const [x, y] = [rt.tensor([1, 2, 3]), rt.tensor([10, 20, 30])];
    for (const k of [0.25, 0.5, 0.75, 0, 1, -1])
      expect([...blend(x, k, y).dataSync()]).toEqual([1, 2, 3].map((v, i) => v * k + [20, 30, 10][i]! * (1 - k)));
  });

  it('has several results, as an array or by name, in one launch', async () => {
    await using rt = await createRuntime(cpu);
    const x = rt.tensor([1, 4, 9]);
    const launches: string[] = [];
    rt.on('launch', (e) => launches.push(e.name));
    const [root, twice] = rt.kernel((v) => [v.sqrt(), v.mul(2)])(x);
    expect(launches.length).toBe(1);
    const { sum, mean } = rt.kernel((v) => ({ sum: v.sum(), mean: v.mean() }))(x);
    expect(launches.length).toBe(2);
    expect([...root!.dataSync()]).toEqual([1, 2, 3]);
    expect([...twice!.dataSync()]).toEqual([2, 8, 18]);
    expect([sum.item(), mean.item()]).toEqual([14, Math.fround(14 / 3)]);
  });

  it('goes by its name in events and errors', async () => {
    await using rt = await createRuntime(cpu);
    const told: Events['launch'][] = [];
    rt.on('launch', (e) => told.push(e));
    const replays: Events['replay'][] = [];
    rt.on('replay', (e) => replays.push(e));
    const blur = rt.kernel((v) => v.at(-1).add(v).add(v.at(1)), { name: 'blur' });
    const x = rt.tensor([1, 2, 3]);
    blur(x);
    x.add(1).compute();
    expect(told.map((e) => e.name)).toEqual(['blur', 'add_f32_3']);
    expect(replays.map((e) => e.kernels)).toEqual([['blur']]);
    expect(blur.kernel).toBe('blur');
    expect(() => rt.kernel((v) => v.sub(v.sum()).sum(), { name: 'centre' })(x)).toThrow(
      /kernel centre: the body takes/,
    );
    expect(() => rt.kernel((v) => v, { name: '' })).toThrow(ArgumentError);
    expect(() => rt.kernel((v) => v, { name: 'x'.repeat(201) })).toThrow(ArgumentError);
  });

  it('ends with dispose', async () => {
    await using rt = await createRuntime(cpu);
    const twice = rt.kernel((v) => v.mul(2));
    expect([...twice(rt.tensor([1])).dataSync()]).toEqual([2]);
    twice.dispose();
    twice.dispose();
    expect(() => twice(rt.tensor([1]))).toThrow(DisposedError);
  });
});

describe('a kernel in place', () => {
  const n = 1 << 16;

  it('takes over the memory of an input, which ends with the call', async () => {
    await using rt = await createRuntime(cpu);
    const scale = rt.kernel((x: KernelValue, k: number) => x.mul(k), { inPlace: 0 });
    let x: Tensor = rt.full([n], 1).compute();
    scale(rt.full([n], 1).compute(), 3).dispose();
    const allocs: number[] = [];
    rt.on('alloc', (e) => allocs.push(e.bytes));
    const { live } = rt.snapshot().memory.places[0]!;
    for (let i = 0; i < 10; i++) {
      const y = scale(x, 2);
      expect(x.disposed).toBe(true);
      x = y;
    }
    expect(allocs).toEqual([]);
    expect(rt.snapshot().memory.places[0]!.live).toBe(live);
    expect(x.dataSync()[n - 1]).toBe(1024);
    x.dispose();
    expect(rt.snapshot().memory.places[0]!.live).toBe(live - 4 * n);
  });

  it('gets memory of its own where the old values are still needed', async () => {
    await using rt = await createRuntime(cpu);
    const x = () => rt.arange(n).cast('f32').compute();
    // Neighbours are read.
    const shift = rt.kernel((v) => v.at(1).sub(v), { inPlace: 0 });
    expect(shift(x()).dataSync()[5]).toBe(1);
    // A view of the same bytes lives on.
    const seen = x();
    const view = seen.reshape([n / 2, 2]).compute();
    const negate = rt.kernel((v) => v.neg(), { inPlace: 0 });
    expect(negate(seen).dataSync()[7]).toBe(-7);
    expect(view.dataSync()[7]).toBe(7);
    // Lazy work still waits for it.
    const later = x();
    const waiting = later.add(1);
    expect(negate(later).dataSync()[7]).toBe(-7);
    expect(waiting.dataSync()[7]).toBe(8);
    // The same tensor twice, and a result of another size.
    const both = rt.kernel((v, w) => v.add(w.at(1)), { inPlace: 0 });
    const same = x();
    expect(both(same, same).dataSync()[7]).toBe(15);
    expect(
      rt
        .kernel((v) => v.sum(), { inPlace: 0 })(rt.ones([n]).compute())
        .item(),
    ).toBe(n);
  });

  it('leaves its input alone when it fails', async () => {
    const faults = [{ at: 'launch', nth: 2, times: Number.POSITIVE_INFINITY, as: 'kernel' }] as const;
    await using rt = await createRuntime({ ...cpu, wrap: (d) => withFaults(d, { faults }) });
    const x = rt.full([n], 5).compute();
    const { live } = rt.snapshot().memory.places[0]!;
    const negate = rt.kernel((v) => v.neg(), { inPlace: 0 });
    expect(() => negate(x)).toThrow();
    expect(x.disposed).toBe(false);
    expect(x.dataSync()[n - 1]).toBe(5);
    expect(rt.snapshot().memory.places[0]!.live).toBe(live);
  });

  it('refuses an input that is not there', async () => {
    await using rt = await createRuntime(cpu);
    expect(() => rt.kernel((v) => v, { inPlace: -1 })).toThrow(ArgumentError);
    expect(() => rt.kernel((v) => v.mul(2), { inPlace: 1 })(rt.tensor([1]))).toThrow(/argument 1 is missing/);
    const scale = rt.kernel((x: KernelValue, k: number) => x.mul(k), { inPlace: 1 });
    expect(() => scale(rt.tensor([1]), 2)).toThrow(/argument 1 is no tensor/);
  });
});
