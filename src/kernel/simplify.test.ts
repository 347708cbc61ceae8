// Every rule, by a case where it applies and one where it must not; and all of them together against the definition of the ops.

import { describe, expect, it } from 'vitest';
import fc from '../../test/support/properties.ts';
import type { DType } from '../base/dtype.ts';
import { type Expr, Exprs, type ScalarType } from './expr.ts';
import { type AluOp, aluOps } from './ops.ts';
import { meaning, roundTo, type Value } from './semantics.ts';
import { rules, simplify } from './simplify.ts';

const b = new Exprs();
const at = b.const('index', 0);
const x = (type: DType, slot = 0): Expr => b.load(type, slot, at);
const k = (type: ScalarType, v: number | bigint): Expr => b.const(type, v);
const [i, j] = [b.axis(0, 6), b.axis(1, 4)];
const index = (v: number): Expr => k('index', v);
const looked = b.cast('index', x('i32', 9));
const p = b.alu('lt', x('f32'), x('f32', 1));
const q = b.alu('lt', x('f32', 2), x('f32', 1));

interface Case {
  readonly op: AluOp;
  readonly src: readonly Expr[];
  /** What it becomes; absent where the rule must stay away. */
  readonly to?: Expr;
}

const yes = (op: AluOp, src: readonly Expr[], to: Expr): Case => ({ op, src, to });
const no = (op: AluOp, ...src: readonly Expr[]): Case => ({ op, src });

