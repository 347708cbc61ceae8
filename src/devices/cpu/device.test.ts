import { afterAll, describe, expect, it } from 'vitest';
import { asType, elementsOf, elementwise, makeKernel, runOn, sameBytes, sample } from '../../../test/support/cpu.ts';
import { within } from '../../../test/support/time.ts';
import type { DType } from '../../base/dtype.ts';
import { ArgumentError, DisposedError, OutOfMemory } from '../../errors.ts';
import { Exprs } from '../../kernel/expr.ts';
import type { Routine } from '../../kernel/kernel.ts';
import { createReferenceDevice } from '../reference/device.ts';
import { type CpuDevice, createCpuDevice } from './device.ts';

const opened: CpuDevice[] = [];
const open = async (options: Parameters<typeof createCpuDevice>[0] = {}): Promise<CpuDevice> => {
  const device = await createCpuDevice({ threads: 1, blas: false, ...options });
  opened.push(device);
  return device;
};
afterAll(async () => {
  for (const d of opened) await d.close();
});

const add = (n: number) => elementwise(n, ['f32', 'f32'], 'f32', (b, [x, y]) => b.alu('add', x!, y!));

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
const sortOf = (columns: number): Routine => ({
  kind: 'routine',
  op: 'sort',
  name: 'sort',
  type: 'f32',
  rows: 2,
  columns,
  descending: false,
  estimate,
});
const scanOf = (type: DType, length: number): Routine => ({
  kind: 'routine',
  op: 'scan',
  name: 'scan',
  type,
  combine: 'sum',
  outer: 1,
  length,
  inner: 1,
  reverse: false,
  estimate,
});

