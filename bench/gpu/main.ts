// Device figures on a GPU host: the rows of the CUDA table that need no tensors, each with its median and spread.
//
//   node dist/gpu/bench.mjs [--json FILE] [--no-cublas] [--no-torch] [--tensors FILE]
//
// PyTorch runs after it where python3 has torch; one table with both is printed last and written to the file (by default
// one in bench/results/ that is named after the GPU and the day). `--tensors` takes what tensors.mjs measured just before into a
// table of its own.
//
// Times marked `issue` are the host's, per call, with the queue never full; times marked `done` run from issue to a
// finished result; times marked `device` are read from events around many repeats. Results are checked where it says so.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { DeviceBuffer, Program } from '../../src/devices/device.ts';
import { decompose, decomposeEpilogue } from '../../src/kernel/decompose/index.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { fill } from '../../test/gpu/data.ts';
import { matmul } from '../../test/gpu/routines.ts';
import { type ApiRun, apiLines, deviceLines, makeTable, printTable, type Row, runTorch } from './table.ts';

if (process.argv.includes('--first')) {
  // A new process to its first result: everything from the start of Node.
  const { devices } = await openCudaDevices({});
  const d = devices[0] as CudaDevice;
  const k = new KernelBuilder([1000]);
  k.output(k.op('add', k.whole('f32'), k.b.const('f32', 1)));
  const [x, y] = [d.allocate(4000), d.allocate(4000)];
  d.write(x, new Uint8Array(4000));
  d.launch(d.prepare(k.done('first')), [x, y], []);
  const v = new Float32Array(d.readSync(y).buffer)[7];
  console.log(
    `new process to first result: ${performance.now().toFixed(0)} ms (value ${v}, ${JSON.stringify(d.counters())})`,
  );
  process.exit(0);
}
if (process.argv.includes('--tune')) {
  // Plain streaming work under different cuts, to choose the usual one by.
  const data = fill('u32', 16 << 20, 1);
  for (const threads of [128, 256, 512]) {
    for (const unroll of [1, 2, 4]) {
      for (const streaming of [false, true]) {
        const { devices } = await openCudaDevices({ tuning: { threads, unroll, streaming } });
        const d = devices[0] as CudaDevice;
        const n = 16 << 20;
        const time = async (k: KernelBuilder, name: string, inPlace: boolean): Promise<string> => {
          const p = d.prepare(k.done(name));
          const [x, y] = [d.allocate(n * 4), d.allocate(n * 4)];
          d.write(x, data);
          const list = inPlace ? [x, x] : [x, y];
          d.launch(p, list, []);
          const samples: number[] = [];
          for (let r = 0; r < 7; r++) {
            const a = d.mark();
            for (let i = 0; i < 50; i++) d.launch(p, list, []);
            const b = d.mark();
            await b.whenDone();
            samples.push((b.since(a)! * 1000) / 50);
          }
          d.release(x);
          d.release(y);
          return samples.sort((a, b) => a - b)[3]!.toFixed(2);
        };
        const xor = new KernelBuilder([n]);
        xor.inPlace.push(0);
        xor.output(xor.op('xor', xor.whole('u32'), xor.b.const('u32', 0x5bd1e995)));
        const add = new KernelBuilder([n]);
        add.output(add.op('add', add.whole('f32'), add.b.const('f32', 1)));
        console.log(
          `threads ${threads} unroll ${unroll} streaming ${streaming}: xor in place ${await time(xor, 'xor', true)} µs, x+1 ${await time(add, 'add', false)} µs`,
        );
        await d.close();
      }
    }
  }
  process.exit(0);
}
const start = performance.now();
const cublas = !process.argv.includes('--no-cublas');
const { devices, refused } = await openCudaDevices({ cublas });
if (devices.length === 0) {
  console.error(refused.map((r) => `${r.id}: ${r.reason}\n  fix: ${r.fix}`).join('\n'));
  process.exit(1);
}
const device = devices[0] as CudaDevice;
const opened = performance.now() - start;
const rows: Row[] = [];

