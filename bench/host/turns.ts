// Works beside NumPy's: one process each, in turns, so that a busy machine slows all alike; medians of all samples in microseconds.
// Results are compared with NumPy's before anything is timed.
//
// OpenBLAS keeps its threads awake for hundreds of milliseconds after a product, and the next side would lack their core. NumPy's are told
// to sleep at once, which changes no time of its own.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Digest, difference, disagreement } from '../lib/data.mjs';
import { Peer } from '../lib/peer.mjs';
import { summary } from '../lib/stats.mjs';

/** What every bench of this kind understands; for `parseArgs`. */
export const turnOptions = {
  serve: { type: 'boolean', default: false },
  rounds: { type: 'string', default: '9' },
  seconds: { type: 'string', default: '0.2' },
  only: { type: 'string' },
  against: { type: 'string' },
  processor: { type: 'boolean', default: false },
  strict: { type: 'boolean', default: false },
  values: { type: 'boolean', default: false },
} as const;

export interface Turns {
  /** The bundle that serves our works with `--serve`. */
  readonly file: string;
  /** What it is given besides. */
  readonly extra?: readonly string[];
  /** NumPy's side, a file of bench/. */
  readonly numpy: string;
  /** What each work is called in the table, in its order. */
  readonly titles: ReadonlyMap<string, string>;
  readonly values: {
    readonly rounds: string;
    readonly seconds: string;
    readonly only?: string | undefined;
    readonly against?: string | undefined;
    readonly processor: boolean;
    readonly strict: boolean;
    /** Every value is compared with NumPy's, not a few of them and the mean. */
    readonly values: boolean;
  };
}

interface Answer {
  readonly error?: string;
  readonly unsupported?: boolean;
  readonly digest?: Digest;
  readonly times?: readonly number[];
}

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i === 0 ? c.padEnd(44) : c.padStart(20))).join('');
const read = (file: string): Float64Array => new Float64Array(new Uint8Array(readFileSync(file)).buffer);
const figure = (us: number): string => us.toFixed(us < 10 ? 2 : us < 100 ? 1 : 0);

/** Measures, prints the table, and ends the process: 1 if something was wrong, or with `strict` slower than NumPy. */
export async function takeTurns({ file, extra = [], numpy, titles, values }: Turns): Promise<never> {
  if (values.processor) process.env.GPUFORGE_BENCH_CLOCK = 'processor';
  const bench = fileURLToPath(new URL('../../bench', import.meta.url));
  const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';
  const node = (bundle: string): readonly string[] => ['--expose-gc', bundle, '--serve', ...extra];
  const sides = [
    new Peer('gpuforge', process.execPath, node(file), bench),
    ...(values.against ? [new Peer('other', process.execPath, node(values.against), process.cwd())] : []),
    new Peer('numpy', python, [numpy], bench, { OPENBLAS_THREAD_TIMEOUT: '4' }),
  ];
  const names = ['gpuforge', ...(values.against ? ['other'] : []), 'numpy'];
  await Promise.all(sides.map((s) => s.opened));
  console.log(`${cpus()[0]?.model ?? 'a processor'}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`);
  const what = values.processor ? 'µs of the processor' : 'µs';
  console.log(line([`${what}, median (middle 80 %)`, ...names, '× numpy', ...(values.against ? ['× other'] : [])]));

  const complaints: string[] = [];
  const last = sides.length - 1;
  const folder = values.values ? mkdtempSync(join(tmpdir(), 'gpuforge-bench-')) : null;
  const files = sides.map((_, i) => (folder ? join(folder, `${i}.f64`) : undefined));
  for (const work of values.only?.split(',') ?? titles.keys()) {
    const first = (await Promise.all(sides.map((s, i) => s.ask('prepare', work, 0, files[i])))) as Answer[];
    const samples = sides.map((): number[] => []);
    for (let round = 0; round < Number(values.rounds); round++)
      for (const [i, side] of sides.entries()) {
        if (!first[i]!.digest) continue;
        const { times } = (await side.ask('measure', work, Number(values.seconds))) as Answer;
        // One by one: of short work there may be more than a call takes arguments.
        for (const ms of times ?? []) samples[i]!.push(ms);
      }
    await Promise.all(sides.map((s) => s.ask('drop', work)));
    const sums = samples.map((s) => (s.length > 0 ? summary(s) : null));
    const cells = sums.map((s) =>
      s ? `${figure(1000 * s.median)} (${figure(1000 * s.low)}–${figure(1000 * s.high)})` : '–',
    );
    const over = (i: number): number | null => (sums[i] && sums[0] ? sums[0].median / sums[i].median : null);
    const ratio = (i: number): string => over(i)?.toFixed(2) ?? '';
    console.log(line([titles.get(work) ?? work, ...cells, ratio(last), ...(values.against ? [ratio(1)] : [])]));
    for (const [i, { error }] of first.entries()) if (error) complaints.push(`${work}: ${names[i]}: ${error}`);
    const [ours, theirs] = [first[0]!.digest, first[last]!.digest];
    const compare = (): string | null =>
      folder ? difference(read(files[0]!), read(files[last]!)) : disagreement(ours!, theirs!);
    const wrong = ours && theirs ? compare() : null;
    if (wrong) complaints.push(`${work}: differs from NumPy's: ${wrong}`);
    if (values.strict && (over(last) ?? 0) > 1) complaints.push(`${work}: slower than NumPy`);
  }
  await Promise.all(sides.map((s) => s.close()));
  if (folder) rmSync(folder, { recursive: true });
  for (const c of complaints) console.log(c);
  process.exit(complaints.length > 0 ? 1 : 0);
}
