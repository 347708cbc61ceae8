// createStepper: a recurrence whose state stays in place gives what the plain calls give, whatever happens to its tensors in between.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ArgumentError,
  createRuntime,
  createStepper,
  type FaultyDevice,
  type Runtime,
  type Stepper,
  type Tensor,
  withFaults,
} from '../../src/index.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'] });
});
afterAll(() => rt.close());

/** sum ← sum + 2·x + bias, count ← count + 1; what it returns besides is let go. */
const makeStep = (on = rt) =>
  on.compile((s: Readonly<Record<string, Tensor>>, x: Tensor, ...[bias]: Tensor[]) => {
    const sum = s.sum!.add(x.mul(2)).add(bias!).add(s.fixed!.mean());
    return { sum, last: sum.max({ axis: 0, keepdims: true }), extra: sum.mul(3) };
  });

interface Made {
  readonly stepper: Stepper;
  readonly bias: Tensor;
}

function make(on = rt, size = 3): Made {
  const bias = on.full([size], 0.5);
  const state = { sum: on.zeros([size]), last: on.zeros([1]), fixed: on.zeros([2]) };
  const options = { state, fixed: [bias], input: { shape: [size] }, reads: 'sum', device: 'cpu' };
  return { stepper: createStepper(on, makeStep(on), options), bias };
}

const give = (t: number, size = 3): Float32Array => Float32Array.from({ length: size }, (_, i) => t + i);
/** What the sum is after some accepted runs with `give(0)`, `give(1)`, … */
const sumsOf = (runs: number, size = 3): number[] =>
  Array.from({ length: size }, (_, i) => {
    let sum = 0;
    for (let t = 0; t < runs; t++) sum += 2 * (t + i) + 0.5;
    return sum;
  });

