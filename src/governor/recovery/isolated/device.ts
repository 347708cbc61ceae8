// A device that lives in another process.
//
// Commands are collected and sent in batches: allocating, releasing, writing, launching and replaying cost no round trip.
// They go out when something is awaited, when the batch is large, and at the end of the current turn of the event loop.
// What fails over there is remembered by the buffers it should have written, and thrown by the first read that depends on
// them. `prepare` and `readSync` wait for the answer, with a time limit.
//
// Memory: the books of the other process are kept here. Far from the limit an allocation is granted at once; near it, or for
// a large part of what is free, the other process is asked, so OutOfMemory is thrown by `allocate` itself.
//
// When the process ends, is poisoned or does not answer in time, it is killed, `lost` resolves, whatever was waited for
// rejects with DeviceLost, and `reopen` starts a new one.

import { Finalizer } from '../../../base/finalizer.ts';
import type {
  Capabilities,
  Device,
  DeviceBuffer,
  DeviceId,
  DeviceLoss,
  Launch,
  Mark,
  Program,
  Recording,
  Telemetry,
} from '../../../devices/device.ts';
import { ArgumentError, DisposedError, OutOfMemory } from '../../../errors.ts';
import type { Kernel, Routine } from '../../../kernel/kernel.ts';
import type { Books } from './books.ts';
import type { Connection } from './connection.ts';
import { Ids } from './ids.ts';
import { aligned, chunkBytes, up } from './records.ts';
import { buffersOf, packWork, scalarsOf } from './wire.ts';

/** What the child says of its device when it is ready. */
export interface Hello {
  readonly id: DeviceId;
  readonly caps: Capabilities;
  readonly features: { readonly record: boolean; readonly telemetry: boolean; readonly pool: boolean };
}

export interface IsolatedDevice extends Device {
  /** The process it lives in. */
  readonly pid: number;
  readSync(src: DeviceBuffer, offset?: number, length?: number): Uint8Array;
  /** A new process with a new device, in place of this one. */
  reopen(): Promise<IsolatedDevice>;
  respawn(): Promise<IsolatedDevice>;
  /** Ends the process at once, as a crash would. */
  kill(): void;
}

class RemoteBuffer implements DeviceBuffer {
  readonly collected = false;
  readonly bytes: number;
  readonly owner: Isolated;
  readonly slot: number;
  released = false;

  constructor(bytes: number, owner: Isolated, slot: number) {
    this.bytes = bytes;
    this.owner = owner;
    this.slot = slot;
  }
}

class RemoteProgram implements Program {
  readonly name: string;
  readonly number: number;
  readonly owner: Isolated;
  readonly buffers: number;
  readonly scalars: number;
  #source: string | null = null;

  constructor(work: Kernel | Routine, number: number, owner: Isolated) {
    this.name = work.name;
    this.number = number;
    this.owner = owner;
    this.buffers = buffersOf(work);
    this.scalars = scalarsOf(work);
  }

  /** Fetched when somebody looks. */
  get source(): string {
    return (this.#source ??= this.owner.ask(`source ${this.number}`) as string);
  }
}

export class Isolated implements IsolatedDevice {
  readonly id: DeviceId;
  readonly caps: Capabilities;
  readonly lost: Promise<DeviceLoss>;
  readonly record?: (steps: readonly Launch[]) => Recording;
  readonly telemetry?: () => Telemetry;
  readonly pool?: () => { readonly reserved: number; readonly inUse: number; readonly idle: number };
  readonly #line: Connection;
  readonly #again: () => Promise<IsolatedDevice>;
  readonly #books: Books;
  readonly #buffers = new Ids();
  readonly #programs = new Ids();
  readonly #recordings = new Ids();
  readonly #marks = new Ids();
  readonly #prepared = new WeakMap<Kernel | Routine, RemoteProgram>();
  readonly #forgotten: Finalizer<{ readonly op: number; readonly ids: Ids; readonly id: number }>;
  #closed = false;

  constructor(hello: Hello, line: Connection, again: () => Promise<IsolatedDevice>) {
    this.id = hello.id;
    this.#line = line;
    this.#books = line.books;
    this.#again = again;
    this.lost = line.lost;
    const { immortal, ...caps } = hello.caps;
    // The other process answers while this one waits, whatever its device can do.
    this.caps = { ...caps, syncRead: true };
    this.#forgotten = new Finalizer(({ op, ids, id }) => {
      if (this.#closed || line.isLost) return;
      line.out.word(op, id);
      ids.free(id);
    });
    if (hello.features.record) this.record = (steps) => this.#record(steps);
    if (hello.features.telemetry) this.telemetry = () => this.ask('telemetry') as Telemetry;
    if (hello.features.pool) this.pool = () => this.#books.pool;
  }

  get pid(): number {
    return this.#line.host.pid;
  }

