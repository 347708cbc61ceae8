import { describe, expect, it } from 'vitest';
import { SequencePredictor } from './predictor.ts';

const fed = (sequence: string): SequencePredictor => {
  const p = new SequencePredictor();
  for (const key of sequence) p.add(key);
  return p;
};

describe('the sequence predictor', () => {
  it('knows nothing that it has not seen', () => {
    expect(fed('').next(3)).toEqual([]);
    expect(fed('abcdef').next(3)).toEqual([]);
  });

  it('goes on with a loop after one round and a bit, for as far as it is asked', () => {
    expect(fed('abcdefab').next(8).join('')).toBe('cdefabcd');
  });

  it('tells places in a loop apart by what came before', () => {
    // After "ab" comes c, after "xb" comes y.
    expect(fed('abcxbyabcxbyab').next(1)).toEqual(['c']);
    expect(fed('abcxbyabcxb').next(1)).toEqual(['y']);
  });

  it('follows a change of the loop', () => {
    expect(
      fed(`${'abcd'.repeat(20)}wxyzwx`)
        .next(2)
        .join(''),
    ).toBe('yz');
  });

  it('forgets the distant past and stays right', () => {
    const p = fed('abcde'.repeat(400));
    expect(p.next(5).join('')).toBe('abcde');
    expect([...p.distances(10)]).toEqual([...'abcde'].map((k, i) => [k, i]));
  });
});
