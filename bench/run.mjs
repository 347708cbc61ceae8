// Measures GPUForge beside its peers on the same work: `npm run bench [-- --json FILE] [--only NAME,…] [--rounds N] [--seconds S]
// [--update] [--strict]`.
//
// One child process a library; for each work every library takes its turn in each round, so that a busy machine slows all of
// them alike. Results are checked against ours before anything is timed. Ends in a table of medians and whether each
// required bound was met; --update writes them into README.md. Exit code 1 if a result was wrong, 2 with --strict if a bound was missed.

import { writeFileSync } from 'node:fs';
import os from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { importCost, peakMemory } from './lib/extras.mjs';
import { writeLastRun } from './lib/markdown.mjs';
import { Peer } from './lib/peer.mjs';
import { judge, measureWork } from './lib/rows.mjs';
import { measureScaling } from './lib/scaling.mjs';
import { figure, inUnit, Progress, table } from './lib/show.mjs';
import { works } from './lib/works.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '0.4' },
    peers: { type: 'string' },
    strict: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
  },
});
const only = options.only?.flatMap((o) => o.split(','));
const wanted = (name) => !only || only.includes(name);
const known = [...works.map((w) => w.name), 'scaling', 'import', 'memory'];
const unknown = only?.find((o) => !known.includes(o));
if (unknown) {
  console.error(`There is no work named ${unknown}. Choose from: ${known.join(', ')}.`);
  process.exit(64);
}

const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';
const commands = {
  gpuforge: [process.execPath, ['sides/gpuforge.mjs', '0']],
  'gpuforge-blas': [process.execPath, ['sides/gpuforge.mjs', '0', 'blas']],
  numpy: [python, ['numpy_side.py']],
  'tfjs-cpu': [process.execPath, ['sides/tfjs.mjs', 'cpu']],
  'tfjs-wasm': [process.execPath, ['sides/tfjs.mjs', 'wasm']],
  'jax-js': [process.execPath, ['sides/jax.mjs']],
  'numpy-ts': [process.execPath, ['sides/numpy-ts.mjs']],
};
const chosen = options.peers ? options.peers.split(',') : Object.keys(commands);
const settings = { rounds: Number(options.rounds), seconds: Number(options.seconds) };
const progress = new Progress();
const onStep = (text) => progress.say(text);
const peers = new Map();
process.on('SIGINT', async () => {
  await Promise.all([...peers.values()].map((p) => p.close()));
  process.exit(130);
});

const report = {
  machine: {
    cpu: os.cpus()[0]?.model,
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    load: os.loadavg()[0],
  },
  settings,
  libraries: {},
  rows: [],
};

const selected = works.filter((w) => wanted(w.name));
if (selected.length > 0) {
  for (const name of chosen) {
    onStep(`starting ${name}`);
    const peer = new Peer(name, ...commands[name], here);
    const hello = await peer.opened;
    report.libraries[name] = hello.error ? { error: hello.error } : hello.about;
    if (!hello.error) peers.set(name, peer);
  }
  for (const work of selected) {
    const results = await measureWork(work, peers, { ...settings, onStep });
    report.rows.push({ name: work.name, title: work.title, unit: work.unit, results, bounds: judge(work, results) });
  }
  await Promise.all([...peers.values()].map((p) => p.close()));
}
if (wanted('scaling')) report.scaling = await measureScaling({ here, commands, settings, onStep });
if (wanted('import')) report.import = await importCost(here, 15, onStep);
if (wanted('memory')) {
  onStep('peak memory of the fused chain');
  report.memory = await peakMemory(here);
}
progress.done();
print(report);
if (options.json)
  writeFileSync(resolve(process.env.INIT_CWD ?? process.cwd(), options.json), `${JSON.stringify(report, null, 2)}\n`);
if (options.update) writeLastRun(resolve(here, 'README.md'), report);

const wrong = report.rows.some((r) => Object.values(r.results).some((x) => x.wrong && r.results.gpuforge));
const missed = [...report.rows.flatMap((r) => r.bounds), report.import, report.memory].some((b) => b?.pass === false);
process.exit(wrong ? 1 : missed && options.strict ? 2 : 0);

function print(r) {
  const m = r.machine;
  console.log(`${m.cpu}, ${m.cores} cores, ${m.memoryGiB} GiB, node ${m.node}, load ${figure(m.load)}`);
  for (const [name, about] of Object.entries(r.libraries)) {
    console.log(
      `  ${name}: ${
        about.error ??
        Object.entries(about)
          .map(([k, v]) => `${k} ${v}`)
          .join(', ')
      }`,
    );
  }
  if (r.rows.length > 0) printRows(r.rows);
  if (r.scaling) printScaling(r.scaling);
  if (r.import) {
    const i = r.import;
    console.log(
      `\nimport of gpuforge over bare node: ${figure(i.cost)} ms (${figure(i.full.median)} against ${figure(i.bare.median)}), at most ${i.bound}: ${verdict(i.pass)}`,
    );
  }
  if (r.memory) {
    const mib = (b) => `${(b / 2 ** 20).toFixed(0)} MiB`;
    const x = r.memory;
    console.log(
      `peak memory of the fused chain, ${x.elements / 2 ** 20}M f32: ${mib(x.peakBytes)} over an idle runtime, at most ${mib(x.bound)}: ${verdict(x.pass)}`,
    );
  }
}

function verdict(pass) {
  return pass === null ? 'not measured' : pass ? 'reached' : 'MISSED';
}

function printRows(rows) {
  const libraries = Object.keys(report.libraries).filter((l) => l !== 'gpuforge-blas');
  const cell = (r, unit) => {
    if (!r || r.unsupported) return '–';
    if (r.error) return 'error';
    return `${figure(inUnit(r.median, unit))} (${figure(inUnit(r.low, unit))}–${figure(inUnit(r.high, unit))})`;
  };
  const body = rows.map((r) => [
    `${r.title} [${r.unit}]`,
    ...libraries.map((l) =>
      cell(r.results[l === 'gpuforge' ? (r.results['gpuforge-blas'] ? 'gpuforge-blas' : l) : l], r.unit),
    ),
  ]);
  console.log(`\nMedian and the middle 80 % of samples:\n${table([['work', ...libraries], ...body])}\n`);
  const bounds = rows.flatMap((r) =>
    r.bounds.map((b) => [
      r.title,
      `${b.times}× ${b.against ?? b.of}`,
      b.ratio === null ? '–' : `${figure(b.ratio)}×`,
      verdict(b.pass),
    ]),
  );
  console.log(table([['work', 'at most', 'measured', ''], ...bounds]));
  for (const r of rows)
    for (const [l, x] of Object.entries(r.results)) if (x.error) console.log(`${r.title}: ${l}: ${x.error}`);
}

function printScaling({ columns, rows }) {
  const name = (n) => (n >= 2 ** 20 ? `${n / 2 ** 20}M` : `${n / 2 ** 10}K`);
  for (const work of Object.keys(rows)) {
    const body = rows[work].map(({ size, medians }) => [
      name(size),
      ...columns.map((c) => figure((medians[c] ?? Number.NaN) * 1000)),
    ]);
    console.log(
      `\n${work}, µs by size and threads:\n${table([['elements', ...columns], ...body], [true, ...columns.map(() => true)])}`,
    );
  }
}
