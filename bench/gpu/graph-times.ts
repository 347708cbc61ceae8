// The device's time of a kernel, without what launching it takes: the same launch many times in one recording, between two marks.
//
// `createRuntime({ wrap: times.wrap })` lets it see launches. What is launched while `note` runs is measured by `measure`, on buffers of
// its own with zeros in them.

import type { Device, DeviceBuffer, Program } from '../../src/devices/device.ts';
import type { Runtime } from '../../src/index.ts';

interface Noted {
  readonly program: Program;
  readonly bytes: readonly number[];
  readonly scalars: readonly number[];
}

export interface KernelTime {
  readonly name: string;
  /** Microseconds: medians, and the least. */
  readonly median: number;
  readonly least: number;
}

const inARow = 40;
const rounds = 7;

export class GraphTimes {
  #device: Device | null = null;
  #noted: Map<string, Noted> | null = null;

  readonly wrap = (device: Device): Device => {
    if (device.caps.host || !device.record) return device;
    this.#device = device;
    const launch = device.launch.bind(device);
    return Object.assign(device, {
      launch: (...given: Parameters<Device['launch']>) => {
        const [program, buffers, scalars] = given;
        this.#noted?.set(program.name, { program, bytes: buffers.map((b) => b.bytes), scalars: [...scalars] });
        launch(...given);
      },
    });
  };

  /** Kernels that some work launches, each measured. Empty where the device cannot record. */
  async of(rt: Runtime, work: () => unknown): Promise<KernelTime[]> {
    const device = this.#device;
    if (!device) return [];
    // One by one, so that every launch is seen.
    await rt.spans('detailed');
    const noted = new Map<string, Noted>();
    this.#noted = noted;
    try {
      await work();
    } finally {
      this.#noted = null;
      await rt.flush();
      await rt.spans(false);
    }
    const times: KernelTime[] = [];
    for (const [name, n] of noted) times.push({ name, ...(await measure(device, n)) });
    return times;
  }
}

async function measure(device: Device, { program, bytes, scalars }: Noted): Promise<{ median: number; least: number }> {
  const buffers: DeviceBuffer[] = bytes.map((n) => device.allocate(n));
  buffers.forEach((b) => {
    device.write(b, new Uint8Array(b.bytes));
  });
  const step = { program, buffers: buffers.map((_, i) => i), scalars: scalars.map((_, i) => i) };
  const recording = device.record!(Array.from({ length: inARow }, () => step));
  const us: number[] = [];
  for (let round = 0; round < rounds; round++) {
    recording.replay(buffers, scalars);
    const begin = device.mark(true);
    recording.replay(buffers, scalars);
    recording.replay(buffers, scalars);
    const end = device.mark(true);
    await end.whenDone();
    us.push((end.since(begin)! * 1000) / (2 * inARow));
  }
  recording.dispose();
  for (const b of buffers) device.release(b);
  us.sort((a, b) => a - b);
  return { median: us[rounds >> 1]!, least: us[0]! };
}
