import { expect, it } from 'vitest';
import { type Expr, Exprs } from './expr.ts';
import { rewriter } from './rewrite.ts';

const all = (b: Exprs): Expr => {
  const i = b.axis(0, 8);
  const gated = b.load('f32', 0, i, b.alu('lt', i, b.const('index', 5)));
  const whole = b.cast('f32', b.bitcast('i32', b.acc('f32', 1)));
  return b.alu('add', b.alu('mul', gated, b.scalar('f32', 2)), whole);
};

it('copies every kind of expression into another builder', () => {
  const [from, to] = [new Exprs(), new Exprs()];
  const made = rewriter(to, () => undefined)(all(from));
  expect(made).toBe(all(to));
  expect(made).not.toBe(all(from));
});

it('replaces parts and simplifies what stands above them', () => {
  const [from, to] = [new Exprs(), new Exprs()];
  let asked = 0;
  const copy = rewriter(to, (e) => {
    if (e.kind !== 'scalar') return undefined;
    asked++;
    return to.const('f32', 1);
  });
  const x = from.load('f32', 0, from.axis(0, 8));
  const scaled = from.alu('mul', x, from.scalar('f32', 0));
  expect(copy(from.alu('max', scaled, from.alu('neg', scaled)))).toBe(to.alu('max', copy(x), to.alu('neg', copy(x))));
  expect(asked).toBe(1);
});
