// npm run bench -- tfjs: our backend beside TF.js's cpu and wasm backends, in one process and one TF.js.
//
//   --only REGEX     some of the works     --rounds N   samples a backend (default 7)
//   --threads N      of the wasm backend, which has none in Node unless asked

import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import type * as core from '@tensorflow/tfjs-core';
import { registerBackend } from '../../src/tfjs/index.ts';
import { engineAlone } from './engine.ts';
import { measure, median, table } from './measure.ts';
import { works } from './works.ts';

const args = process.argv.slice(2);
const option = (name: string, otherwise: string): string => args[args.indexOf(`--${name}`) + 1 || -1] ?? otherwise;
const require = createRequire(new URL('../../bench/package.json', import.meta.url));
console.warn = () => {};
// With the gradients and chained ops of the whole package.
require('@tensorflow/tfjs');
const tf = require('@tensorflow/tfjs-core') as typeof core;
const cpu = require('@tensorflow/tfjs-backend-cpu');
const wasm = require('@tensorflow/tfjs-backend-wasm');
wasm.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
const backend = await registerBackend(tf, { cpu, runtime: { devices: ['cpu'] } });
const backends = ['gpuforge', 'wasm', 'cpu'];
const only = new RegExp(option('only', ''));
const rows = await measure(tf, backends, { rounds: Number(option('rounds', '7')), only });
console.log(`${cpus()[0]!.model}, ${cpus().length} cores, node ${process.version}, TF.js ${tf.version_core}\n`);
console.log(table(rows, backends));
console.log(`\nrouted kernels: ${JSON.stringify(backend.report().routed)}`);
for (const work of works.filter((w) => w.manyCalls && only.test(w.name))) {
  const ms = median(await engineAlone(tf, work, 'cpu', 40));
  console.log(`${work.name}: TF.js's engine alone, without any kernel, takes ${ms.toFixed(2)} ms`);
}
await backend.close();
process.exit(0);
