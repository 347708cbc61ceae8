import { expect, it } from 'vitest';
import { Regrets } from './regrets.ts';

it('blocks that are made again and again after they were destroyed raise the bound, up to a limit', () => {
  const regrets = new Regrets(0.4);
  for (let i = 0; i < 5; i++) {
    regrets.destroyed(100, 1000);
    regrets.made(90, 1000);
  }
  expect(regrets.allowance).toBe(400);
  regrets.clear();
  expect(regrets.allowance).toBe(0);
});

it('blocks that come back among many that do not raise nothing', () => {
  const regrets = new Regrets(0.4);
  for (let i = 0; i < 50; i++) {
    regrets.made(300, 1000);
    regrets.destroyed(100, 1000);
    regrets.made(90, 1000);
  }
  expect(regrets.allowance).toBe(0);
});

it('what happened long ago does not count against a loop that starts later', () => {
  const regrets = new Regrets(0.4);
  for (let i = 0; i < 1000; i++) regrets.made(300, 1000);
  for (let i = 0; i < 100; i++) {
    regrets.destroyed(100, 1000);
    regrets.made(100, 1000);
  }
  expect(regrets.allowance).toBeGreaterThan(0);
});

it('much smaller or larger blocks, and those destroyed long ago, are not the same again', () => {
  const regrets = new Regrets(0.4);
  for (const size of [101, 60]) {
    regrets.destroyed(100, 1000);
    regrets.made(size, 1000);
  }
  for (let i = 0; i < 20; i++) regrets.destroyed(700, 1000);
  regrets.made(100, 1000);
  expect(regrets.allowance).toBe(0);
});

it('eight requests in the same order as before are a loop, whatever else was made', () => {
  const after = (order: readonly number[]): number => {
    const regrets = new Regrets(0.4);
    for (let i = 0; i < 20; i++) regrets.made(300, 1000);
    const asked = (sizes: readonly number[]): void => {
      for (const s of sizes) regrets.asked(s);
    };
    asked([1, 2, 3, 4, 5, 6, 7, 100, 8, 9]);
    regrets.destroyed(100, 1000);
    asked(order);
    regrets.made(100, 1000);
    return regrets.allowance;
  };
  expect(after([1, 2, 3, 4, 5, 6, 7, 100])).toBe(100);
  expect(after([1, 2, 4, 3, 5, 6, 7, 100])).toBe(0);
  expect(after([2, 3, 4, 5, 6, 7, 100])).toBe(0);
});

it('loops of up to a thousand requests are known, longer ones are not', () => {
  const after = (length: number): number => {
    const regrets = new Regrets(0.4);
    for (let i = 0; i < 20; i++) regrets.made(300, 1000);
    for (let round = 0; round < 2; round++) for (let i = 0; i < length; i++) regrets.asked(i);
    regrets.destroyed(100, 1000);
    regrets.made(100, 1000);
    return regrets.allowance;
  };
  expect(after(1000)).toBe(100);
  expect(after(1030)).toBe(0);
});
