// Sums of products of lines, by WebAssembly: those of a tiny matrix product as `routines/tiny-matmul.ts` takes them, in the same order and in
// double precision, so with the same bits.

import { rising } from '../routines/emit.ts';
import type { WasmModule } from '../wasm/module.ts';

/** Lines of two operands: where they begin, how many there are, how far apart these and their elements are. Distances are in bytes. */
export type LineSums = (
  first: number,
  second: number,
  to: number,
  firstCount: number,
  firstApart: number,
  firstStep: number,
  secondCount: number,
  secondApart: number,
  secondStep: number,
  alongFirst: number,
  alongSecond: number,
  depth: number,
) => void;

/** Lines of the second operand that share what is read of the first. */
const side = 4;

export function emitLineSums(module: WasmModule, type: 'f32' | 'f64', name: string): void {
  const f = module.func(new Array(12).fill('i32'), [], name);
  const c = f.code;
  const [first, second, to, firstCount, firstApart, firstStep] = [0, 1, 2, 3, 4, 5];
  const [secondCount, secondApart, secondStep, alongFirst, alongSecond, depth] = [6, 7, 8, 9, 10, 11];
  const { i, j, x, at, line, other, into } = f.named('i32', 'i', 'j', 'x', 'at', 'line', 'other', 'into');
  const value = f.local('f64');
  const sums = Array.from({ length: side }, () => f.local('f64'));
  const [load, store] = type === 'f32' ? (['f32.load', 'f32.store'] as const) : (['f64.load', 'f64.store'] as const);
  const element = (): void => {
    c.mem(load);
    if (type === 'f32') c.op('f64.promote_f32');
  };
  const onwards = (local: number, by: number): void => {
    c.get(local).get(by).op('i32.add').set(local);
  };
  const together = (lines: number): void => {
    const used = sums.slice(0, lines);
    for (const sum of used) c.f64(0).set(sum);
    c.get(first).set(at).get(line).set(other).i32(0).set(x);
    rising(
      c,
      x,
      () => c.get(depth),
      1,
      () => {
        c.get(at);
        element();
        c.set(value);
        used.forEach((sum, k) => {
          c.get(sum).get(value).get(other);
          for (let n = 0; n < k; n++) c.get(secondApart).op('i32.add');
          element();
          c.ops('f64.mul', 'f64.add').set(sum);
        });
        onwards(at, firstStep);
        onwards(other, secondStep);
      },
    );
    for (const sum of used) {
      c.get(into).get(sum);
      if (type === 'f32') c.op('f32.demote_f64');
      c.mem(store);
      onwards(into, alongSecond);
      onwards(line, secondApart);
    }
  };
  rising(
    c,
    i,
    () => c.get(firstCount),
    1,
    () => {
      c.get(second).set(line).get(to).set(into).i32(0).set(j);
      rising(
        c,
        j,
        () => c.get(secondCount).i32(-side).op('i32.and'),
        side,
        () => together(side),
      );
      rising(
        c,
        j,
        () => c.get(secondCount),
        1,
        () => together(1),
      );
      onwards(first, firstApart);
      onwards(to, alongFirst);
    },
  );
}