  allocate(bytes: number): RemoteBuffer {
    this.#enter('allocate');
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new ArgumentError({
        code: 'BAD_SIZE',
        message: `${this.id}: allocate(${bytes})`,
        fix: 'Ask for a whole number of bytes, zero or more.',
        where: 'allocate',
      });
    }
    if (bytes > this.caps.maxBufferBytes) throw this.#tooLarge(bytes);
    const slot = this.#buffers.take();
    if (this.#books.grants(bytes)) {
      const at = this.#line.out.begin(up.allocate, 24);
      this.#line.out.batch.words[at + 2] = slot;
      this.#line.out.batch.doubles[(at >> 1) + 2] = bytes;
    } else {
      try {
        this.#line.call(up.allocateNow, `allocation of ${bytes} bytes (${this.id})`, slot, bytes);
      } catch (e) {
        this.#buffers.free(slot);
        throw e;
      }
    }
    this.#books.allocated += bytes;
    return new RemoteBuffer(bytes, this, slot);
  }

  release(buffer: DeviceBuffer): void {
    const b = buffer as RemoteBuffer;
    if (b.released || b.owner !== this) return;
    b.released = true;
    this.#books.released += b.bytes;
    if (this.#closed || this.#line.isLost) return;
    this.#line.out.word(up.release, b.slot);
    // Commands are carried out in order, so the number can be used again at once.
    this.#buffers.free(b.slot);
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset = 0): void {
    this.#enter('write');
    const b = this.#own(dst, 'write');
    this.#checkRange(b, offset, bytes.length, 'write');
    const whole = offset === 0 && bytes.length === b.bytes;
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const part = bytes.subarray(at, at + chunkBytes);
      this.#line.out.payload(up.write, b.slot, whole && at === 0 ? 1 : 0, offset + at, part);
    }
  }

  read(src: DeviceBuffer, offset = 0, length = src.bytes - offset, into?: Uint8Array): Promise<Uint8Array> {
    try {
      this.#enter('read');
      const b = this.#own(src, 'read');
      this.#checkRange(b, offset, length, 'read');
      if (length === 0) return Promise.resolve(into ?? new Uint8Array(0));
      return this.#line.read(b.slot, offset, into ?? new Uint8Array(length));
    } catch (e) {
      return Promise.reject(e);
    }
  }

  readSync(src: DeviceBuffer, offset = 0, length = src.bytes - offset): Uint8Array {
    this.#enter('read');
    const b = this.#own(src, 'read');
    this.#checkRange(b, offset, length, 'read');
    if (length === 0) return new Uint8Array(0);
    return this.#line.readNow(b.slot, offset, length, `read of ${length} bytes (${this.id})`);
  }

  prepare(work: Kernel | Routine): Program {
    const known = this.#prepared.get(work);
    if (known && !this.#line.isLost) return known;
    this.#enter('prepare');
    const number = this.#programs.take();
    try {
      this.#line.callText(up.prepare, `prepare ${work.name} (${this.id})`, number, packWork(work));
    } catch (e) {
      this.#programs.free(number);
      throw e;
    }
    const program = new RemoteProgram(work, number, this);
    this.#prepared.set(work, program);
    this.#forgotten.register(program, { op: up.dropProgram, ids: this.#programs, id: number });
    return program;
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[]): void {
    if (this.#closed || this.#line.isLost) this.#enter(program.name);
    const p = program as RemoteProgram;
    if (p.owner !== this) throw foreign(this.id, program.name);
    if (buffers.length !== p.buffers || scalars.length !== p.scalars)
      throw wrongCount(p, buffers.length, scalars.length);
    this.#bind(up.launch, p.number, buffers, scalars, program.name);
  }

  mark(): Mark {
    this.#enter('mark');
    const number = this.#marks.take();
    this.#line.out.word(up.mark, number);
    const mark = new RemoteMark(number, this.#line);
    this.#forgotten.register(mark, { op: up.dropMark, ids: this.#marks, id: number });
    return mark;
  }

  /** As the other process last told, corrected by what was asked of it since. */
  memory(): { readonly total: number; readonly free: number } {
    this.#enter('memory');
    this.#line.refresh();
    return { total: this.#books.total, free: this.#books.free };
  }

  trim(): void {
    this.#enter('trim');
    this.#line.out.word(up.trim, 0);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#line.close();
  }

  respawn(): Promise<IsolatedDevice> {
    return this.reopen();
  }

  async reopen(): Promise<IsolatedDevice> {
    await this.close();
    return this.#again();
  }

  kill(): void {
    this.#line.host.kill();
  }

  /** A fact about the device, from the other process. */
  ask(question: string): unknown {
    this.#enter(question);
    return this.#line.ask(question, `${question} (${this.id})`);
  }

  #record(steps: readonly Launch[]): Recording {
    this.#enter('record');
    const number = this.#recordings.take();
    const plain = steps.map(({ program, buffers, scalars }) => {
      const p = program as RemoteProgram;
      if (p.owner !== this) throw foreign(this.id, program.name);
      return { program: p.number, buffers, scalars };
    });
    this.#line.out.text(up.record, number, JSON.stringify(plain));
    // The programs must not be forgotten over there while the recording lives.
    let kept: readonly Launch[] | null = steps;
    return {
      replay: (bindings, scalars) => {
        this.#enter('replay');
        if (!kept) throw this.#disposed('a recording was disposed', 'replay');
        this.#bind(up.replay, number, bindings, scalars, 'replay');
      },
      dispose: () => {
        if (!kept) return;
        kept = null;
        if (this.#closed || this.#line.isLost) return;
        this.#line.out.word(up.dropRecording, number);
        this.#recordings.free(number);
      },
    };
  }

  #bind(op: number, number: number, buffers: readonly DeviceBuffer[], scalars: readonly number[], where: string): void {
    const count = buffers.length;
    const head = aligned(24 + 4 * count);
    for (let i = 0; i < count; i++) this.#own(buffers[i]!, where);
    const at = this.#line.out.begin(op, head + 8 * scalars.length);
    const { words, doubles } = this.#line.out.batch;
    words[at + 2] = number;
    words[at + 3] = count;
    words[at + 4] = scalars.length;
    for (let i = 0; i < count; i++) words[at + 6 + i] = (buffers[i] as RemoteBuffer).slot;
    for (let i = 0; i < scalars.length; i++) doubles[(at >> 1) + (head >> 3) + i] = scalars[i]!;
  }

  #enter(where: string): void {
    this.#line.checkAlive(where);
    if (this.#closed) throw this.#disposed(`${this.id} is closed`, where);
  }

  #own(buffer: DeviceBuffer, where: string): RemoteBuffer {
    const b = buffer as RemoteBuffer;
    if (b.owner !== this) throw foreign(this.id, where);
    if (b.released) throw this.#disposed(`a buffer of ${b.bytes} bytes on ${this.id} was released`, where);
    return b;
  }

  #checkRange(b: RemoteBuffer, offset: number, length: number, where: string): void {
    if (
      Number.isSafeInteger(offset) &&
      Number.isSafeInteger(length) &&
      offset >= 0 &&
      length >= 0 &&
      offset + length <= b.bytes
    )
      return;
    throw new ArgumentError({
      code: 'OUT_OF_RANGE',
      message: `${this.id}: ${where} of ${length} bytes at ${offset} in a buffer of ${b.bytes} bytes`,
      fix: 'Keep offset and length within the buffer.',
      where,
    });
  }

  #disposed(message: string, where: string): DisposedError {
    return new DisposedError({ code: 'DEVICE_CLOSED', message, fix: 'Create it again, or close it later.', where });
  }

  #tooLarge(bytes: number): OutOfMemory {
    return new OutOfMemory({
      code: 'BUFFER_TOO_LARGE',
      message: `${this.id}: ${bytes} bytes are more than one buffer can hold (${this.caps.maxBufferBytes})`,
      fix: 'Process the data in parts.',
      where: 'allocate',
      requested: bytes,
      available: this.caps.maxBufferBytes,
    });
  }
}

