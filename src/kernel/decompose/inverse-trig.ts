// asin, acos, atan and atan2: polynomials near 0, and identities that bring every argument there.

import type { Expr } from '../expr.ts';
import type { Float, FloatType } from './float.ts';

interface Table {
  /** π/2 = high + low to twice the precision. */
  readonly halfPi: readonly [number, number];
  /** asin x = x + x·z·A(z), z = x² ≤ ¼. */
  readonly asin: readonly number[];
  /** For `shortAsin`: smaller errors where z is near ¼, larger ones elsewhere. */
  readonly asinShort: readonly number[] | null;
  /** atan x = x + x·z·A(z), z = x² ≤ 1. */
  readonly atan: readonly number[];
  /** The same A as a quotient of two, where that is shorter. */
  readonly atanRatio: readonly [readonly number[], readonly number[]] | null;
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    halfPi: [1.5707963705062866, -4.371139000186243e-8],
    asin: [0.16666753590106964, 0.07495247572660446, 0.045477259904146194, 0.024142790585756302, 0.04223303496837616],
    asinShort: [0.16666926, 0.07489909, 0.046028692, 0.02180001, 0.04575699],
    atan: [
      -0.33333298563957214, 0.1999852955341339, -0.14264042675495148, 0.10951545089483261, -0.08403562754392624,
      0.0579993799328804, -0.03125985711812973, 0.01097920723259449, -0.0018122757319360971,
    ],
    atanRatio: null,
  },
  f64: {
    halfPi: [Math.PI / 2, 6.123233995736766e-17],
    asin: [
      0.16666666666666763, 0.07499999999970093, 0.04464285717532326, 0.030381942671980144, 0.022372216040554525,
      0.017351592354237312, 0.013981064689640698, 0.011396848562502395, 0.010792175316179781, 0.0036600756049987365,
      0.021823248202341095, -0.0211671698821729, 0.03273633788979255,
    ],
    asinShort: null,
    atan: [
      -0.33333333333333287, 0.19999999999990617, -0.14285714285044968, 0.11111111086670052, -0.09090908550981733,
      0.07692299754169468, -0.06666584068337748, 0.05881718245466812, -0.052594434276551014, 0.047449605411405076,
      -0.04286487314311007, 0.03821219527814421, -0.03278915979734694, 0.026156830360467676, -0.018619812177358277,
      0.011322383009050556, -0.005615416517060777, 0.0021530097400831055, -0.0005933544074846227,
      0.00010396423434183661, -8.662803124584278e-6,
    ],
    atanRatio: [
      [
        -0.3333333333333331, -0.7461767542256099, -0.5845648938491989, -0.1903649673215301, -0.02359952285804301,
        -0.0007437701561416881,
      ],
      [
        1, 2.838530262676615, 3.0282414105929605, 1.5048601117112086, 0.3493463722235927, 0.032937485298916706,
        0.0008241653549828576,
      ],
    ],
  },
};

/** asin(x) - x for |x| ≤ ½. */
const asinTail = (f: Float, x: Expr, z: Expr, series: readonly number[]): Expr =>
  f.mul(f.mul(x, z), f.series(z, series));

interface Halved {
  /** |x| > ½: asin|x| = π/2 - 2·asin(root + low) with root = √((1-|x|)/2). Else root is x. */
  readonly far: Expr;
  readonly root: Expr;
  readonly low: Expr;
  /** asin(root) - root. */
  readonly tail: Expr;
}

function halve(f: Float, x: Expr): Halved {
  const a = f.abs(x);
  const far = f.lt(0.5, a);
  const z = f.where(far, f.mul(f.sub(1, a), 0.5), f.mul(a, a));
  const sqrt = f.sqrt(z);
  const root = f.where(far, sqrt, x);
  // What the square root was rounded by.
  const head = f.head(sqrt);
  const low = f.sub(f.div(f.sub(z, f.mul(head, head)), f.add(sqrt, head)), f.sub(sqrt, head));
  return { far, root, low: f.where(f.eq(z, 0), 0, low), tail: asinTail(f, root, z, tables[f.type].asin) };
}

/**
 * The same in fewer steps: a, x² and √((1-|x|)/2) as soon as |x| > ½, each told from the other by which is smaller. What the square root
 * was rounded by is left out: half a unit of the result at most.
 */
function shortHalve(f: Float, x: Expr, series: readonly number[] | null = null): Pick<Halved, 'far' | 'root' | 'tail'> {
  const a = f.abs(x);
  const rest = f.mul(f.sub(1, a), 0.5);
  const z = f.lesser(f.mul(a, a), rest);
  const root = f.lesser(f.sqrt(rest), a);
  return { far: f.lt(0.5, a), root, tail: asinTail(f, root, z, series ?? tables[f.type].asin) };
}

