// The shared suites through the runtime, on the GPU: the case suite and the fuzzer's random graphs.
//
//   node dist/gpu/suite.mjs [--part I/N] [cases] [fuzz [RUNS [SEED]]]
//
// Most of the time goes into assembling kernels, on one core: `--part I/N` takes every N-th case and graph, so that N
// processes share the work. Data of the cases lie in `data/` beside the bundle. Exits non-zero if anything failed or there is no GPU.

import fc from 'fast-check';
import type { DType } from '../../src/base/dtype.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { caseFiles, readCases } from '../cases/files.ts';
import type { Case, HostArray } from '../cases/format.ts';
import { runCases } from '../cases/run.ts';
import { programs, type Wishes } from '../fuzz/generate.ts';
import { build, check, type Program, print, type Tally, uploads, valuesOf } from '../fuzz/program.ts';

const args = process.argv.slice(2);
const partAt = args.indexOf('--part');
const [part, parts] = (partAt >= 0 ? args.splice(partAt, 2)[1]! : '0/1').split('/').map(Number) as [number, number];
const rt = await createRuntime({ devices: ['cuda'], seed: 1 }).catch((e: Error) => {
  console.error(`no CUDA device: nothing was tested\n${e.message}`);
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

type Run = (rt: Runtime, p: Program) => readonly Tensor[];

async function fuzz(label: string, wishes: Wishes, runs: number, seed: number, run: Run): Promise<void> {
  const tally: Tally = { compared: 0, undecided: 0 };
  const result = await fc.check(
    fc.asyncProperty(programs(wishes), async (p) => {
      const expected = valuesOf(p);
      await rt.scope(async () => {
        for (const [k, t] of run(rt, p).entries()) {
          const output = p.outputs[k % p.outputs.length]!;
          const data = (await t.data()) as HostArray;
          const problem = check(expected[output]!, { dtype: t.dtype, shape: t.shape, data }, tally);
          if (problem) throw new Error(`v${output}: ${problem}`);
        }
      });
    }),
    { seed, numRuns: runs },
  );
  if (result.failed) {
    failed++;
    const [p] = result.counterexample as [Program];
    const message = result.errorInstance instanceof Error ? result.errorInstance.stack : `${result.errorInstance}`;
    console.log(
      `FAIL ${label}: ${message}\nseed ${result.seed}, graph ${result.numRuns}, shrunk ${result.numShrinks}:\n${print(p)}`,
    );
  }
  const share = (100 * tally.compared) / (tally.compared + tally.undecided);
  console.log(
    `${label}: ${result.numRuns} of ${runs} graphs, seed ${seed}, ${tally.compared} elements compared (${share.toFixed(0)} %), ${seconds()}`,
  );
}

if (args.length === 0 || args.includes('cases')) await cases();
const at = args.indexOf('fuzz');
if (args.length === 0 || at >= 0) {
  const runs = Math.ceil(Number((at >= 0 ? args[at + 1] : undefined) ?? 5000) / parts);
  const given = at >= 0 ? args[at + 2] : undefined;
  const seed = (given === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(given)) + part;
  await fuzz('random graphs', { dtypes }, runs, seed, (r, p) => build(r, p, uploads(r, p)));
  // A compiled function refuses index tensors: it does not check them.
  const without = new Set(['gather', 'takeAlongAxis', 'scatter']);
  await fuzz('random graphs, compiled', { dtypes, without }, Math.ceil(runs / 10), seed, (r, p) => {
    const items = p.items.map((i) => (i.kind === 'step' ? { ...i, compute: false } : i));
    const step = r.compile((...inputs: Tensor[]) => build(r, { ...p, items }, inputs));
    const inputs = uploads(r, p);
    return [...step(...inputs), ...step(...inputs)];
  });
}
console.log(`${failed === 0 ? 'all passed' : `${failed} failed`} after ${seconds()}`);
await rt.close();
process.exit(failed === 0 ? 0 : 1);
