// The WebGPU device on wgpu, as Deno has it: a part of the case suite, and a compiled function. Not part of `npm test`: Deno is no dependency.
//
//   npm install deno (in a folder of its own), then from the repository, with the variables that `node scripts/software-gpu.mjs` prints
//   under `dawn`, or on a machine with a GPU:
//
//   deno run -A --no-check --unstable-webgpu test/webgpu/deno.ts [every n-th case, default 25]

import { mayShareLayouts } from '../../src/devices/webgpu/shared-layouts.ts';
import { createRuntime, type Tensor } from '../../src/index.ts';
import { caseFiles, readCases } from '../cases/files.ts';
import { runCases } from '../cases/run.ts';
import { wgsl } from '../cases/tolerance.ts';
import { everyNth } from '../support/extent.ts';

const { gpu } = (globalThis as unknown as { navigator: { gpu?: GPU } }).navigator;
const adapter = await gpu?.requestAdapter();
if (!adapter) throw new Error('there is no WebGPU adapter here');
const probe = await adapter.requestDevice();
console.log(`${adapter.info.description}: pipelines may share layouts: ${await mayShareLayouts(probe)}`);
probe.destroy();

const rt = await createRuntime({ devices: ['webgpu'], routing: { cache: false } });
const { dtypes } = rt.device('webgpu:0').caps;
let passed = 0;
const failures: string[] = [];
for (const file of caseFiles()) {
  const cases = everyNth(readCases(file), Number(process.argv[2] ?? 25));
  const result = await runCases(rt, cases, { dtypes, allow: wgsl, together: 8 });
  passed += result.passed;
  failures.push(...result.failures);
}
for (const f of failures.slice(0, 20)) console.log(f);
const f = rt.compile((x: Tensor) => x.sub(x.mean()).softmax().cumsum(0).sort());
const x = rt.arange(1000).cast('f32').compute();
const [first, second] = [await f(x).data(), await f(x).data()];
const same = first.length === second.length && first.every((v, i) => v === second[i]);
await rt.close();
console.log(`${passed} cases passed, ${failures.length} failed; a compiled function ${same ? 'repeats' : 'DIFFERS'}`);
process.exit(failures.length === 0 && same && passed > 0 ? 0 : 1);
