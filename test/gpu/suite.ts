// The shared suites through the runtime, on the GPU: the case suite and the fuzzer's random graphs.
//
//   node dist/gpu/suite.mjs [--device D] [--part I/N] [--unpooled] [cases] [fuzz [RUNS [SEED]]] [streams [SECONDS]]
//
// `--device`: another device than `cuda`; a GPU host has many cores, on which the fuzzer finds what is wrong with the CPU's code, too.
// `streams`: many runtimes, many streams of work at once. `--unpooled`: every buffer an allocation of its own, for memory checkers.
// Most of the time goes into assembling kernels, on one core: `--part I/N` takes every N-th case and graph, so that N
// processes share the work. Data of the cases lie in `data/` beside the bundle. Exits non-zero if anything failed or there is no GPU.

import type { DType } from '../../src/base/dtype.ts';
import { createRuntime } from '../../src/index.ts';
import { caseFiles, readCases } from '../cases/files.ts';
import type { Case } from '../cases/format.ts';
import { runCases } from '../cases/run.ts';
import type { Wishes } from '../fuzz/generate.ts';
import { careless, compiled, eager, fuzz, type Manner } from '../fuzz/run.ts';
import { streams } from './streams.ts';

const args = process.argv.slice(2);
const partAt = args.indexOf('--part');
const [part, parts] = (partAt >= 0 ? args.splice(partAt, 2)[1]! : '0/1').split('/').map(Number) as [number, number];
const deviceAt = args.indexOf('--device');
const wanted = deviceAt >= 0 ? args.splice(deviceAt, 2)[1]! : 'cuda';
const pooled = !args.includes('--unpooled');
if (!pooled) args.splice(args.indexOf('--unpooled'), 1);
const rt = await createRuntime({ devices: [wanted as 'cuda'], seed: 1, cuda: { pooled } }).catch((e: Error) => {
  console.error(`no ${wanted} device: nothing was tested\n${e.message}`);
  process.exit(1);
});
const device = rt.devices().find((d) => d.open)!;
console.log(`${device.id} ${device.name} ${JSON.stringify(device.details)}`);
const dtypes: ReadonlySet<DType> = rt.device(device.id).caps.dtypes;
let failed = 0;
const started = performance.now();
const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;

async function cases(): Promise<void> {
  let passed = 0;
  const skipped = new Map<string, number>();
  for (const file of caseFiles()) {
    const list: readonly Case[] = readCases(file).filter((_, i) => i % parts === part);
    const result = await runCases(rt, list, { dtypes, wide: 'also', together: 16 });
    passed += result.passed;
    failed += result.failures.length;
    for (const [reason, n] of result.skipped) skipped.set(reason, (skipped.get(reason) ?? 0) + n);
    for (const f of result.failures.slice(0, 40)) console.log(`FAIL ${f.slice(0, 900)}`);
    console.log(`${file.padEnd(20)} ${result.passed} passed, ${result.failures.length} failed (${seconds()})`);
  }
  for (const [reason, n] of skipped) console.log(`${n} skipped: ${reason}`);
  console.log(`cases: ${passed} passed, ${failed} failed`);
}

async function graphs(label: string, wishes: Wishes, count: number, seed: number, manner: Manner): Promise<void> {
  const {
    failure: problem,
    ran,
    compared,
    share,
  } = await fuzz([{ name: device.id, rt }], wishes, { seed, count }, manner);
  if (problem) {
    failed++;
    console.log(`FAIL ${label}: ${problem}`);
  }
  console.log(
    `${label}: ${ran} of ${count} graphs, seed ${seed}, ${compared} elements compared (${share.toFixed(0)} %), ${seconds()}`,
  );
}

if (args.length === 0 || args.includes('cases')) await cases();
const at = args.indexOf('fuzz');
if (args.length === 0 || at >= 0) {
  const runs = Math.ceil(Number((at >= 0 ? args[at + 1] : undefined) ?? 5000) / parts);
  const given = at >= 0 ? args[at + 2] : undefined;
  const seed = (given === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(given)) + part;
  await graphs('random graphs', { dtypes }, runs, seed, eager);
  await graphs('random graphs, large', { dtypes, extent: 'large', maxSteps: 12 }, Math.ceil(runs / 4), seed, eager);
  await graphs('random graphs, careless', { dtypes }, Math.ceil(runs / 4), seed, careless);
  await graphs('random graphs, compiled', { dtypes }, Math.ceil(runs / 10), seed, compiled);
}
const streamsAt = args.indexOf('streams');
if ((args.length === 0 && part === 0) || streamsAt >= 0) {
  try {
    console.log(`streams: ${await streams(Number(args[streamsAt + 1] ?? 20))}`);
  } catch (e) {
    failed++;
    console.log(`FAIL streams: ${(e as Error).message}`);
  }
}
console.log(`${failed === 0 ? 'all passed' : `${failed} failed`} after ${seconds()}`);
await rt.close();
process.exit(failed === 0 ? 0 : 1);
