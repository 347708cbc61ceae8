// Products of arrays of complex values with tables: what turns a transform of any length into a convolution of a power of two (`chirpOf`).

import type { Func, WasmModule } from '../../wasm/module.ts';
import { address } from '../emit.ts';
import { Arithmetic, type FourierType } from './arithmetic.ts';
import { covering } from './stage.ts';

/** (from re, from im, to re, to im, table): `count` products; of the table all real parts come first. In place only if vectors fill `count`. */
export function productFunction(module: WasmModule, count: number, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const ar = new Arithmetic(f, type, 'vector');
  const c = f.code;
  const [fromRe, fromIm, toRe, toIm, table] = [0, 1, 2, 3, 4];
  const l = f.named('i32', 'i', 're', 'im', 'outRe', 'outIm', 'w');
  covering(f, l.i, count, ar.lanes, () => {
    for (const [base, into] of [
      [fromRe, l.re],
      [fromIm, l.im],
      [toRe, l.outRe],
      [toIm, l.outIm],
      [table, l.w],
    ] as const)
      address(c, base, l.i, ar.bytes).set(into);
    const w = { re: ar.load(l.w, 0), im: ar.load(l.w, count * ar.bytes) };
    const made = ar.times({ re: ar.load(l.re, 0), im: ar.load(l.im, 0) }, w);
    ar.store(l.outRe, 0, made.re);
    ar.store(l.outIm, 0, made.im);
  });
  return f;
}

/** Numbers of a table: all real parts, then all imaginary ones. */
export const partsOf = (roots: readonly (readonly [number, number])[]): number[] => [
  ...roots.map(([re]) => re),
  ...roots.map(([, im]) => im),
];
