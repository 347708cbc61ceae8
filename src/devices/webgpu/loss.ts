// The end of a device: lost by itself, or closed by its owner.
//
// After a loss every call throws DeviceLost and `lost` resolves; after close() calls throw DisposedError and `lost`
// stays pending, since nothing went wrong.

import type { DeviceLoss } from '../device.ts';
import { deviceLost } from '../lost.ts';
import { closed } from './errors.ts';

export class Life {
  readonly #id: string;
  readonly lost: Promise<DeviceLoss>;
  #loss: DeviceLoss | null = null;
  #closed = false;

  constructor(device: GPUDevice, id: string) {
    this.#id = id;
    this.lost = new Promise((resolve) => {
      device.lost.then((info) => {
        if (this.#closed) return;
        this.#loss = { reason: `${info.reason}: ${info.message}`, cause: info };
        resolve(this.#loss);
      });
    });
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isLost(): boolean {
    return this.#loss !== null;
  }

  /** Throws if the device can no longer be used for `where`. */
  check(where: string): void {
    if (this.#loss) throw deviceLost(this.#id, this.#loss.reason, where, this.#loss.cause);
    if (this.#closed) throw closed(this.#id, where);
  }

  /** What to say to somebody whose wait the device did not survive. */
  error(where: string, cause: unknown): Error & ReturnType<typeof deviceLost> {
    if (this.#closed && !this.#loss) return deviceLost(this.#id, 'closed while work was in flight', where, cause);
    return deviceLost(this.#id, this.#loss?.reason ?? 'destroyed', where, cause);
  }

  close(): void {
    this.#closed = true;
  }
}
