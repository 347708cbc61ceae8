// One stage of a transform as a function: (in re, in im, out re, out im, roots).

import type { Func, WasmModule } from '../../wasm/module.ts';
import { address } from '../emit.ts';
import { Arithmetic, type ComplexLocal, type FourierType } from './arithmetic.ts';
import { butterfly } from './butterflies.ts';
import type { Stage } from './plan.ts';

const [inRe, inIm, outRe, outIm, roots] = [0, 1, 2, 3, 4];

export function stageFunction(module: WasmModule, stage: Stage, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  if (stage.loop === 'across') across(f, stage, type);
  else along(f, stage, type);
  return f;
}

/**
 * i = 0, step, 2·step … below `count`, at least one: if they do not fill it, the last ones begin where they just do. What was done already is
 * done again then, with the same results.
 */
export function covering(f: Func, i: number, count: number, step: number, body: () => void): void {
  const c = f.code;
  if (count <= step) {
    c.i32(0).set(i);
    body();
    return;
  }
  const last = count - step;
  c.i32(0).set(i);
  const exit = c.block();
  const top = c.loop();
  body();
  c.get(i).i32(last).op('i32.ge_u').brIf(exit);
  c.get(i).i32(step).op('i32.add').set(i);
  if (count % step !== 0) c.get(i).i32(last).get(i).i32(last).ops('i32.lt_u', 'select').set(i);
  c.br(top);
  c.end().end();
}

/** Vectors of neighbouring p: read side by side, stored in turns. */
function across(f: Func, { radix, m }: Stage, type: FourierType): void {
  const ar = new Arithmetic(f, type, 'vector');
  const transform = butterfly(ar, radix);
  const c = f.code;
  const l = f.named('i32', 'p', 're', 'im', 'toRe', 'toIm', 'w');
  covering(f, l.p, m, ar.lanes, () => {
    address(c, inRe, l.p, ar.bytes).set(l.re);
    address(c, inIm, l.p, ar.bytes).set(l.im);
    address(c, outRe, l.p, radix * ar.bytes).set(l.toRe);
    address(c, outIm, l.p, radix * ar.bytes).set(l.toIm);
    address(c, roots, l.p, ar.bytes).set(l.w);
    const x = Array.from({ length: radix }, (_, j) => loaded(ar, l.re, l.im, j * m * ar.bytes));
    const y = transform(x).map((value, k) => {
      if (k === 0) return value;
      const plane = 2 * (k - 1) * m * ar.bytes;
      return ar.times(value, { re: ar.load(l.w, plane), im: ar.load(l.w, plane + m * ar.bytes) });
    });
    for (const [to, part] of [
      [l.toRe, 're'],
      [l.toIm, 'im'],
    ] as const)
      for (const [i, value] of ar.shuffles.interleaved(y.map((v) => v[part])).entries())
        ar.store(to, i * ar.lanes * ar.bytes, value);
  });
}

/** Neighbouring q, in vectors or one by one: they share their roots. */
function along(f: Func, { radix, m, s, loop }: Stage, type: FourierType): void {
  const ar = new Arithmetic(f, type, loop === 'along' ? 'vector' : 'scalar');
  const transform = butterfly(ar, radix);
  const c = f.code;
  const l = f.named('i32', 'p', 'q', 're', 'im', 'toRe', 'toIm', 'w', 'shift', 'toShift');
  const row = s * ar.bytes;
  covering(f, l.p, m, 1, () => {
    c.get(l.p).i32(row).op('i32.mul').set(l.shift);
    c.get(l.p)
      .i32(radix * row)
      .op('i32.mul')
      .set(l.toShift);
    address(c, roots, l.p, 2 * (radix - 1) * ar.bytes).set(l.w);
    const turns: readonly ComplexLocal[] =
      m === 1
        ? []
        : Array.from({ length: radix - 1 }, (_, k) => ({
            re: ar.spread(l.w, 2 * k * ar.bytes),
            im: ar.spread(l.w, (2 * k + 1) * ar.bytes),
          }));
    covering(f, l.q, s, ar.lanes, () => {
      for (const [base, shift, into] of [
        [inRe, l.shift, l.re],
        [inIm, l.shift, l.im],
        [outRe, l.toShift, l.toRe],
        [outIm, l.toShift, l.toIm],
      ] as const)
        address(c, base, l.q, ar.bytes).get(shift).op('i32.add').set(into);
      const x = Array.from({ length: radix }, (_, j) => loaded(ar, l.re, l.im, j * m * row));
      transform(x).forEach((value, k) => {
        const y = k === 0 || m === 1 ? value : ar.times(value, turns[k - 1]!);
        ar.store(l.toRe, k * row, y.re);
        ar.store(l.toIm, k * row, y.im);
      });
    });
  });
}

const loaded = (ar: Arithmetic, re: number, im: number, offset: number): ComplexLocal => ({
  re: ar.load(re, offset),
  im: ar.load(im, offset),
});
