import { expect, it } from 'vitest';
import { within } from '../../test/support/time.ts';
import { Finalizer } from './finalizer.ts';
import { findCollector } from './garbage.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('tells what was registered for objects that are gone, unless it was taken back', async () => {
  const collect = await findCollector();
  const found: number[] = [];
  const finalizer = new Finalizer<number>((n) => found.push(n));
  const kept = {};
  (() => {
    finalizer.register({}, 1);
    finalizer.register({}, 2);
    finalizer.register(kept, 3);
    const token = {};
    finalizer.register({}, 4, token);
    finalizer.unregister(token);
  })();
  await turn();
  collect();
  await expect.poll(() => [...found].sort(), { timeout: within(1000) }).toEqual([1, 2]);
  expect(kept).toEqual({});
});

it('goes on telling, whenever those who were told before are collected themselves', async () => {
  const collect = await findCollector();
  for (let round = 0; round < 4; round++) {
    let many: Finalizer<number>[] | null = Array.from({ length: 40 }, () => new Finalizer(() => {}));
    (() => {
      for (const f of many) f.register({}, 0);
    })();
    await turn();
    collect();
    for (let i = 0; i < round; i++) await turn();
    many = null;
    collect();
    expect(many).toBeNull();
  }
  let told = 0;
  const last = new Finalizer<number>((n) => {
    told += n;
  });
  (() => last.register({}, 7))();
  await turn();
  collect();
  await expect.poll(() => told, { timeout: within(1000) }).toBe(7);
});
