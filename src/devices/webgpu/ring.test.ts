import { expect, it } from 'vitest';
import { BufferRing } from './ring.ts';

const made = (size: number) => {
  const buffer = { size, destroyed: false, gpu: { destroy: () => (buffer.destroyed = true) } as unknown as GPUBuffer };
  return buffer;
};

it('gives the smallest kept buffer that fits, and none that is far too large', () => {
  const ring = new BufferRing<ReturnType<typeof made>>(1e6);
  const [a, b] = [made(100_000), made(60_000)];
  ring.keep(a);
  ring.keep(b);
  expect(ring.take(50_000)).toBe(b);
  expect(ring.take(20_000)).toBe(undefined);
  expect(ring.take(100_000)).toBe(a);
  expect(ring.take(100_000)).toBe(undefined);
});

it('lets the ones not used for longest go, so that a new size is never crowded out by old ones', () => {
  const ring = new BufferRing<ReturnType<typeof made>>(100);
  const old = [made(50), made(50)];
  for (const o of old) ring.keep(o);
  const fresh = made(40);
  ring.keep(fresh);
  expect(old.map((o) => o.destroyed)).toEqual([true, false]);
  expect(ring.take(40)).toBe(fresh);
  ring.trim();
  expect(old[1]!.destroyed).toBe(true);
});
