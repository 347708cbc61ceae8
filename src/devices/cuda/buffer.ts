// Bytes on a GPU, as the device hands them out.

import type { DeviceBuffer } from '../device.ts';
import type { Located } from './step.ts';
import type { Stretch } from './stretches.ts';

export class CudaBuffer implements DeviceBuffer, Located {
  readonly bytes: number;
  readonly collected = false;
  readonly block: Stretch | null;
  /** Below zero once released. */
  address: number;
  /** An event on the copy stream that the next kernel must wait for; 0 if none. */
  fence = 0;

  constructor(bytes: number, block: Stretch | null) {
    this.bytes = bytes;
    this.block = block;
    this.address = block ? block.address : 0;
  }
}
