import { describe, expect, it } from 'vitest';
import { Bounded } from './bounded.ts';

describe('things by key', () => {
  it('are made once, and the one used longest ago goes first', () => {
    const gone: string[] = [];
    const known = new Bounded<string>(2, (v) => gone.push(v));
    expect(known.of('a', () => 'first')).toBe('first');
    expect(known.of('b', () => 'second')).toBe('second');
    expect(known.of('a', () => 'another')).toBe('first');
    known.of('c', () => 'third');
    expect(gone).toEqual(['second']);
    expect(known.of('b', () => 'anew')).toBe('anew');
    expect(gone).toEqual(['second', 'first']);
    expect(['a', 'b', 'c'].map((key) => known.get(key))).toEqual([undefined, 'anew', 'third']);
  });
});