function row(name: string, samples: readonly number[], note = ''): Row {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
  const made = { name, us: at(0.5), low: at(0.1), high: at(0.9), note };
  rows.push(made);
  console.log(
    `${name.padEnd(52)} ${made.us.toFixed(2).padStart(10)} µs  (${made.low.toFixed(2)} … ${made.high.toFixed(2)})  ${note}`,
  );
  return made;
}

const settle = async (): Promise<void> => {
  await device.mark().whenDone();
};

/** Device time per launch from events around `repeats` launches. */
async function deviceTime(launch: (i: number) => void, repeats: number, rounds = 15): Promise<number[]> {
  launch(0);
  await settle();
  const samples: number[] = [];
  for (let r = 0; r < rounds; r++) {
    const first = device.mark();
    for (let i = 0; i < repeats; i++) launch(i);
    const last = device.mark();
    await last.whenDone();
    samples.push((last.since(first)! * 1000) / repeats);
  }
  return samples;
}

const buffer = (bytes: number, data?: Uint8Array): DeviceBuffer => {
  const b = device.allocate(bytes);
  if (data) device.write(b, data);
  return b;
};

const kernel = (
  make: (k: KernelBuilder) => void,
  space: readonly number[],
  reduced: readonly number[],
  name: string,
): Kernel => {
  const k = new KernelBuilder(space, reduced);
  make(k);
  return decompose(k.done(name), device.caps.native);
};

const f = (k: KernelBuilder, v: number): Expr => k.b.const('f32', v);

// Copy bandwidth: the ceiling of everything bound by memory.
const copyN = 1 << 28;
const copyKernel = device.prepare(kernel((k) => k.output(k.whole('u32')), [copyN / 4], [], 'copy'));
let bandwidth: number;
{
  const [x, y] = [buffer(copyN, fill('u32', copyN / 4, 1)), buffer(copyN)];
  const r = row('copy 256 MiB (device)', await deviceTime(() => device.launch(copyKernel, [x, y], []), 20));
  bandwidth = (2 * copyN) / r.us / 1e6;
  console.log(`  = ${bandwidth.toFixed(2)} TB/s read and written`);
  device.release(x);
  device.release(y);
}

// Tiny op, issued.
{
  const p = device.prepare(kernel((k) => k.output(k.op('add', k.whole('f32'), f(k, 1))), [1024], [], 'tiny'));
  const [x, y] = [buffer(4096, fill('f32', 1024, 1, true)), buffer(4096)];
  const list = [x, y];
  const samples: number[] = [];
  for (let r = 0; r < 40; r++) {
    const t = performance.now();
    for (let i = 0; i < 500; i++) device.launch(p, list, []);
    samples.push(((performance.now() - t) * 1000) / 500);
    await settle();
  }
  row('tiny op (issue)', samples.slice(5), 'required ≤ 6 with tensors above');
  const round: number[] = [];
  for (let r = 0; r < 300; r++) {
    const t = performance.now();
    device.launch(p, list, []);
    device.readSync(y, 0, 64);
    round.push((performance.now() - t) * 1000);
  }
  row('tiny op + read of 64 bytes (done)', round.slice(50));
  const asynchronous: number[] = [];
  for (let r = 0; r < 200; r++) {
    const t = performance.now();
    device.launch(p, list, []);
    await device.read(y, 0, 64);
    asynchronous.push((performance.now() - t) * 1000);
  }
  row('tiny op + awaited read of 64 bytes (done)', asynchronous.slice(50));
  const pools: number[] = [];
  for (let r = 0; r < 50; r++) {
    const t = performance.now();
    for (let i = 0; i < 1000; i++) device.release(device.allocate(1 << 20));
    pools.push(((performance.now() - t) * 1000) / 1000);
  }
  row('allocate + release 1 MiB (issue)', pools);
}

