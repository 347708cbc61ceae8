// Bytes between host and device.
//
// Up: into mapped staging buffers, copied on the GPU's timeline in the order of the calls; the buffers are mapped again
// when the GPU is done with them. Small writes share a buffer. Down: a copy into a mappable buffer from a ring, awaited.
// WebGPU moves multiples of four bytes: a partial word at the end of a buffer is padded, one in the middle is merged by
// a small shader.

import type { ForgeError } from '../../errors.ts';
import { mapMode, usage } from './constants.ts';
import type { GpuBuffer } from './memory.ts';
import type { Batch, Rider, WorkQueue } from './queue.ts';
import { BufferRing, transferClass } from './ring.ts';

interface Chunk {
  readonly gpu: GPUBuffer;
  readonly size: number;
  bytes: Uint8Array;
  used: number;
}

/** Merges bytes into one word: word index, mask of the bytes, their value. */
export type Patch = (dst: GpuBuffer, word: number, mask: number, value: number) => void;

const sharedChunk = 1 << 20;
const pieceBytes = 16 << 20;
const keptBytes = 96 << 20;

const align4 = (n: number): number => n + ((4 - (n % 4)) % 4);

export class Uploads implements Rider {
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #patch: Patch;
  /** Mapped and ready. */
  readonly #ready = new BufferRing<Chunk>(keptBytes);
  #open: Chunk[] = [];
  #shared: Chunk | null = null;
  #closed = false;

  constructor(device: GPUDevice, queue: WorkQueue, patch: Patch) {
    this.#device = device;
    this.#queue = queue;
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
      chunk.gpu.mapAsync(mapMode.write).then(
        () => this.#remapped(chunk),
        () => {},
      );
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
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, Math.min(at + pieceBytes, bytes.length));
      const room = align4(piece.length);
      const chunk = room <= sharedChunk / 4 ? this.#sharedFor(room) : this.#take(transferClass(room));
      chunk.bytes.set(piece, chunk.used);
      this.#queue.copy(chunk.gpu, chunk.used, dst.block!.gpu, offset + at, room);
      chunk.used += room;
      // Let the GPU copy this piece while the next one is filled.
      if (piece.length === pieceBytes && at + pieceBytes < bytes.length) this.#queue.flush();
    }
  }

  #sharedFor(room: number): Chunk {
    if (!this.#shared || this.#shared.used + room > this.#shared.size) this.#shared = this.#take(sharedChunk);
    return this.#shared;
  }

  #take(size: number): Chunk {
    let chunk = this.#ready.take(size);
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

export class Downloads {
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #idle = new BufferRing<Landing>(keptBytes);
  readonly #onLost: (cause: unknown) => ForgeError;

  /** `onLost` makes the error of a read that the device did not survive. */
  constructor(device: GPUDevice, queue: WorkQueue, onLost: (cause: unknown) => ForgeError) {
    this.#device = device;
    this.#queue = queue;
    this.#onLost = onLost;
  }

  async read(src: GpuBuffer, offset: number, length: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0);
    const from = offset - (offset % 4);
    const bytes = align4(offset + length) - from;
    const landing = this.#take(transferClass(bytes));
    let fault: ForgeError | null = src.fault;
    this.#queue.copy(src.block!.gpu, from, landing.gpu, 0, bytes);
    const batch: Batch = this.#queue.current;
    this.#queue.note({
      name: 'read',
      reads: [src],
      writes: [],
      compiled: [],
      onFault: (error) => {
        fault ??= error;
      },
    });
    this.#queue.flush();
    try {
      await landing.gpu.mapAsync(mapMode.read, 0, bytes);
    } catch (cause) {
      await batch.settled;
      landing.gpu.destroy();
      throw fault ?? this.#onLost(cause);
    }
    await batch.settled;
    if (fault) {
      this.#giveBack(landing);
      throw fault;
    }
    const start = offset - from;
    const copy = uninitialised(length);
    copy.set(new Uint8Array(landing.gpu.getMappedRange(0, bytes), start, length));
    this.#giveBack(landing);
    return copy;
  }

  trim(): void {
    this.#idle.trim();
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
