// npm run bench -- batch: the use cases of gpuforge/batch and the queue, measured on this machine.
//
//   --only A,queue    some of it: A, C, queue, lists
//   --device webgpu   (lists) where they run; default cpu
//   --dtypes f32,u8   (lists) default f32
//   --cases xor       (lists) those whose name has this in it;  --bytes 4096,40960  items of these sizes;  --counts 10,100;  --rounds 25
//   --cold            (lists) without calls on small items first: large ones are measured before their code is compiled
//   --time cpu        (lists) CPU time of this process instead of wall time: for machines that have other work to do
//   --json FILE       default bench/results/batch-cpu.json
//
// What needs a GPU (use case B, products, overlap) is bench/gpu/batch.ts: npm run bench -- --gpu builds it into dist/gpu/batch.mjs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { type Row, show } from '../compute/report.ts';
import { lattices, memory } from './cases.ts';
import { type ListsOptions, lists } from './lists.ts';
import { queue } from './queue.ts';

const args = process.argv.slice(2);
const option = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const only = option('--only')?.split(',');
const ofLists = (): ListsOptions => ({
  device: (option('--device') ?? 'cpu') as ListsOptions['device'],
  dtypes: (option('--dtypes') ?? 'f32').split(',') as unknown as ListsOptions['dtypes'],
  time: option('--time') === 'cpu' ? 'cpu' : 'wall',
  mostBytes: 48 << 20,
  rounds: Number(option('--rounds') ?? 25),
  only: option('--cases'),
  bytes: option('--bytes')?.split(',').map(Number),
  counts: option('--counts')?.split(',').map(Number),
  cold: args.includes('--cold'),
});
const parts: Readonly<Record<string, () => Promise<Row[]>>> = {
  A: lattices,
  C: memory,
  queue,
  lists: () => lists(ofLists()),
};

const load = loadavg()[0]!;
console.log(
  `gpuforge/batch on ${cpus()[0]?.model ?? 'unknown CPU'}, ${cpus().length} cores, load ${load.toFixed(1)}, Node ${process.version}\n`,
);
const rows: Row[] = [];
for (const [id, run] of Object.entries(parts)) if (!only || only.includes(id)) rows.push(...(await run()));
console.log(show(rows));
const file = option('--json') ?? 'bench/results/batch-cpu.json';
mkdirSync(dirname(file), { recursive: true });
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg(), node: process.version };
writeFileSync(
  file,
  `${JSON.stringify({ command: 'npm run bench -- batch', machine, at: new Date().toISOString(), rows }, null, 1)}\n`,
);
process.exitCode = rows.some((r) => r.verdict === 'missed') ? 1 : 0;
