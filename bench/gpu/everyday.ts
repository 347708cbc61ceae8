// Everyday programs through the public API, beside PyTorch eager and torch.compile on the same machine in the same run.
//
//   node dist/gpu/everyday.mjs [--device webgpu] [--json FILE] [--no-torch] [--torch FILE] [--only TEXT,…] [--warm MS] [--parts]
//
// `--device`: `cuda` unless given; of `webgpu` f16 is asked for, and programs of types that it lacks are left out.
// `--only` measures programs whose names contain one of the texts; `--warm` is how long each is warmed up; `--torch` reads PyTorch's
// side from a file that `everyday_torch.py` wrote before; `--parts` shows the launches of each program with the device's own times.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '../../src/index.ts';
import { arrays } from './everyday/arrays.ts';
import { attention } from './everyday/attention.ts';
import { data } from './everyday/data.ts';
import { Bench } from './everyday/measure.ts';
import { models } from './everyday/models.ts';

/** Until the engine has compiled the library's own code: before that, its interpreter is measured. */
const usualWarmUpMs = 1500;

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv[at + 1] : undefined;
};
const file = option('--json');
const only = option('--only')?.split(',');
const kind = option('--device') === 'webgpu' ? 'webgpu' : 'cuda';
const webgpu = { dawnToggles: ['vulkan_enable_f16_on_nvidia'] };
const rt = await createRuntime({ devices: [kind], seed: 1, webgpu });
const device = rt.devices().find((d) => d.open)!.name;
const bench = new Bench(rt, {
  only,
  warmUpMs: Number(option('--warm') ?? usualWarmUpMs),
  parts: process.argv.includes('--parts'),
});
for (const programs of [arrays, attention, models, data]) await programs(bench);
await rt.close();

interface Torch {
  readonly version: string;
  readonly eager: Record<string, number>;
  readonly compiled: Record<string, number>;
}

function torch(): Torch | null {
  if (process.argv.includes('--no-torch')) return null;
  const known = option('--torch');
  if (known) return JSON.parse(readFileSync(known, 'utf8')) as Torch;
  const script = fileURLToPath(new URL('everyday_torch.py', import.meta.url));
  const args = only ? [script, '--only', only.join(',')] : [script];
  const run = spawnSync('python3', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return run.status === 0 && run.stdout.trim() !== '' ? (JSON.parse(run.stdout) as Torch) : null;
}

const other = torch();
const show = (us: number | undefined): string => (us === undefined ? '-' : us.toFixed(1)).padStart(9);
console.log(`\n${device}${other ? `, PyTorch ${other.version}` : ', no PyTorch here'}; µs per call`);
console.log(
  `${'work'.padEnd(46)} ${'ours'.padStart(9)} ${'eager'.padStart(9)} ${'compile'.padStart(9)} ${'ratio'.padStart(7)}`,
);
const ratios: number[] = [];
for (const { name, us } of bench.rows) {
  const [eager, compiled] = [other?.eager[name], other?.compiled[name]];
  const best = Math.min(eager ?? Number.POSITIVE_INFINITY, compiled ?? Number.POSITIVE_INFINITY);
  if (Number.isFinite(best)) ratios.push(us / best);
  const ratio = Number.isFinite(best) ? (us / best).toFixed(2) : '-';
  console.log(`${name.padEnd(46)} ${show(us)} ${show(eager)} ${show(compiled)} ${ratio.padStart(7)}`);
}
if (ratios.length > 0) {
  const mean = Math.exp(ratios.reduce((a, r) => a + Math.log(r), 0) / ratios.length);
  console.log(`geometric mean over ${ratios.length} rows: ${mean.toFixed(2)}`);
}
if (file) writeFileSync(file, `${JSON.stringify({ device, rows: bench.rows, torch: other }, null, 1)}\n`);
