// On a GPU host: our backend on CUDA beside TF.js's WebGPU backend over Dawn, in one process and one TF.js.
//
//   node dist/gpu/tfjs-bench.mjs [--only REGEX] [--rounds N] [--device cuda|webgpu|cpu|auto] [--alone] [--where] [--no-cublas]
//   node dist/gpu/tfjs-bench.mjs --bound TFLOPS --bandwidth TB/s
//
// `auto`: whatever there is, as without options. `--alone`: without TF.js's backend. `--where`: where the time of our backend goes, instead. `--bound`: the least time that MobileNet can take
// on a device of that peak; measures nothing.

import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import { registerBackend } from '../../src/tfjs/index.ts';
import { installDawn } from '../webgpu/dawn.mjs';
import { bound } from './bound.ts';
import { measure, table } from './measure.ts';
import { where } from './where.ts';

const args = process.argv.slice(2);
const option = (name: string, otherwise: string): string => args[args.indexOf(`--${name}`) + 1 || -1] ?? otherwise;
console.warn = () => {};
if (args.includes('--bound')) {
  for (const batch of [1, 32]) console.log(bound(batch, Number(option('bound', '')), Number(option('bandwidth', ''))));
  process.exit(0);
}
const device = option('device', 'cuda') as 'cuda' | 'webgpu' | 'cpu' | 'auto';
const backends = ['gpuforge'];
let adapter = 'none';
if (!args.includes('--alone')) {
  try {
    adapter = await installDawn();
    await import('@tensorflow/tfjs-backend-webgpu');
    backends.push('webgpu');
  } catch (e) {
    adapter = String(e);
  }
}
const opening = performance.now();
const backend = await registerBackend(tf, {
  cpu,
  runtime: {
    ...(device !== 'auto' && { devices: [device] }),
    ...(args.includes('--no-cublas') && { cuda: { cublas: false } }),
  },
});
const opened = performance.now() - opening;
const only = new RegExp(option('only', ''));
if (args.includes('--where')) {
  await where(tf, backend, only, Number(option('rounds', '200')));
  process.exit(0);
}
const rows = await measure(tf, backends, {
  rounds: Number(option('rounds', '7')),
  only,
});
console.log(
  `${backend.report().device}, registered in ${opened.toFixed(0)} ms, node ${process.version}, TF.js ${tf.version_core}, Dawn: ${adapter}\n`,
);
console.log(table(rows, backends));
console.log(`\nrouted kernels: ${JSON.stringify(backend.report().routed)}`);
process.exit(0);
