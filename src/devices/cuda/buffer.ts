// Bytes on a GPU, as the device hands them out.

import type { DeviceBuffer } from '../device.ts';
import type { Located } from './step.ts';
import type { Stretch } from './stretches.ts';

export class CudaBuffer implements DeviceBuffer, Located {
  readonly bytes: number;
  readonly collected = false;
  /** Changes when all bytes are written anew somewhere else: see `Blocks.intoIdle`. */
  block: Stretch | null;
  /** Below zero once released. */
  address: number;
  /** The end of a copy that the next kernel must wait for, as an event; 0 if there is none. */
  fence = 0;
  /** The stream of that copy. */
  fencedOn = 0;
  /** The last work on the compute stream that used these bytes, of this buffer or of one before it, as a number of `Progress`. */
  used: number;

  constructor(bytes: number, block: Stretch | null) {
    this.bytes = bytes;
    this.block = block;
    this.address = block ? block.address : 0;
    this.used = block ? block.used : 0;
  }
}
