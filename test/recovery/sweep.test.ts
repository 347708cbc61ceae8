// Calls of a sixty-op program fail, in every way, on every kind of device: a sample of them, or all (see `every`).
//
// Whatever fails: the result is right or the error is one of ours; nothing stays allocated; nothing hangs; and the same
// program gives the right result afterwards in the same runtime. With a second device, the result is right at once.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { createReferenceDevice } from '../../src/devices/reference/device.ts';
import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';
import { ForgeError } from '../../src/errors.ts';
import {
  type Fault,
  type FaultKind,
  type FaultyDevice,
  faultKinds,
  randomFaults,
  withFaults,
} from '../../src/governor/recovery/faults.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { all, everyNth } from '../support/extent.ts';
import { needsWebGpu, skipWithoutWebGpu } from '../support/webgpu.ts';
import { difference, forget, sixtyOps, steps } from './program.ts';

interface Bench {
  readonly device: Device;
  readonly size: number;
  readonly timeoutMs: number;
  readonly expected: ReadonlyMap<string, readonly number[]>;
  /** Calls of the program's first run in a runtime, and of later ones, in which everything is prepared. */
  readonly firstCalls: number;
  readonly calls: number;
}

const clean = { faults: [], strict: true } as const;

/** A runtime whose first device is the given one, with faults; a second one may take over. */
class Trial {
  readonly rt: Runtime;
  readonly #bench: Pick<Bench, 'device' | 'size' | 'timeoutMs'>;
  readonly #first: FaultyDevice;

  private constructor(bench: Pick<Bench, 'device' | 'size' | 'timeoutMs'>, rt: Runtime, first: FaultyDevice) {
    this.#bench = bench;
    this.rt = rt;
    this.#first = first;
  }

  static async open(bench: Pick<Bench, 'device' | 'size' | 'timeoutMs'>, second: boolean): Promise<Trial> {
    let faulty: FaultyDevice | null = null;
    const rt = await createRuntime({
      devices: second ? ['cpu', 'reference'] : ['reference'],
      cpu: { threads: 1 },
      routing: { mode: 'off', cache: false },
      // No waiting between attempts, and no limit to how often a device may fail: the sweep lets it fail all the time.
      recovery: { backoffMs: [0], timeoutMs: bench.timeoutMs, resets: 1e6, failures: 1e6, coolDownMs: 1e-3, probes: 1 },
      seed: 1,
      wrap: (opened) => {
        if (faulty) return opened;
        void opened.close();
        faulty = withFaults(lasting(bench.device), reborn(clean));
        return faulty;
      },
    });
    return new Trial(bench, rt, faulty!);
  }

  /** The device that is there now. */
  get faulty(): FaultyDevice {
    let d = this.#first;
    while (d.successor) d = d.successor;
    return d;
  }

