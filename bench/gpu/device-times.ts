// When a GPU copied and when it computed, by its own clock: events of the driver around every copy and launch.
//
// Sits between the CUDA device and its foreign functions, so that nothing about the device changes; the events cost the host a few
// microseconds each, which is why this is for looking and not for measuring speed.

import { koffiFfi } from '../../src/devices/cuda/ffi/koffi.ts';
import type { Ffi, ForeignFunction, ForeignLibrary } from '../../src/devices/cuda/ffi/port.ts';

export interface Busy {
  readonly kind: 'upload' | 'download' | 'compute';
  /** Milliseconds after the first one. */
  readonly start: number;
  readonly end: number;
}

/** The calls that give the device work, and where among their arguments the stream is. */
const watched: Readonly<Record<string, readonly [kind: Busy['kind'], stream: number]>> = {
  cuMemcpyHtoDAsync_v2: ['upload', 3],
  cuMemcpyDtoHAsync_v2: ['download', 3],
  cuLaunchKernel: ['compute', 8],
  cuGraphLaunch: ['compute', 1],
};

export class DeviceTimes {
  readonly ffi: Ffi;
  on = false;
  readonly #noted: { readonly kind: Busy['kind']; readonly begin: number; readonly end: number }[] = [];
  readonly #own: Ffi;
  readonly #out = new BigUint64Array(1);
  #calls: Record<'create' | 'record' | 'elapsed' | 'sync', ForeignFunction> | null = null;

  private constructor(own: Ffi) {
    this.#own = own;
    this.ffi = {
      name: own.name,
      open: (names) => this.#watching(own.open(names)),
      address: (array) => own.address(array),
      view: (address, bytes) => own.view(address, bytes),
      text: (address) => own.text(address),
    };
  }

  static async open(): Promise<DeviceTimes> {
    return new DeviceTimes(await koffiFfi());
  }

  /** What was noted since it was switched on, by start. */
  take(): Busy[] {
    const { elapsed, sync } = this.#calls!;
    const [first] = this.#noted;
    if (!first) return [];
    const since = (event: number): number => {
      sync(event);
      const code = elapsed(this.#own.address(this.#out), first.begin, event);
      if (code !== 0) throw new Error(`cuEventElapsedTime: ${code}`);
      return new Float32Array(this.#out.buffer, 0, 1)[0]!;
    };
    const busy = this.#noted.map(({ kind, begin, end }) => ({ kind, start: since(begin), end: since(end) }));
    this.#noted.length = 0;
    return busy.sort((a, b) => a.start - b.start);
  }

  #watching(library: ForeignLibrary): ForeignLibrary {
    const bind: ForeignLibrary['bind'] = (symbol, result, args) => {
      const call = library.bind(symbol, result, args);
      const row = Object.hasOwn(watched, symbol) ? watched[symbol] : undefined;
      if (!call || !row) return call;
      const [kind, at] = row;
      const noting = (...values: number[]): number => {
        if (!this.on) return call(...values);
        this.#calls ??= this.#bound(library);
        const begin = this.#event(values[at]!);
        const code = call(...values);
        this.#noted.push({ kind, begin, end: this.#event(values[at]!) });
        return code;
      };
      return Object.assign(noting, { threaded: call.threaded.bind(call) });
    };
    return { path: library.path, bind };
  }

  #bound(library: ForeignLibrary) {
    return {
      create: library.bind('cuEventCreate', 'i32', ['u64', 'u32'])!,
      record: library.bind('cuEventRecord', 'i32', ['u64', 'u64'])!,
      elapsed: library.bind('cuEventElapsedTime', 'i32', ['u64', 'u64', 'u64'])!,
      sync: library.bind('cuEventSynchronize', 'i32', ['u64'])!,
    };
  }

  #event(stream: number): number {
    const { create, record } = this.#calls!;
    const code = create(this.#own.address(this.#out), 0);
    const event = Number(this.#out[0]!);
    if (code !== 0 || record(event, stream) !== 0) throw new Error('events could not be recorded');
    return event;
  }
}

/** How long intervals of one kind and of another kind were open at the same time, in ms. */
export function overlap(busy: readonly Busy[], a: Busy['kind'], b: Busy['kind']): number {
  const merged = (kind: Busy['kind']): [number, number][] => {
    const list: [number, number][] = [];
    for (const { start, end } of busy.filter((x) => x.kind === kind)) {
      const last = list[list.length - 1];
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else list.push([start, end]);
    }
    return list;
  };
  const [p, q] = [merged(a), merged(b)];
  let [i, j, sum] = [0, 0, 0];
  while (i < p.length && j < q.length) {
    sum += Math.max(0, Math.min(p[i]![1], q[j]![1]) - Math.max(p[i]![0], q[j]![0]));
    if (p[i]![1] < q[j]![1]) i++;
    else j++;
  }
  return sum;
}

export const total = (busy: readonly Busy[], kind: Busy['kind']): number => overlap(busy, kind, kind);
