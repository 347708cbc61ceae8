// The bytes of computed tensors: shared by every node that is the same elements in another shape.

import type { Device, DeviceBuffer } from '../devices/device.ts';

export class Storage {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  /** Nodes that hold these bytes. */
  owners = 0;
  readonly #onFree: ((s: Storage) => void) | null;

  constructor(device: Device, buffer: DeviceBuffer, onFree: ((s: Storage) => void) | null = null) {
    this.device = device;
    this.buffer = buffer;
    this.#onFree = onFree;
  }

  /** The garbage collector alone does not free it. */
  get tracked(): boolean {
    return !this.buffer.collected;
  }

  disown(): void {
    if (--this.owners > 0) return;
    if (!this.buffer.collected) this.device.release(this.buffer);
    this.#onFree?.(this);
  }
}