const cases: Readonly<Record<string, readonly Case[]>> = {
  'fold-constants': [
    yes('add', [k('i32', 2 ** 31 - 1), k('i32', 1)], k('i32', -(2 ** 31))),
    yes('add', [k('f32', 0.1), k('f32', 0.2)], k('f32', Math.fround(Math.fround(0.1) + Math.fround(0.2)))),
    yes('lt', [k('i64', 1n), k('i64', 2n)], k('bool', 1)),
    yes('pow', [k('i32', 3), k('i32', 4)], k('i32', 81)),
    yes('sqrt', [k('f64', 2)], k('f64', Math.SQRT2)),
    // Devices approximate these, each in its own way.
    no('exp', k('f32', 1)),
    no('pow', k('f32', 3), k('f32', 4)),
    no('add', x('i32'), k('i32', 1)),
  ],
  'constant-last': [
    yes('add', [k('f32', 2), x('f32')], b.raw('add', [x('f32'), k('f32', 2)])),
    no('add', x('f32'), k('f32', 2)),
    no('sub', k('f32', 2), x('f32')),
    no('lt', k('f32', 2), x('f32')),
  ],
  'index-linear': [
    yes('add', [j, i], b.raw('add', [i, j])),
    yes('sub', [b.raw('add', [i, j]), j], i),
    yes('mul', [b.raw('add', [i, index(2)]), index(3)], b.raw('add', [b.raw('mul', [i, index(3)]), index(6)])),
    no('mul', i, j),
    no('add', x('i32'), x('i32', 1)),
  ],
  'add-zero': [
    yes('add', [x('i32'), k('i32', 0)], x('i32')),
    yes('add', [x('u64'), k('u64', 0n)], x('u64')),
    yes('add', [x('f32'), k('f32', -0)], x('f32')),
    // -0 + 0 is 0.
    no('add', x('f32'), k('f32', 0)),
  ],
  'sub-zero': [
    yes('sub', [x('f32'), k('f32', 0)], x('f32')),
    yes('sub', [x('i64'), k('i64', 0n)], x('i64')),
    // -0 - -0 is 0.
    no('sub', x('f32'), k('f32', -0)),
  ],
  'sub-self': [
    yes('sub', [x('i32'), x('i32')], k('i32', 0)),
    yes('sub', [x('u64'), x('u64')], k('u64', 0n)),
    // ∞ - ∞ is NaN.
    no('sub', x('f32'), x('f32')),
    no('sub', x('i32'), x('i32', 1)),
  ],
  'mul-one': [
    yes('mul', [x('f32'), k('f32', 1)], x('f32')),
    yes('mul', [x('i64'), k('i64', 1n)], x('i64')),
    no('mul', x('f32'), k('f32', -1)),
  ],
  'mul-zero': [
    yes('mul', [x('u8'), k('u8', 0)], k('u8', 0)),
    yes('mul', [x('i64'), k('i64', 0n)], k('i64', 0n)),
    // NaN · 0 is NaN, -1 · 0 is -0.
    no('mul', x('f32'), k('f32', 0)),
  ],
  'div-one': [
    yes('div', [x('f64'), k('f64', 1)], x('f64')),
    yes('idiv', [x('i32'), k('i32', 1)], x('i32')),
    no('div', k('f64', 1), x('f64')),
  ],
  'div-by-power-of-two': [
    yes('div', [x('f32'), k('f32', 8)], b.raw('mul', [x('f32'), k('f32', 0.125)])),
    yes('div', [x('f16'), k('f16', -0.5)], b.raw('mul', [x('f16'), k('f16', -2)])),
    no('div', x('f32'), k('f32', 3)),
    no('div', x('f32'), k('f32', 0)),
    no('div', x('f32'), k('f32', Number.POSITIVE_INFINITY)),
    // 2^-126 has no reciprocal for every type.
    no('div', x('f32'), k('f32', 2 ** 126)),
  ],
  'idiv-power-of-two': [
    yes('idiv', [x('i32'), k('i32', 8)], b.raw('shr', [x('i32'), k('i32', 3)])),
    yes('idiv', [x('u64'), k('u64', 2n ** 40n)], b.raw('shr', [x('u64'), k('u64', 40n)])),
    no('idiv', x('i32'), k('i32', 6)),
    no('idiv', x('i32'), k('i32', -8)),
    no('idiv', x('i32'), k('i32', 0)),
  ],
  'imod-power-of-two': [
    yes('imod', [x('i32'), k('i32', 8)], b.raw('and', [x('i32'), k('i32', 7)])),
    no('imod', x('i32'), k('i32', 7)),
    no('imod', x('i32'), k('i32', 0)),
    no('imod', x('i32'), x('i32', 1)),
  ],
  'index-idiv': [
    yes('idiv', [i, index(6)], index(0)),
    yes('idiv', [looked, index(1)], looked),
    yes('idiv', [b.alu('add', b.alu('mul', i, index(4)), j), index(4)], i),
    yes('idiv', [b.alu('add', i, index(12)), index(6)], index(2)),
    yes('idiv', [b.raw('idiv', [looked, index(2)]), index(3)], b.raw('idiv', [looked, index(6)])),
    // The rest may be negative: -1 div 4 is -1, not 0.
    no('idiv', b.alu('sub', b.alu('mul', i, index(4)), j), index(4)),
    no('idiv', i, index(4)),
    no('idiv', looked, j),
  ],
  'index-imod': [
    yes('imod', [i, index(6)], i),
    yes('imod', [looked, index(1)], index(0)),
    yes('imod', [b.alu('add', b.alu('mul', i, index(4)), j), index(4)], j),
    yes('imod', [b.raw('imod', [looked, index(12)]), index(4)], b.raw('imod', [looked, index(4)])),
    no('imod', b.raw('imod', [looked, index(10)]), index(4)),
    no('imod', i, index(4)),
  ],
  'index-compare': [
    yes('lt', [i, index(6)], k('bool', 1)),
    yes('lt', [i, index(0)], k('bool', 0)),
    yes('le', [i, index(5)], k('bool', 1)),
    yes('le', [index(6), i], k('bool', 0)),
    no('lt', i, index(5)),
    no('le', i, index(4)),
    // The least value of one side is the only one of the other.
    no('le', i, index(0)),
    no('lt', index(0), i),
    no('lt', looked, index(5)),
    no('lt', x('i32'), k('i32', 5)),
  ],
  idempotent: [
    yes('max', [x('f32'), x('f32')], x('f32')),
    yes('and', [x('u32'), x('u32')], x('u32')),
    no('max', x('f32'), x('f32', 1)),
    no('add', x('f32'), x('f32')),
  ],
  'xor-self': [
    yes('xor', [x('u32'), x('u32')], k('u32', 0)),
    yes('xor', [p, p], k('bool', 0)),
    no('xor', x('u32'), x('u32', 1)),
  ],
  'bits-zero': [
    yes('or', [x('i32'), k('i32', 0)], x('i32')),
    yes('shl', [x('i64'), k('i64', 0n)], x('i64')),
    no('shl', k('i32', 0), x('i32')),
    no('xor', x('i32'), k('i32', -1)),
  ],
  'and-zero': [
    yes('and', [x('i32'), k('i32', 0)], k('i32', 0)),
    yes('and', [p, k('bool', 0)], k('bool', 0)),
    no('and', x('i32'), k('i32', 1)),
  ],
  'bool-constant': [
    yes('and', [p, k('bool', 1)], p),
    yes('or', [p, k('bool', 1)], k('bool', 1)),
    // For integers 1 is but one bit.
    no('and', x('i32'), k('i32', 1)),
    no('or', x('i32'), k('i32', 1)),
  ],
  'where-constant': [
    yes('where', [k('bool', 1), x('f32'), x('f32', 1)], x('f32')),
    yes('where', [k('bool', 0), x('f32'), x('f32', 1)], x('f32', 1)),
    no('where', p, x('f32'), x('f32', 1)),
  ],
  'where-same': [yes('where', [p, x('f32'), x('f32')], x('f32')), no('where', p, k('f32', 0), k('f32', -0))],
  'where-gated': [
    yes('where', [p, b.load('f32', 3, i, p), k('f32', 0)], b.load('f32', 3, i, p)),
    yes('where', [p, b.load('u64', 3, i, b.alu('and', q, p)), k('u64', 0n)], b.load('u64', 3, i, b.alu('and', q, p))),
    // A closed gate gives zero, not what is chosen here.
    no('where', p, b.load('f32', 3, i, p), k('f32', -0)),
    no('where', p, b.load('f32', 3, i, p), k('f32', 1)),
    no('where', p, b.load('f32', 3, i, q), k('f32', 0)),
    no('where', p, b.load('f32', 3, i, b.alu('or', p, q)), k('f32', 0)),
    no('where', p, x('f32'), k('f32', 0)),
  ],
  'where-not': [
    yes('where', [b.alu('not', p), x('f32'), x('f32', 1)], b.raw('where', [p, x('f32', 1), x('f32')])),
    no('where', q, x('f32'), x('f32', 1)),
  ],
  'double-unary': [
    yes('neg', [b.raw('neg', [x('f32')])], x('f32')),
    yes('not', [b.raw('not', [x('i32')])], x('i32')),
    no('neg', b.raw('abs', [x('f32')])),
    no('floor', b.raw('ceil', [x('f32')])),
  ],
  'abs-abs': [yes('abs', [b.raw('abs', [x('f32')])], b.raw('abs', [x('f32')])), no('abs', b.raw('neg', [x('f32')]))],
  'abs-unsigned': [yes('abs', [x('u32')], x('u32')), no('abs', x('i32')), no('abs', x('f32'))],
  'small-powers': [
    yes('pow', [x('f32'), k('f32', 0)], k('f32', 1)),
    yes('pow', [x('i64'), k('i64', 1n)], x('i64')),
    yes('pow', [x('f32'), k('f32', 2)], b.raw('mul', [x('f32'), x('f32')])),
    yes('pow', [x('i32'), k('i32', 3)], b.raw('mul', [b.raw('mul', [x('i32'), x('i32')]), x('i32')])),
    yes('pow', [x('f64'), k('f64', -1)], b.raw('div', [k('f64', 1), x('f64')])),
    // An integer to the power -1 is 0, 1 or -1.
    no('pow', x('i32'), k('i32', -1)),
    // (-∞)^½ is ∞ but √-∞ is NaN.
    no('pow', x('f32'), k('f32', 0.5)),
    no('pow', x('f32'), x('f32', 1)),
  ],
};