describe('the cpu device', () => {
  it('opens in a few milliseconds and starts no thread', async () => {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 10; i++) {
      const start = performance.now();
      const device = await createCpuDevice();
      best = Math.min(best, performance.now() - start);
      expect(device.workers).toBeNull();
      await device.close();
    }
    expect(best).toBeLessThan(within(5));
  });

  it.each([5, 100, 1000, 1500, 100_000])('adds %i elements as the reference does', async (n) => {
    const device = await open();
    const [x, y] = [sample('f32', n, 1), sample('f32', n, 2)];
    const [got] = runOn(device, add(n), [x, y], [n * 4]);
    const [want] = runOn(createReferenceDevice(), add(n), [x, y], [n * 4]);
    expect(sameBytes(got!, want!)).toBe(true);
  });

  it('writes and reads parts of buffers of every size', async () => {
    const device = await open();
    for (const n of [0, 1, 300, 4096, 5000, 1 << 20]) {
      const buffer = device.allocate(n);
      const data = Uint8Array.from({ length: n }, (_, i) => (i * 7) & 255);
      device.write(buffer, data);
      expect(sameBytes(device.readSync(buffer), data)).toBe(true);
      if (n >= 300) {
        device.write(buffer, Uint8Array.of(1, 2, 3), 17);
        expect([...(await device.read(buffer, 16, 5))]).toEqual([data[16], 1, 2, 3, data[20]]);
      }
      device.release(buffer);
    }
  });

  it('reads elements without a detour through bytes', async () => {
    const device = await open();
    for (const n of [5, 5000]) {
      const buffer = device.allocate(n * 4);
      device.write(buffer, new Uint8Array(Float32Array.from({ length: n }, (_, i) => i / 2).buffer));
      expect([...device.readTyped(buffer, 'f32', 2, 3)]).toEqual([1, 1.5, 2]);
      expect(device.readTyped(buffer, 'f32')).toHaveLength(n);
    }
  });

  it('passes scalars of every type', async () => {
    const device = await open({ tinyElements: 0 });
    const interpreted = await open({ tinyElements: 1 << 20 });
    for (const type of ['f32', 'f64', 'i32', 'u32', 'i64', 'u64', 'u8'] as const) {
      const b = new Exprs();
      const n = 300;
      const kernel = makeKernel({
        space: [n],
        inputs: [{ type, elements: n }],
        scalars: [type, type],
        outputs: [
          {
            type,
            value: b.alu('add', b.alu('mul', b.load(type, 0, b.axis(0, n)), b.scalar(type, 1)), b.scalar(type, 0)),
          },
        ],
      });
      // Whole numbers, so that the reference's unrounded floats agree to the bit.
      const x = elementsOf(type, n, (i) => i % 100);
      const want = runOn(createReferenceDevice(), kernel, [x], [x.byteLength], [7, 3])[0]!;
      for (const d of [device, interpreted]) expect(runOn(d, kernel, [x], [x.byteLength], [7, 3])[0]).toEqual(want);
    }
  });

  it('shares one program among kernels of equal structure', async () => {
    const device = await open();
    expect(device.prepare(add(2000))).toBe(device.prepare(add(2000)));
    expect(device.prepare(add(2000))).not.toBe(device.prepare(add(2001)));
    expect(device.prepare(add(20_000)).source).toContain('(module');
    expect(device.prepare(add(2)).source).toContain('interpreted');
  });

  it('drops the programs used longest ago, which still run if somebody kept them', async () => {
    const device = await open({ programs: 2 });
    const matmul = (m: number): Routine => ({
      kind: 'routine',
      op: 'matmul',
      name: 'matmul',
      type: 'f32',
      batch: 1,
      batchA: 1,
      batchB: 1,
      m,
      n: 40,
      k: 40,
      transposeA: false,
      transposeB: false,
      precision: 'exact',
      epilogue: null,
      estimate,
    });
    const works = [add(5000), matmul(40), sortOf(100), sortOf(40_000), scanOf('bf16', 9000)];
    const first = works.map((w) => device.prepare(w));
    expect(first.every((p) => p.source.includes('(module'))).toBe(true);
    // Equal work in other objects: only the last two are still known.
    expect(device.prepare(scanOf('bf16', 9000))).toBe(first[4]);
    expect(device.prepare(add(5000))).not.toBe(first[0]);
    const [x, y] = [sample('f32', 5000, 1), sample('f32', 5000, 2)];
    expect(
      sameBytes(
        runOn(device, works[0]!, [x, y], [20_000])[0]!,
        runOn(createReferenceDevice(), works[0]!, [x, y], [20_000])[0]!,
      ),
    ).toBe(true);
  });

  it('accounts for memory exactly and takes everything back', async () => {
    const device = await open({ memoryBytes: 1 << 22 });
    const { total, free } = device.memory();
    expect(free).toBe(total);
    const a = device.allocate(100_000);
    expect(device.memory().free).toBe(total - 100_032);
    device.release(a);
    device.release(a);
    device.trim();
    expect(device.memory().free).toBe(total);
  });

  it('refuses what does not fit, with nothing changed', async () => {
    const device = await open({ memoryBytes: 1 << 20 });
    const a = device.allocate(1 << 19);
    device.write(a, new Uint8Array(1 << 19).fill(5));
    const before = device.memory();
    for (const bytes of [1 << 20, 2 ** 32, 2 ** 33, 2 ** 40]) {
      const refused = (): unknown => device.allocate(bytes);
      expect(refused).toThrow(OutOfMemory);
      try {
        refused();
      } catch (e) {
        expect(e).toMatchObject({ requested: bytes, available: before.free, code: 'OUT_OF_MEMORY' });
      }
    }
    expect(device.memory()).toEqual(before);
    expect(device.readSync(a).every((v) => v === 5)).toBe(true);
    expect(device.allocate(1 << 18).bytes).toBe(1 << 18);
  });

  it('works with addresses above 2 GiB', async () => {
    const device = await open();
    const low = device.allocate(2.5 * 2 ** 30);
    const n = 50_000;
    const [x, y] = [sample('f32', n, 1), sample('f32', n, 2)];
    const [got] = runOn(device, add(n), [x, y], [n * 4]);
    expect(sameBytes(got!, runOn(createReferenceDevice(), add(n), [x, y], [n * 4])[0]!)).toBe(true);
    device.release(low);
  });

  it('runs in place where the kernel allows it', async () => {
    for (const n of [8, 3000]) {
      const device = await open();
      const kernel = elementwise(n, ['f32'], 'f32', (b, [x]) => b.alu('mul', x!, b.const('f32', 3)), [0]);
      const buffer = device.allocate(n * 4);
      device.write(buffer, new Uint8Array(Float32Array.from({ length: n }, (_, i) => i).buffer));
      device.launch(device.prepare(kernel), [buffer, buffer], []);
      expect(asType('f32', device.readSync(buffer))[3]).toBe(9);
    }
  });

  it('refuses wrong launches and buffers that are gone', async () => {
    const device = await open();
    const program = device.prepare(add(2000));
    const [a, b, c] = [device.allocate(8000), device.allocate(8000), device.allocate(8000)] as const;
    expect(() => device.launch(program, [a, b], [])).toThrow(ArgumentError);
    expect(() => device.launch(program, [a, b, c], [1])).toThrow(ArgumentError);
    expect(() => device.launch(program, [a, b, device.allocate(7996)], [])).toThrow('needs 8000');
    expect(() => device.readSync(a, 7999, 2)).toThrow(ArgumentError);
    device.release(b);
    expect(() => device.launch(program, [a, b, c], [])).toThrow(DisposedError);
    expect(() => device.write(b, new Uint8Array(1))).toThrow(DisposedError);
    expect(() => device.allocate(1.5e9 + 0.5)).toThrow(ArgumentError);
    expect(() => device.allocate(-1)).toThrow(ArgumentError);
  });

  it('says so when it is closed', async () => {
    const device = await open();
    const program = device.prepare(add(2000));
    const a = device.allocate(8000);
    await device.close();
    await device.close();
    expect(() => device.launch(program, [a, a, a], [])).toThrow(DisposedError);
    expect(() => device.allocate(8000)).toThrow(DisposedError);
    device.release(a);
  });

  it('refuses options that make no sense', async () => {
    await expect(createCpuDevice({ threads: 0 })).rejects.toThrow(ArgumentError);
    await expect(createCpuDevice({ threads: 1.5 })).rejects.toThrow(ArgumentError);
    await expect(createCpuDevice({ memoryBytes: -1 })).rejects.toThrow(ArgumentError);
  });

  it('marks points in time that are already reached', async () => {
    const device = await open();
    const first = device.mark();
    const second = device.mark();
    expect(second.done()).toBe(true);
    await second.whenDone();
    expect(second.since(first)).toBeGreaterThanOrEqual(0);
  });
});

it('reads few elements, and many, with the bits they have', async () => {
  const device = await createCpuDevice({ threads: 1, blas: false });
  for (const count of [1, 3, 16, 17, 200]) {
    // Signalling NaN among numbers: a number on its way through a register would quieten it.
    const bits = Uint32Array.from({ length: count }, (_, i) => (i % 3 === 2 ? 0x7f812345 + i : 0x3f800000 + i));
    const buffer = device.allocate(4 * count);
    device.write(buffer, new Uint8Array(bits.buffer));
    const floats = device.readTyped(buffer, 'f32');
    expect(floats).toBeInstanceOf(Float32Array);
    expect(new Uint32Array(floats.buffer, floats.byteOffset, count)).toEqual(bits);
    expect(device.readTyped(buffer, 'u32')).toEqual(bits);
    expect(device.readTyped(buffer, 'u8', 4 * count - 2, 2)).toEqual(new Uint8Array(bits.buffer).slice(-2));
    expect(device.readTyped(buffer, 'u32', count - 1)).toEqual(bits.slice(-1));
    device.release(buffer);
  }
  await device.close();
});
