import { describe, expect, it } from 'vitest';
import { Owed } from './owed.ts';

describe('launches whose times are owed', () => {
  it('are found in order, out of order, once each, and not if nobody waits for them', () => {
    const owed = new Owed();
    for (let id = 1; id <= 5; id++) owed.add(id, 10 * id);
    expect(owed.take(1)).toBe(10);
    expect(owed.take(4)).toBe(40);
    expect(owed.take(4)).toBeUndefined();
    expect(owed.take(9)).toBeUndefined();
    expect([owed.take(2), owed.take(3)]).toEqual([20, 30]);
    expect(owed.size).toBe(1);
    expect(owed.take(5)).toBe(50);
    expect(owed.size).toBe(0);
    owed.add(6, 60);
    owed.clear();
    expect([owed.size, owed.take(6)]).toEqual([0, undefined]);
  });

  it('are found whatever order they were added in', () => {
    const owed = new Owed();
    for (const id of [1, 4, 2, 3, 9, 7]) owed.add(id, 10 * id);
    expect([7, 3, 1, 9, 2, 4, 4].map((id) => owed.take(id))).toEqual([70, 30, 10, 90, 20, 40, undefined]);
  });

  it('hold their place behind one that is never told, however many come and go', () => {
    const owed = new Owed();
    owed.add(1, 1);
    for (let id = 2; id < 20_000; id++) {
      owed.add(id, id);
      expect(owed.take(id)).toBe(id);
    }
    expect([owed.size, owed.take(1)]).toEqual([1, 1]);
    for (let id = 1; id < 20_000; id++) owed.add(id, id);
    for (let id = 1; id < 20_000; id++) expect(owed.take(id)).toBe(id);
    expect(owed.size).toBe(0);
  });
});
