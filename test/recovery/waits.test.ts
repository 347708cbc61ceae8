// Every wait ends, and what fails on the way leaves nothing behind: opening, losing, flushing, closing.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { createReferenceDevice } from '../../src/devices/reference/device.ts';
import type { FaultKind } from '../../src/governor/recovery/fault-plan.ts';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { selfCheck } from '../../src/governor/recovery/self-check.ts';
import { createRuntime, ForgeError, type RuntimeOptions, type Tensor } from '../../src/index.ts';
import { within } from '../support/time.ts';

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** Ends in an error if something takes too long; the test runner would say less. */
async function soon<T>(work: Promise<T>, ms = within(5000)): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A runtime on the CPU, which can be lost, and its device as it is now. */
async function mortal(options: RuntimeOptions, reopen?: () => Promise<Device>) {
  let faulty: FaultyDevice | undefined;
  const rt = await createRuntime({
    devices: ['cpu'],
    cpu: { threads: 1 },
    routing: { mode: 'off' },
    wrap: (device) => {
      if (device.id !== 'cpu') return device;
      faulty = withFaults(device, { faults: [] });
      return Object.assign(faulty, { caps: { ...device.caps, immortal: false }, reopen }) as Device;
    },
    ...options,
  });
  return { rt, device: faulty! };
}

describe('a fault while devices are measured', () => {
  const cache = { cache: false } as const;
  // First: a device that a runtime of this process has measured is not measured again.
  it('is an error that names every device if none is left', async () => {
    const opening = createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'measured', ...cache },
      wrap: (d) =>
        withFaults(d, { faults: [{ at: 'launch', nth: 1, as: 'transient', times: Number.POSITIVE_INFINITY }] }),
    });
    await expect(opening).rejects.toMatchObject({
      code: 'NO_DEVICE',
      message: expect.stringMatching(/cpu: it failed.*reference: it failed/),
    });
  });

  const kinds: readonly FaultKind[] = ['transient', 'kernel', 'out-of-memory', 'lost'];
  it.each(kinds)('leaves the device out with its reason (%s)', async (as) => {
    const rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'measured', ...cache },
      wrap: (d) => (d.id === 'cpu' ? withFaults(d, { faults: [{ at: 'launch', nth: 3, as }] }) : d),
    });
    expect(rt.devices().map((d) => [d.id, d.open])).toEqual([
      ['cpu', false],
      ['reference', true],
    ]);
    expect(rt.devices()[0]!.reason).toMatch(/failed while it was measured/);
    expect(await rt.tensor([1, 2]).add(1).data()).toEqual(new Float32Array([2, 3]));
    await rt.close();
  });

  it('is a device that never answers, after the time limit', async () => {
    const rt = await soon(
      createRuntime({
        devices: ['cpu', 'reference'],
        cpu: { threads: 1 },
        recovery: { timeoutMs: within(100) },
        routing: { mode: 'measured', ...cache },
        wrap: (d) => (d.id === 'cpu' ? Object.assign(d, { readSync: undefined, read: () => never() }) : d) as Device,
      }),
    );
    expect(rt.devices().find((d) => d.id === 'cpu')!.reason).toContain(`no answer within ${within(100)} ms`);
    await rt.close();
  });
});

describe('createRuntime with a signal', () => {
  it('ends as aborted before, while devices open, and while they are measured', async () => {
    const started = AbortSignal.abort('no');
    await expect(createRuntime({ devices: ['cpu'], signal: started })).rejects.toMatchObject({ code: 'ABORTED' });
    for (const ms of [0, 5, 20]) {
      const stop = new AbortController();
      const opening = createRuntime({
        devices: ['cpu', 'reference'],
        cpu: { threads: 1 },
        routing: { mode: 'measured', cache: false },
        signal: stop.signal,
      });
      setTimeout(() => stop.abort('enough'), ms);
      const error = await opening.then(
        (rt) => rt.close().then(() => null),
        (e: unknown) => e,
      );
      // A fast machine may be done before.
      if (error) expect(error).toMatchObject({ code: 'ABORTED', cause: 'enough' });
    }
  });
});

