// npm run bench -- profile: what the profiler costs, and whether its times are true.
//
//   --devices cpu     the kind of device to measure: cuda, webgpu, cpu (default: cuda if it is there, else cpu)
//   --json FILE       default bench/results/profile-<device>.json; `-` writes none
//
// On a GPU host: node --expose-gc dist/gpu/profile.mjs. Ends with status 1 if a limit was missed.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { createRuntime } from '../../src/index.ts';
import { type Row, show } from '../compute/report.ts';
import { kindToMeasure, option } from '../lib/kind.ts';
import { attaching, scopes } from './scopes.ts';
import { streams } from './stream.ts';
import { truth } from './truth.ts';

const kind = await kindToMeasure();
const rt = await createRuntime({ devices: [kind] });
const { name } = rt.devices()[0]!;
console.log(`gpuforge/profile on ${name} (${cpus()[0]?.model ?? 'unknown CPU'}, load ${loadavg()[0]!.toFixed(1)})\n`);
const gpu = kind === 'cuda' || kind === 'webgpu';
const rows: Row[] = [
  ...(await scopes()),
  ...(await attaching(rt)),
  ...(await streams(rt, gpu)),
  ...(await truth(rt, gpu)),
];
await rt.close();
console.log(show(rows));
const file = option('json') ?? `bench/results/profile-${kind}.json`;
if (file !== '-') {
  mkdirSync(dirname(file), { recursive: true });
  const machine = { cpu: cpus()[0]?.model ?? null, cores: cpus().length, load: loadavg(), node: process.version };
  const command = `npm run bench -- profile --devices ${kind}`;
  const result = { command, device: name, kind, machine, at: new Date().toISOString(), rows };
  writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`);
  console.log(`written to ${file}`);
}
process.exitCode = rows.some((r) => r.verdict === 'missed') ? 1 : 0;
