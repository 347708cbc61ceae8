// Scans along any axis, both ways, against plain loops.

import { type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Scan } from '../../../src/kernel/kernel.ts';
import { bytesOf, type Check, check, compare, mixed, noEstimate, plain, type Tolerance, valuesOf } from '../support.ts';
import { combineValue, repeatsSigned, run } from './routine.ts';

const scanOf = (
  type: DType,
  combine: Scan['combine'],
  outer: number,
  length: number,
  inner: number,
  reverse: boolean,
): Scan => ({
  kind: 'routine',
  op: 'scan',
  name: `scan_${combine}_${type}`,
  type,
  combine,
  outer,
  length,
  inner,
  reverse,
  estimate: noEstimate,
});

function scanned(w: Scan, data: readonly number[]): number[] {
  const out = [...data];
  for (let o = 0; o < w.outer; o++) {
    for (let n = 0; n < w.inner; n++) {
      let acc = Number.NaN;
      for (let s = 0; s < w.length; s++) {
        const l = w.reverse ? w.length - 1 - s : s;
        const i = (o * w.length + l) * w.inner + n;
        acc = s === 0 ? data[i]! : combineValue(w.type, w.combine, acc, data[i]!);
        out[i] = acc;
      }
    }
  }
  return out;
}

export const scans: Check[] = [];
for (const type of ['f32', 'i32', 'u32', 'u8', 'f16'] as const) {
  for (const combine of ['sum', 'prod', 'max', 'min'] as const) {
    scans.push(
      check(
        `scan ${combine} of ${type}`,
        async (device) => {
          for (const [outer, length, inner] of [
            [1, 1, 1],
            [3, 5, 2],
            [1, 1000, 1],
            [2, 1025, 1],
            [1, 5000, 3],
            [40, 7, 1],
            [1, 70_001, 1],
            [2, 3, 129],
          ] as const) {
            for (const reverse of type === 'f32' ? [false, true] : [length % 2 === 0]) {
              const n = outer * length * inner;
              const values = isFloat(type)
                ? combine === 'prod'
                  ? plain(type, n, 1).map((v, i) => Math.sign(v) * [2, 0.5, 1, 1][i % 4]!)
                  : combine === 'sum'
                    ? plain(type, n, 2)
                    : mixed(type, n, 3, 0.01)
                : mixed(type, n, 4);
              const bytes = bytesOf(type, values);
              const w = scanOf(type, combine, outer, length, inner, reverse);
              const [got] = await run(device, w, [bytes], [bytes.length]);
              const tolerance: Tolerance =
                isFloat(type) && combine === 'sum' ? { relative: type === 'f32' ? 3e-6 : 2e-3 } : {};
              compare(
                type,
                got!,
                bytesOf(type, scanned(w, valuesOf(type, bytes))),
                tolerance,
                `${w.name} [${outer}, ${length}, ${inner}]${reverse ? ' reverse' : ''}`,
              );
            }
          }
        },
        type,
        repeatsSigned(type, combine),
      ),
    );
  }
}