describe('rules', () => {
  it('all have cases here', () => {
    expect(Object.keys(cases).sort()).toEqual(rules.map((r) => r.name).sort());
    for (const [name, list] of Object.entries(cases)) {
      expect(list.filter((c) => c.to).length, name).toBeGreaterThan(0);
      expect(list.filter((c) => !c.to).length, name).toBeGreaterThan(0);
    }
  });

  for (const rule of rules) {
    const covers = (op: AluOp) => ([] as AluOp[]).concat(rule.op).includes(op);
    cases[rule.name]?.forEach(({ op, src, to }, n) => {
      const name = `${op} ${src.map((s) => (s.kind === 'const' ? s.value : s.type)).join(', ')}`;
      it(`${rule.name} ${to ? 'applies to' : 'leaves'} ${name} (${n})`, () => {
        const made = covers(op) ? rule.apply(b, src as unknown as [Expr, Expr, Expr], op) : undefined;
        expect(made).toBe(to);
        // The whole table must come to the same where this rule says so.
        if (to) expect(b.alu(op, ...src)).toBe(to);
      });
    });
  }

  it('give undefined where none applies', () => {
    expect(simplify(b, 'exp', [x('f32')])).toBeUndefined();
  });
});

describe('index sums', () => {
  it('put a quotient and its remainder together again', () => {
    const n = index(4);
    const back = b.alu('add', b.alu('mul', b.alu('idiv', looked, n), n), b.alu('imod', looked, n));
    expect(back).toBe(looked);
    const scaled = b.alu(
      'add',
      b.alu('mul', b.alu('idiv', looked, n), index(20)),
      b.alu('mul', b.alu('imod', looked, n), index(5)),
    );
    expect(scaled).toBe(b.alu('mul', looked, index(5)));
    const cancelled = b.alu('sub', b.alu('add', b.alu('mul', b.alu('idiv', i, n), n), b.alu('imod', i, n)), i);
    expect(cancelled).toBe(index(0));
  });

  it('are one object in whatever order they are written', () => {
    const one = b.alu('add', b.alu('add', b.alu('mul', i, index(4)), j), index(3));
    const other = b.alu('add', index(1), b.alu('add', b.alu('add', j, index(2)), b.alu('mul', index(4), i)));
    expect(other).toBe(one);
  });
});

