import { describe, expect, it } from 'vitest';
import { randomSource } from '../../test/support/traces.ts';
import { IdleBlocks } from './idle.ts';

const idleOf = (...sizes: number[]) => {
  const idle = new IdleBlocks<{ size: number; since: number }>();
  const blocks = sizes.map((size) => ({ size, since: 0 }));
  for (const b of blocks) idle.put(b);
  return { idle, blocks };
};

describe('idle blocks', () => {
  it('give the smallest that is large enough, and of equal ones the last', () => {
    const { idle, blocks } = idleOf(30, 10, 20, 10);
    expect(idle.best(31)).toBe(undefined);
    expect(idle.best(11)).toBe(blocks[2]);
    expect(idle.best(10)).toBe(blocks[3]);
    expect(idle.take(blocks[3]!)).toBe(true);
    expect(idle.take(blocks[3]!)).toBe(false);
    expect(idle.best(1)).toBe(blocks[1]);
    expect(idle.bytes).toBe(60);
  });

  it('let the ones go that were many bytes for long', () => {
    const { idle, blocks } = idleOf(10, 100, 60, 20);
    // Their ages are 4, 3, 2 and 1.
    expect(idle.takeFor(1)).toEqual([blocks[1]]);
    expect(idle.takeFor(61)).toEqual([blocks[2], blocks[0]]);
    expect(idle.bytes).toBe(20);
    expect(idle.takeFor(1000)).toEqual([blocks[3]]);
    expect(idle.bytes).toBe(0);
    expect(idle.takeFor(1)).toEqual([]);
  });

  it('keep what turns out not to be needed', () => {
    const { idle, blocks } = idleOf(50, 1, 1, 1, 1, 1, 120);
    // The one of 50 weighs more, but the other one is enough.
    expect(idle.takeFor(100)).toEqual([blocks[6]]);
    expect(idle.best(50)).toBe(blocks[0]);
    expect(idle.bytes).toBe(55);
  });

  it('agree with a plain list over a long random life', () => {
    const { idle } = idleOf();
    const random = randomSource(7);
    let list: { size: number; since: number }[] = [];
    for (let i = 0; i < 3000; i++) {
      const size = 1 + Math.floor(random() * 50);
      const smallest = Math.min(...list.filter((b) => b.size >= size).map((b) => b.size));
      const expected = list.findLast((b) => b.size === smallest);
      expect(idle.best(size)).toBe(expected);
      if (expected && random() < 0.5) {
        expect(idle.take(expected)).toBe(true);
        list = list.filter((b) => b !== expected);
      } else if (random() < 0.02) {
        const gone = idle.takeFor(100);
        expect(gone.reduce((sum, b) => sum + b.size, 0)).toBeGreaterThanOrEqual(
          Math.min(
            100,
            list.reduce((sum, b) => sum + b.size, 0),
          ),
        );
        list = list.filter((b) => !gone.includes(b));
      } else {
        const block = { size, since: 0 };
        idle.put(block);
        list.push(block);
      }
      expect(idle.bytes).toBe(list.reduce((sum, b) => sum + b.size, 0));
    }
    expect(idle.takeAll().length).toBe(list.length);
  });
});