class RemoteMark implements Mark {
  readonly #number: number;
  readonly #line: Connection;
  #done = false;
  #wait: Promise<void> | null = null;

  constructor(number: number, line: Connection) {
    this.#number = number;
    this.#line = line;
  }

  done(): boolean {
    if (this.#done || this.#line.isLost) return this.#done;
    // A failure is for those who wait.
    this.whenDone().catch(() => {});
    this.#line.pump();
    return this.#done;
  }

  whenDone(): Promise<void> {
    return (this.#wait ??= this.#line.watch(this.#number, () => {
      this.#done = true;
    }));
  }

  since(earlier: Mark): number | null {
    if (!(earlier instanceof RemoteMark) || earlier.#line !== this.#line) return null;
    return this.#line.since(this.#number, earlier.#number);
  }
}

function wrongCount(p: RemoteProgram, buffers: number, scalars: number): ArgumentError {
  return new ArgumentError({
    code: 'BAD_LAUNCH',
    message: `${p.name}: launched with ${buffers} buffers and ${scalars} scalars, takes ${p.buffers} and ${p.scalars} (${p.owner.id})`,
    fix: 'Pass the inputs, then the outputs, as the kernel lists them.',
    where: p.name,
  });
}

function foreign(id: DeviceId, where: string): ArgumentError {
  return new ArgumentError({
    code: 'FOREIGN_OBJECT',
    message: `${where}: a buffer or program of another device, or of an earlier process of ${id}, was used on it`,
    fix: 'Use buffers and programs only with the device that made them; after a loss, make them anew.',
    where,
  });
}