describe('a device that is lost and does not come back', () => {
  it('keeps no read for ever: the time limit, the signal and close end it', async () => {
    for (const [timeoutMs, signal, code] of [
      [3_600_000, () => AbortSignal.timeout(50), 'ABORTED'],
      [400, () => undefined, 'DEVICE_LOST'],
    ] as const) {
      const { rt, device } = await mortal({ recovery: { timeoutMs, attempts: 1 } }, () => never());
      const x = rt.tensor([1, 2, 3]);
      device.lose('unplugged');
      await Promise.resolve();
      await expect(soon(x.add(1).data({ signal: signal() }))).rejects.toMatchObject({ code });
      await soon(rt.close(), within(2000));
    }
  });

  it('does not hold close while its new life is being opened', async () => {
    const { rt, device } = await mortal({}, () => never());
    const y = rt.tensor([1, 2, 3]).add(1);
    device.lose('unplugged');
    await Promise.resolve();
    const reading = y.data().catch((e: unknown) => e);
    await new Promise((r) => setTimeout(r, 20));
    await soon(rt.close(), within(2000));
    expect(await soon(reading)).toMatchObject({ name: expect.stringMatching(/DeviceLost|DisposedError|TensorLost/) });
  });

  it('is not used if its new life never answers', async () => {
    const hanging = (): Promise<Device> =>
      createCpuDevice({ threads: 1 }).then((d) => Object.assign(d, { read: () => never() }));
    const { rt, device } = await mortal({ recovery: { timeoutMs: 300, attempts: 1 } }, hanging);
    const told: string[] = [];
    rt.on('abandoned', (e) => told.push(e.reason));
    const x = rt.tensor([1, 2, 3]);
    device.lose('unplugged');
    await expect(soon(x.add(1).data())).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    expect(told[0]).toMatch(/self-check \(cpu\): no answer within 300 ms/);
    await soon(rt.close(), within(2000));
  });

  it('comes back although a listener throws when it is told', async () => {
    const { rt, device } = await mortal({}, () => createCpuDevice({ threads: 1 }));
    rt.on('reborn', () => {
      throw new Error('a bug of the listener');
    });
    rt.on('error', () => {});
    const x = rt.tensor([1, 2, 3]);
    const y = x.add(1).compute();
    device.lose('unplugged');
    expect(await soon(y.data())).toEqual(new Float32Array([2, 3, 4]));
    expect(await soon(x.mul(2).data())).toEqual(new Float32Array([2, 4, 6]));
    expect(rt.recovery.of('cpu').recentResets).toBe(1);
    await rt.close();
  });
});

