import { describe, expect, it } from 'vitest';
import { data, Run, randomSource, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { costlyArms } from '../../../kernel/arms.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';

/** A long expression of x that nothing simplifies. */
function long(b: Exprs, x: Expr, steps = 40): Expr {
  let y = x;
  for (let k = 0; k < steps; k++)
    y = b.alu(k % 2 ? 'add' : 'mul', y, b.alu(k % 3 ? 'sub' : 'add', x, b.const(x.type, k + 0.5)));
  return y;
}

/** Values of which a share lies above 1; whole vectors without one, and some with one lane. */
function values(count: number, share: number): number[] {
  const random = randomSource(count + 1);
  return Array.from({ length: count }, () => (random() < share ? 1 + random() : random()));
}

function expectSame(spec: Spec): void {
  const run = new Run(spec).run();
  reference(spec).forEach((expected, k) => {
    expect(run.values(k)).toEqual(expected);
  });
}

describe('costly arms', () => {
  for (const type of ['f32', 'f64', 'f16', 'i32', 'u8'] as const) {
    it(`of ${type} are right wherever the condition holds, with other uses of their parts`, () => {
      for (const n of [1, 4, 7, 33, 130]) {
        for (const share of [0, 0.05, 0.5, 1]) {
          const b = new Exprs();
          const x = b.load(type, 0, b.axis(0, n));
          const condition = b.alu('lt', b.const(type, 1), x);
          const shared = long(b, x, 3);
          const [one, two] = [long(b, shared), long(b, b.alu('add', shared, shared))];
          const chosen = b.alu('where', condition, one, shared);
          const other = b.alu('where', condition, two, b.alu('add', x, x));
          const inputs = [
            data(
              type,
              values(n, share).map((v) => (type === 'i32' || type === 'u8' ? Math.floor(v * 3) : v)),
            ),
          ];
          expectSame({ space: [n], outputs: [chosen, other, b.alu('add', chosen, shared)], inputs });
        }
      }
    });
  }

  it('are found by condition, and not where another output needs them in any case', () => {
    const b = new Exprs();
    const x = b.load('f32', 0, b.axis(0, 64));
    const condition = b.alu('lt', b.const('f32', 1), x);
    const arm = long(b, x);
    const chosen = b.alu('where', condition, arm, x);
    expect([...costlyArms([chosen])].map(([c, arms]) => [c, arms.choices, arms.values])).toEqual([
      [condition, [chosen], []],
    ]);
    // What a choice takes otherwise may need another choice by the condition: then only its arm goes behind the branch.
    const longer = long(b, arm);
    const outer = b.alu('where', condition, longer, b.alu('add', chosen, x));
    expect([...costlyArms([outer])].map(([c, arms]) => [c, arms.choices, arms.values])).toEqual([
      [condition, [chosen], [longer]],
    ]);
    expect(costlyArms([chosen, arm]).size).toBe(0);
    expect(costlyArms([b.alu('where', condition, b.alu('mul', x, x), x)]).size).toBe(0);
    const inputs = [data('f32', values(64, 0.1))];
    expectSame({ space: [64], outputs: [chosen, arm], inputs });
  });

  it('may hold choices by the same condition', () => {
    for (const share of [0, 0.1, 1]) {
      const b = new Exprs();
      const x = b.load('f32', 0, b.axis(0, 70));
      const condition = b.alu('lt', b.const('f32', 1), x);
      const inner = b.alu('where', condition, long(b, x), b.alu('add', x, x));
      const outer = b.alu('where', condition, long(b, b.alu('mul', inner, x)), inner);
      const inputs = [data('f32', values(70, share))];
      expectSame({ space: [70], outputs: [outer, b.alu('add', outer, inner)], inputs });
    }
  });

  it('are skipped in a reduction, too', () => {
    const b = new Exprs();
    const x = b.load('f64', 0, b.axis(1, 257));
    const value = b.alu('where', b.alu('lt', b.const('f64', 1), x), long(b, x, 30), b.const('f64', 0));
    expectSame({
      space: [1],
      reduced: [257],
      accumulators: [{ op: 'max', type: 'f64', value }],
      outputs: [b.acc('f64', 0)],
      inputs: [data('f64', values(257, 0.02))],
    } as Spec);
  });
});
