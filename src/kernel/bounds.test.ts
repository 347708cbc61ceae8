import { describe, expect, it } from 'vitest';
import fc from '../../test/support/properties.ts';
import { axesOf, bounds, dependsOn, integerBounds, linear, strideAlong } from './bounds.ts';
import { type Expr, Exprs } from './expr.ts';
import { meaning } from './semantics.ts';

const sizes = [5, 3, 8];

/** The value of an index expression at a position. */
function at(e: Expr, position: readonly number[]): number {
  if (e.kind === 'const') return Number(e.value);
  if (e.kind === 'axis') return position[e.axis]!;
  if (e.kind !== 'alu') throw new Error(e.kind);
  const [a, b, c] = e.src.map((s) => at(s, position)) as [number, number, number];
  return Number(meaning(e.op, e.src[e.src.length - 1]!.type)!(a, b, c));
}

/** Random index expressions over the axes above; divisors and moduli are positive constants. */
function anyIndex(b: Exprs): fc.Arbitrary<Expr> {
  const { index } = fc.letrec<{ index: Expr; leaf: Expr }>((tie) => ({
    leaf: fc.oneof(
      fc.nat(2).map((i) => b.axis(i, sizes[i]!)),
      fc.integer({ min: -9, max: 9 }).map((v) => b.const('index', v)),
    ),
    index: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      tie('leaf'),
      fc
        .tuple(fc.constantFrom('add', 'sub', 'max', 'min'), tie('index'), tie('index'))
        .map(([op, x, y]) => b.alu(op, x, y)),
      fc.tuple(tie('index'), fc.integer({ min: -4, max: 4 })).map(([x, k]) => b.alu('mul', x, b.const('index', k))),
      fc
        .tuple(fc.constantFrom('idiv', 'imod'), tie('index'), fc.integer({ min: 1, max: 6 }))
        .map(([op, x, k]) => b.alu(op, b.alu('max', x, b.const('index', 0)), b.const('index', k))),
      fc.tuple(tie('index'), tie('index'), tie('index')).map(([x, y, z]) => b.alu('where', b.alu('lt', x, y), y, z)),
    ),
  }));
  return index;
}

function everywhere(check: (position: readonly number[]) => void): void {
  for (let i = 0; i < sizes[0]!; i++) {
    for (let j = 0; j < sizes[1]!; j++) for (let k = 0; k < sizes[2]!; k++) check([i, j, k]);
  }
}