describe('the self-check', () => {
  it('gives back the first buffer if there is no room for the second', async () => {
    const device = withFaults(createReferenceDevice(), { faults: [{ at: 'allocate', nth: 2, as: 'out-of-memory' }] });
    await expect(selfCheck(device)).rejects.toMatchObject({ name: 'OutOfMemory' });
    expect(device.counters().live).toBe(0);
  });

  it('ends with a device that never answers', async () => {
    const device = { ...createReferenceDevice(), read: () => never<Uint8Array>() };
    await expect(soon(selfCheck(device, 50))).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(soon(selfCheck(device, 5000, AbortSignal.timeout(20)))).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

describe('flush', () => {
  it('of two devices fails as a whole, and leaves no promise to nobody', async () => {
    const unhandled: unknown[] = [];
    const note = (e: unknown): void => void unhandled.push(e);
    process.on('unhandledRejection', note);
    const rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
      wrap: (d) => {
        const failing = (): Promise<never> =>
          new Promise((_, reject) => setTimeout(() => reject(new Error('first')), 5));
        const mark = { done: () => false, whenDone: failing, since: () => null };
        if (d.id === 'cpu') return Object.assign(d, { mark: () => mark });
        return withFaults(d, { faults: [{ at: 'mark', nth: 1, as: 'transient', times: Number.POSITIVE_INFINITY }] });
      },
    });
    await expect(rt.flush()).rejects.toThrow();
    await new Promise((r) => setTimeout(r, 30));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    await rt.close();
  });
});

/** Whether a process exists, be it only because its end was not noticed yet. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a stopped child process', () => {
  it.each(['idle', 'asked for something'])('does not hold close, and is not left behind: %s', async (state) => {
    const rt = await createRuntime({ devices: ['cpu'], isolation: ['cpu'] });
    const x = rt.tensor([1, 2, 3]);
    await x.add(1).data();
    const { pid } = rt.device('cpu') as Device & { pid: number };
    process.kill(pid, 'SIGSTOP');
    const reading =
      state === 'idle'
        ? null
        : x
            .mul(3)
            .data()
            .catch((e: unknown) => e);
    // Long before the time limit of a device, which is a minute; but a busy machine may take its time.
    await soon(rt.close(), within(2000));
    await soon(Promise.resolve(reading));
    // The end of a process is noticed in a turn of the event loop; one that is left behind stays for ever.
    await expect.poll(() => exists(pid), { timeout: within(1000), interval: 20 }).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('scripts/start.mjs', () => {
  it('passes on the signal that ends it', async () => {
    const script = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));
    const child = spawn(process.execPath, [script], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const children = (): string => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    let cli = '';
    // Built already, so that its only child is the tour.
    while (!cli.includes('cli.js')) {
      await new Promise((r) => setTimeout(r, 5));
      cli = children() && readFileSync(`/proc/${children().split(' ')[0]}/cmdline`, 'utf8');
    }
    const pid = Number(children());
    child.kill('SIGTERM');
    await ended;
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });
});

describe('what fails on the way leaves nothing allocated', () => {
  it('a mark that a measurement wants', async () => {
    let cpu: FaultyDevice | undefined;
    const rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'measured', cache: false },
      wrap: (d) => {
        const fault = { at: 'mark', nth: 1, as: 'transient', times: Number.POSITIVE_INFINITY } as const;
        return d.id === 'cpu' ? (cpu = withFaults(d, { faults: [fault] })) : d;
      },
    });
    const x = rt.tensor(new Float32Array(4096).fill(1), undefined, { device: 'cpu' });
    for (let i = 0; i < 8; i++) {
      const y = x.add(x).compute();
      expect((await y.data())[5]).toBe(2);
      y.dispose();
    }
    x.dispose();
    expect(cpu!.counters().live).toBe(0);
    await rt.close();
  });

  it('a step of a state that is computed again', async () => {
    let cpu: FaultyDevice | undefined;
    let launches = 0;
    let failing = Number.POSITIVE_INFINITY;
    const rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      recovery: { attempts: 1 },
      wrap: (d) => {
        cpu = withFaults(d, { faults: [] });
        const launch = cpu.launch.bind(cpu);
        return Object.assign(cpu, {
          launch: (...args: Parameters<Device['launch']>) => {
            if (++launches > failing) throw new ForgeError({ ...broken });
            launch(...args);
          },
        });
      },
    });
    const broken = { code: 'BROKEN', message: 'a step failed', fix: 'none', where: 'test' };
    const step = rt.compile((f: Tensor) => f.mul(2).add(1));
    const states: Tensor[] = [rt.zeros([4096]).compute()];
    for (let i = 0; i < 8; i++) states.push(step(states.at(-1)!));
    const held = cpu!.counters().live;
    failing = launches + 2;
    expect(() => states[6]!.dataSync()).toThrow(/a step failed/);
    expect(cpu!.counters().live).toBe(held);
    failing = Number.POSITIVE_INFINITY;
    expect(states[6]!.dataSync()[0]).toBe(63);
    await rt.close();
  });
});