describe('a stepper', () => {
  it('gives what the recurrence gives, in the first runs and in the many behind them', () => {
    const { stepper } = make();
    for (let t = 0; t < 20; t++) {
      expect([...stepper.runSync(give(t))]).toEqual(sumsOf(t + 1));
      stepper.accept();
    }
    expect([...stepper.state.last!.dataSync()]).toEqual([Math.max(...sumsOf(20))]);
    stepper.dispose();
  });

  it('keeps its state until a run is accepted', () => {
    const { stepper } = make();
    for (let t = 0; t < 10; t++) {
      stepper.runSync(give(77));
      stepper.drop();
      stepper.runSync(give(-5));
      expect([...stepper.runSync(give(t))]).toEqual(sumsOf(t + 1));
      expect([...stepper.pending!.sum!.dataSync()]).toEqual(sumsOf(t + 1));
      expect([...stepper.state.sum!.dataSync()]).toEqual(sumsOf(t));
      stepper.accept();
      expect(stepper.pending).toBeNull();
    }
    stepper.dispose();
  });

  it('never changes a tensor that somebody holds', () => {
    const { stepper } = make();
    const held: Tensor[] = [];
    const lazy: Tensor[] = [];
    for (let t = 0; t < 12; t++) {
      stepper.runSync(give(t));
      stepper.accept();
      held.push(stepper.state.sum!.clone());
      lazy.push(stepper.state.sum!.mul(10));
    }
    held.forEach((h, t) => {
      expect([...h.dataSync()]).toEqual(sumsOf(t + 1));
      expect([...lazy[t]!.dataSync()]).toEqual(sumsOf(t + 1).map((v) => v * 10));
    });
    stepper.dispose();
    expect([...held[5]!.dataSync()]).toEqual(sumsOf(6));
    for (const t of [...held, ...lazy]) t.dispose();
  });

  it('takes a state from outside for one run, for good if that is accepted', () => {
    const { stepper } = make();
    for (let t = 0; t < 6; t++) {
      stepper.runSync(give(t));
      stepper.accept();
    }
    stepper.runSync(give(6), { fixed: rt.full([2], 100) });
    stepper.drop();
    expect([...stepper.runSync(give(6))]).toEqual(sumsOf(7));
    stepper.accept();
    stepper.runSync(give(7), { fixed: rt.full([2], 100) });
    stepper.accept();
    for (let t = 8; t < 12; t++) {
      const more = sumsOf(t + 1).map((v) => v + 100 * (t - 6));
      expect([...stepper.runSync(give(t))]).toEqual(more);
      stepper.accept();
    }
    stepper.dispose();
  });

  it('tells whoever listens of every launch and transfer, and goes on after that', () => {
    const { stepper } = make(rt, 5000);
    let seen = 0;
    for (let t = 0; t < 12; t++) {
      const ends =
        t >= 6 && t < 9
          ? [rt.on('upload', () => seen++), rt.on('replay', () => seen++), rt.on('download', () => seen++)]
          : [];
      expect([...stepper.runSync(give(t, 5000)).subarray(4990)]).toEqual(sumsOf(t + 1, 5000).slice(4990));
      stepper.accept();
      for (const end of ends) end();
    }
    expect(seen).toBe(9);
    stepper.dispose();
  });

  it('allocates nothing once it runs, and frees everything', () => {
    const before = { ...rt.stats() };
    const size = 10_000;
    const { stepper, bias } = make(rt, size);
    for (let t = 0; t < 6; t++) {
      stepper.runSync(give(t, size));
      stepper.accept();
    }
    const events: number[] = [];
    const end = rt.on('alloc', (e) => events.push(e.bytes));
    const { bytes, launches } = rt.stats();
    for (let t = 6; t < 30; t++) {
      stepper.runSync(give(t, size));
      stepper.accept();
    }
    end();
    expect(events).toEqual([]);
    expect(rt.stats().bytes).toBe(bytes);
    expect(rt.stats().launches).toBeGreaterThan(launches);
    stepper.dispose();
    bias.dispose();
    expect(rt.stats().bytes).toBe(before.bytes);
    expect(rt.stats().tensors).toBe(before.tensors);
  });

  it('waits for a device that is read with a promise, one run at a time', async () => {
    const { stepper } = make();
    for (let t = 0; t < 10; t++) {
      const running = stepper.run(give(t));
      expect(() => stepper.runSync(give(t))).toThrow(/under way/);
      expect([...(await running)]).toEqual(sumsOf(t + 1));
      stepper.accept();
    }
    stepper.dispose();
  });

  it('gives the plain results if there is no room for a second state', async () => {
    const size = 100_000;
    // Room for the state, its successor and little else.
    await using tight = await createRuntime({ devices: ['cpu'], memory: { budget: { cpu: 3_300_000 } } });
    const { stepper } = make(tight, size);
    for (let t = 0; t < 8; t++) {
      expect([...stepper.runSync(give(t, size)).subarray(0, 3)]).toEqual(sumsOf(t + 1));
      stepper.accept();
    }
    stepper.dispose();
  });

  it('goes on where a device fails for a moment, and says so where the state went with the device', async () => {
    let device: FaultyDevice | undefined;
    const once = { at: 'launch', nth: 30, as: 'transient' } as const;
    await using mortal = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
      wrap: (d) => {
        device = withFaults(d, { faults: [once] });
        return Object.assign(device, { caps: { ...d.caps, immortal: false } });
      },
    });
    const { stepper } = make(mortal);
    for (let t = 0; t < 30; t++) {
      expect([...stepper.runSync(give(t))]).toEqual(sumsOf(t + 1));
      stepper.accept();
    }
    expect(device!.counters().injected).toHaveLength(1);
    device!.lose('unplugged');
    expect(() => stepper.runSync(give(0))).toThrow(/lost/);
    expect(() => stepper.runSync(give(0))).toThrow(/lost/);
    stepper.dispose();
  });

  it('refuses a function that does not return what is read, and keeps nothing of the run', async () => {
    const nothing = rt.compile((s: Readonly<Record<string, Tensor>>, x: Tensor) => ({ other: s.sum!.add(x) }));
    const state = { sum: rt.zeros([500]) };
    const stepper = createStepper(rt, nothing, { state, input: { shape: [500] }, reads: 'sum', device: 'cpu' });
    const bytes = rt.stats().bytes;
    expect(() => stepper.runSync(give(0, 500))).toThrow(/returns no 'sum', which is read/);
    await expect(stepper.run(give(0, 500))).rejects.toThrow(ArgumentError);
    expect(rt.stats().bytes).toBe(bytes);
    stepper.dispose();
    nothing.dispose();
  });

  it('refuses what does not fit, and everything after its end', () => {
    const { stepper } = make();
    expect(() => stepper.runSync(new Float32Array(2))).toThrow(/8 bytes, not the 12/);
    const state = { sum: rt.zeros([1]) };
    expect(() => createStepper(rt, makeStep(), { state, input: { shape: [1] }, reads: 'none', device: 'cpu' })).toThrow(
      /no 'none'/,
    );
    stepper.dispose();
    stepper.dispose();
    expect(() => stepper.runSync(give(0))).toThrow(/after it was disposed/);
  });
});
