// Fields on a GPU host: values against the CPU, launches, transfers, times. One command; a table last.
//
//   node scripts/test-gpu.mjs --build      here: bundles dist/gpu/field.mjs (and field_torch.py beside it)
//   node dist/gpu/field.mjs                on the GPU host: everything, about five minutes, most of them control loops
//     --only values,fused                  some parts: values, fused, long, memory, large, half, full, batch, ops, loops, wire, torch
//     --seconds 60                         the length of each control loop, and of the round trips through the server
//     --hz 20,60,200,1000                  the rates of the loops
//     --no-torch                           without PyTorch
//     --json FILE                          the table as JSON
//     --cpu                                the same on the CPU device with small sizes, to see that it runs
//
// `step` is from the call to motors on the host, each cycle on its own clock. PyTorch runs the same cycle, written from its description,
// eager, compiled and as a CUDA graph. Kernels alone are timed on the device, many in one recording. Each part is a process of its own,
// as a controller would be: what one leaves to the garbage collector does not delay the next. Ends with 1 if a value, a count or a bar is
// wrong.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createField,
  extractGradient,
  Field,
  type FieldOptions,
  fieldMetrics,
  fusedEvolution,
} from '../../src/field/index.ts';
import { FieldClient, serveField } from '../../src/field/wire/index.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { GraphTimes } from './graph-times.ts';

const flags = process.argv.slice(2);
const has = (name: string): boolean => flags.includes(name);
const text = (name: string): string | undefined => (has(name) ? flags[flags.indexOf(name) + 1] : undefined);

const self = fileURLToPath(import.meta.url);
const onCpu = has('--cpu');
const device = onCpu ? 'cpu' : 'cuda:0';
const seconds = Number(text('--seconds') ?? (onCpu ? 0.5 : 60));
const rates = (text('--hz') ?? '20,60,200,1000').split(',').map(Number);
const cycles = onCpu ? 20 : 1000;
let failed = false;

interface Row {
  readonly name: string;
  readonly median: number;
  readonly p99: number;
  readonly bar: string;
  readonly ok: boolean | null;
}
/** Before the line in which a part tells its results. */
const mark = 'gpuforge.bench-field ';
const rows: Row[] = [];
const loops: object[] = [];

const sensors = (t: number): Float32Array => Float32Array.from({ length: 16 }, (_, i) => Math.sin(0.1 * t + i) * 0.5);
const quantile = (list: readonly number[], q: number): number =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))]!;
const round = (us: number): number => Math.round(us * 10) / 10;

function say(ok: boolean, line: string): void {
  if (!ok) failed = true;
  console.log(`${ok ? 'ok   ' : 'WRONG'} ${line}`);
}

function row(name: string, us: readonly number[], most?: { median?: number; p99?: number }): Row {
  const [median, p99] = [quantile(us, 0.5), quantile(us, 0.99)];
  const ok =
    onCpu || !most
      ? null
      : median <= (most.median ?? Number.POSITIVE_INFINITY) && p99 <= (most.p99 ?? Number.POSITIVE_INFINITY);
  const bar = most ? `${round(most.median ?? 0)}${most.p99 ? ` / ${most.p99}` : ''}` : '';
  const made = { name, median: round(median), p99: round(p99), bar, ok };
  rows.push(made);
  return made;
}

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i === 0 ? c.padEnd(46) : c.padStart(12))).join(' ');
const shown = (r: Row): string =>
  `${line([r.name, r.median.toFixed(1), r.p99.toFixed(1), r.bar])}${r.ok === false ? '  MISSED' : ''}`;

const times = new GraphTimes();
/** The part that this process is for, named last; without one it starts a process for each. */
const part = has('--part') ? flags[flags.lastIndexOf('--part') + 1] : undefined;
const rt: Runtime = await createRuntime({
  devices: onCpu || !part || part === 'client' ? ['cpu'] : part === 'values' ? ['cuda', 'cpu'] : ['cuda'],
  wrap: times.wrap,
});
const make = (options: FieldOptions): Promise<Field> => createField({ runtime: rt, device, seed: 1, ...options });

const name = (o: FieldOptions): string => {
  const { resolution = 32, channels = 64, model = 'fused', boundary = 'periodic', precision = 'f32' } = o;
  const more = [boundary === 'periodic' ? '' : boundary, precision === 'f32' ? '' : precision].filter(Boolean);
  return [`${model} ${String(resolution)}³×${String(channels)}`, ...more].join(' ');
};