  /** Runs the program with faults, counted from its first call on; what is wrong with what came of it. */
  async run(
    faults: readonly Fault[],
    expected: Bench['expected'],
    must: boolean,
    tolerance: number,
  ): Promise<string[]> {
    const { faulty } = this;
    const { calls } = faulty.counters();
    faulty.plan(reborn({ faults: faults.map((f) => ({ ...f, nth: f.nth + calls[f.at] })), strict: true }));
    const problems: string[] = [];
    try {
      const wrong = difference(await sixtyOps(this.rt, this.#bench.size), expected, tolerance);
      if (wrong) problems.push(`wrong result: ${wrong}`);
    } catch (error) {
      if (!(error instanceof ForgeError))
        problems.push(`untyped error: ${error instanceof Error ? error.stack : error}`);
      else if (must) problems.push(`no result: ${error.name}: ${error.message}`);
    }
    await this.#settled(faulty);
    this.faulty.plan(reborn(clean));
    for (const d of new Set([faulty, this.faulty])) {
      const { live, liveBytes } = d.counters();
      if (live > 0) problems.push(`${live} buffers (${liveBytes} bytes) left`);
    }
    return problems.map((p) => `${JSON.stringify(faults)}: ${p}`);
  }

  /** A device that was lost is opened again in the background. */
  async #settled(before: FaultyDevice): Promise<void> {
    const hit = before.counters().injected.some((f) => f.as === 'lost' || f.as === 'hang');
    for (let i = 0; i < 400 && hit && !this.rt.devices().find((d) => d.id === before.id)?.open; i++)
      await new Promise((r) => setTimeout(r, 5));
  }

  async close(): Promise<void> {
    forget(this.rt);
    await this.rt.close();
  }
}

/** A plan under which a lost device can be opened again, any number of times. */
function reborn(plan: {
  readonly faults: readonly Fault[];
  readonly strict: boolean;
}): Parameters<FaultyDevice['plan']>[0] {
  return {
    ...plan,
    get rebirth() {
      return reborn(clean);
    },
  };
}

/** The same device for many runtimes: opening and compiling anew each time would take longer than all the rest. */
function lasting(device: Device): Device {
  return new Proxy(device, {
    get: (target, key) => {
      if (key === 'close') return async () => {};
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function measure(device: Device, size: number, timeoutMs: number): Promise<Bench> {
  const trial = await Trial.open({ device, size, timeoutMs: 10_000 }, false);
  const start = trial.faulty.counters().calls.any;
  const expected = await sixtyOps(trial.rt, size);
  const middle = trial.faulty.counters().calls.any;
  const again = await sixtyOps(trial.rt, size);
  const end = trial.faulty.counters().calls.any;
  expect(difference(again, expected, 0)).toBeNull();
  await trial.close();
  expect(trial.faulty.counters().live).toBe(0);
  return { device, size, timeoutMs, expected, firstCalls: middle - start, calls: end - middle };
}

/** Lets the given calls fail one after the other in one runtime; every tenth time, and at the end, nothing fails. */
async function sweep(bench: Bench, kind: FaultKind, at: readonly number[], second: boolean): Promise<string[]> {
  const trial = await Trial.open(bench, second);
  // After a change of device results are near. On the same device they are the same bits, also those computed again.
  const tolerance = second ? 1e-4 : 0;
  const problems: string[] = [];
  try {
    for (const [i, nth] of at.entries()) {
      problems.push(...(await trial.run([{ at: 'any', nth, as: kind }], bench.expected, second, tolerance)));
      if (i % 10 === 9 || i === at.length - 1) problems.push(...(await trial.run([], bench.expected, true, tolerance)));
      if (problems.length > 5) break;
    }
  } finally {
    await trial.close();
  }
  return problems;
}

/** As `sweep`, with a new runtime for each fault: the calls that prepare and record fail too. */
async function coldSweep(bench: Bench, kind: FaultKind, at: readonly number[], second: boolean): Promise<string[]> {
  const problems: string[] = [];
  for (const nth of at) problems.push(...(await sweep(bench, kind, [nth], second)));
  return problems;
}

const spread = (calls: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => 1 + Math.floor((i * calls) / count));
/** Lack of memory has the collector look for some, which takes long: half as many calls. */
const apart = (kind: FaultKind): number => (kind === 'out-of-memory' ? 24 : 12);
/** Every call in `npm run test:all`; else every twelfth, other ones for each kind and device. */
const every = (calls: number, kind: FaultKind, size: number): number[] => {
  const first = faultKinds.indexOf(kind) + size;
  return all ? spread(calls, calls) : spread(calls, calls).filter((n) => n % apart(kind) === first % apart(kind));
};

const gpus: Device[] = [];
const benches = new Map<string, Bench>();

beforeAll(async () => {
  benches.set('reference', await measure(createReferenceDevice(), 2, 60));
  benches.set('cpu', await measure(await createCpuDevice({ threads: 1 }), 8, 60));
  gpus.push(...(await openWebGpuDevices()).devices);
  if (gpus[0]) benches.set('webgpu', await measure(gpus[0], 2, 2000));
});

afterAll(async () => {
  await benches.get('cpu')?.device.close();
  for (const d of gpus) await d.close();
});

describe('the program', () => {
  it('has sixty ops and makes enough calls for a sweep to mean something', () => {
    expect(steps).toHaveLength(60);
    for (const [name, { calls }] of benches) expect([name, calls > 100]).toEqual([name, true]);
  });

  it('gives as many results on the cpu, where it is larger, as on the reference', () => {
    expect(benches.get('cpu')!.expected.size).toBe(benches.get('reference')!.expected.size);
  });

  it('gives the same on WebGPU as on the reference', (context) => {
    skipWithoutWebGpu(context);
    const [webgpu, reference] = ['webgpu', 'reference'].map((name) => benches.get(name)!.expected);
    expect(webgpu!.size).toBe(reference!.size);
    expect(difference(webgpu!, reference!, 1e-4)).toBeNull();
  });
});

describe.each(['reference', 'cpu'])('on %s', (name) => {
  it.each(faultKinds)(
    'any call may fail (%s): right or a typed error, nothing left, right afterwards',
    async (kind) => {
      const bench = benches.get(name)!;
      const at = kind === 'hang' ? spread(bench.calls, 6) : every(bench.calls, kind, bench.size);
      expect(await sweep(bench, kind, at, false)).toEqual([]);
    },
  );

  it.each(faultKinds)('any call of a first run may fail (%s)', async (kind) => {
    const bench = benches.get(name)!;
    expect(await coldSweep(bench, kind, spread(bench.firstCalls, kind === 'hang' ? 2 : 5), false)).toEqual([]);
  });
});

describe('with a second device', () => {
  it.each(faultKinds)('any call may fail (%s), and the result is right all the same', async (kind) => {
    const bench = benches.get('cpu')!;
    expect(await coldSweep(bench, kind, spread(bench.firstCalls, kind === 'hang' ? 2 : 6), true)).toEqual([]);
  });

  it('a device that always fails is not asked for ever', async () => {
    const bench = benches.get('cpu')!;
    const problems: string[] = [];
    const kinds = [
      ['launch', 'kernel'],
      ['write', 'transient'],
      // Each lack of memory has the collector look for some: that takes most of the time.
      ['allocate', 'out-of-memory'],
      ['launch', 'transient'],
      ['prepare', 'kernel'],
    ] as const;
    for (const [at, as] of everyNth(kinds, 3)) {
      const trial = await Trial.open(bench, true);
      const fault: Fault = { at, nth: 1, times: Number.POSITIVE_INFINITY, as };
      problems.push(...(await trial.run([fault], bench.expected, true, 1e-4)));
      await trial.close();
    }
    expect(problems).toEqual([]);
  });
});

describe('several faults at once', () => {
  it('end in the right result or a typed error', async () => {
    const bench = benches.get('cpu')!;
    const trial = await Trial.open(bench, false);
    const problems: string[] = [];
    for (let seed = 0; seed < (all ? 25 : 15); seed++) {
      const { faults } = randomFaults(seed, bench.calls, ['out-of-memory', 'kernel', 'transient', 'lost']);
      problems.push(...(await trial.run(faults, bench.expected, false, 1e-5)));
    }
    problems.push(...(await trial.run([], bench.expected, true, 0)));
    await trial.close();
    expect(problems).toEqual([]);
  });
});

describe('on WebGPU', () => {
  needsWebGpu();

  it.each(faultKinds)('any call may fail (%s)', async (kind) => {
    const bench = benches.get('webgpu')!;
    const at = spread(bench.calls, kind === 'hang' ? 1 : 8);
    expect(await sweep(bench, kind, at, false)).toEqual([]);
  });
});