async function issueToDone(p: Program, list: readonly DeviceBuffer[], repeats = 200): Promise<number[]> {
  const samples: number[] = [];
  for (let r = 0; r < repeats; r++) {
    const t = performance.now();
    device.launch(p, list, []);
    device.readSync(list[list.length - 1]!, 0, 4);
    samples.push((performance.now() - t) * 1000);
  }
  return samples.slice(20);
}

// The chain, with tanh from its decomposition.
{
  const n = 4 << 20;
  const chain = kernel(
    (k) => {
      const x = k.whole('f32');
      const y = k.op('sub', k.op('mul', k.op('add', k.op('mul', x, f(k, 0.99)), f(k, 0.5)), x), f(k, 0.1));
      k.output(k.op('tanh', y));
    },
    [n],
    [],
    'chain_tanh_4M',
  );
  const p = device.prepare(chain);
  const [x, y] = [buffer(n * 4, fill('f32', n, 1, true)), buffer(n * 4)];
  row('tanh((x*.99+.5)*x-.1), 4M f32 (device)', await deviceTime(() => device.launch(p, [x, y], []), 100));
  row('tanh((x*.99+.5)*x-.1), 4M f32 (done)', await issueToDone(p, [x, y]), 'required ≤ 25');
  device.release(x);
  device.release(y);
}

{
  const n = 16 << 20;
  const p = device.prepare(
    kernel(
      (k) => {
        k.inPlace.push(0);
        k.output(k.op('xor', k.whole('u32'), k.b.const('u32', 0x5bd1e995)));
      },
      [n],
      [],
      'xor_16M',
    ),
  );
  const x = buffer(n * 4, fill('u32', n, 1));
  row('xor of 16M u32, in place (device)', await deviceTime(() => device.launch(p, [x, x], []), 100));
  row('xor of 16M u32, in place (done)', await issueToDone(p, [x, x]), 'required ≤ 38');
  device.release(x);
}

{
  const n = 64 << 20;
  const bytes = fill('f32', n, 1, true);
  const x = buffer(n * 4, bytes);
  const y = buffer(4);
  const p = device.prepare(kernel((k) => k.output(k.reduce('sum', k.whole('f32'))), [], [n], 'sum_64M'));
  const r = row('sum of 64M f32 (device)', await deviceTime(() => device.launch(p, [x, y], []), 20));
  const values = new Float32Array(bytes.buffer);
  let want = 0;
  for (let i = 0; i < n; i++) want += values[i]!;
  const got = new Float32Array(device.readSync(y).buffer)[0]!;
  const rate = (n * 4) / r.us / 1e6;
  console.log(
    `  = ${rate.toFixed(2)} TB/s, ${((100 * rate) / bandwidth).toFixed(0)} % of copy; got ${got}, want ${want.toFixed(3)}`,
  );
  const rows_ = device.prepare(kernel((k) => k.output(k.reduce('sum', k.whole('f32'))), [16384], [4096], 'sum_rows'));
  const z = buffer(16384 * 4);
  row('sum of rows, 16384 x 4096 f32 (device)', await deviceTime(() => device.launch(rows_, [x, z], []), 20));
  const columns = device.prepare(
    kernel(
      (k) => {
        const v = k.at(k.input('f32', n), k.flat([16384, 4096], [k.axis(1), k.axis(0)]));
        k.output(k.reduce('sum', v));
      },
      [4096],
      [16384],
      'sum_columns',
    ),
  );
  row('sum of columns, 16384 x 4096 f32 (device)', await deviceTime(() => device.launch(columns, [x, z], []), 20));
  const arg = device.prepare(kernel((k) => k.output(k.reduce('argmax', k.whole('f32'))), [], [n], 'argmax_64M'));
  row('argmax of 64M f32 (device)', await deviceTime(() => device.launch(arg, [x, y], []), 20));
  for (const b of [x, y, z]) device.release(b);
}

