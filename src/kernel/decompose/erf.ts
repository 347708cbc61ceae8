// erf: a polynomial near 0, and 1 - e^-G(|x|) beyond, where G = -log(erfc) is smooth.

import type { Expr } from '../expr.ts';
import { expReduced, reduce } from './exp.ts';
import type { Float, FloatType } from './float.ts';

interface Table {
  /** Up to here erf x = x + x·P(x²). */
  readonly near: number;
  readonly small: readonly number[];
  /** From here on erf x rounds to 1. */
  readonly one: number;
  readonly large: readonly number[];
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    near: 0.875,
    small: [
      0.12837915122509003, -0.3761250376701355, 0.11281921714544296, -0.026770485565066338, 0.004998928867280483,
      -0.0006020506261847913,
    ],
    one: 3.95,
    large: [
      0.00013358336582314223, 1.1279361248016357, 0.6367371678352356, 0.10432762652635574, -0.022420315071940422,
      0.003092327853664756, -0.0002010010794037953,
    ],
  },
  f64: {
    near: 1,
    small: [
      0.1283791670955126, -0.376126389031841, 0.11283791670971101, -0.026866170648032282, 0.005223977652709811,
      -0.0008548328537135846, 0.00012055386254248296, -1.4926883204495932e-5, 1.6481091041241917e-6,
      -1.6557513700689788e-7, 1.6016089096141424e-8, -1.6476823777999036e-9, 1.436564861121354e-10,
    ],
    one: 5.95,
    large: [
      2.78191976095627e-8, 1.12837891555276, 0.6366207349586616, 0.1027708135144491, -0.019128040366947745,
      -0.0002023110821556803, 0.0016749721056294818, -0.0005523660011875281, -2.200535329338069e-5,
      0.00011078281488470967, -6.476101037436757e-5, 2.4280292698821426e-5, -6.784171309063779e-6,
      1.4697118336016625e-6, -2.4813995284559885e-7, 3.219474748189608e-8, -3.1081668152327264e-9,
      2.1052358095396332e-10, -8.928579701146615e-12, 1.7837912971838745e-13,
    ],
  },
};

/**
 * erf of a bf16, as an f32 that rounds to the same bf16 as erf itself does: for each of them, so that a short polynomial
 * will do. From `one` on erf rounds to 1.
 */
const ofBf16 = {
  one: 2.203125,
  odd: [
    1.1283791065216064, -0.3761731684207916, 0.11306388676166534, -0.026779916137456894, 0.0048079825937747955,
    -0.000563352252356708, 3.045221819775179e-5,
  ],
} as const;

export function erfOfBf16(f: Float, x: Expr): Expr {
  const near = f.min(f.max(x, -ofBf16.one), ofBf16.one);
  return f.mul(near, f.poly(f.mul(near, near), ofBf16.odd));
}

export function erf(f: Float, x: Expr): Expr {
  const t = tables[f.type];
  const z = f.mul(x, x);
  const near = f.add(x, f.mul(x, f.poly(z, t.small)));
  const a = f.min(f.abs(x), t.one);
  const { r, bits } = reduce(f, f.neg(f.poly(a, t.large)));
  const far = f.sub(1, f.scale(expReduced(f, r), bits));
  return f.where(f.lt(a, t.near), near, f.withSign(far, x));
}
