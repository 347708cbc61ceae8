import { afterAll, describe, expect, it } from 'vitest';
import { bytesOf, elementwise, runOn, sample } from '../../../../test/support/cpu.ts';
import type { DType } from '../../../base/dtype.ts';
import { createCpuDevice } from '../device.ts';

const device = await createCpuDevice({ tinyElements: 0, threads: 1 });
afterAll(() => device.close());

const n = 30_011;

describe('rows that are copied as they lie', () => {
  it.each(['u8', 'f16', 'i32', 'f32', 'f64', 'i64'] as const)(
    'keep every bit of %s, wherever they begin',
    (type: DType) => {
      const x = sample(type, n + 7, 1);
      const at = elementwise(n, [type], type, (b) => b.load(type, 0, b.alu('add', b.axis(0, n), b.const('index', 7))));
      const kernel = { ...at, inputs: [{ type, elements: n + 7 }] };
      const bytes = bytesOf(x);
      const size = bytes.length / (n + 7);
      expect(device.prepare(kernel).source).toContain('memory.copy');
      expect(Buffer.compare(runOn(device, kernel, [x], [n * size])[0]!, bytes.subarray(7 * size))).toBe(0);
    },
  );

  it('meet in the middle of a row', () => {
    const [x, y] = [sample('f32', n, 1), sample('f32', n, 2)];
    const kernel = elementwise(n, ['f32', 'f32'], 'f32', (b) => {
      const i = b.axis(0, n);
      const low = b.alu('lt', i, b.const('index', 20_001));
      const first = b.load('f32', 0, i, low);
      return b.alu('where', low, first, b.load('f32', 1, b.alu('sub', i, b.const('index', 20_001)), b.alu('not', low)));
    });
    expect(device.prepare(kernel).source).toContain('memory.copy');
    const got = runOn(device, kernel, [x, y], [4 * n])[0]!;
    const want = Buffer.concat([bytesOf(x).subarray(0, 80_004), bytesOf(y).subarray(0, 4 * n - 80_004)]);
    expect(Buffer.compare(got, want)).toBe(0);
  });
});
