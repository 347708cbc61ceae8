// Scatters by positions inside and outside of their range, against plain loops.

import { accumulatorFor, byteSize, type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { Scatter } from '../../../src/kernel/kernel.ts';
import { castValue } from '../../../src/kernel/semantics.ts';
import { bytesOf, type Check, check, compare, mixed, noEstimate, plain, type Tolerance, valuesOf } from '../support.ts';
import { combineValue, repeatsSigned, run } from './routine.ts';

const scatterOf = (
  type: DType,
  combine: Scatter['combine'],
  s: Pick<Scatter, 'outer' | 'length' | 'inner' | 'count' | 'perElement' | 'clips' | 'uniform'>,
): Scatter => ({
  kind: 'routine',
  op: 'scatter',
  name: `scatter_${combine}_${type}`,
  type,
  combine,
  ...s,
  estimate: noEstimate,
});

/** Halves are combined in f32; the caller rounds them once. */
function scattered(w: Scatter, base: readonly number[], at: readonly number[], updates: readonly number[]): number[] {
  const out = [...base];
  for (let o = 0; o < w.outer; o++) {
    for (let j = 0; j < w.count; j++) {
      for (let n = 0; n < w.inner; n++) {
        const u = (o * w.count + j) * w.inner + n;
        const given = at[w.perElement ? u : j]!;
        const counted = given < 0 && !w.clips ? given + w.length : given;
        const i = (o * w.length + Math.max(0, Math.min(w.length - 1, counted))) * w.inner + n;
        const update = updates[w.uniform ? 0 : u]!;
        const v = w.combine === 'set' ? update : combineValue(w.type, w.combine, out[i]!, update);
        out[i] = isFloat(w.type) ? (castValue(v, 'f64', accumulatorFor(w.type)) as number) : v;
      }
    }
  }
  return out;
}

/** One of the ways of giving positions and updates. */
interface ScatterWay {
  readonly perElement: boolean;
  readonly uniform: boolean;
}

const scatterSizes: readonly (readonly [outer: number, length: number, inner: number, count: number])[] = [
  [1, 1, 1, 1],
  [1, 10, 1, 7],
  [2, 5, 3, 9],
  [1, 4, 1, 3000],
  [3, 100, 5, 40],
  [1, 3000, 2, 2500],
];

async function scatterAgrees(
  device: Device,
  type: DType,
  combine: Scatter['combine'],
  [outer, length, inner, count]: (typeof scatterSizes)[number],
  { perElement, uniform }: ScatterWay,
): Promise<void> {
  const w = scatterOf(type, combine, { outer, length, inner, count, perElement, clips: uniform, uniform });
  const n = uniform ? 1 : outer * count * inner;
  const base = valuesOf(type, bytesOf(type, plain(type, outer * length * inner, 1)));
  const at = plain('u8', perElement ? outer * count * inner : count, 2).map(
    (v, i) => ((v * 7 + i * 13) % (3 * length)) - length,
  );
  const updates = valuesOf(
    type,
    bytesOf(
      type,
      isFloat(type) && combine === 'prod'
        ? plain(type, n, 3).map((v) => Math.sign(v))
        : isFloat(type) && combine !== 'sum'
          ? mixed(type, n, 3, 0.05)
          : plain(type, n, 3),
    ),
  );
  const [got] = await run(
    device,
    w,
    [bytesOf(type, base), bytesOf('i32', at), bytesOf(type, updates)],
    [base.length * byteSize(type)],
  );
  const tolerance: Tolerance = type === 'f32' && combine === 'sum' ? { relative: 1e-6 } : {};
  compare(
    type,
    got!,
    bytesOf(type, scattered(w, base, at, updates)),
    tolerance,
    `${w.name} [${outer}, ${length}, ${inner}] × ${count}${perElement ? ' per element' : ''}${uniform ? ', all the same' : ''}`,
  );
}

export const scatters: Check[] = [];
for (const type of ['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const) {
  for (const combine of ['set', 'sum', 'prod', 'max', 'min'] as const) {
    if (type === 'bool' && combine !== 'set') continue;
    scatters.push(
      check(
        `scatter ${combine} of ${type}`,
        async (device) => {
          for (const size of scatterSizes) {
            const [, , inner, count] = size;
            const ways = type === 'f32' && count < 10 ? [false, true] : [inner > 1];
            for (const perElement of ways)
              await scatterAgrees(device, type, combine, size, { perElement, uniform: false });
            await scatterAgrees(device, type, combine, size, { perElement: inner > 1, uniform: true });
          }
        },
        type,
        repeatsSigned(type, combine),
      ),
    );
    if (type !== 'f32') continue;
    scatters.push(
      check(
        `scatter ${combine} of f32, the other way for many positions`,
        async (device) => {
          for (const size of scatterSizes.filter(([, , , count]) => count >= 10))
            await scatterAgrees(device, type, combine, size, { perElement: size[2] === 1, uniform: false });
        },
        type,
        true,
      ),
    );
  }
}
