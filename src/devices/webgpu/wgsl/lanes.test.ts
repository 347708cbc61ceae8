import { describe, expect, it } from 'vitest';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import { Lanes } from './lanes.ts';

const b = new Exprs();
const num = (n: number): Expr => b.const('index', n);
const i = b.axis(0, 6);
const j = b.axis(1, 64);
const along = new Lanes({ axis: 1, space: [6, 64], accumulators: false });

describe('lanes along an axis', () => {
  it('see the position move by one, and positions of other axes stand still', () => {
    expect(along.stride(j)).toBe(1);
    expect(along.stride(i)).toBe(0);
    expect(along.stride(b.alu('add', b.alu('mul', i, num(64)), b.alu('mul', j, num(3))))).toBe(3);
  });

  it('are aligned where everything but the axis is a multiple of four', () => {
    expect(along.aligned(b.alu('add', b.alu('mul', i, num(64)), j))).toBe(true);
    expect(along.aligned(b.alu('add', b.alu('mul', i, num(63)), j))).toBe(false);
    expect(along.aligned(b.alu('add', j, num(4)))).toBe(true);
    expect(along.aligned(b.alu('add', j, num(1)))).toBe(false);
  });

  it('share comparisons and quotients with multiples of four, and no others', () => {
    expect(along.uniform(b.alu('lt', j, num(60)))).toBe(true);
    expect(along.uniform(b.alu('lt', j, num(61)))).toBe(false);
    expect(along.uniform(b.alu('le', j, num(59)))).toBe(true);
    expect(along.uniform(b.alu('le', j, num(60)))).toBe(false);
    expect(along.uniform(b.raw('idiv', [j, num(8)]))).toBe(true);
    expect(along.uniform(b.raw('idiv', [j, num(6)]))).toBe(false);
    expect(along.stride(b.raw('imod', [j, num(8)]))).toBe(1);
    expect(along.stride(b.raw('imod', [j, num(6)]))).toBe(null);
  });

  it('keep their stride through a roll by a multiple of four, and lose it through another', () => {
    const roll = (s: number): Expr => b.alu('add', j, b.alu('where', b.alu('lt', j, num(64 - s)), num(s), num(s - 64)));
    expect(along.stride(roll(8))).toBe(1);
    expect(along.aligned(roll(8))).toBe(true);
    expect(along.stride(roll(3))).toBe(null);
  });

  it('differ in what is loaded at different places', () => {
    expect(along.uniform(b.load('f32', 0, i))).toBe(true);
    expect(along.uniform(b.load('f32', 0, j))).toBe(false);
    expect(along.uniform(b.load('f32', 0, i, b.alu('lt', j, num(5))))).toBe(false);
  });
});

describe('lanes that straddle rows', () => {
  const [p, q] = [b.axis(0, 5), b.axis(1, 7)];
  const across = new Lanes({ axis: null, space: [5, 7], accumulators: true });

  it('move evenly along the output itself and nothing else', () => {
    const own = b.alu('add', b.alu('mul', p, num(7)), q);
    expect(across.stride(own)).toBe(1);
    expect(across.aligned(own)).toBe(true);
    expect(across.stride(b.alu('add', own, num(2)))).toBe(1);
    expect(across.aligned(b.alu('add', own, num(2)))).toBe(false);
    expect(across.stride(b.alu('add', b.alu('mul', q, num(5)), p))).toBe(null);
    expect(across.stride(q)).toBe(null);
    expect(across.uniform(b.acc('f32', 0))).toBe(false);
  });
});
