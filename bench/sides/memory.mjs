// Peak resident memory of the fused chain: what the process holds at its highest, over what it held with an idle runtime.

import { createRuntime } from '../../dist/index.js';
import { cpuOptions } from './runtime-options.mjs';

const n = 2 ** 25;
const rt = await createRuntime(cpuOptions({}));
const chain = (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();

// Everything that is loaded on first use is loaded before the first look.
await rt.scope(async () => {
  const x = rt.full([2 ** 16], 0.25, { dtype: 'f32' });
  await chain(x).data();
  await rt
    .arange(2 ** 16)
    .mul(2 ** -16)
    .cast('f32')
    .data();
});
globalThis.gc?.();
const before = process.memoryUsage().rss;

const x = rt
  .iota([n], 0)
  .cast('f32')
  .mul(1 / n);
await rt.flush(x);
const y = chain(x);
await rt.flush(y);
const peak = process.resourceUsage().maxRSS * 1024;
const last = (await y.slice([[n - 1, n]]).data())[0];
const want = Math.tanh((0.99 * (1 - 1 / n) + 0.5) * (1 - 1 / n) - 0.1);
if (!(Math.abs(last - want) < 1e-4)) throw new Error(`the chain gave ${last}, expected ${want}`);
console.log(JSON.stringify({ elements: n, inputBytes: 4 * n, outputBytes: 4 * n, peakBytes: peak - before }));
process.exit(0);
