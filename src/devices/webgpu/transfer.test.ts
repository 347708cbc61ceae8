// Transfers on a device whose mapped memory is taken away, as a destroyed one does before it says that it is lost.

import { describe, expect, it } from 'vitest';
import { DeviceLost } from '../../errors.ts';
import type { GpuBuffer } from './memory.ts';
import type { WorkQueue } from './queue.ts';
import { Downloads, Uploads } from './transfer.ts';

class FakeBuffer {
  readonly size: number;
  mapped: ArrayBuffer;
  destroyed = false;

  constructor(size: number) {
    this.size = size;
    this.mapped = new ArrayBuffer(size);
  }

  getMappedRange(): ArrayBuffer {
    if (this.destroyed) throw new DOMException('the buffer is not mapped', 'OperationError');
    return this.mapped;
  }

  unmap(): void {
    detach(this.mapped);
    this.mapped = new ArrayBuffer(this.size);
  }

  async mapAsync(): Promise<void> {}

  destroy(): void {
    this.destroyed = true;
    detach(this.mapped);
  }
}

const detach = (buffer: ArrayBuffer): void => {
  structuredClone(buffer, { transfer: [buffer] });
};

function fakes() {
  const made: FakeBuffer[] = [];
  const copies: { readonly from: FakeBuffer; readonly bytes: Uint8Array }[] = [];
  const device = {
    createBuffer: ({ size }: { size: number }) => {
      const b = new FakeBuffer(size);
      made.push(b);
      return b;
    },
  } as unknown as GPUDevice;
  const queue = {
    copy: (from: FakeBuffer, at: number, _to: unknown, _offset: number, n: number) =>
      copies.push({ from, bytes: new Uint8Array(from.mapped, at, n).slice() }),
    flush: () => {},
    note: () => {},
    current: { settled: Promise.resolve() },
  } as unknown as WorkQueue;
  const dst = { bytes: 64, block: { gpu: {} }, fault: null } as unknown as GpuBuffer;
  return { made, copies, device, queue, dst };
}

describe('uploads', () => {
  it('never write through a view of memory that was taken away', async () => {
    const { made, copies, device, queue, dst } = fakes();
    const uploads = new Uploads(device, queue, 1 << 20, () => {});
    uploads.write(dst, new Uint8Array(64).fill(1), 0);
    // The buffer that small writes share goes while it is open.
    made[0]!.destroy();
    uploads.write(dst, new Uint8Array(64).fill(2), 0);
    expect(copies[1]!.bytes[0]).toBe(2);
    expect(made).toHaveLength(2);
    // One that waits for the next write goes too.
    uploads.beforeSubmit();
    uploads.afterSubmit();
    await new Promise((resolve) => setTimeout(resolve));
    for (const b of made) b.destroy();
    uploads.write(dst, new Uint8Array(64).fill(3), 0);
    expect(copies[2]!.bytes[0]).toBe(3);
    expect(made).toHaveLength(3);
  });
});

describe('downloads', () => {
  it('from a buffer that was destroyed after it was mapped end in the error of a lost device', async () => {
    const { made, device, queue, dst } = fakes();
    const lost = new DeviceLost({ code: 'DEVICE_LOST', message: 'gone', fix: 'none', where: 'read' });
    const awaited = async <T>(work: Promise<T>): Promise<T> => {
      const result = await work;
      made[0]!.destroy();
      return result;
    };
    const downloads = new Downloads(device, queue, 1 << 20, awaited, () => lost);
    await expect(downloads.read(dst, 0, 64)).rejects.toBe(lost);
  });
});
