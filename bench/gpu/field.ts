// Fields on a GPU host: values against the CPU, launches, transfers, times. One command, seconds, a short table last.
//
//   node scripts/test-gpu.mjs --build      here: bundles dist/gpu/field.mjs (and field_torch.py beside it)
//   node dist/gpu/field.mjs [--seconds 3] [--no-torch] [--no-full] [--json FILE]    on the GPU host; about a minute
//   node dist/gpu/field.mjs --cpu          the same on the CPU device with small sizes, to see that it runs
//
// `step` is from the call to motors on the host, each cycle on its own clock. PyTorch runs after it where python3 has torch: the
// same cycle, written from its description, eager, compiled and as a CUDA graph. `--seconds` is the length of each control loop.
// Ends with 1 if a value, a count or a bar is wrong.

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createField, extractGradient, Field, type FieldOptions, fusedEvolution } from '../../src/field/index.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

const flags = process.argv.slice(2);
const has = (name: string): boolean => flags.includes(name);
const value = (name: string, otherwise: number): number =>
  has(name) ? Number(flags[flags.indexOf(name) + 1]) : otherwise;

const onCpu = has('--cpu');
const device = onCpu ? 'cpu' : 'cuda:0';
const seconds = value('--seconds', 3);
const cycles = onCpu ? 20 : 1000;
let failed = false;
const rows: { name: string; median: number; p99: number; bar: string; ok: boolean | null }[] = [];

const sensors = (t: number): Float32Array => Float32Array.from({ length: 16 }, (_, i) => Math.sin(0.1 * t + i) * 0.5);
const quantile = (list: readonly number[], q: number): number =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))]!;

function say(ok: boolean, text: string): void {
  if (!ok) failed = true;
  console.log(`${ok ? 'ok   ' : 'WRONG'} ${text}`);
}

function row(name: string, us: readonly number[], most?: { median?: number; p99?: number }): void {
  const [median, p99] = [quantile(us, 0.5), quantile(us, 0.99)];
  const ok =
    onCpu || !most
      ? null
      : median <= (most.median ?? Number.POSITIVE_INFINITY) && p99 <= (most.p99 ?? Number.POSITIVE_INFINITY);
  const bar = most ? `${most.median ?? '-'}${most.p99 ? ` / ${most.p99}` : ''}` : '';
  rows.push({ name, median, p99, bar, ok });
}

const rt: Runtime = await createRuntime({ devices: onCpu ? ['cpu'] : ['cuda', 'cpu'] });
const make = (options: FieldOptions): Promise<Field> => createField({ runtime: rt, device, seed: 1, ...options });

/** Values of a field on the device and on the CPU, after 1 and after 100 cycles. */
async function values(options: FieldOptions): Promise<void> {
  await using ours = await make(options);
  await using right = await make({ ...options, device: 'cpu' });
  let motorsOff = 0;
  for (let t = 1; t <= 100; t++) {
    const [a, b] = [await ours.step(sensors(t)), await right.step(sensors(t))];
    a.motors.forEach((m, i) => {
      motorsOff = Math.max(motorsOff, Math.abs(m - b.motors[i]!));
    });
    if (t !== 1 && t !== 100) continue;
    const [x, y] = [await ours.tensors.field!.data(), await right.tensors.field!.data()] as Float32Array[];
    const off = x!.reduce((most, v, i) => Math.max(most, Math.abs(v - y![i]!)), 0);
    say(
      off <= (t === 1 ? 1e-5 : 1e-3),
      `${name(options)}: field after ${t} cycles differs from the CPU's by ${off.toExponential(1)}`,
    );
  }
  say(motorsOff <= 1e-3, `${name(options)}: motors differ by ${motorsOff.toExponential(1)} at most`);
}

const name = ({
  resolution = 32,
  channels = 64,
  model = 'fused',
  boundary = 'periodic',
  precision = 'f32',
}: FieldOptions): string =>
  `${model} ${String(resolution)}³×${String(channels)}${boundary === 'periodic' ? '' : ` ${boundary}`}${precision === 'f32' ? '' : ` ${precision}`}`;

/** What a cycle moves, allocates and launches. */
async function counts(field: Field, mostLaunches: number): Promise<void> {
  for (let t = 0; t < 30; t++) await field.step(sensors(t));
  const seen = { upload: 0, download: 0, launches: 0 };
  const before = rt.memory.snapshot(device).reservedMb;
  const ends = [
    rt.on('upload', () => seen.upload++),
    rt.on('download', () => seen.download++),
    rt.on('replay', (e) => (seen.launches += e.kernels.length)),
  ];
  const n = 50;
  for (let t = 0; t < n; t++) await field.step(sensors(t));
  for (const end of ends) end();
  const grown = rt.memory.snapshot(device).reservedMb - before;
  say(seen.upload === n && seen.download === n, `${seen.upload / n} upload, ${seen.download / n} download per cycle`);
  say(field.kernels.length <= mostLaunches, `${field.kernels.length} launches: ${field.kernels.join(', ')}`);
  say(grown === 0, `reserved memory grew by ${grown} MiB in ${n} cycles`);
}

