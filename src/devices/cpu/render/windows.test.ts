import { describe, expect, it } from 'vitest';
import { data, Run, reference, type Spec, samples } from '../../../../test/support/cpu-render.ts';
import { type DType, dtypes } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import { windowsOf } from './windows.ts';

describe('windows of evenly spaced lanes', () => {
  it.each([1, 2, 4])('hold each lane of %i bytes once, and stay between the first and the last', (bytes) => {
    for (const stride of [2, 3, 4, 5, 7, 15, 16, -1, -2, -3, -5]) {
      const lanes = 16 / bytes;
      const first = stride < 0 ? -stride * bytes * (lanes - 1) : 0;
      const offsets = Array.from({ length: lanes }, (_, lane) => first + lane * stride * bytes);
      const seen = windowsOf(offsets, bytes).flatMap((w) => {
        expect(w.at).toBeGreaterThanOrEqual(0);
        expect(w.at + 16).toBeLessThanOrEqual(Math.max(...offsets) + bytes);
        return [...w.lanes].map(([lane, byte]) => {
          expect(byte + bytes).toBeLessThanOrEqual(16);
          expect(w.at + byte).toBe(offsets[lane]);
          return lane;
        });
      });
      expect(seen.sort((a, b) => a - b)).toEqual(offsets.map((_, lane) => lane));
    }
  });

  it('are two for every other, or every third, of 32 bits', () => {
    for (const stride of [2, 3, -2, -3])
      expect(
        windowsOf(
          [0, 1, 2, 3].map((lane) => 4 * (stride < 0 ? lane - 3 : lane) * stride),
          4,
        ).length,
      ).toBe(2);
  });
});

describe('elements that are evenly spaced', () => {
  it.each(dtypes)('of %s are those of the reference, up to the end of the buffer', (type: DType) => {
    for (const stride of [2, 3, 4, 5, 7, 9, -2, -3, -4, -5])
      for (const n of [1, 16, 67, 130]) {
        const b = new Exprs();
        const size = (n - 1) * Math.abs(stride) + 1;
        const at = b.alu('mul', b.axis(0, n), b.const('index', stride));
        const spec: Spec = {
          space: [n],
          outputs: [b.load(type, 0, stride < 0 ? b.alu('add', at, b.const('index', size - 1)) : at)],
          inputs: [data(type, samples(type, size, stride + 20))],
        };
        expect(new Run(spec).run().values(), `${stride} ${n}`).toEqual(reference(spec)[0]);
      }
  });
});
