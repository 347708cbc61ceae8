import { expect, it } from 'vitest';
import { mapWork } from '../../../test/support/routing.ts';
import { Corrections, Signature } from './corrections.ts';
import type { WorkItem } from './types.ts';

const sig = (n: number): Signature => new Signature().set('element_wise', [mapWork(n)]);
const learn = (c: Corrections, s: Signature, log: number, fresh = true): number =>
  c.learn(s, log, Math.log(c.factor(s)), fresh, 0.1);
const teach = (c: Corrections, s: Signature, log: number, times: number): void => {
  for (let i = 0; i < times; i++) learn(c, s, log);
};

it('throws a slow first sample away, because something was compiled', () => {
  const c = new Corrections();
  learn(c, sig(1000), Math.log(100));
  expect(c.samples(sig(1000))).toBe(0);
  expect(c.seen(sig(1000))).toBe(true);
  expect(c.factor(sig(1000))).toBe(1);
});

it('takes a first sample in if it is as fast as expected, or nothing can have been compiled', () => {
  const c = new Corrections();
  learn(c, sig(1000), Math.log(0.5));
  learn(c, sig(4000), Math.log(100), false);
  expect([c.samples(sig(1000)), c.samples(sig(4000))]).toEqual([1, 1]);
});

it('comes close to a steady ratio after a few samples', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(3), 8);
  expect(c.samples(sig(1000))).toBe(7);
  expect(c.factor(sig(1000))).toBeGreaterThan(2.5);
  expect(c.factor(sig(1000))).toBeLessThanOrEqual(3.01);
});

it('tells sizes a quarter of an octave apart from each other, and takes closer ones together', () => {
  expect(sig(1000).a).not.toBe(sig(1250).a);
  expect(sig(1000).a).toBe(sig(1010).a);
  const twice: WorkItem[] = [mapWork(1000), mapWork(1000)];
  expect(new Signature().set('element_wise', twice).a).not.toBe(sig(1000).a);
  expect(new Signature().set('reduction', [mapWork(1000)]).a).not.toBe(sig(1000).a);
});

it('carries part of what it learned over to the class, within a factor of four', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(100), 30);
  const other = c.factor(sig(1 << 20));
  expect(other).toBeGreaterThan(1.5);
  expect(other).toBeLessThanOrEqual(4);
});

it('is not moved by samples far off the others, not even by three of them', () => {
  const c = new Corrections();
  for (let i = 0; i < 9; i++) learn(c, sig(1000), Math.log(2) + 0.02 * (i % 3));
  const before = c.factor(sig(1000));
  for (const ratio of [50, 9, 20]) learn(c, sig(1000), Math.log(ratio));
  expect(c.factor(sig(1000)) / before).toBeCloseTo(1, 1);
});

it('goes by the second-fastest of the last eight samples', () => {
  const c = new Corrections();
  teach(c, sig(1000), 0, 9);
  for (const ratio of [8, 2, 7, 3, 1, 6, 4, 5]) learn(c, sig(1000), Math.log(ratio), false);
  expect(c.factor(sig(1000))).toBeGreaterThan(1.5);
  expect(c.factor(sig(1000))).toBeLessThan(2.5);
});

it('knows after three slower samples in a row that are alike that it has become slower', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(2), 9);
  for (const ratio of [8, 8.4, 8.1]) learn(c, sig(1000), Math.log(ratio));
  expect(c.factor(sig(1000))).toBeGreaterThan(6);
});

it('believes one fast sample more than one slow one', () => {
  const [fast, slow] = [new Corrections(), new Corrections()];
  learn(fast, sig(1000), -3, false);
  learn(slow, sig(1000), 3, false);
  expect(-Math.log(fast.factor(sig(1000)))).toBeGreaterThan(2 * Math.log(slow.factor(sig(1000))));
});

it('is not led astray by a first sample that was disturbed', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(9), 2);
  expect(c.samples(sig(1000))).toBe(1);
  expect(c.factor(sig(1000))).toBeLessThan(2);
});

it('follows a change that stays', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(2), 20);
  teach(c, sig(1000), Math.log(8), 12);
  expect(c.factor(sig(1000))).toBeGreaterThan(5);
});

it('forgets old samples', () => {
  const c = new Corrections();
  teach(c, sig(1000), 0, 200);
  teach(c, sig(1000), 0.14, 60);
  expect(Math.log(c.factor(sig(1000)))).toBeGreaterThan(0.1);
});

it('says when a correction has moved notably, and says it once', () => {
  const c = new Corrections();
  const s = sig(1000);
  expect(learn(c, s, 0.6)).toBeGreaterThan(0.5);
  expect(learn(c, s, 0.6)).toBe(0);
});

it('keeps what it learned through saving and loading, as knowledge that counts less', () => {
  const c = new Corrections();
  teach(c, sig(1000), Math.log(3), 20);
  const d = new Corrections();
  d.load(JSON.parse(JSON.stringify(c.save())));
  expect(d.factor(sig(1000))).toBeGreaterThan(2);
  expect(d.samples(sig(1000))).toBeLessThan(c.samples(sig(1000)));
});

it('holds thousands of programs and lets go of the oldest', () => {
  const c = new Corrections();
  const items = Array.from({ length: 5000 }, (_, i): WorkItem[] => [
    { class: 'map', flops: 1 + (i % 70) ** 4, bytes: 2 ** (i / 70), elements: 1 },
  ]);
  for (const work of items) teach(c, new Signature().set('unknown', work), 1, 2);
  expect(c.samples(new Signature().set('unknown', items.at(-1)!))).toBeGreaterThan(0);
  expect(c.save().programs.length).toBeLessThanOrEqual(3072);
});
