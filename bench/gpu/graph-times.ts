// The device's time of a kernel, without what launching it takes: the same launch many times in one recording, between two marks.
//
// `createRuntime({ wrap: times.wrap })` lets it see launches. What is launched while `of` runs is measured on buffers of its own, with the
// values that the launch had: of zeros a root or a division takes another way.

import type { Device, DeviceBuffer, Program } from '../../src/devices/device.ts';
import type { Runtime } from '../../src/index.ts';

/** What a buffer held: the first part of it, over and over. */
interface Contents {
  readonly bytes: number;
  readonly part: Uint8Array;
}

/** Bytes of that part at most, in whole rows of any array. */
const mostBytes = 2 ** 26;

interface Noted {
  readonly program: Program;
  readonly buffers: readonly Contents[];
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
        this.#noted?.set(program.name, {
          program,
          buffers: buffers.map((b) => contentsOf(device, b)),
          scalars: [...scalars],
        });
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

function contentsOf(device: Device, buffer: DeviceBuffer): Contents {
  const { bytes } = buffer;
  return { bytes, part: Uint8Array.from(device.readSync!(buffer, 0, Math.min(bytes, mostBytes))) };
}

async function measure(device: Device, noted: Noted): Promise<{ median: number; least: number }> {
  const { program, scalars } = noted;
  const buffers: DeviceBuffer[] = noted.buffers.map(({ bytes, part }) => {
    const buffer = device.allocate(bytes);
    for (let at = 0; at < bytes; at += part.length)
      device.write(buffer, part.subarray(0, Math.min(part.length, bytes - at)), at);
    return buffer;
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
