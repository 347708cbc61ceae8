// npm run bench -- compute: the targets of gpuforge/compute, measured.
//
//   --devices cpu     the kind of device to measure; cuda on a GPU host (default: cuda if it is there, else cpu)
//   --only PT1,I1     some of it
//   --json FILE       default bench/results/compute-<device>.json
//
// Figures of the CPU tell the cost of the facade; the targets are for GPUs, so without one the closing line says that they
// were not measured there. Ends with status 1 if a target was missed.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { createRuntime } from '../../src/index.ts';
import { args, kindToMeasure, option } from '../lib/kind.ts';
import { adaptiveChunks } from './chunks.ts';
import { facadeCost } from './cost.ts';
import { overhead } from './overhead.ts';
import { type Row, show } from './report.ts';
import { type Setup, setup } from './setup.ts';
import { batch, ceiling, concurrent, transfers } from './targets.ts';

const parts: Readonly<Record<string, (s: Setup) => Promise<Row[]>>> = {
  PT1: transfers,
  PT2: batch,
  PT3: overhead,
  PT4: ceiling,
  PT5: concurrent,
  cost: facadeCost,
  I1: adaptiveChunks,
};

const kind = await kindToMeasure();
const rt = await createRuntime({ devices: [kind] });
const name = rt.devices()[0]!.name;
await rt.close();
console.log(`gpuforge/compute on ${name} (${cpus()[0]?.model ?? 'unknown CPU'}, load ${loadavg()[0]!.toFixed(1)})\n`);
const only = option('only')?.split(',');
const rows: Row[] = [];
for (const [id, run] of Object.entries(parts)) {
  if (only && !only.includes(id)) continue;
  rows.push(...(await run(setup(kind))));
}
console.log(show(rows));
const gpu = kind === 'cuda' || kind === 'webgpu';
console.log(gpu ? '' : '\nTargets on a GPU: not measured (no GPU here; run on a GPU host with --devices cuda).');
const file = option('json') ?? `bench/results/compute-${kind}.json`;
mkdirSync(dirname(file), { recursive: true });
const machine = { cpu: cpus()[0]?.model ?? null, cores: cpus().length, load: loadavg(), node: process.version };
const command = `npm run bench -- compute${args.length > 0 ? ` ${args.join(' ')}` : ''}`;
writeFileSync(
  file,
  `${JSON.stringify({ command, device: name, kind, machine, at: new Date().toISOString(), rows }, null, 1)}\n`,
);
console.log(`written to ${file}`);
process.exitCode = rows.some((r) => r.verdict === 'missed') ? 1 : 0;
