// Programs whose values were wrong on some device, on the GPU; then empty operands, which once cost the whole device, and real
// tensors of more elements than 32 bits count.

import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { valuePrograms } from '../devices/programs.ts';
import { assert, type Report } from './check.ts';

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((v, i) => Object.is(v, b[i]) || v === b[i]);

const empty = (rt: Runtime, ...shape: number[]): Tensor => rt.tensor(new Float32Array(0), shape);

/** Each with an empty operand; the device has to be there afterwards. */
const empties: Readonly<Record<string, (rt: Runtime) => Tensor>> = {
  'outer product': (rt) => rt.einsum('f,c', empty(rt, 0), rt.tensor([1, 2])),
  'three operands': (rt) => rt.einsum('YaXd,a,b', empty(rt, 13, 5, 64, 0), rt.ones([5], { dtype: 'u8' }), rt.ones([3])),
  'product of depth 0': (rt) => rt.ones([2, 0]).matmul(rt.ones([0, 3])),
  'product of no rows': (rt) => empty(rt, 0, 3).matmul(rt.ones([3, 4])),
  sort: (rt) => empty(rt, 5, 0).sort(),
  scan: (rt) => empty(rt, 3, 0).cumsum(1),
  pad: (rt) => empty(rt, 0).pad([[2, 1]]),
  sum: (rt) => empty(rt, 3, 0).sum({ axis: [1] }),
};

/** Real tensors of 2^31 elements and more, in bytes. */
const large: Readonly<Record<string, readonly [(rt: Runtime) => Tensor, number | bigint]>> = {
  'the last of 2^32 + 3 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .slice([[2 ** 32 + 2, 2 ** 32 + 3]])
        .cast('i32'),
    1,
  ],
  'the sum of 2^32 + 3 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .cast('i64')
        .sum(),
    2n ** 32n + 3n,
  ],
  'columns of two rows of 2^31 + 64 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 128)
        .reshape([2, 2 ** 31 + 64])
        .max({ axis: [0] })
        .cast('i64')
        .sum(),
    2n ** 31n + 64n,
  ],
  'a gather at the end': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .gather(rt.tensor(BigInt64Array.of(2n ** 32n + 2n, 0n)), 0)
        .cast('i32')
        .sum(),
    2n,
  ],
};

const bytes = (rt: Runtime, n: number): Tensor => rt.ones([n], { dtype: 'u8' }).compute();

export async function valueTests(report: Report): Promise<void> {
  const rt = await createRuntime({ devices: ['cuda'] });
  const alive = async (): Promise<void> => {
    const [two] = [...((await rt.tensor([1]).add(1).data()) as Float32Array)];
    assert(two === 2, 'the device is gone');
  };
  report.group('values through the runtime');
  for (const { name, make, want } of valuePrograms) {
    await report.test(name, async () => {
      const got = [...((await make(rt).data()) as Iterable<number | bigint>)];
      assert(same(got, want), `got ${got.slice(0, 8)} instead of ${want}`);
    });
  }
  report.group('empty operands');
  for (const [name, make] of Object.entries(empties)) {
    await report.test(name, async () => {
      const got = [...((await make(rt).data()) as Float32Array)];
      assert(
        got.every((v) => v === 0),
        `got ${got.slice(0, 8)}`,
      );
      await alive();
    });
  }
  report.group('more elements than 32 bits count');
  for (const [name, [make, want]] of Object.entries(large)) {
    await report.test(name, async () => {
      const t = make(rt);
      const [got] = [...((await t.data()) as Iterable<number | bigint>)];
      assert(BigInt(got!) === BigInt(want), `got ${got} instead of ${want}`);
      t.dispose();
      await alive();
    });
  }
  await rt.close();
}
