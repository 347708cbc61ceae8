// Measures GPUForge beside TF.js and jax-js on WebGPU, all through the same Dawn: `npm run bench -- webgpu [--json FILE]
// [--only NAME,…] [--rounds N] [--seconds S] [--peers a,b] [--full] [--strict]`, or `node main.mjs` beside bundled sides (pack.mjs).
//
// One child process a library, in turn in each round; results are compared with ours before anything is timed. On software
// adapters the large works are left out unless --full is given. Exit code 1 if a result was wrong, 2 with --strict if a bound was missed.

import { existsSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Peer } from '../lib/peer.mjs';
import { measureWork } from '../lib/rows.mjs';
import { figure, inUnit, Progress, table } from '../lib/show.mjs';
import { chooseDriver } from './driver.mjs';
import { works } from './works.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '0.5' },
    peers: { type: 'string' },
    full: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
});
const only = options.only?.flatMap((o) => o.split(','));
const unknown = only?.find((o) => !works.some((w) => w.name === o));
if (unknown) {
  console.error(`There is no work named ${unknown}. Choose from: ${works.map((w) => w.name).join(', ')}.`);
  process.exit(64);
}
const { env, driver } = chooseDriver();
Object.assign(process.env, env);

const progress = new Progress();
const onStep = (text) => progress.say(text);
const peers = new Map();
const libraries = {};
process.on('SIGINT', async () => {
  await Promise.all([...peers.values()].map((p) => p.close()));
  process.exit(130);
});
const names = ['gpuforge', ...(options.peers ?? 'tfjs,jax').split(',').filter(Boolean), 'bare'];
for (const name of names) {
  onStep(`starting ${name}`);
  const peer = new Peer(
    name,
    process.execPath,
    [join(here, `${name}.mjs`)],
    existsSync(join(here, '..', 'lib')) ? join(here, '..') : here,
  );
  const hello = await peer.opened;
  libraries[name] = hello.error ? { error: hello.error } : hello.about;
  if (!hello.error) peers.set(name, peer);
}

const software = /swiftshader|llvmpipe/i.test(libraries.gpuforge.adapter ?? '');
const fits = (w) => options.full || (software ? w.software : w.software !== 'only');
const rows = [];
const settings = { rounds: Number(options.rounds), seconds: Number(options.seconds) };
for (const work of works.filter((w) => (only ? only.includes(w.name) : fits(w)))) {
  const results = await measureWork(work, peers, { ...settings, onStep });
  for (const r of Object.values(results))
    for (const k of ['median', 'low', 'high']) if (r[k] !== undefined) r[k] /= work.per;
  rows.push({ name: work.name, title: work.title, unit: work.unit, results, bounds: judge(work, results) });
}
await Promise.all([...peers.values()].map((p) => p.close()));
progress.done();

const machine = {
  cpu: os.cpus()[0]?.model,
  cores: os.availableParallelism(),
  node: process.version,
  load: os.loadavg()[0],
  driver,
};
const report = { date: new Date().toISOString(), machine, libraries, settings, rows };
print(report);
if (options.json)
  writeFileSync(resolve(process.env.INIT_CWD ?? process.cwd(), options.json), `${JSON.stringify(report, null, 2)}\n`);
const wrong = rows.some((r) => Object.values(r.results).some((x) => x.wrong) || r.results.gpuforge?.error);
const missed = rows.some((r) => r.bounds.some((b) => b.pass === false));
process.exit(wrong ? 1 : missed && options.strict ? 2 : 0);

/** The fastest peer of a work; null if none was measured. */
function bestPeer(results) {
  const measured = Object.keys(results).filter((p) => !/gpuforge|bare/.test(p) && results[p].median !== undefined);
  return measured.length > 0 ? measured.reduce((a, b) => (results[a].median <= results[b].median ? a : b)) : null;
}

/** Our median against the best peer's, and against the clock where the adapter is a GPU; what is written by hand against the best peer of its work. */
function judge(work, results) {
  if (work.besides) {
    const peers = rows.find((r) => r.name === work.besides)?.results ?? {};
    const against = bestPeer(peers);
    const ratio = against && results.bare?.median !== undefined ? results.bare.median / peers[against].median : null;
    return [{ at: 'by hand', against, ratio, pass: null }];
  }
  const mine = results.gpuforge?.median;
  const best = bestPeer(results);
  const bounds = work.bounds.map((times) => {
    const ratio = mine !== undefined && best ? mine / results[best].median : null;
    return { at: `${times} × best peer`, against: best, ratio, pass: ratio === null ? null : ratio <= times };
  });
  if (work.absolute && !software)
    bounds.push({
      at: `${figure(work.absolute * 1000)} µs`,
      ratio: null,
      pass: mine === undefined ? null : mine <= work.absolute,
    });
  return bounds;
}

function print(r) {
  console.log(
    `${r.machine.cpu}, ${r.machine.cores} cores, node ${r.machine.node}, load ${figure(r.machine.load)}, driver ${r.machine.driver}`,
  );
  for (const [name, about] of Object.entries(r.libraries)) {
    const words =
      about.error ??
      Object.entries(about)
        .map(([k, v]) => `${k} ${v}`)
        .join(', ');
    console.log(`  ${name}: ${words}`);
  }
  const cell = (x, unit) => {
    if (!x || x.unsupported) return '–';
    if (x.error) return x.wrong ? 'wrong' : 'error';
    return `${figure(inUnit(x.median, unit))} (${figure(inUnit(x.low, unit))}–${figure(inUnit(x.high, unit))})`;
  };
  const shown = Object.keys(r.libraries);
  console.log(
    table(
      [
        ['median (middle 80 %)', ...shown, 'bound', ''],
        ...r.rows.map((row) => [
          `${row.title}, ${row.unit}`,
          ...shown.map((p) => cell(row.results[p], row.unit)),
          row.bounds
            .map(
              (b) =>
                `${b.at === 'by hand' ? '' : '≤ '}${b.at}${b.ratio === null ? '' : `: ${figure(b.ratio)} × ${b.against}`}`,
            )
            .join('; '),
          row.bounds
            .map((b) => (b.pass === null ? (b.at === 'by hand' ? '' : 'not measured') : b.pass ? 'reached' : 'MISSED'))
            .join('; '),
        ]),
      ],
      [false, ...shown.map(() => true)],
    ),
  );
  for (const row of r.rows)
    for (const [p, x] of Object.entries(row.results)) if (x.error) console.log(`  ${row.name}, ${p}: ${x.error}`);
}
