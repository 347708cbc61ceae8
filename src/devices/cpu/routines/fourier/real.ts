// Real rows of even length n as complex ones of half of it: even positions are the real parts, odd ones the imaginary parts. The transform Z of
// those, with Z[n/2] = Z[0], gives
//   X[k] = (Z[k] + conj Z[n/2-k]) / 2 - i · exp(-2πi·k/n) · (Z[k] - conj Z[n/2-k]) / 2
// And back, with the real parts of X[0] and X[n/2] alone:
//   Z[k] = (X[k] + conj X[n/2-k]) / 2 + i · exp(2πi·k/n) · (X[k] - conj X[n/2-k]) / 2
// A transform backwards is one forwards of exchanged parts.

import { rootOf } from '../../../../kernel/unit-roots.ts';
import type { Func, WasmModule } from '../../wasm/module.ts';
import { address } from '../emit.ts';
import { Arithmetic, type FourierType, vectorLanes } from './arithmetic.ts';
import { covering } from './stage.ts';

const kindFor = (type: FourierType, count: number): 'vector' | 'scalar' =>
  count >= vectorLanes(type) ? 'vector' : 'scalar';

/** (row, re, im): n/2 pairs, apart. */
export function pairsFunction(module: WasmModule, half: number, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32']);
  const ar = new Arithmetic(f, type, kindFor(type, half));
  const c = f.code;
  const l = f.named('i32', 'i', 'from', 're', 'im');
  const { lanes, bytes } = ar;
  covering(f, l.i, half, lanes, () => {
    address(c, 0, l.i, 2 * bytes).set(l.from);
    address(c, 1, l.i, bytes).set(l.re);
    address(c, 2, l.i, bytes).set(l.im);
    const [a, b] = [ar.load(l.from, 0), ar.load(l.from, lanes * bytes)];
    const every = (first: 0 | 1): number => (lanes === 1 ? [a, b][first]! : ar.shuffles.everySecond(a, b, first));
    ar.store(l.re, 0, every(0));
    ar.store(l.im, 0, every(1));
  });
  return f;
}

/** -i · exp(-2πi·k/n) / 2 for k = 0 … n/2: the real parts, then the imaginary ones. */
export function untangleRoots(half: number): number[] {
  const roots = Array.from({ length: half + 1 }, (_, k) => rootOf(k, 2 * half));
  return [...roots.map(([, im]) => im / 2), ...roots.map(([re]) => -re / 2)];
}

/** (Z re, Z im, out re, out im, roots): frequencies 0 … n/2 of Z, which has n/2 + 1 values; with `all`, their conjugates behind them. */
export function untangleFunction(module: WasmModule, half: number, all: boolean, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const ar = new Arithmetic(f, type, kindFor(type, half + 1));
  const c = f.code;
  const [zRe, zIm, outRe, outIm, roots] = [0, 1, 2, 3, 4];
  const l = f.named('i32', 'k', 're', 'im', 'otherRe', 'otherIm', 'toRe', 'toIm', 'w');
  const { lanes, bytes } = ar;
  const mirrored = (base: number, last: number, into: number): void => {
    c.get(base)
      .i32(last - lanes + 1)
      .get(l.k)
      .op('i32.sub')
      .i32(bytes)
      .ops('i32.mul', 'i32.add')
      .set(into);
  };
  const two = ar.constant(0.5);
  covering(f, l.k, half + 1, lanes, () => {
    address(c, zRe, l.k, bytes).set(l.re);
    address(c, zIm, l.k, bytes).set(l.im);
    mirrored(zRe, half, l.otherRe);
    mirrored(zIm, half, l.otherIm);
    address(c, outRe, l.k, bytes).set(l.toRe);
    address(c, outIm, l.k, bytes).set(l.toIm);
    address(c, roots, l.k, bytes).set(l.w);
    const z = { re: ar.load(l.re, 0), im: ar.load(l.im, 0) };
    const other = { re: ar.reversed(ar.load(l.otherRe, 0)), im: ar.reversed(ar.load(l.otherIm, 0)) };
    const w = { re: ar.load(l.w, 0), im: ar.load(l.w, (half + 1) * bytes) };
    const turned = ar.times({ re: ar.sub(z.re, other.re), im: ar.add(z.im, other.im) }, w);
    const x = {
      re: ar.add(ar.mul(ar.add(z.re, other.re), two), turned.re),
      im: ar.add(ar.mul(ar.sub(z.im, other.im), two), turned.im),
    };
    ar.store(l.toRe, 0, x.re);
    ar.store(l.toIm, 0, x.im);
  });
  if (all) conjugates(f, half, type);
  return f;
}

