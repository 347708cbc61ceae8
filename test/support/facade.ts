// What the tests of compute, batch and profile share: a clock that they move, and devices that fail when told to.

import { afterEach } from 'vitest';
import { DeviceManager, type DeviceManagerDeps, type OpenRuntime } from '../../src/compute/device-manager.ts';
import { GPUCompute, type GPUComputeDeps } from '../../src/compute/gpu-compute.ts';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device, Mark } from '../../src/devices/device.ts';
import {
  createRuntime,
  type DeviceReport,
  type FaultyDevice,
  type Runtime,
  type RuntimeOptions,
  withFaults,
} from '../../src/index.ts';
import type { Clock } from '../../src/profile/clock.ts';

/** Waits take no time; time passes when something waits or a test says so. */
export class TestClock implements Clock {
  time = 0;
  readonly slept: number[] = [];
  readonly #timers = new Set<{ ms: number; at: number; call: () => void }>();

  now(): number {
    return this.time;
  }
  wall(): number {
    return 1_700_000_000_000 + this.time;
  }
  after(ms: number, call: () => void): () => void {
    this.slept.push(ms);
    this.time += ms;
    let wanted = true;
    queueMicrotask(() => {
      if (wanted) call();
    });
    return () => {
      wanted = false;
    };
  }
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }
  every(ms: number, call: () => void): () => void {
    const timer = { ms, at: this.time + ms, call };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
  get timers(): number {
    return this.#timers.size;
  }
  /** Moves on, calling what is due. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (!due || due.at > end) break;
      this.time = due.at;
      due.at += due.ms;
      due.call();
    }
    this.time = end;
  }
}

/** Real time for measuring, none for waiting. */
class ImpatientClock extends TestClock {
  override now(): number {
    return performance.now() + this.time;
  }
}

/**
 * Whose alarms go off when the event loop has turned fifty times, whatever their time: work that only waits for its turn is never
 * late, however slow the machine is, and work that never ends is.
 */
export class TurnClock extends ImpatientClock {
  override after(_ms: number, call: () => void): () => void {
    let wanted = true;
    const wait = (turns: number): void => {
      if (turns > 0 && wanted) setImmediate(wait, turns - 1);
      else if (wanted) call();
    };
    wait(50);
    return () => {
      wanted = false;
    };
  }
}

export interface FakeGpu {
  /** The device that is there now. */
  readonly device: () => FaultyDevice;
  readonly open: OpenRuntime;
  /** How often it was opened, at first and again. */
  readonly opened: () => number;
  /** While true, it can neither be opened nor opened again. */
  broken: boolean;
  /** The plan of devices to come. */
  faults: Parameters<typeof withFaults>[1];
}

export interface FakeGpuOptions extends RuntimeOptions {
  /** False: it cannot be opened again in one process. Default true. */
  readonly comesBack?: boolean | undefined;
  /** Called after each launch on any device. */
  readonly launched?: ((device: string) => void) | undefined;
  readonly syncRead?: boolean | undefined;
}

/** A GPU as far as anybody above devices can tell: the CPU under the name cuda:0, which can be lost. */
export function fakeGpu(options: FakeGpuOptions = {}): FakeGpu {
  let current: FaultyDevice | null = null;
  let opened = 0;
  const { comesBack = true, launched, syncRead = true, ...runtime } = options;
  const bound = (m: Mark) => ({ done: () => m.done(), whenDone: () => m.whenDone() });
  const heard = <D extends Device>(device: D): D => {
    if (!launched) return device;
    const [launch, mark] = [device.launch.bind(device), device.mark.bind(device)];
    const told: Device['launch'] = (...args) => {
      launch(...args);
      launched(device.id);
    };
    // Times are the test's.
    const untimed: Device['mark'] = () => ({ ...bound(mark()), since: () => null });
    return Object.assign(device, { launch: told, mark: untimed, record: undefined });
  };
  const asGpu = (device: Device): FaultyDevice => {
    opened++;
    const faulty = withFaults(device, gpu.faults);
    const caps = { ...device.caps, immortal: false, name: 'a GPU', syncRead, host: false };
    const reopen = async () => {
      if (gpu.broken) throw unplugged();
      return heard(asGpu(await createCpuDevice({ threads: 1, ...runtime.cpu })));
    };
    current = Object.assign(faulty, { id: 'cuda:0', caps, reopen: comesBack ? reopen : undefined });
    return current;
  };
  const gpu: FakeGpu = {
    device: () => current!,
    opened: () => opened,
    broken: false,
    faults: { faults: [], strict: true },
    open: async (options) => {
      const { broken } = gpu;
      let first = true;
      const rt = await createRuntime({
        ...options,
        cpu: { threads: 1 },
        ...runtime,
        recovery: { ...options.recovery, ...runtime.recovery },
        devices: broken ? ['cpu'] : ['cpu', 'cpu'],
        wrap: (device) => {
          const made = first && !broken ? asGpu(device) : device;
          first = false;
          return heard(made);
        },
      });
      if (!broken) return withReports(rt, [missing('webgpu', 'it reported that it could not start')]);
      return withReports(rt, [missing('cuda', unplugged().message), missing('webgpu', 'there is none')]);
    },
  };
  return gpu;
}

const unplugged = (): Error => new Error('the fake GPU is unplugged');

const missing = (id: string, reason: string): DeviceReport => ({ id, open: false, name: '', reason, details: {} });

/** A runtime that looked for more devices than it found. */
function withReports(runtime: Runtime, more: readonly DeviceReport[]): Runtime {
  const own = runtime.devices.bind(runtime);
  return Object.assign(runtime, { devices: () => [...own(), ...more] });
}

/** A facade on a fake GPU with the CPU to fall back to. */
export function facade(
  gpu: FakeGpu,
  options: GPUComputeDeps & { readonly manager?: DeviceManagerDeps } = {},
): { gpu: GPUCompute; devices: DeviceManager; clock: Clock } {
  const { manager, ...own } = options;
  const clock = manager?.clock ?? new ImpatientClock();
  const devices = DeviceManager.create({ open: gpu.open, clock, probeElements: 4096, ...manager });
  return { gpu: GPUCompute.create({ devices, owned: true, ...own }), devices, clock };
}

/** A facade on the CPU alone. */
export function cpuFacade(options: RuntimeOptions = {}, own: GPUComputeDeps = {}): GPUCompute {
  const devices = DeviceManager.create({
    kinds: ['cpu'],
    preference: { preferGPU: false },
    runtime: { cpu: { threads: 1 }, ...options },
    probeElements: 4096,
  });
  return GPUCompute.create({ devices, owned: true, ...own });
}

/** Keeps the facades of a test file: each is disposed of when its test ends. */
export function keptFacades(): <T extends GPUCompute | { readonly gpu: GPUCompute }>(made: T) => T {
  const open: GPUCompute[] = [];
  afterEach(async () => {
    for (const gpu of open.splice(0)) await gpu.dispose();
  });
  return (made) => {
    open.push(made instanceof GPUCompute ? made : made.gpu);
    return made;
  };
}

/** Values in [-1, 1), the same for the same seed. */
export function values(length: number, seed = 1): Float32Array {
  let s = seed >>> 0;
  return Float32Array.from({ length }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 31 - 1;
  });
}
