// A device written by somebody else, on the public entries only: registered, checked, used, lost and replaced.

import { describe, expect, it } from 'vitest';
import {
  type Capabilities,
  checkConformance,
  createCpuDevice,
  createReferenceDevice,
  type Device,
  type DeviceBuffer,
  type DeviceLoss,
  evaluate,
  type Kernel,
  OutOfMemory,
  type Program,
  type Routine,
} from '../../src/devices.ts';
import { ArgumentError, createRuntime, DeviceUnavailable } from '../../src/index.ts';

interface HostBuffer extends DeviceBuffer {
  bytes: number;
  data: Uint8Array | null;
}

interface HostProgram extends Program {
  readonly work: Kernel | Routine;
}

const capacity = 16 << 20;

/** A device of plain arrays: everything is done when a call returns. */
class ArrayDevice implements Device {
  readonly id: string;
  readonly caps: Capabilities;
  readonly lost = new Promise<DeviceLoss>(() => {});
  used = 0;
  launches = 0;
  closed = false;

  constructor(id = 'arrays', caps: Partial<Capabilities> = {}) {
    this.id = id;
    const reference = createReferenceDevice().caps;
    this.caps = {
      ...reference,
      name: 'plain arrays',
      dtypes: new Set(['f32', 'i32', 'bool'] as const),
      maxBuffers: 16,
      maxBufferBytes: capacity,
      details: { by: 'a third party' },
      ...caps,
    };
  }

  allocate(bytes: number): HostBuffer {
    if (this.used + bytes > capacity) {
      throw new OutOfMemory({
        code: 'OUT_OF_MEMORY',
        message: `${this.id}: no room for ${bytes} bytes`,
        fix: 'Dispose of something.',
        where: this.id,
        requested: bytes,
        available: capacity - this.used,
      });
    }
    this.used += bytes;
    return { bytes, collected: false, data: new Uint8Array(bytes) };
  }

  release(buffer: DeviceBuffer): void {
    const b = buffer as HostBuffer;
    if (!b.data) throw new Error('released twice');
    b.data = null;
    this.used -= b.bytes;
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset = 0): void {
    (dst as HostBuffer).data!.set(bytes, offset);
  }

  readSync(src: DeviceBuffer, offset = 0, length = src.bytes - offset): Uint8Array {
    return (src as HostBuffer).data!.slice(offset, offset + length);
  }

  async read(src: DeviceBuffer, offset?: number, length?: number): Promise<Uint8Array> {
    return this.readSync(src, offset, length);
  }

  prepare(work: Kernel | Routine): HostProgram {
    return { name: work.name, source: '', work };
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[]): void {
    this.launches++;
    evaluate(
      (program as HostProgram).work,
      buffers.map((b) => (b as HostBuffer).data!),
      scalars,
    );
  }

  mark() {
    return { done: () => true, whenDone: async () => {}, since: () => null };
  }

  memory() {
    return { total: capacity, free: capacity - this.used };
  }

  trim(): void {}

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** One that computes wrong. */
class WrongDevice extends ArrayDevice {
  override launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[]): void {
    super.launch(program, buffers, scalars);
    (buffers.at(-1) as HostBuffer).data![0]! ^= 1 << 7;
    (buffers.at(-1) as HostBuffer).data![3]! ^= 1;
  }
}

