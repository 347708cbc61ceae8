// What the driver alone takes for a launch and the wait for it: below that no program on this host comes.
//
// Sits between a CUDA device and its foreign functions, and remembers the last launch with all its arguments. `repeat` makes the same two
// calls that a program without any library would: cuLaunchKernel and cuStreamSynchronize. The buffers of that launch have to be alive.

import { koffiFfi } from '../../src/devices/cuda/ffi/koffi.ts';
import type { Ffi, ForeignFunction, ForeignLibrary } from '../../src/devices/cuda/ffi/port.ts';

/** Where among the arguments of cuLaunchKernel the stream is. */
const streamAt = 8;

export class BareDriver {
  readonly ffi: Ffi;
  #launch: ForeignFunction | null = null;
  #wait: ForeignFunction | null = null;
  #last: readonly number[] = [];

  private constructor(own: Ffi) {
    this.ffi = { ...own, open: (names) => this.#watching(own.open(names)) };
  }

  static async open(): Promise<BareDriver> {
    return new BareDriver(await koffiFfi());
  }

  /** The last launch once more, and the wait for it. */
  lastLaunch(): () => void {
    const [launch, wait, args] = [this.#launch!, this.#wait!, this.#last];
    const stream = args[streamAt]!;
    return () => {
      const code = launch(...args) || wait(stream);
      if (code !== 0) throw new Error(`the driver answers ${code}`);
    };
  }

  #watching(library: ForeignLibrary): ForeignLibrary {
    const bind: ForeignLibrary['bind'] = (symbol, result, args) => {
      const call = library.bind(symbol, result, args);
      if (symbol === 'cuStreamSynchronize') this.#wait = call ?? null;
      if (symbol !== 'cuLaunchKernel' || !call) return call;
      this.#launch = call;
      const noting = (...values: number[]): number => {
        this.#last = values;
        return call(...values);
      };
      return Object.assign(noting, { threaded: call.threaded });
    };
    return { path: library.path, bind };
  }
}
