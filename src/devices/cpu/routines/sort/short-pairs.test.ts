import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, random, runOn, sameBytes } from '../../../../../test/support/cpu.ts';
import { isFloat, type TypedArray } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import { createReferenceDevice } from '../../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../../device.ts';
import { arePairs } from './short-pairs.ts';

let device: CpuDevice;
const reference = createReferenceDevice();
beforeAll(async () => {
  device = await createCpuDevice({ threads: 1, blas: false });
});
afterAll(() => device.close());

const sort = (type: Sort['type'], rows: number, columns: number, descending = false): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: `sort_${type}`,
  type,
  rows,
  columns,
  descending,
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

function check(r: Sort, input: TypedArray): void {
  const bytes = [input.byteLength, 4 * input.length];
  const [got, want] = [device, reference].map((d) => runOn(d, r, [input], bytes)) as [Uint8Array[], Uint8Array[]];
  const what = `${r.type} ${r.rows} of ${r.columns}${r.descending ? ', descending' : ''}`;
  expect(sameBytes(got[1]!, want[1]!), `positions of ${what}`).toBe(true);
  expect(sameBytes(got[0]!, want[0]!), `values of ${what}`).toBe(true);
}

describe('short rows with their positions', () => {
  it('are sorted in pairs where their keys have 32 bits and their columns are few, or their rows many', () => {
    const pairs = (rows: number, columns: number): boolean => arePairs(sort('f32', rows, columns));
    expect([pairs(1, 16), pairs(1, 17), pairs(256, 32), pairs(256, 33), pairs(2048, 64), pairs(2048, 65)]).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect([arePairs(sort('f64', 4, 4)), arePairs(sort('u8', 4, 4))]).toEqual([false, false]);
  });

  it.each(['f32', 'i32', 'u32'] as const)('of %s are those of the reference, equal ones in their order', (type) => {
    const next = random(3);
    const special = [Number.NaN, Infinity, -Infinity, -0, 0, 1e-40, -1e-40, 3e38, -3e38];
    const extreme = type === 'i32' ? [-(2 ** 31), 2 ** 31 - 1, -1, 0] : [0, 2 ** 32 - 1, 2 ** 31, 1];
    const value = (): number => {
      const list = isFloat(type) ? special : extreme;
      return next() < 0.4 ? list[Math.floor(next() * list.length)]! : Math.floor(next() * 8);
    };
    const shapes = [...Array.from({ length: 16 }, (_, i) => i + 1), 17, 31, 32].flatMap((columns) =>
      (columns > 16 ? [256, 257] : [1, 2, 3, 67]).map((rows) => [rows, columns] as const),
    );
    for (const [rows, columns] of [...shapes, [2049, 33], [2048, 64]] as const)
      for (const descending of [false, true])
        check(sort(type, rows, columns, descending), elementsOf(type, rows * columns, value));
  });

  it('keep the bits of NaN, of signalling ones too', () => {
    const bits = Uint32Array.of(0x7fc00001, 0x3f800000, 0xffc12345, 0x80000000, 0, 0x7fc00001, 0xbf800000, 0x7f800001);
    const [values, positions] = runOn(device, sort('f32', 1, 8), [new Float32Array(bits.buffer)], [32, 32]);
    const order = new Int32Array(positions!.slice().buffer);
    expect([...order]).toEqual([6, 3, 4, 1, 0, 2, 5, 7]);
    expect([...new Uint32Array(values!.slice().buffer)]).toEqual(Array.from(order, (at) => bits[at]));
  });
});
