// What Forge costs: detection fresh and cached, with and without the driver, beside one spawned nvidia-smi.
//
//   npm run build && node bench/forge.mjs [--runs N] [--json FILE]
//
// Every figure is from fresh processes: "work" is the time from the first line of the program to the answer, without Node's own
// start, with the processor time it took in the column "cpu"; "wall" is the whole command as a shell sees it. Where there is no nvidia-smi, a stand-in that sleeps one second and
// then prints a GPU takes its place, and the table says so.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = path.resolve(path.dirname(fileURLToPath(import.meta.url)), process.env.FORGE_DIST ?? '../dist');
const forge = path.join(dist, 'forge.js');
const cli = path.join(dist, 'cli.js');
const runs = Number(option('--runs') ?? 15);
const jsonFile = option('--json');

if (!fs.existsSync(forge)) {
  console.error(`${forge} does not exist: run "npm run build" first`);
  process.exit(1);
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-bench-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], least: sorted[0], most: sorted.at(-1) };
}

/** A fresh process that runs `body` and prints its own milliseconds. */
function inside(body, env = {}) {
  const program = `
    const start = process.hrtime();
    const { detect, nodePorts } = await import(${JSON.stringify(`file://${forge}`)});
    const loaded = process.hrtime(start);
    const before = process.cpuUsage();
    const begin = process.hrtime();
    ${body}
    const took = process.hrtime(begin);
    const { user, system } = process.cpuUsage(before);
    const ms = ([s, n]) => s * 1e3 + n / 1e6;
    console.log(JSON.stringify({ load: ms(loaded), work: ms(took), cpu: (user + system) / 1e3, cached: result.cached, spawned: result.spawned, gpus: result.machine.gpus.length }));`;
  const file = path.join(folder, 'inside.mjs');
  fs.writeFileSync(file, program);
  const run = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    env: { ...process.env, GPUFORGE_CACHE_DIR: folder, ...env },
  });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout);
}

function wall(file, args, env = {}) {
  const start = process.hrtime.bigint();
  const run = spawnSync(file, args, { stdio: 'ignore', env: { ...process.env, GPUFORGE_CACHE_DIR: folder, ...env } });
  if (run.error) throw run.error;
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function repeat(count, action) {
  action();
  return Array.from({ length: count }, action);
}

const rows = [];
function add(name, values, limit, cpu) {
  const figure = median(values);
  const used = cpu === undefined ? {} : { cpu: median(cpu).median };
  rows.push({ name, ...figure, ...used, samples: values, ...(limit === undefined ? {} : { limit }) });
}

/** The work of fresh processes: on a busy machine the processor time tells more than the clock. */
function addWork(name, results, limit) {
  const of = (key) => results.map((result) => result[key]);
  add(name, of('work'), limit, of('cpu'));
}

const { explain } = await import(`file://${forge}`);
{
  const line = 'INFO step 12 loss 0.43\n';
  const log = `${line.repeat(Math.ceil(1024 ** 2 / line.length))}RuntimeError: CUDA error: out of memory\n`;
  const timed = () => {
    const start = process.hrtime.bigint();
    if (explain(log)[0]?.code !== 'oom') throw new Error('the error at the end of the log was not found');
    return Number(process.hrtime.bigint() - start) / 1e6;
  };
  add('explain, a log of 1 MB: work', repeat(runs, timed), 100);
}

const first = inside('const result = await detect(nodePorts(), { cache: false });');
const library = first.gpus > 0 && fs.existsSync('/dev/nvidiactl');

const tier0 = repeat(runs, () => inside('const result = await detect(nodePorts(), { cache: false, tier: 0 });'));
addWork('detect, files only: work', tier0, library ? undefined : 3);
add(
  'detect, files only: loading the module',
  tier0.map(({ load }) => load),
);
if (library) {
  const direct = repeat(runs, () =>
    inside("const result = await detect(nodePorts({ isolation: 'none' }), { cache: false });"),
  );
  addWork('detect, NVML in this process: work', direct, 25);
  const child = repeat(runs, () => inside('const result = await detect(nodePorts(), { cache: false });'));
  addWork(`detect, the driver asked in a child: work (${child[0].spawned} process)`, child, 60);
}
inside('const result = await detect(nodePorts());');
const cached = repeat(runs, () => inside('const result = await detect(nodePorts());'));
if (cached.some((run) => !run.cached || run.spawned !== 0)) throw new Error('the cache did not answer');
addWork('detect, cached: work', cached, 1.5);

add(
  'node -e 0: wall',
  repeat(runs, () => wall(process.execPath, ['-e', '0'])),
);
if (fs.existsSync(cli)) {
  const bare = rows.at(-1).median;
  add(
    'gpuforge --version: wall',
    repeat(runs, () => wall(process.execPath, [cli, '--version'])),
    bare * 1.5,
  );
  add(
    'gpuforge detect, no cache: wall',
    repeat(runs, () => wall(process.execPath, [cli, 'detect', '--no-cache'])),
  );
  add(
    'gpuforge detect, cached: wall',
    repeat(runs, () => wall(process.execPath, [cli, 'detect'])),
  );
}

const real = spawnSync('nvidia-smi', ['-L'], { encoding: 'utf8' });
if (real.status === 0) {
  const query = ['--query-gpu=name,memory.total,compute_cap', '--format=csv,noheader'];
  add(
    'one spawned nvidia-smi: wall',
    repeat(Math.min(runs, 9), () => wall('nvidia-smi', query)),
  );
} else {
  const stand = path.join(folder, 'nvidia-smi');
  fs.writeFileSync(
    stand,
    '#!/bin/sh\nsleep 1\necho "0, GPU-0, 00000000:01:00.0, Stand-in, 580.95.05, 8.9, 24564, 24000, [N/A]"\n',
    { mode: 0o755 },
  );
  add(
    'one spawned stand-in for nvidia-smi (sleeps 1 s): wall',
    repeat(2, () => wall(stand, [])),
  );
}

const width = Math.max(...rows.map(({ name }) => name.length));
console.log(
  `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}, ${first.gpus} GPU${first.gpus === 1 ? '' : 's'}\n`,
);
console.log(`${'ms'.padEnd(width)}    median     least      most       cpu     limit`);
const cell = (value) => (value === undefined ? '' : value.toFixed(2)).padStart(10);
for (const { name, median: middle, least, most, cpu, limit } of rows) {
  const verdict = limit === undefined ? '' : middle <= limit ? '  within' : '  OVER';
  console.log(`${name.padEnd(width)}${cell(middle)}${cell(least)}${cell(most)}${cell(cpu)}${cell(limit)}${verdict}`);
}
if (jsonFile) {
  const judged = rows.map(({ name, median: middle, limit, samples }) => ({
    id: 'forge',
    what: name,
    figures: `${middle.toFixed(2)} ms`,
    limit: limit === undefined ? 'shown' : `at most ${limit.toFixed(2)} ms`,
    verdict: limit === undefined ? 'not measured' : middle <= limit ? 'met' : 'missed',
    data: { samples },
  }));
  const machine = { cpu: os.cpus()[0]?.model ?? null, cores: os.availableParallelism(), node: process.version };
  const result = {
    schema: 'gpuforge.bench.forge/1',
    command: `node bench/forge.mjs --runs ${runs}`,
    at: new Date().toISOString(),
    device: first.gpus > 0 && real.status === 0 ? real.stdout.split('\n')[0].replace(/ \(UUID.*/, '') : machine.cpu,
    machine,
    rows: judged,
  };
  fs.writeFileSync(jsonFile, `${JSON.stringify(result, null, 1)}\n`);
}

// How well errors are recognised: on the texts that were there when the patterns were written, and on those only measured.
const { batches, measure, readErrors, unseen, written } = await import('../test/forge/errors/read.mjs');
for (const [name, files] of [
  ['texts the patterns were written with', batches(written)],
  ...batches(unseen).map((file) => [`texts only measured (${path.basename(file.pathname)})`, [file]]),
  ['texts only measured, all together', batches(unseen)],
]) {
  const { texts, recall, precision } = measure(files.flatMap(readErrors), (text) => explain(text));
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  console.log(`explain, ${texts} ${name}: recall ${percent(recall)}, precision ${percent(precision)}`);
}