/** Values of a field on the device and on the CPU, after 1 and after 100 cycles. */
async function values(options: FieldOptions, count = 100): Promise<void> {
  await using ours = await make(options);
  await using right = await make({ ...options, device: 'cpu' });
  let motorsOff = 0;
  for (let t = 1; t <= count; t++) {
    const [a, b] = [await ours.step(sensors(t)), await right.step(sensors(t))];
    a.motors.forEach((m, i) => {
      motorsOff = Math.max(motorsOff, Math.abs(m - b.motors[i]!));
    });
    if (t !== 1 && t !== count) continue;
    const [x, y] = [await ours.tensors.field!.data(), await right.tensors.field!.data()] as Float32Array[];
    const off = x!.reduce((most, v, i) => Math.max(most, Math.abs(v - y![i]!)), 0);
    const line = `field after ${t} cycles differs from the CPU's by ${off.toExponential(1)}`;
    say(off <= (t === 1 ? 1e-5 : 1e-3), `${name(options)}: ${line}`);
  }
  say(motorsOff <= 1e-4, `${name(options)}: motors differ by ${motorsOff.toExponential(1)} at most`);
}

/** Evolution and gradient alone, on the device and on the CPU. */
async function opsValues(d: number, c: number): Promise<void> {
  const on = (id: string): Promise<Float32Array[]> =>
    rt.scope({ device: id }, async () => {
      const x = rt.random.normal([d, d, d, c], { seed: 1 }).compute();
      const { magnitude, components } = extractGradient(rt, x);
      const made = [fusedEvolution(rt, x), magnitude, ...components];
      return (await Promise.all(made.map((t) => t.data()))) as Float32Array[];
    });
  const [ours, right] = [await on(device), await on('cpu')];
  const off = ours.map((list, k) => list.reduce((most, v, i) => Math.max(most, Math.abs(v - right[k]![i]!)), 0));
  const line = `evolution differs by ${off[0]!.toExponential(1)}, the gradient by ${Math.max(...off.slice(1)).toExponential(1)}`;
  say(Math.max(...off) <= 1e-5, `${d}³×${c}: ${line}`);
}

/** What a cycle moves, allocates and launches. */
async function counts(field: Field, mostLaunches: number): Promise<void> {
  for (let t = 0; t < 30; t++) await field.step(sensors(t));
  const seen = { upload: 0, download: 0 };
  const before = rt.memory.snapshot(device).reservedMb;
  const ends = [rt.on('upload', () => seen.upload++), rt.on('download', () => seen.download++)];
  const n = 50;
  for (let t = 0; t < n; t++) await field.step(sensors(t));
  for (const end of ends) end();
  const grown = rt.memory.snapshot(device).reservedMb - before;
  say(seen.upload === n && seen.download === n, `${seen.upload / n} upload, ${seen.download / n} download per cycle`);
  say(field.kernels.length <= mostLaunches, `${field.kernels.length} launches: ${field.kernels.join(', ')}`);
  say(grown === 0, `reserved memory grew by ${grown} MiB in ${n} cycles`);
}

async function kernels(label: string, work: () => unknown): Promise<number> {
  let sum = 0;
  for (const { name: kernel, median } of await times.of(rt, work)) {
    sum += median;
    console.log(`      ${median.toFixed(1).padStart(8)} µs on the device  ${label}: ${kernel}`);
  }
  return sum;
}

const kernelsOf = (field: Field, label: string): Promise<number> =>
  kernels(label, async () => {
    for (let t = 0; t < 2; t++) await field.step(sensors(t));
  });

async function steps(field: Field, label: string, n: number, most?: { median?: number; p99?: number }): Promise<void> {
  // Until the host's code is compiled as far as it will be.
  for (let t = 0; t < 3 * n; t++) await field.step(sensors(t));
  const us: number[] = [];
  for (let t = 0; t < n; t++) {
    const input = sensors(t);
    const start = performance.now();
    await field.step(input);
    us.push((performance.now() - start) * 1000);
  }
  row(`step ${label}`, us, most);
}

