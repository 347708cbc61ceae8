import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReversibleStep } from '../../src/governor/memory/borrow.ts';
import { BorrowViolation } from '../../src/governor/memory/errors.ts';
import { createRuntime, OutOfMemory, type Runtime } from '../../src/index.ts';
import { countWalks } from '../support/memory-walks.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, seed: 5 });
});
afterAll(async () => {
  await rt.close();
});

describe('live tensors of a job that goes on', () => {
  it('lend their memory to count walks, and are what they were', async () => {
    // Floating-point state, weights and integers: 37 tensors of 10,000 words of 64 bits.
    const tensors = Array.from({ length: 37 }, (_, i) =>
      i % 2 ? rt.random.normal([20_000], { seed: i }) : rt.random.normal([100, 100], { seed: i }).cast('f64'),
    );
    const before = await Promise.all(tensors.map((t) => t.data()));
    const program = countWalks(rt.device('cpu'), { dimensions: 4, size: 10 }, 0, 9999, 36, 'u64');
    const { value, report } = await rt.memory.borrow(tensors, program);
    expect(value).toBe(3_006_008_192_555_768_384n);
    expect(report).toMatchObject({ buffers: 37, bytes: 2_960_000, steps: 146, cleanBytes: 8 });
    for (const [i, t] of tensors.entries())
      expect(Buffer.compare(Buffer.from((await t.data()).buffer), Buffer.from(before[i]!.buffer))).toBe(0);
    // And the job goes on.
    expect(Number((await tensors[0]!.mul(0).sum().data())[0])).toBe(0);
  });

  it('cannot be read or lent again meanwhile, outlive being disposed, and can be used after', async () => {
    const [x, y] = [rt.arange(4096).compute(), rt.arange(2048).compute()];
    const seen: unknown[] = [];
    const look: ReversibleStep = {
      do: async () => {
        const acts: (() => unknown)[] = [() => x.data(), () => x.dataSync(), () => x.add(1).data()];
        for (const act of [...acts, () => rt.memory.borrow([x], [])])
          seen.push(
            await Promise.resolve()
              .then(act)
              .then(
                () => 'read',
                (e: { code: string }) => e.code,
              ),
          );
        y.dispose();
      },
      undo: () => {},
    };
    const inverse: ReversibleStep = {
      do: async ([a]) =>
        a!.device.write(
          a!.buffer,
          (await a!.device.read(a!.buffer)).map((v) => ~v),
        ),
      undo: async ([a]) =>
        a!.device.write(
          a!.buffer,
          (await a!.device.read(a!.buffer)).map((v) => ~v),
        ),
    };
    await rt.memory.borrow([x, y], [inverse, look, inverse]);
    expect(seen).toEqual(['BUFFER_LENT', 'BUFFER_LENT', 'BUFFER_LENT', 'BUFFER_LENT']);
    expect((await x.add(1).data())[4095]).toBe(4096);
  });

  it('do not make room for other work meanwhile', async () => {
    await using own = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, memory: { budget: 4 << 20 } });
    const x = own.arange(1 << 19).compute();
    const other = own.arange(1 << 18).compute();
    const nothing: ReversibleStep = { do: () => {}, undo: () => {} };
    const crowd: ReversibleStep = {
      do: () => {
        // 2 MiB are lent and 1 MiB can leave: 2 MiB fit, 3 do not.
        own.scope(() => void own.ones([1 << 19]).compute());
        expect(() => own.scope(() => void own.ones([3 << 18]).compute())).toThrow(OutOfMemory);
      },
      undo: () => {},
    };
    const { report } = await own.memory.borrow([x], [nothing, crowd, nothing]);
    expect(report).toMatchObject({ buffers: 1, bytes: 2 << 20 });
    expect([(await x.data()).at(-1), (await other.data()).at(-1)]).toEqual([(1 << 19) - 1, (1 << 18) - 1]);
  });

  it('that come back changed are refused from then on', async () => {
    const x = rt.arange(4096).compute();
    const spoil: ReversibleStep = { do: ([a]) => a!.device.write(a!.buffer, new Uint8Array([9]), 5), undo: () => {} };
    await expect(rt.memory.borrow([x], [spoil])).rejects.toThrow(BorrowViolation);
    await expect(x.data()).rejects.toMatchObject({ code: 'BUFFER_CORRUPT' });
  });
});
