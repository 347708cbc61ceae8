// Transforms of up to 16 values that lie in registers: products of small ones are split, odd primes are written out.

import { rootOf } from '../../../../kernel/unit-roots.ts';
import type { Complex, ComplexMath } from './complex.ts';

/** All frequencies, in order. */
export function butterfly(m: ComplexMath, x: readonly Complex[]): readonly Complex[] {
  if (x.length <= 2) return x.length === 1 ? x : [m.add(x[0]!, x[1]!), m.sub(x[0]!, x[1]!)];
  if (x.length === 4) return four(m, x);
  const a = factorOf(x.length);
  return a === x.length ? odd(m, x) : split(m, x, a);
}

/** Fours first: they need no multiplication. */
function factorOf(n: number): number {
  if (n % 4 === 0) return 4;
  let p = 2;
  while (n % p !== 0) p++;
  return p;
}

function four(m: ComplexMath, [a, b, c, d]: readonly Complex[]): readonly Complex[] {
  const [even, odds] = [m.add(a!, c!), m.add(b!, d!)];
  const [across, turned] = [m.sub(a!, c!), m.turned(m.sub(b!, d!))];
  return [m.add(even, odds), m.add(across, turned), m.sub(even, odds), m.sub(across, turned)];
}

/** Position b·j + k, frequency p + a·q: transforms over j, turns by the root of k·p, transforms over k. */
function split(m: ComplexMath, x: readonly Complex[], a: number): readonly Complex[] {
  const n = x.length;
  const b = n / a;
  const columns = Array.from({ length: b }, (_, k) => {
    const column = butterfly(
      m,
      Array.from({ length: a }, (_, j) => x[b * j + k]!),
    );
    return column.map((v, p) => m.timesRoot(v, rootOf(k * p, n)));
  });
  const made = new Array<Complex>(n);
  for (let p = 0; p < a; p++) {
    butterfly(
      m,
      columns.map((column) => column[p]!),
    ).forEach((v, q) => {
      made[p + a * q] = v;
    });
  }
  return made;
}

/** An odd prime: of each pair of opposite values the sum goes with the cosines, the difference with the sines. */
function odd(m: ComplexMath, x: readonly Complex[]): readonly Complex[] {
  const n = x.length;
  const half = (n - 1) / 2;
  const sums = Array.from({ length: half }, (_, i) => m.add(x[i + 1]!, x[n - 1 - i]!));
  const differences = Array.from({ length: half }, (_, i) => m.sub(x[i + 1]!, x[n - 1 - i]!));
  const made = new Array<Complex>(n);
  made[0] = sums.reduce((all, v) => m.add(all, v), x[0]!);
  for (let k = 1; k <= half; k++) {
    const roots = sums.map((_, i) => rootOf((i + 1) * k, n));
    const along = (part: 're' | 'im'): string =>
      sums.reduce((all, v, i) => m.fused(v[part], m.number(roots[i]![0]), all), x[0]![part]);
    const across = (part: 're' | 'im'): string =>
      differences
        .slice(1)
        .reduce(
          (all, v, i) => m.fused(v[part], m.number(0 - roots[i + 1]![1]), all),
          m.product(differences[0]![part], m.number(0 - roots[0]![1])),
        );
    const [re, im] = [along('re'), along('im')];
    const [sine, cosine] = [across('im'), across('re')];
    made[k] = { re: m.plus(re, sine), im: m.minus(im, cosine) };
    made[n - k] = { re: m.minus(re, sine), im: m.plus(im, cosine) };
  }
  return made;
}