// Field step 32³×64: decay, diffusion, noise from a counter, tanh.
{
  const n = 32;
  const c = 64;
  const field = fieldKernel(n, c);
  const p = device.prepare(decompose(field, device.caps.native));
  const bytes = n ** 3 * c * 4;
  const [x, y] = [buffer(bytes, fill('f32', n ** 3 * c, 1, true)), buffer(bytes)];
  row('field step 32x32x32x64 (device)', await deviceTime((i) => device.launch(p, i % 2 ? [y, x] : [x, y], [i]), 500));
  const recording = device.record([{ program: p, buffers: [0, 1], scalars: [0] }]);
  const samples: number[] = [];
  for (let r = 0; r < 20; r++) {
    await settle();
    const t = performance.now();
    for (let i = 0; i < 1000; i++) recording.replay(i % 2 ? [y, x] : [x, y], [i]);
    await settle();
    samples.push(performance.now() - t);
  }
  row('field step, replayed (done, per step of 1000)', samples, 'required ≤ 11');
  const ten = device.record(
    Array.from({ length: 10 }, (_, i) => ({ program: p, buffers: i % 2 ? [1, 0] : [0, 1], scalars: [0] })),
  );
  const graph: number[] = [];
  for (let r = 0; r < 20; r++) {
    await settle();
    const t = performance.now();
    for (let i = 0; i < 100; i++) ten.replay([x, y], [i]);
    await settle();
    graph.push(performance.now() - t);
  }
  row('field step, graphs of ten (done, per step)', graph);
  device.release(x);
  device.release(y);
}

function fieldKernel(n: number, channels: number): Kernel {
  const sizes = [n, n, n, channels];
  const k = new KernelBuilder(sizes);
  const slot = k.input('f32', n ** 3 * channels);
  const centre = k.at(slot, k.flat());
  let around: Expr | undefined;
  for (let axis = 0; axis < 3; axis++) {
    for (const s of [1, n - 1]) {
      const here = k.axis(axis);
      const moved = k.op('add', here, k.op('where', k.op('lt', here, k.index(n - s)), k.index(s), k.index(s - n)));
      const v = k.at(
        slot,
        k.flat(
          sizes,
          sizes.map((_, i) => (i === axis ? moved : k.axis(i))),
        ),
      );
      around = around ? k.op('add', around, v) : v;
    }
  }
  const diffusion = k.op('mul', k.op('sub', around!, k.op('mul', centre, f(k, 6))), f(k, 0.1));
  // A hash of position and step, as the hand-written kernel had.
  let h = k.op('add', k.b.cast('u32', k.flat()), k.op('mul', k.scalar('u32'), k.b.const('u32', 0x9e3779b9)));
  const u = (v: number): Expr => k.b.const('u32', v);
  h = k.op('mul', k.op('xor', h, k.op('shr', h, u(16))), u(0x7feb352d));
  h = k.op('mul', k.op('xor', h, k.op('shr', h, u(15))), u(0x846ca68b));
  h = k.op('xor', h, k.op('shr', h, u(16)));
  const noise = k.op('sub', k.op('mul', k.b.cast('f32', k.op('shr', h, u(8))), f(k, 2 ** -24)), f(k, 0.5));
  const sum = k.op('add', k.op('add', k.op('mul', centre, f(k, 0.99)), diffusion), k.op('mul', noise, f(k, 0.01)));
  k.output(k.op('tanh', sum));
  return k.done('field_step_32x32x32x64');
}