/** Microseconds of a call, from many in a row between two waits: of the device, or of the host where that takes longer. */
async function inARow(work: () => { dispose(): void }[], repeats: number): Promise<number[]> {
  const us: number[] = [];
  for (let turn = 0; turn < 12; turn++) {
    await rt.flush();
    const start = performance.now();
    for (let i = 0; i < repeats; i++) for (const t of work()) t.dispose();
    await rt.flush();
    us.push(((performance.now() - start) * 1000) / repeats);
  }
  return us.slice(2);
}

const small: FieldOptions = { resolution: 16, channels: 32 };
const usual: FieldOptions = onCpu ? small : { resolution: 32, channels: 64 };
const large: FieldOptions = onCpu ? small : { resolution: 64, channels: 128 };
const largest: FieldOptions = onCpu ? small : { resolution: 96, channels: 64 };
const full: FieldOptions = { ...usual, channels: 64, model: 'full' };

/** A cycle of `n` fields together, beside one of them alone. */
async function batchOf(n: number): Promise<void> {
  const fields = await Promise.all(Array.from({ length: n }, (_, seed) => make({ ...small, seed })));
  await using alone = await make({ ...small, seed: 0 });
  const [one, all]: [number[], number[]] = [[], []];
  const rounds = onCpu ? 5 : 1000;
  for (let t = 0; t < rounds; t++) {
    const input = sensors(t);
    const inputs = fields.map(() => input);
    const start = performance.now();
    const { motors } = await alone.step(input);
    const between = performance.now();
    const [first] = await Field.stepBatch(fields, inputs);
    const end = performance.now();
    if (t >= rounds / 5) {
      one.push((between - start) * 1000);
      all.push((end - between) * 1000);
    }
    // Sums of several fields are cut otherwise than those of one.
    const off = motors.reduce((m, v, i) => Math.max(m, Math.abs(v - first!.motors[i]!)), 0);
    if (t === 0 || t === 9)
      say(off <= 1e-4, `batch of ${n}: motors of field 0 in cycle ${t + 1} differ by ${off.toExponential(1)}`);
  }
  const { median } = row(`step ${name(small)}`, one);
  row(`stepBatch of ${n}, ${name(small)}`, all, n === 64 ? { median: 4 * median } : undefined);
  await kernels(`batch of ${n}`, async () => {
    for (let t = 0; t < 2; t++)
      await Field.stepBatch(
        fields,
        fields.map(() => sensors(t)),
      );
  });
  for (const f of fields) await f.dispose();
}

