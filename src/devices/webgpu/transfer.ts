// Bytes between host and device.
//
// Up: into mapped staging buffers, copied on the GPU's timeline in the order of the calls; the buffers are mapped again
// when the GPU is done with them. Small writes share a buffer. Down: a copy into mappable buffers from a ring, awaited. Large transfers
// go in pieces, so that host and GPU copy at the same time.
// A device that is destroyed takes its mapped memory away before it says that it is lost: no view of it is used without a look.
// WebGPU moves multiples of four bytes: a partial word at the end of a buffer is padded, one in the middle is merged by
// a small shader.

import type { ForgeError } from '../../errors.ts';
import { mapMode, usage } from './constants.ts';
import type { GpuBuffer } from './memory.ts';
import type { Batch, QueuedStep, Rider, WorkQueue } from './queue.ts';
import { BufferRing, transferClass } from './ring.ts';
import type { Waiter } from './wait.ts';

interface Chunk {
  readonly gpu: GPUBuffer;
  readonly size: number;
  bytes: Uint8Array;
  used: number;
}

/** A view of memory that was taken away has no length. */
const isMapped = (chunk: Chunk): boolean => chunk.bytes.length > 0;

/** Merges bytes into one word: word index, mask of the bytes, their value. */
export type Patch = (dst: GpuBuffer, word: number, mask: number, value: number) => void;

const sharedChunk = 1 << 20;
const keptBytes = 96 << 20;

const align4 = (n: number): number => n + ((4 - (n % 4)) % 4);

export class Uploads implements Rider {
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #piece: number;
  readonly #patch: Patch;
  /** Mapped and ready. */
  readonly #ready = new BufferRing<Chunk>(keptBytes);
  #open: Chunk[] = [];
  #shared: Chunk | null = null;
  #closed = false;

  constructor(device: GPUDevice, queue: WorkQueue, piece: number, patch: Patch) {
    this.#device = device;
    this.#queue = queue;
    this.#piece = piece;
    this.#patch = patch;
  }

  write(dst: GpuBuffer, bytes: Uint8Array, offset: number): void {
    let start = offset;
    let source = bytes;
    if (start % 4 !== 0 && source.length > 0) {
      const head = source.subarray(0, Math.min(4 - (start % 4), source.length));
      this.#patchWord(dst, start, head);
      start += head.length;
      source = source.subarray(head.length);
    }
    const tail = start + source.length === dst.bytes ? 0 : source.length % 4;
    this.#copy(dst, source.subarray(0, source.length - tail), start);
    if (tail > 0) this.#patchWord(dst, start + source.length - tail, source.subarray(source.length - tail));
  }

  beforeSubmit(): void {
    for (const chunk of this.#open) chunk.gpu.unmap();
  }

  afterSubmit(): void {
    const sent = this.#open;
    this.#open = [];
    this.#shared = null;
    for (const chunk of sent) {
      chunk.gpu
        .mapAsync(mapMode.write)
        .then(() => this.#remapped(chunk))
        .catch(() => {});
    }
  }

  /** Destroys staging buffers that wait for work. */
  trim(): void {
    this.#ready.trim();
  }

  close(): void {
    this.#closed = true;
    for (const chunk of this.#open) chunk.gpu.destroy();
    this.#open = [];
    this.trim();
  }

  #copy(dst: GpuBuffer, bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length; at += this.#piece) {
      const piece = bytes.subarray(at, Math.min(at + this.#piece, bytes.length));
      const room = align4(piece.length);
      const chunk = room <= sharedChunk / 4 ? this.#sharedFor(room) : this.#take(transferClass(room));
      chunk.bytes.set(piece, chunk.used);
      this.#queue.copy(chunk.gpu, chunk.used, dst.block!.gpu, offset + at, room);
      chunk.used += room;
      // Let the GPU copy this piece while the next one is filled.
      if (at + this.#piece < bytes.length) this.#queue.flush();
    }
  }

  #sharedFor(room: number): Chunk {
    const shared = this.#shared;
    if (shared && isMapped(shared) && shared.used + room <= shared.size) return shared;
    return (this.#shared = this.#take(sharedChunk));
  }

  #take(size: number): Chunk {
    let chunk = this.#ready.take(size);
    while (chunk && !isMapped(chunk)) chunk = this.#ready.take(size);
    if (chunk) {
      chunk.used = 0;
    } else {
      const gpu = this.#device.createBuffer({ size, usage: usage.mapWrite | usage.copySrc, mappedAtCreation: true });
      chunk = { gpu, size, bytes: new Uint8Array(gpu.getMappedRange()), used: 0 };
    }
    this.#open.push(chunk);
    return chunk;
  }

  #remapped(chunk: Chunk): void {
    if (this.#closed) {
      chunk.gpu.destroy();
      return;
    }
    chunk.bytes = new Uint8Array(chunk.gpu.getMappedRange());
    this.#ready.keep(chunk);
  }

  #patchWord(dst: GpuBuffer, offset: number, bytes: Uint8Array): void {
    let mask = 0;
    let value = 0;
    bytes.forEach((b, i) => {
      const shift = ((offset + i) % 4) * 8;
      mask |= 255 << shift;
      value |= b << shift;
    });
    this.#patch(dst, Math.floor(offset / 4), mask >>> 0, value >>> 0);
  }
}

interface Landing {
  readonly gpu: GPUBuffer;
  readonly size: number;
}

/** A piece of a read on its way: `at` bytes into the words that are read. */
interface Arrival {
  readonly landing: Landing;
  readonly at: number;
  readonly bytes: number;
  readonly batch: Batch;
  /** Never rejects: what went wrong, or null. */
  readonly mapped: Promise<{ readonly cause: unknown } | null>;
}

export class Downloads {
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #piece: number;
  readonly #idle = new BufferRing<Landing>(keptBytes);
  readonly #awaited: Waiter;
  readonly #onLost: (cause: unknown) => ForgeError;