/** Frequencies n/2 + 1 … n - 1 from those below n/2. */
function conjugates(f: Func, half: number, type: FourierType): void {
  const count = half - 1;
  if (count === 0) return;
  const ar = new Arithmetic(f, type, kindFor(type, count));
  const c = f.code;
  const [outRe, outIm] = [2, 3];
  const l = f.named('i32', 'i', 'from', 'to');
  const zero = ar.constant(0);
  for (const [base, negated] of [
    [outRe, false],
    [outIm, true],
  ] as const)
    covering(f, l.i, count, ar.lanes, () => {
      c.get(base)
        .i32(half - ar.lanes)
        .get(l.i)
        .op('i32.sub')
        .i32(ar.bytes)
        .ops('i32.mul', 'i32.add')
        .set(l.from);
      address(c, base, l.i, ar.bytes).set(l.to);
      const value = ar.reversed(ar.load(l.from, 0));
      ar.store(l.to, (half + 1) * ar.bytes, negated ? ar.sub(zero, value) : value);
    });
}

/** i · exp(2πi·k/n) / n for k = 0 … n/2 - 1: the real parts, then the imaginary ones. */
export function tangleRoots(half: number): number[] {
  const roots = Array.from({ length: half }, (_, k) => rootOf(k, 2 * half));
  return [...roots.map(([, im]) => im / (2 * half)), ...roots.map(([re]) => re / (2 * half))];
}

/** (X re, X im, Z re, Z im, roots): Z with its parts exchanged, divided by n/2. */
export function tangleFunction(module: WasmModule, half: number, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const ar = new Arithmetic(f, type, kindFor(type, half));
  const c = f.code;
  const [xRe, xIm, toRe, toIm, roots] = [0, 1, 2, 3, 4];
  const l = f.named('i32', 'k', 're', 'im', 'otherRe', 'otherIm', 'zRe', 'zIm', 'w');
  const { lanes, bytes } = ar;
  const scale = ar.constant(1 / (2 * half));
  covering(f, l.k, half, lanes, () => {
    for (const [base, into] of [
      [xRe, l.re],
      [xIm, l.im],
      [toRe, l.zRe],
      [toIm, l.zIm],
      [roots, l.w],
    ] as const)
      address(c, base, l.k, bytes).set(into);
    for (const [base, into] of [
      [xRe, l.otherRe],
      [xIm, l.otherIm],
    ] as const)
      c.get(base)
        .i32(half - lanes + 1)
        .get(l.k)
        .op('i32.sub')
        .i32(bytes)
        .ops('i32.mul', 'i32.add')
        .set(into);
    const x = { re: ar.load(l.re, 0), im: ar.load(l.im, 0) };
    const other = { re: ar.reversed(ar.load(l.otherRe, 0)), im: ar.reversed(ar.load(l.otherIm, 0)) };
    const w = { re: ar.load(l.w, 0), im: ar.load(l.w, half * bytes) };
    const turned = ar.times({ re: ar.sub(x.re, other.re), im: ar.add(x.im, other.im) }, w);
    ar.store(l.zIm, 0, ar.add(ar.mul(ar.add(x.re, other.re), scale), turned.re));
    ar.store(l.zRe, 0, ar.add(ar.mul(ar.sub(x.im, other.im), scale), turned.im));
  });
  firstOfBack(f, half, type);
  return f;
}

/** Z[0], from the real parts of the first and of the last frequency alone. */
function firstOfBack(f: Func, half: number, type: FourierType): void {
  const ar = new Arithmetic(f, type, 'scalar');
  const [xRe, toRe, toIm] = [0, 2, 3];
  const scale = ar.constant(1 / (2 * half));
  const [a, b] = [ar.load(xRe, 0), ar.load(xRe, half * ar.bytes)];
  ar.store(toIm, 0, ar.mul(ar.add(a, b), scale));
  ar.store(toRe, 0, ar.mul(ar.sub(a, b), scale));
}

/** (evens, odds, row): n/2 values of each, in turns. */
export function turnsFunction(module: WasmModule, half: number, type: FourierType): Func {
  const f = module.func(['i32', 'i32', 'i32']);
  const ar = new Arithmetic(f, type, kindFor(type, half));
  const c = f.code;
  const l = f.named('i32', 'i', 'evens', 'odds', 'to');
  const { lanes, bytes } = ar;
  covering(f, l.i, half, lanes, () => {
    address(c, 0, l.i, bytes).set(l.evens);
    address(c, 1, l.i, bytes).set(l.odds);
    address(c, 2, l.i, 2 * bytes).set(l.to);
    const both = [ar.load(l.evens, 0), ar.load(l.odds, 0)];
    const turns = lanes === 1 ? both : ar.shuffles.interleaved(both);
    turns.forEach((v, k) => {
      ar.store(l.to, k * lanes * bytes, v);
    });
  });
  return f;
}
