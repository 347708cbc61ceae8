import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { atLeast } from './at-least.ts';
import type { Expr } from './expr.ts';

const k = new KernelBuilder([64]);
const x = k.whole('f32');
const number = (v: number): Expr => k.b.const('f32', v);

describe('what a float is not below', () => {
  it.each([
    ['a number', number(3), 3],
    ['anything', x, Number.NEGATIVE_INFINITY],
    ['a size', k.op('abs', x), 0],
    ['a power', k.op('exp', x), 0],
    ['a square', k.op('mul', x, x), 0],
    ['a product of two values', k.op('mul', x, k.op('add', x, number(1))), Number.NEGATIVE_INFINITY],
    ['a square and something', k.op('add', k.op('mul', x, x), number(0.5)), 0.5],
    ['the larger one', k.op('max', x, number(-2)), -2],
    ['the smaller one', k.op('min', k.op('abs', x), number(5)), 0],
    ['either of two', k.op('where', k.op('lt', x, number(0)), number(7), number(2)), 2],
    ['a count', k.b.cast('f32', k.whole('u32')), 0],
    ['a whole number', k.b.cast('f32', k.whole('i32')), Number.NEGATIVE_INFINITY],
    ['bits', k.b.bitcast('f32', k.whole('u32')), Number.NEGATIVE_INFINITY],
  ])('%s', (_, e, bound) => {
    expect(atLeast(e)).toBe(bound);
  });
});
