// Transforms of r values, r small, on locals. Forwards: the root of r is exp(-2πi / r).

import type { Arithmetic, ComplexLocal } from './arithmetic.ts';

type Values = readonly ComplexLocal[];

/** Makes the code of one radix; constants are in locals, set before any loop. */
export type Butterfly = (x: Values) => Values;

/** Call it before the loop that the butterfly is in. */
export function butterfly(ar: Arithmetic, radix: number): Butterfly {
  if (radix === 2) return ([a, b]) => [ar.plus(a!, b!), ar.minus(a!, b!)];
  return radix === 4 ? (x) => four(ar, x) : odd(ar, radix);
}

function four(ar: Arithmetic, x: Values): Values {
  const [a, b, c, d] = x as readonly [ComplexLocal, ComplexLocal, ComplexLocal, ComplexLocal];
  const [even, odd] = [ar.plus(a, c), ar.plus(b, d)];
  const [first, third] = ar.turned(ar.minus(a, c), ar.minus(b, d));
  return [ar.plus(even, odd), first, ar.minus(even, odd), third];
}

/** x[j] and x[r - j] have conjugate roots: their sum takes the cosines, their difference the sines. */
function odd(ar: Arithmetic, radix: number): Butterfly {
  const pairs = (radix - 1) / 2;
  const angles = Array.from({ length: pairs }, (_, i) => (2 * Math.PI * (i + 1)) / radix);
  const cosines = angles.map((a) => ar.constant(Math.cos(a)));
  const sines = angles.map((a) => ar.constant(Math.sin(a)));
  const negative = angles.map((a) => ar.constant(-Math.sin(a)));
  return (x) => {
    const sums = angles.map((_, i) => ar.plus(x[i + 1]!, x[radix - 1 - i]!));
    const differences = angles.map((_, i) => ar.minus(x[i + 1]!, x[radix - 1 - i]!));
    const y: ComplexLocal[] = [sums.reduce(ar.plus, x[0]!)];
    for (let k = 1; k <= pairs; k++) {
      let even = x[0]!;
      let odds: ComplexLocal | null = null;
      for (let j = 1; j <= pairs; j++) {
        const turns = (j * k) % radix;
        const at = Math.min(turns, radix - turns) - 1;
        const sine = (turns > pairs ? negative : sines)[at]!;
        even = ar.plus(even, scaled(ar, sums[j - 1]!, cosines[at]!));
        const part = scaled(ar, differences[j - 1]!, sine);
        odds = odds ? ar.plus(odds, part) : part;
      }
      [y[k], y[radix - k]] = ar.turned(even, odds!);
    }
    return y;
  };
}

const scaled = (ar: Arithmetic, a: ComplexLocal, by: number): ComplexLocal => ({
  re: ar.mul(a.re, by),
  im: ar.mul(a.im, by),
});
