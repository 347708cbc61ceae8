// The objects of a device by number, and what went wrong with them.
//
// The parent does not wait for an answer to allocate, write, launch and replay. If one of them fails here, what it should
// have written is marked with the error: launches that read it pass the mark on, reading it gives the error. So a failure
// comes out at the first read that depends on it, and never as wrong data.

import type { Device, DeviceBuffer, Mark, Program, Recording } from '../../../devices/device.ts';
import { DeviceLost, type ForgeError } from '../../../errors.ts';
import type { Kernel, Routine } from '../../../kernel/kernel.ts';
import { inputsOf } from './wire.ts';

export interface Prepared {
  readonly program: Program;
  /** Buffers that are only read; the rest is written. */
  readonly inputs: number;
  /** Every output is written whole. */
  readonly whole: boolean;
}

interface Recorded {
  readonly recording: Recording;
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  readonly whole: boolean;
}

export interface RecordedStep {
  readonly program: number;
  readonly buffers: readonly number[];
  readonly scalars: readonly number[];
}

type Slot = { buffer: DeviceBuffer | null; bytes: number; fault: ForgeError | null };

export class Table {
  readonly #device: Device;
  readonly #slots: (Slot | undefined)[] = [];
  readonly #programs: (Prepared | undefined)[] = [];
  readonly #recordings: (Recorded | ForgeError | undefined)[] = [];
  readonly marks: (Mark | ForgeError | undefined)[] = [];
  /** Slots with a fault; with none, nothing is looked for. */
  #faults = 0;
  /** Bytes asked for and given back since the start: the parent's books go by them. */
  allocated = 0;
  released = 0;

  constructor(device: Device) {
    this.#device = device;
  }

  /** Returns what went wrong, too. */
  allocate(id: number, bytes: number): ForgeError | null {
    this.allocated += bytes;
    try {
      this.#slots[id] = { buffer: this.#device.allocate(bytes), bytes, fault: null };
      return null;
    } catch (e) {
      this.#slots[id] = { buffer: null, bytes, fault: surviving(e) };
      this.#faults++;
      return this.#slots[id].fault;
    }
  }

  release(id: number): void {
    const slot = this.#slots[id];
    if (!slot) return;
    this.#slots[id] = undefined;
    this.released += slot.bytes;
    if (slot.fault) this.#faults--;
    if (slot.buffer && !slot.buffer.collected) this.#device.release(slot.buffer);
  }

  write(id: number, bytes: Uint8Array, offset: number, whole: boolean): void {
    const slot = this.#slots[id]!;
    if (!slot.buffer) return;
    if (whole) this.#clear(slot);
    try {
      this.#device.write(slot.buffer, bytes, offset);
    } catch (e) {
      this.#mark(slot, surviving(e));
    }
  }

  /** The buffer to read from; throws what it is marked with. */
  readable(id: number): DeviceBuffer {
    const slot = this.#slots[id]!;
    if (slot.fault) throw slot.fault;
    return slot.buffer!;
  }

  prepare(id: number, work: Kernel | Routine): Prepared {
    const made = {
      program: this.#device.prepare(work),
      inputs: inputsOf(work),
      whole: work.kind === 'kernel' || work.op !== 'raw',
    };
    this.#programs[id] = made;
    return made;
  }

  program(id: number): Prepared {
    return this.#programs[id]!;
  }

  dropProgram(id: number): void {
    this.#programs[id] = undefined;
  }

  launch(program: number, ids: readonly number[], scalars: readonly number[]): void {
    const { program: code, inputs, whole } = this.#programs[program]!;
    const buffers = new Array<DeviceBuffer>(ids.length);
    for (let i = 0; i < ids.length; i++) buffers[i] = this.#slots[ids[i]!]!.buffer!;
    if (this.#faults > 0) {
      const fault = this.#faultIn(ids.slice(0, inputs)) ?? this.#missingIn(ids);
      if (fault) {
        for (let i = inputs; i < ids.length; i++) this.#mark(this.#slots[ids[i]!]!, fault);
        return;
      }
    }
    try {
      this.#device.launch(code, buffers, scalars);
    } catch (e) {
      const fault = surviving(e);
      for (let i = inputs; i < ids.length; i++) this.#mark(this.#slots[ids[i]!]!, fault);
      return;
    }
    if (this.#faults > 0 && whole) for (let i = inputs; i < ids.length; i++) this.#clear(this.#slots[ids[i]!]!);
  }

  record(id: number, steps: readonly RecordedStep[]): void {
    const reads = new Set<number>();
    const writes = new Set<number>();
    for (const { program, buffers } of steps) {
      const { inputs } = this.#programs[program]!;
      buffers.slice(0, inputs).forEach((b) => {
        if (!writes.has(b)) reads.add(b);
      });
      for (const b of buffers.slice(inputs)) writes.add(b);
    }
    try {
      const launches = steps.map((s) => ({ ...s, program: this.#programs[s.program]!.program }));
      this.#recordings[id] = {
        recording: this.#device.record!(launches),
        reads: [...reads],
        writes: [...writes],
        whole: steps.every((s) => this.#programs[s.program]!.whole),
      };
    } catch (e) {
      this.#recordings[id] = surviving(e);
    }
  }

  replay(id: number, ids: readonly number[], scalars: readonly number[]): void {
    const recorded = this.#recordings[id]!;
    const slots = ids.map((b) => this.#slots[b]!);
    const fail = (fault: ForgeError, written: readonly number[]): void => {
      for (const w of written) this.#mark(slots[w]!, fault);
    };
    // What a recording that could not be made would have written is not known: everything it was given is in doubt.
    if (!('recording' in recorded)) {
      fail(recorded, [...ids.keys()]);
      return;
    }
    const { recording, reads, writes, whole } = recorded;
    if (this.#faults > 0) {
      const fault = this.#faultIn(reads.map((r) => ids[r]!)) ?? this.#missingIn(ids);
      if (fault) {
        fail(fault, writes);
        return;
      }
    }
    try {
      recording.replay(
        slots.map((s) => s.buffer!),
        scalars,
      );
    } catch (e) {
      fail(surviving(e), writes);
      return;
    }
    if (this.#faults > 0 && whole) for (const w of writes) this.#clear(slots[w]!);
  }

  dropRecording(id: number): void {
    const recorded = this.#recordings[id];
    this.#recordings[id] = undefined;
    if (recorded && 'recording' in recorded) recorded.recording.dispose();
  }

  mark(id: number): void {
    try {
      this.marks[id] = this.#device.mark();
    } catch (e) {
      this.marks[id] = surviving(e);
    }
  }

  #faultIn(ids: readonly number[]): ForgeError | null {
    for (const id of ids) {
      const { fault } = this.#slots[id]!;
      if (fault) return fault;
    }
    return null;
  }

  #missingIn(ids: readonly number[]): ForgeError | null {
    for (const id of ids) {
      const { buffer, fault } = this.#slots[id]!;
      if (!buffer) return fault;
    }
    return null;
  }

  #mark(slot: Slot, fault: ForgeError): void {
    if (!slot.fault) this.#faults++;
    slot.fault ??= fault;
  }

  #clear(slot: Slot): void {
    if (!slot.fault || !slot.buffer) return;
    slot.fault = null;
    this.#faults--;
  }
}

/** The error, unless the device did not survive it: then nothing else matters. */
function surviving(error: unknown): ForgeError {
  if (error instanceof DeviceLost) throw error;
  return error as ForgeError;
}
