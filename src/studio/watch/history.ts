// The last minutes as samples, one a second, so that a page that is opened or loaded again shows the past.
//
// While nobody looks no sample is taken. What the memory monitor of a runtime records anyway fills that time: memory is known, the
// rest is null.

import type { Runtime } from '../../index.ts';
import type { DeviceSample, Sample } from '../types.ts';

export const sampleEveryMs = 1000;
const MiB = 2 ** 20;

export class History {
  readonly #capacity: number;
  #samples: Sample[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get newest(): Sample | undefined {
    return this.#samples.at(-1);
  }

  push(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > this.#capacity) this.#samples.shift();
  }

  /** Samples after a time, oldest first. */
  after(time: number): readonly Sample[] {
    return this.#samples.filter((s) => s.time > time);
  }

  /** Somebody looks again: the time until now is filled with what the monitors have. */
  fill(runtimes: readonly { readonly name: string; readonly runtime: Runtime }[], now: number): void {
    const from = this.newest?.time ?? now - this.#capacity * sampleEveryMs;
    if (now - from < 3 * sampleEveryMs) return;
    const seconds = new Map<number, Map<string, { spilled: number; devices: Map<string, DeviceSample> }>>();
    for (const { name, runtime } of runtimes) {
      for (const { id } of runtime.devices().filter((d) => d.open)) {
        for (const s of runtime.memory.getSnapshotHistory(undefined, id)) {
          if (s.timestamp <= from || s.timestamp >= now) continue;
          const second = Math.floor(s.timestamp / sampleEveryMs) * sampleEveryMs;
          let at = seconds.get(second);
          if (!at) seconds.set(second, (at = new Map()));
          let of = at.get(name);
          if (!of) at.set(name, (of = { spilled: 0, devices: new Map() }));
          of.spilled = s.spilledMb * MiB;
          of.devices.set(id, {
            id,
            live: s.allocatedMb * MiB,
            reserved: s.reservedMb * MiB,
            others: s.otherProcessesMb === null ? null : s.otherProcessesMb * MiB,
            total: s.totalMb === null ? null : s.totalMb * MiB,
            used: s.totalMb === null ? null : s.utilization / 100,
            busy: null,
            temperature: null,
            power: null,
            clock: null,
            launches: null,
          });
        }
      }
    }
    const filled = [...seconds].map(
      ([time, of]): Sample => ({
        time,
        runtimes: [...of].map(([name, r]) => ({ name, spilled: r.spilled, devices: [...r.devices.values()] })),
      }),
    );
    filled.sort((a, b) => a.time - b.time);
    this.#samples = [...this.#samples, ...filled.filter((s) => s.time > from)].slice(-this.#capacity);
  }
}
