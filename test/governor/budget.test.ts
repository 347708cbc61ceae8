// A budget for all devices of a runtime together: memory.budget.total.

import { describe, expect, it } from 'vitest';
import { withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, OutOfMemory, type Runtime, type RuntimeOptions, type Tensor } from '../../src/index.ts';

const MiB = 2 ** 20;
const ids = ['cpu', 'reference'] as const;

const open = (memory: RuntimeOptions['memory']): Promise<Runtime> =>
  createRuntime({
    devices: [...ids],
    cpu: { threads: 1 },
    routing: { mode: 'off' },
    memory: { sampleMs: false, ...memory },
    // Its buffers are on the JavaScript heap, and would not count.
    wrap: (device) => (device.id === 'reference' ? withFaults(device) : device),
  });

const filled = (rt: Runtime, value: number, mib: number, device: string): Tensor =>
  rt.tensor(new Float32Array((mib * MiB) / 4).fill(value), undefined, { device });

const heldMb = (rt: Runtime): number => ids.reduce((sum, id) => sum + rt.memory.snapshot(id).allocatedMb, 0);

describe('a total budget', () => {
  it('is never exceeded by the devices together, and what was used longest ago leaves, wherever it is', async () => {
    await using rt = await open({ budget: { total: 0.75 * MiB } });
    const spills: string[] = [];
    rt.on('spill', (e) => spills.push(e.device));
    const tensors: Tensor[] = [];
    for (let i = 0; i < 8; i++) {
      tensors.push(filled(rt, i, 0.25, ids[i % 2]!));
      expect(heldMb(rt)).toBeLessThanOrEqual(0.75);
    }
    expect(spills).toEqual(['cpu', 'reference', 'cpu', 'reference', 'cpu']);
    for (const [i, t] of tensors.entries()) {
      await rt.scope(async () => expect((await t.max().data())[0]).toBe(i));
      expect(heldMb(rt)).toBeLessThanOrEqual(0.75);
    }
    for (const t of tensors) t.dispose();
    expect(rt.stats()).toMatchObject({ bytes: 0, spilledBytes: 0 });
  });

  it('lets a tensor move that does not fit twice', async () => {
    await using rt = await open({ budget: { total: MiB } });
    const x = filled(rt, 3, 0.75, 'cpu');
    await x.to('reference');
    expect([heldMb(rt), (await x.max().data())[0]]).toEqual([0.75, 3]);
  });

  it('holds beside budgets of single devices', async () => {
    await using rt = await open({ budget: { total: 12 * MiB, reference: 4 * MiB }, hostBytes: 0 });
    const first = filled(rt, 1, 4, 'reference');
    expect(() => filled(rt, 2, 2, 'reference')).toThrow(/budget of 4194304 bytes, of which 4194304 are in use/);
    const rest = filled(rt, 3, 7, 'cpu');
    expect((await rest.max().data())[0]).toBe(3);
    await expect(rest.add(1).data()).rejects.toThrow(/budget of 12582912 bytes for all devices/);
    first.dispose();
    rest.dispose();
  });

  it('is named, with the largest holders on every device, when nothing helps', async () => {
    await using rt = await open({ budget: { total: 10 * MiB }, hostBytes: 0 });
    const held = [filled(rt, 1, 6, 'cpu'), filled(rt, 2, 3, 'reference')];
    let error: unknown;
    try {
      filled(rt, 3, 2, 'reference');
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OutOfMemory);
    expect(error).toMatchObject({ code: 'OVER_TOTAL_BUDGET', requested: 2 * MiB, available: MiB });
    const { message } = error as OutOfMemory;
    expect(message).toMatch(/budget of 10485760 bytes for all devices, of which 9437184 are in use/);
    expect(message).toMatch(/6\.00 MiB on cpu {2}f32.*\n.*3\.00 MiB on reference {2}f32/);
    expect(message).toMatch(/memory\.budget\.total/);
    held[0]!.dispose();
    expect((await filled(rt, 3, 2, 'reference').max().data())[0]).toBe(3);
  });

  it('counts as pressure on every device, and bounds what can be allocated', async () => {
    await using rt = await open({ budget: { total: 100 * MiB }, cleanupAt: false });
    const levels: string[] = [];
    rt.on('pressure', (e) => levels.push(`${e.device} ${e.to}`));
    const held = Array.from({ length: 70 }, (_, i) => filled(rt, i, 1, 'cpu'));
    expect(levels).toEqual(['cpu moderate', 'reference moderate']);
    expect(rt.memory.snapshot('reference')).toMatchObject({ utilization: 70, availableMb: 30, source: 'budget' });
    expect([rt.memory.canAllocate(20, 0.1, 'reference'), rt.memory.canAllocate(40, 0.1, 'reference')]).toEqual([
      true,
      false,
    ]);
    held.push(...Array.from({ length: 25 }, (_, i) => filled(rt, i, 1, 'reference')));
    expect(levels.slice(2).sort()).toEqual(ids.flatMap((id) => [`${id} critical`, `${id} high`]));
    for (const t of held) t.dispose();
    rt.memory.recordSnapshot();
    expect(levels.slice(-2)).toEqual(['cpu low', 'reference low']);
  });
});
