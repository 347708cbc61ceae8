import { expect, it } from 'vitest';
import { BufferRing, transferClass } from './ring.ts';

const made = (size: number) => {
  const buffer = { size, destroyed: false, gpu: { destroy: () => (buffer.destroyed = true) } as unknown as GPUBuffer };
  return buffer;
};

it('size classes of transfers grow in steps of a sixteenth and waste at most that', () => {
  expect(transferClass(1)).toBe(4096);
  expect(transferClass(4097)).toBe(4352);
  for (let n = 4096; n < 1e7; n += 9973) {
    const size = transferClass(n);
    expect(size).toBeGreaterThanOrEqual(n);
    expect(size).toBeLessThanOrEqual(n * 1.0625);
    expect(size % 256).toBe(0);
    expect(transferClass(size)).toBe(size);
  }
});

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
