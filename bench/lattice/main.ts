// npm run bench -- lattice: the lattice on the CPU beside graphology, python-igraph, NetworkX and SciPy, on the same work.
//
//   --rounds 5        turns that every library gets
//   --seconds 0.4     how long a turn lasts, at least
//   --only WORD       works whose name contains it
//   --clock cpu       times of the processor, of all threads together, instead of the wall: for machines that are busy with other work
//   --json FILE       default bench/results/lattice-cpu.json
//
// One process a library, one at a time. Before anything is timed, results are compared with ours; a library whose result differs is
// shown as an error. Medians of all turns. Ends with status 1 if a bound was missed. Python: Debian's python3-igraph, python3-networkx,
// python3-scipy, run by /usr/bin/python3 (GPUFORGE_BENCH_PYTHON names another); those that are missing stay empty.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRuntime } from '../../src/index.ts';
import { Peer } from '../lib/peer.mjs';
import { randomRows } from './random.ts';
import { makeWorks, type Work } from './works.ts';

const option = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1]!;
};
const rounds = Number(option('rounds', '5'));
const seconds = Number(option('seconds', '0.4'));
const only = option('only', '');
const cpu = option('clock', 'wall') === 'cpu';
/** Milliseconds. */
const clock = (): number => {
  const { user, system } = process.cpuUsage();
  return cpu ? (user + system) / 1000 : performance.now();
};
const file = option('json', 'bench/results/lattice-cpu.json');
const folder = join(process.cwd(), 'bench', 'lattice');
const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';

const rows = randomRows(1_000_000, 8_000_000);
const rowsFile = join(tmpdir(), `lattice-rows-${process.pid}.bin`);
writeFileSync(rowsFile, Buffer.from(Int32Array.from([rows.offsets.length - 1]).buffer));
for (const part of [rows.offsets, rows.neighbors])
  writeFileSync(rowsFile, Buffer.from(part.buffer, part.byteOffset, part.byteLength), { flag: 'a' });

const load = loadavg()[0]!;
await using rt = await createRuntime({ devices: ['cpu'], seed: 1 });
const works = (await makeWorks(rt, rows)).filter((w) => w.id.includes(only));
const peers = new Map<string, Peer>();
const versions: Record<string, string> = {};
const offered = new Map<string, ReadonlySet<string>>();
for (const [name, command, args] of [
  ['graphology', process.execPath, [join(folder, 'graphology_side.mjs'), ...(cpu ? ['--cpu'] : [])]],
  ...['igraph', 'networkx', 'scipy'].map(
    (l) => [l, python, [join(folder, 'python_side.py'), l, rowsFile, ...(cpu ? ['--cpu'] : [])]] as const,
  ),
] as const) {
  const peer = new Peer(name, command, args, dirname(folder));
  const opened = (await peer.opened) as { error?: string; version?: string; works?: string[] };
  if (opened.error) {
    console.log(`${name} is not there: ${opened.error}`);
    continue;
  }
  versions[name] = opened.version!;
  offered.set(name, new Set(opened.works));
  peers.set(name, peer);
}

const samples = new Map<string, number[]>();
const add = (name: string, list: readonly number[]): void => {
  samples.set(name, [...(samples.get(name) ?? []), ...list]);
};
const median = (name: string): number | undefined => {
  const list = samples.get(name)?.toSorted((a, b) => a - b);
  return list?.[list.length >> 1];
};
const problems: string[] = [];

const same = (a: readonly number[], b: readonly number[], near: number): boolean =>
  a.length === b.length && a.every((x, i) => Math.abs(x - b[i]!) <= near * Math.max(1, Math.abs(x)));

/** Peers that do a work, with the name that their samples have. */
const besideOf = (work: Work): { readonly name: string; readonly peer: Peer; readonly key: string }[] =>
  work.peer === null
    ? []
    : [...peers].flatMap(([name, peer]) =>
        offered.get(name)!.has(work.peer!) ? [{ name, peer, key: `${work.peer}: ${name}` }] : [],
      );

const wrong = new Set<string>();
for (const work of works) {
  if (!work.result) continue;
  const ours = await work.result();
  for (const { name, peer, key } of besideOf(work)) {
    const { result, error } = (await peer.ask('check', work.peer!)) as { result?: number[]; error?: string };
    if (result && same(ours, result, work.near ?? 0)) continue;
    wrong.add(key);
    problems.push(`${work.id}: ${name}: ${error ?? `${result?.slice(0, 4)} is not ${ours.slice(0, 4)}`}`);
  }
}

async function timeOurs(work: Work): Promise<number[]> {
  const list: number[] = [];
  const end = performance.now() + 1000 * seconds;
  while (list.length === 0 || performance.now() < end) {
    // Short works are repeated within a sample.
    let count = 0;
    const start = clock();
    do {
      await work.run();
      count++;
    } while (clock() - start < 4);
    list.push((clock() - start) / count);
  }
  return list;
}

for (let round = 0; round < rounds; round++) {
  const timed = new Set<string>();
  for (const work of works) {
    add(work.id, await timeOurs(work));
    for (const { peer, key } of besideOf(work)) {
      if (timed.has(key) || wrong.has(key)) continue;
      timed.add(key);
      const answer = (await peer.ask('time', work.peer!, seconds)) as { samples?: number[] };
      add(key, answer.samples ?? []);
    }
  }
  console.log(`turn ${round + 1} of ${rounds}, load ${loadavg()[0]!.toFixed(1)}`);
}
for (const peer of peers.values()) await peer.close();
rmSync(rowsFile);

const shown = (ms: number | undefined): string =>
  ms === undefined ? '' : ms < 1 ? `${(1000 * ms).toPrecision(3)} µs` : `${ms.toPrecision(3)} ms`;
const table = works.map((work) => {
  const units = work.units ?? 1;
  const ours = median(work.id)!;
  const bound = work.bound(median);
  const beside = Object.fromEntries(besideOf(work).map(({ name, key }) => [name, (median(key) ?? Number.NaN) / units]));
  return {
    work: work.id,
    ms: ours / units,
    peers: beside,
    bound: bound === undefined ? null : bound / units,
    boundText: work.boundText,
    kept: bound === undefined ? null : ours <= bound,
  };
});
const names = [...peers.keys()];
console.log(`| work | gpuforge | ${names.join(' | ')} | must reach | |`);
console.log(`|---|${names.map(() => '---|').join('')}---|---|---|`);
for (const r of table) {
  const cells = names.map((n) => shown(r.peers[n]));
  const verdict = r.kept === null ? '' : r.kept ? 'reached' : 'missed';
  console.log(`| ${r.work} | ${shown(r.ms)} | ${cells.join(' | ')} | ${r.boundText} | ${verdict} |`);
}
for (const p of problems) console.log(`DIFFERS ${p}`);
const machine = `${cpus()[0]!.model}, ${cpus().length} cores, node ${process.version}, load at the start ${load.toFixed(2)}${cpu ? ', times of the processor' : ''}`;
console.log(
  `${machine}; ${Object.entries(versions)
    .map(([n, v]) => `${n} ${v}`)
    .join(', ')}`,
);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify({ machine, versions, problems, rows: table }, null, 2)}\n`);
const failed = problems.length > 0 || table.some((r) => r.kept === false);
await rt.close();
process.exit(failed ? 1 : 0);
