// The scalars of all launches of one batch, in one uniform buffer, 256-byte slots apart.
//
// Filled on the host while launches are encoded and written to the GPU once, right before the batch is submitted. The
// queue runs that write after the batches before it, so the slots can be filled anew for each batch.

import type { DType } from '../../base/dtype.ts';
import { castValue } from '../../kernel/semantics.ts';
import { usage } from './constants.ts';

const capacity = 1 << 18;
const slot = 256;

export class ScalarBlock {
  readonly gpu: GPUBuffer;
  readonly #queue: GPUQueue;
  readonly #bytes = new ArrayBuffer(capacity);
  readonly #f32 = new Float32Array(this.#bytes);
  readonly #i32 = new Int32Array(this.#bytes);
  readonly #u32 = new Uint32Array(this.#bytes);
  #used = 0;

  constructor(device: GPUDevice) {
    this.gpu = device.createBuffer({ size: capacity, usage: usage.uniform | usage.copyDst, label: 'scalars' });
    this.#queue = device.queue;
  }

  hasRoomFor(count: number): boolean {
    return this.#used + Math.ceil(count / 64) * slot <= capacity;
  }

  /** Puts the scalars of one launch in place; gives their offset in bytes. */
  add(types: readonly DType[], values: readonly number[]): number {
    const offset = this.#used;
    let at = offset >> 2;
    types.forEach((t, i) => {
      const v = values[i]!;
      if (t === 'f32') this.#f32[at] = v;
      else if (t === 'f16') this.#f32[at] = castValue(v, 'f64', 'f16') as number;
      else if (t === 'i32') this.#i32[at] = castValue(v, 'f64', 'i32') as number;
      else this.#u32[at] = castValue(v, 'f64', t) as number;
      at++;
    });
    this.#used += Math.ceil(types.length / 64) * slot;
    return offset;
  }

  /** Enqueues what was added and starts again. */
  submit(): void {
    if (this.#used > 0) this.#queue.writeBuffer(this.gpu, 0, this.#bytes, 0, this.#used);
    this.#used = 0;
  }
}