describe('a device of one’s own', () => {
  it('computes for a runtime, which closes it', async () => {
    const device = new ArrayDevice();
    {
      await using rt = await createRuntime({ devices: [device] });
      expect(rt.devices()).toMatchObject([{ id: 'arrays', open: true, details: { by: 'a third party' } }]);
      const x = rt.tensor([
        [1, 2],
        [3, 4],
      ]);
      expect(x.device).toBe('arrays');
      expect(await x.matmul(x).add(1).data()).toEqual(new Float32Array([8, 11, 16, 23]));
      expect(device.launches).toBeGreaterThan(0);
      expect(device.closed).toBe(false);
    }
    expect(device.closed).toBe(true);
  });

  it('works beside the devices of the library', async () => {
    const device = new ArrayDevice('mine:0');
    await using rt = await createRuntime({ devices: ['cpu', device], cpu: { threads: 1 }, routing: { mode: 'off' } });
    const x = await rt.tensor([1, 2, 3]).to('mine:0');
    expect(x.device).toBe('mine:0');
    const y = x.mul(2).compute();
    expect(y.device).toBe('mine:0');
    expect(rt.scope({ device: 'cpu' }, () => rt.tensor([1]).add(1).compute()).device).toBe('cpu');
    expect(await (await y.to('cpu')).data()).toEqual(new Float32Array([2, 4, 6]));
    // What it has no dtype for goes where there is one.
    expect(rt.tensor([1n, 2n], [2], { dtype: 'i64' }).add(1n).compute().device).toBe('cpu');
  });

  it('is used within its memory: the runtime makes room there', async () => {
    const device = new ArrayDevice();
    await using rt = await createRuntime({ devices: [device] });
    const held = Array.from({ length: 8 }, (_, i) => rt.tensor(new Float32Array(1 << 20).fill(i)));
    for (const [i, t] of held.entries()) expect((await t.data())[5]).toBe(i);
    expect(device.used).toBeLessThanOrEqual(capacity);
  });

  it('passes the conformance checks, as those of the library do', async () => {
    for (const device of [new ArrayDevice(), createReferenceDevice(), await createCpuDevice({ threads: 1 })]) {
      const results = await checkConformance(device);
      expect(results.filter((r) => r.outcome === 'failed')).toEqual([]);
      expect(results.filter((r) => r.outcome === 'passed').length).toBeGreaterThan(25);
      await device.close();
    }
    const results = await checkConformance(new ArrayDevice());
    expect(results).toContainEqual({ check: 'sort in f64', outcome: 'not claimed', detail: 'f64' });
  });

  it('that computes wrong is found out: it is not used, and fails the checks', async () => {
    await expect(createRuntime({ devices: [new WrongDevice()] })).rejects.toThrow(DeviceUnavailable);
    await expect(createRuntime({ devices: [new WrongDevice()] })).rejects.toThrow(/it computes wrong/);
    await using rt = await createRuntime({ devices: [new WrongDevice(), 'cpu'], cpu: { threads: 1 } });
    expect(rt.devices().map((d) => [d.id, d.open])).toEqual([
      ['cpu', true],
      ['arrays', false],
    ]);
    const results = await checkConformance(new WrongDevice());
    expect(results.find((r) => r.check === 'computes exp')!.outcome).toBe('failed');
    expect(results.find((r) => r.check === 'opens in a runtime')!.outcome).toBe('failed');
  });

  it('must be whole and have a name of its own', async () => {
    const half = { id: 'half', caps: {} } as unknown as Device;
    await expect(createRuntime({ devices: [half] })).rejects.toThrow(
      /half has no lost \(object\), allocate \(function\)/,
    );
    await expect(createRuntime({ devices: [half] })).rejects.toThrow(ArgumentError);
    await expect(createRuntime({ devices: [new ArrayDevice('')] })).rejects.toThrow(/its id is empty/);
    await expect(createRuntime({ devices: [new ArrayDevice('a'), new ArrayDevice('a')] })).rejects.toThrow(
      /two devices called 'a'/,
    );
    await expect(createRuntime({ devices: [null as never] })).rejects.toThrow(ArgumentError);
    await expect(createRuntime({ devices: ['gpu' as never] })).rejects.toThrow(/no device 'gpu'/);
    const listed = new ArrayDevice('a', { dtypes: ['f32'] as never });
    await expect(createRuntime({ devices: [listed] })).rejects.toThrow(/must be Sets/);
  });
});

describe('two CPU devices', () => {
  it('live in one runtime under two names', async () => {
    const devices = [
      await createCpuDevice({ id: 'cpu:0', threads: 1 }),
      await createCpuDevice({ id: 'cpu:1', threads: 1 }),
    ];
    await using rt = await createRuntime({ devices, routing: { mode: 'off' } });
    const x = await rt.tensor([1, 2]).to('cpu:1');
    expect(x.mul(2).compute().device).toBe('cpu:1');
  });
});