  /** `onLost` makes the error of a read that the device did not survive. */
  constructor(
    device: GPUDevice,
    queue: WorkQueue,
    piece: number,
    awaited: Waiter,
    onLost: (cause: unknown) => ForgeError,
  ) {
    this.#device = device;
    this.#queue = queue;
    this.#piece = piece;
    this.#awaited = awaited;
    this.#onLost = onLost;
  }

  async read(src: GpuBuffer, offset: number, length: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0);
    const skipped = offset % 4;
    const bytes = align4(skipped + length);
    let fault: ForgeError | null = src.fault;
    const note: QueuedStep = {
      name: 'read',
      reads: [src],
      writes: [],
      compiled: [],
      onFault: (error) => {
        fault ??= error;
      },
    };
    const arrivals: Arrival[] = [];
    for (let at = 0; at < bytes; at += this.#piece) {
      arrivals.push(this.#send(src, offset - skipped, at, Math.min(this.#piece, bytes - at), note));
    }
    const result = uninitialised(length);
    if (length >= prefaulted) touchPages(result);
    let lost: { readonly cause: unknown } | null = null;
    for (const { landing, at, bytes, batch, mapped } of arrivals) {
      const failed = await this.#awaited(mapped);
      await batch.settled;
      lost ??= failed;
      if (failed) {
        landing.gpu.destroy();
        continue;
      }
      if (!fault && !lost) {
        const start = Math.max(skipped - at, 0);
        const end = Math.min(skipped + length - at, bytes);
        try {
          result.set(new Uint8Array(landing.gpu.getMappedRange(0, bytes), start, end - start), at + start - skipped);
        } catch (cause) {
          // Destroyed since it was mapped.
          lost = { cause };
        }
      }
      this.#giveBack(landing);
    }
    if (fault) throw fault;
    if (lost) throw this.#onLost(lost.cause);
    return result;
  }

  trim(): void {
    this.#idle.trim();
  }

  /** Submits the copy of a piece, `at` bytes after `from`. */
  #send(src: GpuBuffer, from: number, at: number, bytes: number, note: QueuedStep): Arrival {
    const landing = this.#take(transferClass(bytes));
    this.#queue.copy(src.block!.gpu, from + at, landing.gpu, 0, bytes);
    const batch = this.#queue.current;
    this.#queue.note(note);
    this.#queue.flush();
    const mapped = landing.gpu.mapAsync(mapMode.read, 0, bytes).then(
      () => null,
      (cause: unknown) => ({ cause }),
    );
    return { landing, at, bytes, batch, mapped };
  }

  #take(size: number): Landing {
    const kept = this.#idle.take(size);
    return kept ?? { gpu: this.#device.createBuffer({ size, usage: usage.mapRead | usage.copyDst }), size };
  }

  #giveBack(landing: Landing): void {
    landing.gpu.unmap();
    this.#idle.keep(landing);
  }
}

/** From this size on results are made of pages that the system hands out one by one, at the first touch. */
const prefaulted = 1 << 20;
const pageBytes = 4096;

/** Has the system hand out the pages of a result while the GPU is still computing it. */
function touchPages(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += pageBytes) bytes[at] = 0;
}

interface NodeBuffers {
  allocUnsafeSlow(bytes: number): Uint8Array;
}

/** Memory for a copy that fills it whole: Node can leave out the zeros, which cost as much as the copy itself. */
function uninitialised(bytes: number): Uint8Array {
  const node = (globalThis as { Buffer?: NodeBuffers }).Buffer;
  if (!node?.allocUnsafeSlow) return new Uint8Array(bytes);
  const { buffer, byteOffset } = node.allocUnsafeSlow(bytes);
  return new Uint8Array(buffer, byteOffset, bytes);
}
