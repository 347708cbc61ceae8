import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import type { Alu, Expr } from '../../../kernel/expr.ts';
import { isLongSum } from './long-sum.ts';

const k = new KernelBuilder([64]);
const word = (v: number): Expr => k.b.const('u32', v);

describe('words that are mixed', () => {
  const y = k.whole('u32');
  const key = k.scalar('u32');
  it('are added three at a time where one is the same for all elements', () => {
    const sum = k.op('add', y, k.whole('u32'));
    const withKey = k.op('add', sum, key) as Alu;
    expect(isLongSum(withKey)).toBe(true);
    expect(isLongSum(k.op('add', withKey, k.op('xor', y, word(5))) as Alu)).toBe(true);
    expect(isLongSum(sum as Alu)).toBe(false);
    expect(isLongSum(k.op('add', k.op('xor', y, word(5)), key) as Alu)).toBe(false);
  });
});
