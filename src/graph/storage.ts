// The bytes of computed tensors: shared by every node that is the same elements in another shape, and possibly present on
// several devices.

import type { Device, DeviceBuffer } from '../devices/device.ts';

/** Who keeps the books of bytes that the garbage collector does not see. */
export interface Accounts {
  allocated(bytes: number): void;
  freed(bytes: number): void;
}

/** An index check whose flag has not been read yet; fails if an index was out of range. */
export interface DeferredCheck {
  verify(): Promise<void>;
}

interface Copy {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
}

export class Storage {
  /** Nodes that hold these bytes. */
  owners = 0;
  /** What must hold before these bytes may be handed out. */
  checks: readonly DeferredCheck[] | null = null;
  readonly #accounts: Accounts;
  readonly #first: Copy;
  #others: Copy[] | null = null;

  constructor(device: Device, buffer: DeviceBuffer, accounts: Accounts) {
    this.#first = { device, buffer };
    this.#accounts = accounts;
    if (!buffer.collected) accounts.allocated(buffer.bytes);
  }

  get device(): Device {
    return this.#first.device;
  }

  get buffer(): DeviceBuffer {
    return this.#first.buffer;
  }

  /** The garbage collector alone does not free it. */
  get tracked(): boolean {
    return !this.#first.buffer.collected || this.#others !== null;
  }

  /** The bytes on a device, if they are there. */
  on(device: Device): DeviceBuffer | undefined {
    if (this.#first.device === device) return this.#first.buffer;
    return this.#others?.find((c) => c.device === device)?.buffer;
  }

  /** The same bytes are now on another device too. */
  addCopy(device: Device, buffer: DeviceBuffer): void {
    this.#others ??= [];
    this.#others.push({ device, buffer });
    if (!buffer.collected) this.#accounts.allocated(buffer.bytes);
  }

  disown(): void {
    if (--this.owners > 0) return;
    for (const c of this.#others ?? []) this.#free(c);
    this.#others = null;
    this.#free(this.#first);
  }

  #free({ device, buffer }: Copy): void {
    if (buffer.collected) return;
    device.release(buffer);
    this.#accounts.freed(buffer.bytes);
  }
}
