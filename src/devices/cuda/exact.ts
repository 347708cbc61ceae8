// No pool at all: every block is an allocation of the driver, exactly as large as asked for.
//
// For memory checkers, which see only the driver's own allocations: in a pool, a kernel that runs past its buffer hits a
// neighbour and nobody notices. Slow, since the driver waits for the device whenever memory is freed.

import type { MemorySource } from './segments.ts';
import type { Arena } from './split-arena.ts';
import { Stretch, unit } from './stretches.ts';

export class ExactArena implements Arena {
  readonly #source: MemorySource;
  #inUse = 0;

  constructor(source: MemorySource) {
    this.#source = source;
  }

  get reserved(): number {
    return this.#inUse;
  }

  get inUse(): number {
    return this.#inUse;
  }

  allocate(bytes: number): Stretch | null {
    const address = this.#source.allocate(bytes);
    if (address === 0) return null;
    const block = new Stretch(address, Math.ceil(bytes / unit), 'used');
    this.#inUse += block.bytes;
    return block;
  }

  release(block: Stretch): void {
    if (block.state !== 'used') throw new Error('cuda memory: released twice');
    block.state = 'absent';
    this.#inUse -= block.bytes;
    this.#source.free(block.address);
  }

  trim(): void {}

  close(): void {}
}
