// Sums of products of lines, by WebAssembly: those of a tiny matrix product as `routines/tiny-matmul.ts` takes them, in the same order and in
// double precision, so with the same bits.

import { rising } from '../routines/emit.ts';
import type { Code } from '../wasm/code.ts';
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

export function emitLineSums(module: WasmModule, type: 'f32' | 'f64'): void {
  const f = module.func(new Array(12).fill('i32'), [], type);
  const c = f.code;
  const [first, second, to, firstCount, firstApart, firstStep] = [0, 1, 2, 3, 4, 5];
  const [secondCount, secondApart, secondStep, alongFirst, alongSecond, depth] = [6, 7, 8, 9, 10, 11];
  const word = (): number => f.local('i32');
  const [i, j, x, at, line, other, into] = [word(), word(), word(), word(), word(), word(), word()];
  const value = f.local('f64');
  const sums = Array.from({ length: side }, () => f.local('f64'));
  const element = (): Code => (type === 'f32' ? c.mem('f32.load').op('f64.promote_f32') : c.mem('f64.load'));
  const onwards = (local: number, by: number): Code => c.get(local).get(by).op('i32.add').set(local);
  const turns = (local: number, count: number, step: number, body: () => void): void => {
    const end = (): Code => (step > 1 ? c.get(count).i32(-step).op('i32.and') : c.get(count));
    rising(c, local, end, step, body);
  };
  const together = (lines: number): void => {
    const used = sums.slice(0, lines);
    for (const sum of used) c.f64(0).set(sum);
    c.get(first).set(at).get(line).set(other).i32(0).set(x);
    turns(x, depth, 1, () => {
      c.get(at);
      element().set(value);
      used.forEach((sum, k) => {
        c.get(sum).get(value).get(other);
        for (let n = 0; n < k; n++) c.get(secondApart).op('i32.add');
        element().ops('f64.mul', 'f64.add').set(sum);
      });
      onwards(at, firstStep);
      onwards(other, secondStep);
    });
    for (const sum of used) {
      c.get(into).get(sum);
      if (type === 'f32') c.op('f32.demote_f64');
      c.mem(`${type}.store`);
      onwards(into, alongSecond);
      onwards(line, secondApart);
    }
  };
  turns(i, firstCount, 1, () => {
    c.get(second).set(line).get(to).set(into).i32(0).set(j);
    for (const lines of [side, 1]) turns(j, secondCount, lines, () => together(lines));
    onwards(first, firstApart);
    onwards(to, alongFirst);
  });
}