/** The device's time of each kernel. */
async function kernelTimes(field: Field): Promise<void> {
  const names = new Map<number, string>();
  const times = new Map<string, number[]>();
  await rt.spans('detailed');
  const ends = [
    rt.on('launch', (e) => names.set(e.id, e.name)),
    rt.on('span', (e) => {
      const kernel = names.get(e.ids[0]!) ?? names.get(e.id);
      if (kernel) times.set(kernel, [...(times.get(kernel) ?? []), (e.end - e.start) * 1000]);
    }),
  ];
  for (let t = 0; t < 40; t++) {
    await field.step(sensors(t));
    if (t % 10 === 9) await rt.flush();
  }
  for (const end of ends) end();
  await rt.spans(false);
  for (const [kernel, us] of times)
    console.log(`      ${quantile(us, 0.5).toFixed(1).padStart(8)} µs on the device  ${kernel}`);
}

async function steps(field: Field, label: string, n: number, most?: { median?: number; p99?: number }): Promise<void> {
  for (let t = 0; t < Math.min(50, n); t++) await field.step(sensors(t));
  const us: number[] = [];
  for (let t = 0; t < n; t++) {
    const input = sensors(t);
    const start = performance.now();
    await field.step(input);
    us.push((performance.now() - start) * 1000);
  }
  row(`step ${label}`, us, most);
}

const small: FieldOptions = { resolution: 16, channels: 32 };
const usual: FieldOptions = onCpu ? small : { resolution: 32, channels: 64 };
const large: FieldOptions = onCpu ? small : { resolution: 64, channels: 128 };

await values(small);
await values({ ...small, boundary: 'reflecting', settings: { readout: 'slab', blur: 'separable' } });
await values(usual);
{
  await using field = await make(usual);
  await counts(field, 4);
  const { reserved, state } = field.report().memory;
  await kernelTimes(field);
  await steps(field, name(usual), cycles, { median: 60, p99: 100 });
  // A long run: nothing grows, every value stays a number.
  const [before, long] = [field.report().memory.reserved, onCpu ? 100 : 10_000];
  let finite = true;
  for (let t = 0; t < long; t++) {
    const { state, motors } = await field.step(sensors(t));
    finite &&= Number.isFinite(state.energy) && motors.every(Number.isFinite);
  }
  const grown = field.report().memory.reserved - before;
  say(
    finite && grown === 0,
    `${long} cycles: all values are numbers: ${finite}; reserved memory grew by ${grown} bytes`,
  );
  console.log(
    `      memory: ${(state / 2 ** 20).toFixed(1)} MiB of state, ${(reserved / 2 ** 20).toFixed(1)} MiB reserved on ${device}`,
  );
}
if (!onCpu) {
  // Alone in a runtime: what one field takes of the device.
  const own = await createRuntime({ devices: ['cuda'] });
  const field = await createField({ ...usual, runtime: own, device });
  for (let t = 0; t < 50; t++) await field.step(sensors(t));
  const { reserved } = field.report().memory;
  say(reserved <= 64 * 2 ** 20, `memory of one field alone: ${(reserved / 2 ** 20).toFixed(1)} MiB of 64`);
  await field.dispose();
  await own.close();
}
{
  await using field = await make(large);
  await steps(field, name(large), onCpu ? 5 : 300, { median: 1000 });
  await kernelTimes(field);
}
{
  await using field = await make({ ...usual, precision: 'f16' });
  await steps(field, name({ ...usual, precision: 'f16' }), cycles);
}
{
  const n = onCpu ? 4 : 64;
  const fields = await Promise.all(Array.from({ length: n }, (_, seed) => make({ ...small, seed })));
  await using alone = await make({ ...small, seed: 0 });
  const one: number[] = [];
  const all: number[] = [];
  for (let t = 0; t < (onCpu ? 5 : 300); t++) {
    const input = sensors(t);
    const start = performance.now();
    const { motors } = await alone.step(input);
    const between = performance.now();
    const [first] = await Field.stepBatch(
      fields,
      fields.map(() => input),
    );
    if (t > 4) one.push((between - start) * 1000);
    if (t > 4) all.push((performance.now() - between) * 1000);
    if (t < 3)
      say(
        // Sums of several fields are cut otherwise than those of one.
        motors.every((m, i) => Math.abs(m - first!.motors[i]!) <= 1e-6),
        `batch of ${n}: field 0 has the motors of the field alone in cycle ${t + 1}`,
      );
  }
  if (one.length > 0) {
    row(`step ${name(small)}`, one);
    row(`stepBatch of ${n}, ${name(small)}`, all, { median: 4 * quantile(one, 0.5) });
  }
  for (const f of fields) await f.dispose();
}
if (!has('--no-full')) {
  await values({ ...small, channels: 64, model: 'full' });
  await using field = await make({ ...usual, channels: 64, model: 'full' });
  await counts(field, 16);
  await kernelTimes(field);
  await steps(field, name({ ...usual, model: 'full' }), cycles, { median: 400 });
}

