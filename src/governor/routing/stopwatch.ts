// Buffers and a stopwatch on one device, for calibration.
//
// Inputs are shared by all probes and only grow. Times are the shortest of a few runs, fewer for slow work.

import { byteSize } from '../../base/dtype.ts';
import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { decompose } from '../../kernel/decompose/index.ts';
import type { BufferParam } from '../../kernel/kernel.ts';
import { fillOf, type Probe } from './probes.ts';

export type ReadClock = () => number;

/** Elements of the pattern that fills larger inputs. */
const tileElements = 1 << 16;

/** µs; the clock shows nothing below. */
const least = 0.05;

/** Work of so many µs is not hidden by the waiting for it. */
const shows = 2000;

export class Stopwatch {
  readonly #device: Device;
  readonly #clock: ReadClock;
  readonly #buffers = new Map<string, DeviceBuffer>();
  #tile: Uint8Array | null = null;
  /** µs of a read of four bytes from an idle device. */
  #idle = 0;
  /** µs from a launch to its result, beyond what the launch itself takes; by the first work that was short. */
  #answer = 0;
  readonly #compiles: number[] = [];

  constructor(device: Device, clock: ReadClock) {
    this.#device = device;
    this.#clock = clock;
  }

  /** µs from the end of work until the host knows. */
  get wait(): number {
    return Math.max(this.#idle, this.#answer);
  }

  /** µs of making a kernel ready, by those made so far. */
  compileUs(): number {
    const sorted = [...this.#compiles].sort((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1] ?? 0;
  }

  async measureWait(): Promise<void> {
    const small = this.#buffer('small', 64);
    this.#device.write(small, new Uint8Array(64));
    // The first reads set up what later ones use.
    for (let i = 0; i < 5; i++) await this.#sync(small);
    this.#idle = await this.#shortest(16, 2000, () => this.#sync(small));
  }

  /** µs to bring bytes to the device, and to bring them back. */
  async transfer(bytes: number): Promise<{ up: number; down: number }> {
    const data = new Uint8Array(bytes).fill(1);
    const buffer = this.#buffer('transfer', bytes);
    const down = async () => {
      await this.#device.read(buffer, 0, bytes);
    };
    // The time after which a small read has passed the upload, less what that read takes by itself.
    const up = async () => {
      this.#device.write(buffer, data);
      await this.#sync(buffer);
    };
    await up();
    const upUs = Math.max(least, (await this.#shortest(8, 3000, up)) - this.#idle);
    await down();
    return { up: upUs, down: await this.#shortest(8, 3000, down) };
  }

  /** µs of one launch of a probe behind others. */
  async launch(probe: Probe): Promise<number> {
    const device = this.#device;
    const inputs = probe.inputs.map((p, i) => this.#input(p, i));
    const outputs = probe.outputs.map((p, i) => this.#buffer(`out${i}`, p.elements * byteSize(p.type)));
    const start = this.#clock();
    const work = probe.work.kind === 'kernel' ? decompose(probe.work, device.caps.native, device.caps) : probe.work;
    const program = device.prepare(work);
    const buffers = [...inputs, ...outputs];
    const out = buffers[buffers.length - 1]!;
    const run = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) device.launch(program, buffers, []);
      await this.#sync(out);
    };
    await run(1);
    const first = (this.#clock() - start) * 1000;
    const once = await this.#shortest(4, 1500, () => run(1));
    this.#compiles.push(Math.max(0, first - once));
    const alone = Math.max(least, once - this.#idle);
    if (alone > shows) return alone;
    // What one more launch takes: a wait hides a short one, and so does waking a device for the first.
    const times = Math.min(64, Math.max(4, Math.ceil(600 / alone)));
    const together = await this.#shortest(6, 2000, () => run(times));
    const one = Math.max(least, (together - once) / (times - 1));
    this.#answer ||= once - one;
    return one;
  }

  close(): void {
    for (const b of this.#buffers.values()) if (!b.collected) this.#device.release(b);
    this.#buffers.clear();
  }

  async #sync(buffer: DeviceBuffer): Promise<void> {
    if (this.#device.readSync) this.#device.readSync(buffer, 0, 4);
    else await this.#device.read(buffer, 0, 4);
  }

  /** The shortest of a few runs: what it takes when nothing else disturbs it. */
  async #shortest(most: number, limitUs: number, f: () => Promise<void>): Promise<number> {
    let best = Number.POSITIVE_INFINITY;
    let spent = 0;
    // Once is not enough: it may just then have been disturbed.
    for (let i = 0; i < most && (i < 2 || spent < limitUs || (i < 3 && spent < 5 * limitUs)); i++) {
      const t = this.#clock();
      await f();
      const us = (this.#clock() - t) * 1000;
      best = Math.min(best, us);
      spent += us;
    }
    return best;
  }

  #input(param: BufferParam, slot: number): DeviceBuffer {
    const bytes = param.elements * byteSize(param.type);
    const name = `${param.type}${slot}`;
    const known = this.#buffers.get(name);
    // Positions must fit the size at hand; values may come from a larger buffer.
    if (known && known.bytes >= bytes && param.type !== 'i32') return known;
    const buffer = this.#buffer(name, bytes);
    if (param.type === 'i32' || param.elements <= tileElements) {
      this.#device.write(buffer, fillOf(param));
      return buffer;
    }
    this.#tile ??= fillOf({ type: 'f32', elements: tileElements });
    for (let at = 0; at < bytes; at += this.#tile.length)
      this.#device.write(buffer, this.#tile.subarray(0, Math.min(this.#tile.length, bytes - at)), at);
    return buffer;
  }

  #buffer(name: string, bytes: number): DeviceBuffer {
    const known = this.#buffers.get(name);
    if (known && known.bytes >= bytes) return known;
    if (known && !known.collected) this.#device.release(known);
    this.#buffers.delete(name);
    const made = this.#device.allocate(bytes);
    this.#buffers.set(name, made);
    return made;
  }
}
