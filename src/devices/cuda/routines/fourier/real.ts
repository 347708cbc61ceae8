// Real rows of even length n as complex ones of half of it: even positions are the real parts, odd ones the imaginary parts. The transform Z of
// those, with Z[n/2] = Z[0], gives
//   X[k] = (Z[k] + conj Z[n/2-k]) / 2 - i · exp(-2πi·k/n) · (Z[k] - conj Z[n/2-k]) / 2
// And back, with the real parts of X[0] and X[n/2] alone:
//   Z[k] = (X[k] + conj X[n/2-k]) / 2 + i · exp(2πi·k/n) · (X[k] - conj X[n/2-k]) / 2
// A transform backwards is one forwards of exchanged parts.

import type { Kit } from '../kit.ts';
import type { Complex, ComplexMath } from './complex.ts';
import { both, type Lines, type Source } from './lines.ts';

/** The frequencies k and n/2 - k of real values, from Z there and the root of k. */
export function untangled(m: ComplexMath, root: Complex, here: Complex, there: Complex): readonly [Complex, Complex] {
  const half = (v: string): string => m.product(v, m.number(0.5));
  const even = { re: half(m.plus(here.re, there.re)), im: half(m.minus(here.im, there.im)) };
  const odd = { re: half(m.plus(here.im, there.im)), im: half(m.minus(there.re, here.re)) };
  const turned = m.times(odd, root);
  const back = m.sub(even, turned);
  return [m.add(even, turned), { re: back.re, im: m.negative(back.im) }];
}

/** The frequencies of a real row: where they go. */
export interface RealSink {
  readonly re: string;
  readonly im: string;
  readonly length: number;
  /** `length`, or the first half of them and the one in the middle. */
  readonly frequencies: number;
}

/** Writes frequencies k and n/2 - k of a row (64 bits), and, where all are wanted, those that mirror them. */
export function writeReal(
  kit: Kit,
  m: ComplexMath,
  { re, im, length, frequencies }: RealSink,
  row: string,
  k: string,
  [here, there]: readonly [Complex, Complex],
  inside: string | null,
): void {
  const { b } = kit;
  const origin = b.def('d', 'mul.lo.u64', row, frequencies);
  const put = (at: string, value: Complex, only: string | null): void => {
    const element = b.def('d', 'add.u64', origin, kit.wide(at));
    const when = only ? `@${only} ` : '';
    b.emit(`${when}st.global.${m.type} [${kit.at(re, element, m.bytes)}], ${value.re}`);
    b.emit(`${when}st.global.${m.type} [${kit.at(im, element, m.bytes)}], ${value.im}`);
  };
  const conjugate = (v: Complex): Complex => ({ re: v.re, im: m.negative(v.im) });
  const half = length / 2;
  put(k, here, inside);
  // In the middle both are the same one.
  const twice = half % 2 === 0 ? b.def('p', 'setp.ne.u32', k, half / 2) : null;
  put(b.def('r', 'sub.u32', half, k), there, both(kit, inside, twice));
  if (frequencies < length) return;
  const mirrored = both(kit, inside, b.def('p', 'setp.ne.u32', k, 0));
  put(b.def('r', 'sub.u32', length, k), conjugate(here), mirrored);
  put(b.def('r', 'add.u32', half, k), conjugate(there), both(kit, mirrored, twice));
}

/** The frequencies of real rows of so many values, of which each transform reads some. */
export interface Frequencies {
  readonly re: string;
  readonly im: string;
  readonly length: number;
  /** The element of a row's first frequency, 64 bits; frequency `first` + i·`stride` is the transform's i-th value. */
  readonly row: (transform: string) => string;
  readonly first: (transform: string) => string;
  readonly stride: number;
  readonly exists: Lines['exists'];
  /** exp(-2πi·k/n), k a register. */
  readonly root: (k: string) => Complex;
}

/** Z as above with its parts exchanged, divided by n/2. */
export function tangled(kit: Kit, m: ComplexMath, x: Frequencies): Source {
  const { b } = kit;
  const half = x.length / 2;
  const scale = m.number(1 / x.length);
  const load = (pointer: string, element: string, only: string): string => {
    const value = m.register();
    b.emit(`${only}ld.global.${m.type} ${value}, [${kit.at(pointer, element, m.bytes)}]`);
    return value;
  };
  return {
    exists: x.exists,
    read: (transform, from, behind, inside) => {
      const only = inside ? `@${inside} ` : '';
      const start = b.def('r', 'mad.lo.u32', from, x.stride, x.first(transform));
      const row = x.row(transform);
      return behind.map((i) => {
        const k = i === 0 ? start : b.def('r', 'add.u32', start, i * x.stride);
        const here = b.def('d', 'add.u64', row, kit.wide(k));
        const there = b.def('d', 'add.u64', row, kit.wide(b.def('r', 'sub.u32', half, k)));
        const [re, otherRe] = [load(x.re, here, only), load(x.re, there, only)];
        const [im, otherIm] = [load(x.im, here, only), load(x.im, there, only)];
        const isFirst = b.def('p', 'setp.eq.u32', k, 0);
        for (const part of [im, otherIm]) b.emit(`@${isFirst} mov.${m.type} ${part}, ${m.number(0)}`);
        const [c, s] = ((w) => [w.re, w.im])(x.root(inside ? b.def('r', 'min.u32', k, half) : k)) as [string, string];
        const d = { re: m.product(m.minus(re, otherRe), scale), im: m.product(m.plus(im, otherIm), scale) };
        // i · exp(2πi·k/n): the parts of the root exchanged.
        const turned = m.times(d, { re: s, im: c });
        return {
          re: m.fused(m.minus(im, otherIm), scale, turned.im),
          im: m.fused(m.plus(re, otherRe), scale, turned.re),
        };
      });
    },
  };
}
