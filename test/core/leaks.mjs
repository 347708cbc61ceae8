// Tensors that nobody disposes, in a process of its own: what the collector finds, and the lines that made them.
// Run with --expose-gc; prints JSON.

import { createRuntime } from 'gpuforge';

const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, development: true });
const leaks = [];
rt.on('leak', (e) => leaks.push(e.line));
(() => {
  for (let i = 0; i < 5; i++) rt.ones([256, 256]).compute();
})();
const before = rt.stats().bytes;
for (let i = 0; i < 200 && rt.stats().bytes > 0; i++) {
  gc();
  await new Promise((r) => setTimeout(r, 10));
}
console.log(JSON.stringify({ before, after: rt.stats().bytes, leaks, lines: rt.stats().leaks.map((l) => l.line) }));
await rt.close();
