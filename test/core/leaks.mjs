// Tensors that nobody disposes, in a process of its own: what the collector finds, and the lines that made them.
// Run with --expose-gc; prints JSON.
//
//   node --expose-gc leaks.mjs DEVICE SIDE [plain]
//
// `plain`: without lines and listeners, as most programs run.

import { createRuntime } from 'gpuforge';

const shape = [Number(process.argv[3]), Number(process.argv[3])];
const plain = process.argv[4] === 'plain';
const rt = await createRuntime({
  devices: [process.argv[2]],
  cpu: { threads: 1 },
  development: !plain,
  recovery: { keep: 'none' },
});
const leaks = [];
if (!plain) rt.on('leak', (e) => leaks.push(e.line));

async function collect(least) {
  for (let i = 0; i < 200 && rt.stats().bytes > least; i++) {
    gc();
    await new Promise((r) => setTimeout(r, 10));
  }
  return rt.stats().bytes;
}

(() => {
  for (let i = 0; i < 5; i++) rt.ones(shape).compute();
})();
const before = rt.stats().bytes;
const after = await collect(0);
const computed = { before, after, leaks: leaks.splice(0).length, lines: rt.stats().leaks.map((l) => l.line) };

// Lazy steps keep what they need until the last of them is gone, also after their source was disposed of.
const steps = (() => {
  const x = rt.ones(shape).compute();
  const list = [x.add(1), x.add(2), x.add(3)];
  x.dispose();
  return list;
})();
await new Promise((r) => setImmediate(r));
steps.splice(0, 2);
for (let i = 0; i < 5; i++) await collect(Number.POSITIVE_INFINITY).then(() => gc());
await new Promise((r) => setTimeout(r, 50));
const held = rt.stats().bytes;
const value = await (async () => {
  const sum = steps[0].sum();
  const [v] = await sum.data();
  sum.dispose();
  return v;
})();
steps.splice(0);
const freed = await collect(0);
console.log(JSON.stringify({ computed, lazy: { held, value, freed, leaks: leaks.length } }));
await rt.close();
