// A device's place in a runtime. The place stays for the life of the runtime; the device in it may be lost and reborn.
//
// It keeps the books of the device's memory: every buffer the runtime holds, results and temporaries alike, is taken from
// and given back to the place. When there is no room, by the place's budget or by the device's word, it asks `room`.
// Buffers of a device that is gone are never given to its successor.

import { dtypeInfo } from '../base/dtype.ts';
import { DeviceLost, OutOfMemory } from '../errors.ts';
import type { Capabilities, Device, DeviceBuffer, DeviceId } from './device.ts';

/** Who makes room when there is none. */
export interface Room {
  /** Frees something; `attempt` counts from 0. False if nothing more can be done. */
  make(place: Place, bytes: number, attempt: number): boolean;
  /** The error for the user when nothing helped. */
  refuse(place: Place, bytes: number, cause: OutOfMemory): OutOfMemory;
  /** Told after every allocation: must cost next to nothing. */
  noticed(place: Place): void;
}

/** A bound on what several places hold together. */
export interface SharedBudget {
  readonly limit: number;
  readonly places: readonly Place[];
}

const trimming: Room = {
  make: (place, _bytes, attempt) => {
    if (attempt > 0) return false;
    place.device.trim();
    return true;
  },
  refuse: (_place, _bytes, cause) => cause,
  noticed: () => {},
};

/** Told of memory that was taken or given back. */
export type MemoryWatch = (place: Place, kind: 'alloc' | 'free', bytes: number) => void;

export class Place {
  readonly id: DeviceId;
  /** Position in the runtime's list. */
  readonly index: number;
  /** This place as one bit of a mask. */
  readonly bit: number;
  readonly caps: Capabilities;
  /** One bit per dtype the device has, by dtype id. */
  readonly dtypes: number;
  /** The device can be lost: what it alone holds should be possible to compute again. */
  readonly mortal: boolean;
  budget = Number.POSITIVE_INFINITY;
  shared: SharedBudget | null = null;
  room: Room = trimming;
  /** Null unless somebody wants to know. */
  watch: MemoryWatch | null = null;
  /** Bytes handed out, and the most there ever were. */
  inUse = 0;
  peak = 0;
  allocations = 0;
  releases = 0;
  failures = 0;
  /** Kernels enqueued, and times the host waited for the device. */
  launches = 0;
  waits = 0;
  generation = 0;
  #device: Device | null;

  constructor(device: Device, index: number) {
    this.id = device.id;
    this.index = index;
    this.bit = 1 << index;
    this.caps = device.caps;
    this.mortal = !device.caps.immortal;
    let dtypes = 0;
    for (const t of device.caps.dtypes) dtypes |= 1 << dtypeInfo[t].id;
    this.dtypes = dtypes;
    this.#device = device;
  }

  get alive(): boolean {
    return this.#device !== null;
  }

  /** The device that is here now. */
  get device(): Device {
    return this.#device ?? this.#absent();
  }

  /** Bytes by which so many more would be over what all places may hold together; not above 0 if they fit. */
  overShared(bytes: number): number {
    if (this.shared === null) return Number.NEGATIVE_INFINITY;
    const { limit, places } = this.shared;
    let inUse = 0;
    for (let i = 0; i < places.length; i++) inUse += places[i]!.inUse;
    return inUse + bytes - limit;
  }

  /** Bytes by which so many more would be over a budget; not above 0 if they fit. */
  over(bytes: number): number {
    const own = this.inUse + bytes - this.budget;
    return this.shared === null ? own : Math.max(own, this.overShared(bytes));
  }

  /** Bytes that can be had without moving anything: free ones and idle ones of the device, within the budgets. */
  free(): number {
    if (!this.alive) return 0;
    const { free } = this.device.memory();
    const idle = this.device.pool?.().idle ?? 0;
    return Math.max(0, Math.min(free + idle, -this.over(0)));
  }

  /** A buffer; asks for room as often as that helps. Throws OutOfMemory with nothing half-done. */
  allocate(bytes: number): DeviceBuffer {
    if (this.over(bytes) > 0) return this.#insist(bytes, this.#overBudget(bytes));
    let buffer: DeviceBuffer;
    try {
      buffer = this.device.allocate(bytes);
    } catch (e) {
      if (!(e instanceof OutOfMemory)) throw e;
      return this.#insist(bytes, e);
    }
    return this.#taken(buffer);
  }

  /** Gives a buffer back; safe while work on it is enqueued. */
  release(buffer: DeviceBuffer): void {
    if (buffer.collected) {
      this.#device?.release(buffer);
      return;
    }
    this.releases++;
    this.inUse -= buffer.bytes;
    this.#device?.release(buffer);
    if (this.watch !== null) this.watch(this, 'free', buffer.bytes);
  }

  /** The device is gone, and with it everything it held. */
  vacate(): Device {
    const gone = this.device;
    this.#device = null;
    this.generation++;
    const { inUse } = this;
    this.inUse = 0;
    if (this.watch !== null && inUse > 0) this.watch(this, 'free', inUse);
    return gone;
  }

  /** A new device for the place. */
  settle(device: Device): void {
    this.#device = device;
    this.generation++;
  }

  #taken(buffer: DeviceBuffer): DeviceBuffer {
    if (buffer.collected) return buffer;
    this.allocations++;
    this.inUse += buffer.bytes;
    if (this.inUse > this.peak) this.peak = this.inUse;
    if (this.watch !== null) this.watch(this, 'alloc', buffer.bytes);
    this.room.noticed(this);
    return buffer;
  }

  #insist(bytes: number, first: OutOfMemory): DeviceBuffer {
    let cause = first;
    for (let attempt = 0; this.room.make(this, bytes, attempt); attempt++) {
      if (this.over(bytes) > 0) continue;
      try {
        return this.#taken(this.device.allocate(bytes));
      } catch (e) {
        if (!(e instanceof OutOfMemory)) throw e;
        cause = e;
      }
    }
    this.failures++;
    throw this.room.refuse(this, bytes, cause);
  }

  #overBudget(bytes: number): OutOfMemory {
    const own = this.inUse + bytes > this.budget;
    const limit = own ? this.budget : this.shared!.limit;
    const left = own ? this.budget - this.inUse : bytes - this.overShared(bytes);
    return new OutOfMemory({
      code: own ? 'OVER_BUDGET' : 'OVER_TOTAL_BUDGET',
      message: `${this.id}: ${bytes} bytes do not fit into the budget of ${limit} bytes${own ? '' : ' for all devices'}, of which ${limit - left} are in use`,
      fix: `Dispose tensors that are no longer needed, work in smaller pieces, or raise the budget (memory.budget${own ? '' : '.total'}).`,
      where: this.id,
      requested: bytes,
      available: Math.max(0, left),
    });
  }

  #absent(): never {
    throw new DeviceLost({
      code: 'DEVICE_LOST',
      message: `${this.id} was lost and has not come back`,
      fix: 'Use another device, or wait until rt.devices() shows it open again.',
      where: this.id,
    });
  }
}