/** The device's time of a function, from many in a row between two waits. */
async function deviceTime(work: () => { dispose(): void }[], repeats: number): Promise<number[]> {
  const us: number[] = [];
  for (let round = 0; round < 12; round++) {
    await rt.flush();
    const start = performance.now();
    for (let i = 0; i < repeats; i++) for (const t of work()) t.dispose();
    await rt.flush();
    us.push(((performance.now() - start) * 1000) / repeats);
  }
  return us.slice(2);
}
await rt.scope({ device }, async () => {
  for (const [d, c] of onCpu
    ? [[16, 32]]
    : [
        [32, 64],
        [96, 32],
        [128, 64],
      ]) {
    const x = rt.random.normal([d!, d!, d!, c!], { seed: 1 }).compute();
    const copy = rt.compile((t: Tensor) => t.mul(0.5));
    const repeats = onCpu ? 3 : 200;
    row(`read and write once ${d}³×${c}`, await deviceTime(() => [copy(x)], repeats));
    const once = rows.at(-1)!.median;
    row(`fused evolution ${d}³×${c}`, await deviceTime(() => [fusedEvolution(rt, x)], repeats), {
      median: Math.round(1.5 * once),
    });
    row(
      `Sobel gradient ${d}³×${c}`,
      await deviceTime(() => {
        const { magnitude, components } = extractGradient(rt, x);
        return [magnitude, ...components];
      }, repeats),
      { median: Math.round(1.5 * once) },
    );
    x.dispose();
  }
});
{
  await using field = await make(usual);
  for (let t = 0; t < 20; t++) await field.step(sensors(t));
  for (const hz of [20, 60, 200, 1000]) {
    let t = 0;
    const ticks = Math.round(hz * (onCpu ? 0.5 : seconds));
    const report = await field.loop({ hz, ticks, source: () => sensors(t++), sink: () => {} });
    const { p50, p99, max } = report.latency;
    const text = `loop at ${hz} Hz for ${report.seconds.toFixed(1)} s: ${report.missed} missed of ${ticks}; latency p50 ${p50.toFixed(3)}, p99 ${p99.toFixed(3)}, max ${max.toFixed(3)} ms`;
    if (hz <= 200 && !onCpu) say(report.missed === 0, text);
    else console.log(`      ${text}`);
  }
}
await rt.close();

const torch: { name: string; median: number; p99: number }[] = [];
if (!has('--no-torch') && !onCpu) {
  const here = dirname(fileURLToPath(import.meta.url));
  const script = [join(here, 'field_torch.py'), join(here, '../../bench/gpu/field_torch.py')].find(existsSync);
  const run = script ? spawnSync('python3', [script], { encoding: 'utf8', timeout: 300_000 }) : null;
  for (const line of run?.stdout.split('\n') ?? []) if (line.startsWith('{')) torch.push(JSON.parse(line));
  if (torch.length === 0)
    console.log(`PyTorch was not measured: ${run?.stderr.trim().split('\n').at(-1) ?? 'field_torch.py is not there'}`);
}

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i === 0 ? c.padEnd(46) : c.padStart(12))).join(' ');
console.log(`\n${line(['µs', 'median', 'p99', 'bar'])}`);
for (const r of rows) {
  if (r.ok === false) failed = true;
  console.log(`${line([r.name, r.median.toFixed(1), r.p99.toFixed(1), r.bar])}${r.ok === false ? '  MISSED' : ''}`);
}
for (const r of torch) console.log(line([`PyTorch ${r.name}`, r.median.toFixed(1), r.p99.toFixed(1), '']));
if (has('--json'))
  writeFileSync(
    flags[flags.indexOf('--json') + 1]!,
    `${JSON.stringify({ date: new Date().toISOString(), device, rows, torch }, null, 2)}\n`,
  );
process.exit(failed ? 1 : 0);