// Matrix products.
for (const [type, side, precision, batch] of [
  ['f32', 1024, 'exact', 1],
  ['f32', 4096, 'exact', 1],
  ['f32', 4096, 'tf32', 1],
  ['bf16', 4096, 'exact', 1],
  ['f16', 4096, 'exact', 1],
  ['bf16', 8192, 'exact', 1],
  ['f32', 256, 'exact', 10],
] as const) {
  const bytes = side * side * batch * (type === 'f32' ? 4 : 2);
  const [a, b, c] = [
    buffer(bytes, fill(type, side * side * batch, 1, true)),
    buffer(bytes, fill(type, side * side * batch, 2, true)),
    buffer(bytes),
  ];
  for (const transposeB of batch === 1 && type !== 'f32' ? [false, true] : [false]) {
    const p = device.prepare(
      matmul(type, side, side, side, { precision, batch, batchA: batch, batchB: batch, transposeB }).routine,
    );
    const repeats = side >= 4096 ? 10 : 200;
    const who = p.source.startsWith('cublas') ? 'cuBLASLt' : 'own kernel';
    const label = `matmul ${batch > 1 ? `${batch} x ` : ''}${side}² ${type} ${precision}${transposeB ? ' (B transposed)' : ''}`;
    const r = row(`${label} (device)`, await deviceTime(() => device.launch(p, [a, b, c], []), repeats, 7), who);
    console.log(`  = ${((2 * batch * side ** 3) / r.us / 1e6).toFixed(1)} TFLOP/s`);
    if (batch > 1) row(`${label} (done)`, await issueToDone(p, [a, b, c]), 'required ≤ 15');
  }
  for (const x of [a, b, c]) device.release(x);
}

// The other's products, where the rows above were ours or a library's.
for (const [who, options, type, side, batch] of [
  ['own', { cublas: false }, 'bf16', 4096, 1],
  ['cuBLASLt', { cublas: 'always' }, 'f32', 256, 10],
] as const) {
  if (!cublas) continue;
  const {
    devices: [second],
  } = await openCudaDevices(options);
  const elements = side * side * batch;
  const bytes = elements * (type === 'f32' ? 4 : 2);
  const made = [1, 2, 3].map(() => second!.allocate(bytes));
  for (const i of [0, 1]) second!.write(made[i]!, fill(type, elements, i + 1, true));
  const p = second!.prepare(matmul(type, side, side, side, { batch, batchA: batch, batchB: batch }).routine);
  const samples: number[] = [];
  const repeats = side >= 4096 ? 10 : 200;
  for (let r = 0; r < 8; r++) {
    const first = second!.mark();
    for (let i = 0; i < repeats; i++) second!.launch(p, made, []);
    const last = second!.mark();
    await last.whenDone();
    samples.push((last.since(first)! * 1000) / repeats);
  }
  row(`${who} matmul ${batch > 1 ? `${batch} x ` : ''}${side}² ${type} (device)`, samples.slice(1));
  for (const b of made) second!.release(b);
  await second!.close();
}

// A product with what a layer does behind it.
{
  const side = 4096;
  const k = new Exprs();
  const bias = k.load('bf16', 0, k.axis(2, side));
  const value = k.alu('tanh', k.alu('add', k.acc('bf16', 0), bias));
  const inputs = [{ type: 'bf16', elements: side }] as const;
  const epilogue = decomposeEpilogue({ inputs, scalars: [], output: { type: 'bf16', value } }, device.caps.native);
  const { routine } = matmul('bf16', side, side, side, { epilogue });
  const list = [side * side, side * side, side, side * side].map((n, i) => buffer(2 * n, fill('bf16', n, i + 1, true)));
  const p = device.prepare(routine);
  row('tanh(x·w + b), 4096² bf16 (device)', await deviceTime(() => device.launch(p, list, []), 10, 7));
  for (const b of list) device.release(b);
}

