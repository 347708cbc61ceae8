import { expect, it } from 'vitest';
import { SharedWork, type WasmCode, WasmEngine } from './engine.ts';
import type { ThreadHost } from './host.ts';
import { CpuMemory } from './memory.ts';

const host: ThreadHost = { parallelism: 2, spawn: () => null, require: null };
const code = { name: 'nothing', exports: () => ({ run: () => {} }) } as unknown as WasmCode;
const work = (nanoseconds: number): SharedWork =>
  new SharedWork({ code, items: 100, grain: 1, nanoseconds, finish: false, repeatable: true });

it('wakes no worker for short work right behind that of other threads, and does so again a little later', async () => {
  const engine = new WasmEngine(new CpuMemory(1 << 20, true), host, 2, 1000);
  const [short, long] = [work(100_000), work(1_000_000)];
  expect(engine.spreads(short)).toBe(true);
  engine.rest();
  expect(engine.spreads(long)).toBe(true);
  let runs = 0;
  for (; !engine.spreads(short) && runs < 100; runs++) engine.run(short);
  expect(runs).toBe(8);
  await engine.close();
});