describe('bounds', () => {
  it('hold the value at every position', () => {
    const b = new Exprs();
    fc.assert(
      fc.property(anyIndex(b), (e) => {
        const { min, max } = bounds(e);
        everywhere((p) => {
          const v = at(e, p);
          if (v < min || v > max) throw new Error(`${v} is outside ${min} … ${max}`);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('are exact for an axis, a constant and their sums', () => {
    const b = new Exprs();
    const i = b.axis(0, 5);
    expect(bounds(i)).toEqual({ min: 0, max: 4 });
    expect(bounds(b.alu('sub', b.const('index', 3), b.alu('mul', i, b.const('index', 2))))).toEqual({
      min: -5,
      max: 3,
    });
    expect(bounds(b.alu('imod', b.axis(2, 8), b.const('index', 3)))).toEqual({ min: 0, max: 2 });
    expect(bounds(b.alu('idiv', b.axis(2, 8), b.const('index', 3)))).toEqual({ min: 0, max: 2 });
    // The remainder is that of the floor: of -3 by 8 it is 5.
    const below = b.alu('sub', b.axis(2, 6), b.const('index', 3));
    expect(bounds(b.raw('imod', [below, b.const('index', 8)]))).toEqual({ min: 0, max: 7 });
    expect(bounds(b.raw('idiv', [below, b.const('index', 8)])).min).toBeLessThanOrEqual(-1);
  });

  it('are 0 … 1 for bools and unknown for what is looked up', () => {
    const b = new Exprs();
    const i = b.axis(0, 5);
    const looked = b.cast('index', b.load('i32', 0, i));
    expect(bounds(b.alu('eq', i, looked))).toEqual({ min: 0, max: 1 });
    const unknown = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };
    expect(bounds(looked)).toEqual(unknown);
    expect(bounds(b.raw('mul', [looked, b.const('index', 0)]))).toEqual(unknown);
    expect(bounds(b.raw('idiv', [looked, i]))).toEqual(unknown);
    expect(bounds(b.raw('imod', [looked, i]))).toEqual(unknown);
    expect(bounds(b.raw('imod', [looked, b.const('index', 4)]))).toEqual({ min: 0, max: 3 });
    expect(bounds(b.alu('min', b.alu('max', looked, b.const('index', 0)), b.const('index', 7)))).toEqual({
      min: 0,
      max: 7,
    });
    expect(bounds(b.raw('pow' as never, [i, i]))).toEqual(unknown);
  });
});

describe('linear', () => {
  it('is the same number, taken apart', () => {
    const b = new Exprs();
    fc.assert(
      fc.property(anyIndex(b), (e) => {
        const { offset, terms } = linear(e);
        everywhere((p) => {
          const sum = [...terms].reduce((n, [term, k]) => n + k * at(term, p), offset);
          if (sum !== at(e, p)) throw new Error(`${sum} is not ${at(e, p)}`);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('drops terms that cancel', () => {
    const b = new Exprs();
    const [i, j] = [b.axis(0, 5), b.axis(1, 3)];
    const e = b.raw('sub', [b.raw('add', [i, j]), i]);
    expect([...linear(e).terms]).toEqual([[j, 1]]);
  });
});

describe('axes and strides', () => {
  const b = new Exprs();
  const [i, j] = [b.axis(0, 5), b.axis(1, 3)];
  const c = (v: number): Expr => b.const('index', v);
  const row = b.alu('add', b.alu('mul', i, c(3)), j);

  it('find what an expression changes along, loads and gates included', () => {
    const gated = b.load('f32', 0, i, b.alu('lt', j, c(2)));
    expect([...axesOf(gated)].sort()).toEqual([0, 1]);
    expect(dependsOn(b.load('f32', 0, i), 1)).toBe(false);
    expect(axesOf(b.const('f32', 1)).size).toBe(0);
  });

  it('are the step of an index, or null where there is none', () => {
    expect(strideAlong(row, 0)).toBe(3);
    expect(strideAlong(row, 1)).toBe(1);
    expect(strideAlong(i, 1)).toBe(0);
    const rolled = b.alu('add', i, b.alu('where', b.alu('lt', i, c(3)), c(2), c(-3)));
    expect(strideAlong(rolled, 0)).toBeNull();
    expect(strideAlong(rolled, 1)).toBe(0);
    expect(strideAlong(b.cast('index', b.load('i32', 0, j)), 1)).toBeNull();
    expect(strideAlong(b.alu('add', i, b.cast('index', b.load('i32', 0, j))), 0)).toBe(1);
  });
});

describe('bounds of integers', () => {
  const b = new Exprs();
  const load = b.load('i32', 0, b.axis(0, 8));
  const chosen = b.alu('where', b.alu('lt', load, b.const('i32', 3)), b.const('i32', 5), b.const('i32', 0));

  it('follow choices and sums of constants', () => {
    expect(integerBounds(chosen)).toEqual({ min: 0, max: 5 });
    expect(integerBounds(b.alu('add', chosen, b.const('i32', 7)))).toEqual({ min: 7, max: 12 });
    expect(integerBounds(b.alu('min', b.alu('max', load, b.const('i32', 2)), b.const('i32', 9)))).toEqual({
      min: 2,
      max: 9,
    });
  });

  it('are those of the type where a sum may wrap around, or nothing is known', () => {
    const all = { min: -(2 ** 31), max: 2 ** 31 - 1 };
    expect(integerBounds(load)).toEqual(all);
    expect(integerBounds(b.alu('add', chosen, b.const('i32', 2 ** 31 - 1)))).toEqual(all);
    expect(integerBounds(b.alu('add', load, b.const('i32', 1)))).toEqual(all);
    const byte = b.load('u8', 0, b.axis(0, 8));
    expect(integerBounds(b.alu('add', byte, b.const('u8', 1)))).toEqual({ min: 0, max: 255 });
    expect(integerBounds(b.load('i64', 0, b.axis(0, 8))).min).toBe(Number.NEGATIVE_INFINITY);
  });
});
