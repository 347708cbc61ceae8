// npm run bench -- small: small work on the CPU beside NumPy, and what the runtime itself takes of a call.
//
//   --rounds 9 --seconds 0.2    of each row
//   --only chain100,add5        some of the rows
//   --gpu cuda                  rows of a GPU too
//   --processor                 the processor time of the processes: on a machine that does other things too
//   --against FILE              beside the bundle of another tree (its dist/bench/small.mjs), in turns
//   --strict                    fails if a row is slower than NumPy
//
// One process each, in turns, so that a busy machine slows all alike; medians of all samples in microseconds. Results are compared
// with NumPy's. Rows on a device that does nothing have none: there the host's time is all there is.

import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Digest, disagreement } from '../lib/data.mjs';
import { Peer } from '../lib/peer.mjs';
import { serve } from '../lib/side.mjs';
import { summary } from '../lib/stats.mjs';
import { smallWorks } from './small-works.ts';

const cpuTitles: Readonly<Record<string, string>> = {
  chain100: 'tanh((x*.99+.5)*x-.1), 100 f32',
  chain1000: 'the same, 1,000 f32',
  chain4096: 'the same, 4,096 f32',
  chain16384: 'the same, 16,384 f32',
  sum1000: 'sum of 1,000 f32',
  matmul64: 'product of 64² f32',
  add5: 'add of 5 f32, read',
  ops200: '200 dependent ops on 64 f32',
};

/** Of every device that has rows of its own. */
const deviceTitles: Readonly<Record<string, string>> = {
  eager: 'one op on 64 f32',
  chain: 'the chain of 64 f32',
  compiled: 'a compiled call',
  steps: 'a compiled call of several kernels',
  recurrence: 'compiled f = step(f)',
  ops200: '200 dependent ops on 64 f32',
  'ops200-done': 'the same, until they are done',
};
const titlesOf = (name: string, called: string): [string, string][] =>
  Object.entries(deviceTitles).map(([key, title]) => [`${name}-${key}`, `${title}, ${called}`]);

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '0.2' },
    only: { type: 'string' },
    against: { type: 'string' },
    gpu: { type: 'string' },
    processor: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
});

const gpu = values.gpu === 'cuda' || values.gpu === 'webgpu' ? values.gpu : null;
if (values.serve) await serve(await smallWorks(gpu));

interface Answer {
  readonly error?: string;
  readonly unsupported?: boolean;
  readonly digest?: Digest;
  readonly times?: readonly number[];
}

if (values.processor) process.env.GPUFORGE_BENCH_CLOCK = 'processor';
const bench = fileURLToPath(new URL('../../bench', import.meta.url));
const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';
const node = (file: string): readonly string[] => ['--expose-gc', file, '--serve', ...(gpu ? ['--gpu', gpu] : [])];
const sides = [
  new Peer('gpuforge', process.execPath, node(fileURLToPath(import.meta.url)), bench),
  ...(values.against ? [new Peer('other', process.execPath, node(values.against), process.cwd())] : []),
  new Peer('numpy', python, ['numpy_side.py'], bench),
];
const names = ['gpuforge', ...(values.against ? ['other'] : []), 'numpy'];
await Promise.all(sides.map((s) => s.opened));

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i === 0 ? c.padEnd(40) : c.padStart(20))).join('');
const figure = (us: number): string => us.toFixed(us < 10 ? 2 : us < 100 ? 1 : 0);

console.log(`${cpus()[0]?.model ?? 'a processor'}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`);
const what = values.processor ? 'µs of the processor' : 'µs';
console.log(line([`${what}, median (middle 80 %)`, ...names, '× numpy', ...(values.against ? ['× other'] : [])]));

const complaints: string[] = [];
const titles = new Map([
  ...Object.entries(cpuTitles),
  ...titlesOf('noop', 'no device'),
  ...(gpu ? titlesOf(gpu, gpu) : []),
]);
for (const work of values.only?.split(',') ?? titles.keys()) {
  const first = (await Promise.all(sides.map((s) => s.ask('prepare', work)))) as Answer[];
  const samples = sides.map((): number[] => []);
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [i, side] of sides.entries()) {
      if (!first[i]!.digest) continue;
      const { times } = (await side.ask('measure', work, Number(values.seconds))) as Answer;
      samples[i]!.push(...(times ?? []));
    }
  await Promise.all(sides.map((s) => s.ask('drop', work)));
  const sums = samples.map((s) => (s.length > 0 ? summary(s) : null));
  const cells = sums.map((s) =>
    s ? `${figure(1000 * s.median)} (${figure(1000 * s.low)}–${figure(1000 * s.high)})` : '–',
  );
  const over = (i: number): number | null => (sums[i] && sums[0] ? sums[0].median / sums[i].median : null);
  const ratio = (i: number): string => over(i)?.toFixed(2) ?? '';
  const numpy = sides.length - 1;
  console.log(line([titles.get(work) ?? work, ...cells, ratio(numpy), ...(values.against ? [ratio(1)] : [])]));
  for (const [i, { error }] of first.entries()) if (error) complaints.push(`${work}: ${names[i]}: ${error}`);
  const [ours, theirs] = [first[0]!.digest, first[numpy]!.digest];
  const wrong = ours && theirs ? disagreement(ours, theirs) : null;
  if (wrong) complaints.push(`${work}: differs from NumPy's: ${wrong}`);
  if (values.strict && (over(numpy) ?? 0) > 1) complaints.push(`${work}: slower than NumPy`);
}
await Promise.all(sides.map((s) => s.close()));
for (const c of complaints) console.log(c);
process.exit(complaints.length > 0 ? 1 : 0);