/** The value of an expression over loads, each op rounded to its type. */
function evaluate(e: Expr, inputs: readonly Value[]): Value {
  if (e.kind === 'const') return e.value;
  if (e.kind === 'load') return inputs[e.slot]!;
  if (e.kind !== 'alu') throw new Error(e.kind);
  const [p0, p1, p2] = e.src.map((s) => evaluate(s, inputs)) as [Value, Value, Value];
  return roundTo[e.type](meaning(e.op, e.src[e.src.length - 1]!.type)!(p0, p1, p2));
}

const specials: Readonly<Record<'i32' | 'u8' | 'f32', readonly number[]>> = {
  i32: [0, 1, 2, 3, 4, 8, -1, -2, -8, 2 ** 31 - 1, -(2 ** 31)],
  u8: [0, 1, 2, 3, 8, 128, 255],
  f32: [
    0,
    -0,
    1,
    -1,
    2,
    3,
    0.5,
    -4,
    1024,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    2 ** -149,
    2 ** 127,
  ],
};

describe.each(['i32', 'u8', 'f32'] as const)('simplified expressions of %s', (type) => {
  const ops = (Object.keys(aluOps) as AluOp[]).filter((op) => {
    const { classes, compares } = aluOps[op];
    const exact =
      type !== 'f32' ||
      ['add', 'sub', 'mul', 'div', 'max', 'min', 'neg', 'abs', 'floor', 'round', 'where'].includes(op);
    return classes.includes(type === 'f32' ? 'float' : 'int') && !compares && exact;
  });
  const tree = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.nat(1).map((slot): Tree => ({ slot })),
      fc.constantFrom(...specials[type]).map((value): Tree => ({ value })),
      fc.tuple(fc.constantFrom(...ops), tie('tree'), tie('tree')).map(([op, l, r]): Tree => ({ op, l, r })),
    ),
  })).tree;

  it('compute what was written', () => {
    fc.assert(
      fc.property(tree, fc.constantFrom(...specials[type]), fc.constantFrom(...specials[type]), (t, u, v) => {
        const e = new Exprs();
        const plain = build(t, type, e, (op, src) => e.raw(op, src));
        const simple = build(t, type, e, (op, src) => e.alu(op, ...src));
        expect(evaluate(simple, [u, v])).toBe(evaluate(plain, [u, v]));
      }),
      { numRuns: 2000 },
    );
  });
});

type Tree =
  | { readonly slot: number }
  | { readonly value: number }
  | { readonly op: AluOp; readonly l: Tree; readonly r: Tree };

function build(t: Tree, type: DType, e: Exprs, make: (op: AluOp, src: readonly Expr[]) => Expr): Expr {
  if ('slot' in t) return e.load(type, t.slot, e.const('index', 0));
  if ('value' in t) return e.const(type, t.value);
  const [l, r] = [build(t.l, type, e, make), build(t.r, type, e, make)];
  const { arity } = aluOps[t.op];
  if (arity === 3) return make(t.op, [make('lt', [l, r]), l, r]);
  return make(t.op, arity === 1 ? [l] : [l, r]);
}
