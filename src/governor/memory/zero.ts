// Zeros a buffer where it is: one launch, in order with all other work on the device.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';

/** One kernel per size: devices know a kernel they have seen by its identity. */
const maxKernels = 256;
/** Positions are 32 bits on some devices. */
const maxElements = 2 ** 30;
const chunkBytes = 2 ** 20;

export class Zeroer {
  readonly #kernels = new Map<number, Kernel>();

  zero(device: Device, buffer: DeviceBuffer, bytes: number): void {
    if (bytes === 0) return;
    if (bytes % 4 === 0 && bytes / 4 <= maxElements) {
      device.launch(device.prepare(this.#kernel(bytes / 4)), [buffer], []);
      return;
    }
    const zeros = new Uint8Array(Math.min(bytes, chunkBytes));
    for (let at = 0; at < bytes; at += zeros.length)
      device.write(buffer, zeros.subarray(0, Math.min(zeros.length, bytes - at)), at);
  }

  #kernel(words: number): Kernel {
    let kernel = this.#kernels.get(words);
    if (kernel) return kernel;
    if (this.#kernels.size >= maxKernels) this.#kernels.clear();
    kernel = {
      kind: 'kernel',
      name: `zero_u32_${words}`,
      space: [words],
      reduced: [],
      accumulators: [],
      outputs: [{ type: 'u32', value: new Exprs().const('u32', 0) }],
      inputs: [],
      scalars: [],
      inPlace: [],
      estimate: { flops: 0, bytesRead: 0, bytesWritten: 4 * words },
    };
    this.#kernels.set(words, kernel);
    return kernel;
  }
}