const parts: Readonly<Record<string, () => Promise<void>>> = {
  values: async () => {
    await values(small);
    await values({ ...small, boundary: 'reflecting', settings: { readout: 'slab', blur: 'separable' } });
    await values(usual);
    await values({ ...small, channels: 64, model: 'full' });
    if (!onCpu) await values({ resolution: 64, channels: 32 }, 5);
    for (const d of onCpu ? [16] : [16, 32, 96]) await opsValues(d, 32);
  },
  fused: async () => {
    await using field = await make(usual);
    await steps(field, name(usual), cycles, { median: 60, p99: 100 });
    await counts(field, 4);
    await kernelsOf(field, name(usual));
  },
  long: async () => {
    await using field = await make(usual);
    for (let t = 0; t < 20; t++) await field.step(sensors(t));
    const [before, long] = [field.report().memory.reserved, onCpu ? 100 : 10_000];
    let finite = true;
    for (let t = 0; t < long; t++) {
      const { state, motors } = await field.step(sensors(t));
      finite &&= Number.isFinite(state.energy) && motors.every(Number.isFinite);
    }
    const grown = field.report().memory.reserved - before;
    const line = `${long} cycles: all values are numbers: ${finite}; reserved memory grew by ${grown} bytes`;
    say(finite && grown === 0, line);
  },
  memory: async () => {
    // Alone in a runtime: what one field takes of the device.
    const own = await createRuntime({ devices: [onCpu ? 'cpu' : 'cuda'] });
    const field = await createField({ ...usual, runtime: own, device });
    for (let t = 0; t < 50; t++) await field.step(sensors(t));
    const { reserved, state } = field.report().memory;
    const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
    say(
      onCpu || reserved <= 64 * 2 ** 20,
      `memory of one field: ${mib(state)} MiB of state, ${mib(reserved)} of 64 reserved`,
    );
    await field.dispose();
    await own.close();
  },
  large: async () => {
    await using field = await make(large);
    await steps(field, name(large), onCpu ? 5 : 300, { median: 1000 });
    await kernelsOf(field, name(large));
    await using cube = await make(largest);
    await steps(cube, name(largest), onCpu ? 5 : 100);
  },
  half: async () => {
    const options: FieldOptions = { ...usual, precision: 'f16' };
    await using field = await make(options);
    await using whole = await make(usual);
    let off = 0;
    for (let t = 0; t < 100; t++) {
      const [a, b] = [await field.step(sensors(t)), await whole.step(sensors(t))];
      a.motors.forEach((m, i) => {
        off = Math.max(off, Math.abs(m - b.motors[i]!));
      });
    }
    const [x, y] = [await field.tensors.field!.data(), await whole.tensors.field!.data()] as Float32Array[];
    const squares = x!.reduce((sum, v, i) => sum + (v - y![i]!) ** 2, 0);
    const rms = Math.sqrt(squares / x!.length);
    // Where two cells are nearly as empty, the next imprint may go to the other one: the largest difference says little.
    console.log(
      `      f16 after 100 cycles: the field differs from f32 by ${rms.toExponential(1)} (root of the mean square), motors by ${off.toExponential(1)} at most`,
    );
    await steps(field, name(options), cycles);
  },
  full: async () => {
    await using field = await make(full);
    await steps(field, name(full), cycles, { median: 400 });
    await counts(field, 16);
    await kernelsOf(field, name(full));
  },
  batch: async () => {
    if (!onCpu) await batchOf(8);
    await batchOf(onCpu ? 4 : 64);
  },
  ops: () =>
    rt.scope({ device }, async () => {
      for (const [d, c] of onCpu
        ? [[16, 32]]
        : [
            [32, 64],
            [96, 32],
            [128, 64],
          ]) {
        const x = rt.random.normal([d!, d!, d!, c!], { seed: 1 }).compute();
        const copy = rt.compile((t: Tensor) => t.mul(0.5));
        const twice = (work: () => { dispose(): void }[]) => (): void => {
          for (let i = 0; i < 2; i++) for (const t of work()) t.dispose();
        };
        const size = `${d}³×${c}`;
        const works: readonly (readonly [string, () => { dispose(): void }[]])[] = [
          ['read and write once', () => [copy(x)]],
          ['fused evolution', () => [fusedEvolution(rt, x)]],
          [
            'Sobel gradient',
            () => {
              const { magnitude, components } = extractGradient(rt, x);
              return [magnitude, ...components];
            },
          ],
        ];
        const bars: { calls?: number } = {};
        for (const [what, work] of works) {
          const most = bars.calls === undefined ? undefined : { median: 1.5 * bars.calls };
          const calls = row(`${what} ${size}, calls in a row`, await inARow(work, onCpu ? 3 : 200), most);
          bars.calls ??= calls.median;
          const alone = await kernels(size, twice(work));
          if (alone > 0) row(`${what} ${size}, on the device`, [alone]);
        }
        const us: number[] = [];
        for (let i = 0; i < (onCpu ? 3 : 60); i++) {
          const start = performance.now();
          await fieldMetrics(rt, x);
          us.push((performance.now() - start) * 1000);
        }
        row(`metrics ${size}, call to numbers`, us.slice(2));
        x.dispose();
      }
    }),
  loops: async () => {
    await using field = await make(usual);
    for (let t = 0; t < 2 * cycles; t++) await field.step(sensors(t));
    for (const hz of rates) {
      let t = 0;
      const ticks = Math.max(1, Math.round(hz * seconds));
      const report = await field.loop({ hz, ticks, source: () => sensors(t++), sink: () => {} });
      const { missed, latency, jitter } = report;
      loops.push({ hz, seconds: report.seconds, ticks, missed, latency, jitter });
      const ms = (v: number): string => v.toFixed(3);
      const line = `loop at ${hz} Hz for ${report.seconds.toFixed(1)} s: ${missed} missed of ${ticks}; latency p50 ${ms(latency.p50)}, p99 ${ms(latency.p99)}, max ${ms(latency.max)} ms; began late by ${ms(jitter.max)} ms at most`;
      if (hz <= 200 && !onCpu) say(missed === 0, line);
      else console.log(`      ${line}`);
    }
  },
  wire: async () => {
    // The client is a process of its own, as a robot would be.
    await using field = await make(usual);
    for (let t = 0; t < cycles; t++) await field.step(sensors(t));
    const server = await serveField({ port: 0, shared: { loop: field } });
    const child = spawn(process.execPath, [self, ...flags, '--part', 'client', '--port', String(server.port)]);
    let said = '';
    child.stdout.on('data', (bytes) => {
      said += String(bytes);
    });
    await once(child, 'close');
    const cycle = server.view().fields[0]!.performance();
    await server.close();
    const trip = JSON.parse(said.split('\n').find((l) => l.startsWith('{'))!) as {
      count: number;
      p50: number;
      p99: number;
    };
    const ms = (v: number): string => v.toFixed(3);
    const line = `${trip.count} round trips at 20 Hz: p50 ${ms(trip.p50)}, p99 ${ms(trip.p99)} ms; the cycles in them p50 ${ms(cycle.p50)}, p99 ${ms(cycle.p99)} ms`;
    say(onCpu || trip.p99 <= cycle.p99 + 1, line);
  },
  client: async () => {
    await using client = await FieldClient.connect({
      port: Number(text('--port')),
      sensors: 16,
      motors: 5,
      field: 'loop',
    });
    const trips: number[] = [];
    const start = performance.now() + 50;
    for (let t = 0; t < 20 * seconds; t++) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, start + 50 * t - performance.now())));
      const from = performance.now();
      await client.getAction(sensors(t));
      trips.push(performance.now() - from);
    }
    console.log(JSON.stringify({ count: trips.length, p50: quantile(trips, 0.5), p99: quantile(trips, 0.99) }));
  },
  torch: async () => {
    const here = dirname(fileURLToPath(import.meta.url));
    const script = [join(here, 'field_torch.py'), join(here, '../../bench/gpu/field_torch.py')].find(existsSync);
    const run = script ? spawnSync('python3', [script], { encoding: 'utf8', timeout: 300_000 }) : null;
    const lines = (run?.stdout ?? '').split('\n').filter((line) => line.startsWith('{'));
    for (const line of lines) {
      const { name: what, median, p99 } = JSON.parse(line) as { name: string; median: number; p99: number };
      rows.push({ name: `PyTorch ${what}`, median: round(median), p99: round(p99), bar: '', ok: null });
    }
    if (lines.length > 0) return;
    console.log(`PyTorch was not measured: ${run?.stderr.trim().split('\n').at(-1) ?? 'field_torch.py is not there'}`);
  },
};