function shortAsin(f: Float, x: Expr): Expr {
  const { halfPi, asinShort } = tables[f.type];
  const [high, low] = halfPi;
  const { far, root, tail } = shortHalve(f, x, asinShort);
  // By way of π/4: what is added to it last is small wherever the result is below 1, and so are its errors.
  const fromMiddle = f.sub(f.sub(high / 2, f.add(root, root)), f.sub(f.add(tail, tail), low));
  const beyond = f.add(fromMiddle, high / 2);
  return f.withSign(f.where(far, beyond, f.add(root, tail)), x);
}

/** ±(root + tail), once or twice, and 0, π/2 or π, all chosen by signs and masks. */
function shortAcos(f: Float, x: Expr): Expr {
  const [high, low] = tables[f.type].halfPi;
  const { far, root, tail } = shortHalve(f, x);
  const once = (v: Expr): Expr => f.add(v, f.where(far, v, 0));
  const flip = f.iand(f.b.alu('xor', f.bits(x), f.b.alu('where', far, f.int(0), f.int(-1))), f.int(f.signBit));
  const signed = (v: Expr): Expr => f.fromBits(f.b.alu('xor', f.bits(v), flip));
  const start = f.sub(high, f.where(far, f.withSign(f.const(high), x), 0));
  return f.add(start, f.add(signed(once(root)), f.add(signed(once(tail)), f.mul(start, low / high))));
}

export function asin(f: Float, x: Expr): Expr {
  if (f.b.skips) return shortAsin(f, x);
  const [high, lowPi] = tables[f.type].halfPi;
  const { far, root, low, tail } = halve(f, x);
  const twice = f.add(root, root);
  const rest = f.sub(f.mul(f.add(tail, low), 2), lowPi);
  return f.where(far, f.withSign(f.sub(high, f.add(twice, rest)), x), f.add(root, tail));
}

export function acos(f: Float, x: Expr): Expr {
  if (f.b.skips) return shortAcos(f, x);
  const [high, lowPi] = tables[f.type].halfPi;
  const { far, root, low, tail } = halve(f, x);
  const near = f.sub(high, f.sub(root, f.sub(lowPi, tail)));
  const twice = f.mul(f.add(root, f.add(tail, low)), 2);
  const beyond = f.where(f.lt(x, 0), f.sub(2 * high, f.sub(twice, 2 * lowPi)), twice);
  return f.where(far, beyond, near);
}

/** atan(t) for 0 ≤ t ≤ 1. */
function atanUnit(f: Float, t: Expr): Expr {
  const z = f.mul(t, t);
  const { atan: series, atanRatio: ratio } = tables[f.type];
  const cube = f.mul(t, z);
  if (!f.b.skips || !ratio) return f.add(t, f.mul(cube, f.series(z, series)));
  return f.add(t, f.div(f.mul(cube, f.poly(z, ratio[0])), f.poly(z, ratio[1])));
}

export function atan(f: Float, x: Expr): Expr {
  const [high, low] = tables[f.type].halfPi;
  const a = f.abs(x);
  const far = f.lt(1, a);
  const t = f.b.skips ? f.div(f.lesser(a, f.const(1)), f.greater(a, f.const(1))) : f.where(far, f.div(1, a), a);
  const r = atanUnit(f, t);
  return f.withSign(f.where(far, f.sub(high, f.sub(r, low)), r), x);
}

export function atan2(f: Float, y: Expr, x: Expr): Expr {
  const [high, low] = tables[f.type].halfPi;
  const [ax, ay] = [f.abs(x), f.abs(y)];
  // NaN in either stays in the quotient. Devices whose max and min look for NaN themselves take longer for them.
  const steep = f.lt(ax, ay);
  const [large, small] = [f.where(steep, ay, ax), f.where(steep, ax, ay)];
  const angle = (t: Expr): Expr => {
    const r = atanUnit(f, t);
    const first = f.where(steep, f.sub(high, f.sub(r, low)), r);
    const turned = f.where(f.signed(x), f.sub(2 * high, f.sub(first, 2 * low)), first);
    return f.withSign(turned, y);
  };
  const quotient = f.div(small, large);
  // 0/0 and ∞/∞ stand for the diagonal's ends: 0 and 1.
  const any = angle(f.where(f.eq(ax, ay), f.where(f.eq(ax, 0), 0, 1), quotient));
  return f.b.skips ? f.where(f.b.alu('eq', f.bits(ax), f.bits(ay)), any, angle(quotient)) : any;
}