// Transfers.
{
  const n = 2_500_000;
  const p = device.prepare(kernel((k) => k.output(k.op('add', k.whole('f32'), f(k, 0))), [n], [], 'add_zero'));
  const plain = fill('f32', n, 1, true);
  const pinned = new Uint8Array(device.pinned(n * 4));
  pinned.set(plain);
  for (const [label, source, limit] of [
    ['ordinary arrays', plain, 1500],
    ['pinned arrays', pinned, 500],
  ] as const) {
    const samples: number[] = [];
    // Results are page-locked memory that comes back through the collector: it takes a while until there is enough of it.
    for (let r = -300; r < 100; r++) {
      const t = performance.now();
      const [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
      device.write(x, source);
      device.launch(p, [x, y], []);
      const got = await device.read(y);
      if (r >= 0) samples.push((performance.now() - t) * 1000);
      if (got[12345] !== plain[12345]) throw new Error('wrong bytes came back');
      device.release(x);
      device.release(y);
    }
    row(`10 MB up, +0, down, ${label} (done)`, samples, `required ≤ ${limit}`);
  }
}

// Sorting and scanning, without a bound in the table.
{
  const n = 1 << 24;
  const x = buffer(n * 4, fill('f32', n, 1, true));
  const [v, i] = [buffer(n * 4), buffer(n * 4)];
  const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
  const sorted = device.prepare({
    kind: 'routine',
    op: 'sort',
    name: 'sort_16M',
    type: 'f32',
    rows: 1,
    columns: n,
    descending: false,
    estimate,
  });
  row('sort of 16M f32 with positions (device)', await deviceTime(() => device.launch(sorted, [x, v, i], []), 3, 5));
  const scanned = device.prepare({
    kind: 'routine',
    op: 'scan',
    name: 'cumsum_16M',
    type: 'f32',
    combine: 'sum',
    outer: 1,
    length: n,
    inner: 1,
    reverse: false,
    estimate,
  });
  row('cumulative sum of 16M f32 (device)', await deviceTime(() => device.launch(scanned, [x, v], []), 10, 7));
  for (const b of [x, v, i]) device.release(b);
}

console.log(`opened in ${opened.toFixed(0)} ms; ${JSON.stringify(device.counters())}`);
const where = { name: device.caps.name, ...device.caps.details };
await device.close();

// The first of these fills the cache of cubins.
const starts = Array.from({ length: 6 }, () => {
  const { stdout } = spawnSync(process.execPath, [process.argv[1]!, '--first'], { encoding: 'utf8' });
  return 1000 * Number(/first result: (\d+) ms/.exec(stdout)?.[1] ?? Number.NaN);
});
row('new process to first result', starts.slice(1), 'required ≤ 900,000');

const torch = process.argv.includes('--no-torch') ? null : runTorch();
const table = makeTable(deviceLines, rows, torch, bandwidth);
const tensorsAt = process.argv.indexOf('--tensors');
const api = tensorsAt > 0 ? (JSON.parse(readFileSync(process.argv[tensorsAt + 1]!, 'utf8')) as ApiRun) : null;
if (api && api.device !== where.name) throw new Error(`the tensors were measured on ${api.device}`);
const apiTable = api && makeTable(apiLines, api.rows, torch, bandwidth);
const date = new Date().toISOString();
const at = process.argv.indexOf('--json');
const short = where.name
  .replace(/^NVIDIA /, '')
  .replace(/[^A-Za-z0-9]+/g, '-')
  .toLowerCase();
const file = at > 0 ? process.argv[at + 1]! : `bench/results/gpu-${short}-${date.slice(0, 10)}.json`;
if (at <= 0) mkdirSync('bench/results', { recursive: true });
const all = torch && { version: torch.version, rows: Object.fromEntries(torch.rows) };
writeFileSync(
  file,
  `${JSON.stringify(
    {
      date,
      device: where,
      openedMs: opened,
      bandwidthTBs: bandwidth,
      table,
      'through the public API': api && { date: api.date, table: apiTable, rows: api.rows },
      rows,
      torch: all,
    },
    null,
    1,
  )}\n`,
);
console.log(`\n${where.name}, ${date.slice(0, 10)}; written to ${file}\n`);
printTable(table, torch);
if (apiTable) {
  console.log('\nthrough the public API\n');
  printTable(apiTable, torch);
}
console.log('\nratio: ours to the faster of the two PyTorch columns; below 1 we are ahead');