const only = text('--only')?.split(',') ?? Object.keys(parts).filter((p) => p !== 'client');
const unknown = [...only, ...(part ? [part] : [])].find((p) => !Object.hasOwn(parts, p));
if (unknown !== undefined) {
  console.error(`there is no part '${unknown}': use some of ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}
if (part) {
  await parts[part]!();
  await rt.close();
  process.stdout.write(`${mark}${JSON.stringify({ rows, loops, failed })}\n`, () => process.exit(0));
  // The result is on its way.
  await new Promise(() => {});
}
await rt.close();
for (const p of only) {
  if (p === 'torch' && (onCpu || has('--no-torch'))) continue;
  const own = flags.filter((_, i) => flags[i] !== '--json' && flags[i - 1] !== '--json');
  const run = spawnSync(process.execPath, [self, ...own, '--part', p], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  const said = run.stdout.split('\n');
  console.log(said.filter((l) => l !== '' && !l.startsWith(mark)).join('\n'));
  const told = said.find((l) => l.startsWith(mark));
  if (!told) say(false, `part ${p} ended with ${run.status ?? run.signal}`);
  else {
    const result = JSON.parse(told.slice(mark.length)) as { rows: Row[]; loops: object[]; failed: boolean };
    rows.push(...result.rows);
    // At once: a run that is cut off has told what it knew.
    for (const r of result.rows) console.log(shown(r));
    loops.push(...result.loops);
    failed ||= result.failed;
  }
}

console.log(`\n${line(['µs', 'median', 'p99', 'bar'])}`);
for (const r of rows) {
  if (r.ok === false) failed = true;
  console.log(shown(r));
}
const file = text('--json');
if (file) {
  const result = { schema: 'gpuforge.bench-field-gpu/1', date: new Date().toISOString(), device, rows, loops };
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
}
process.exit(failed ? 1 : 0);
