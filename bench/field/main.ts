// npm run bench -- field: cycles of a field on the CPU beside the same cycle in NumPy, in turns.
//
//   --rounds 5        turns that each side gets
//   --cycles 10       cycles of a turn
//   --json FILE       default bench/results/field-cpu.json
//
// Medians of all turns, with the load of the machine. Ends with status 1 if a bound was missed. NumPy: /usr/bin/python3, or what
// GPUFORGE_BENCH_PYTHON names; where it is missing its column stays empty. `full` has no NumPy side: it is another model.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { createField, type FieldOptions } from '../../src/field/index.ts';
import { createRuntime } from '../../src/index.ts';

const option = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1]!;
};
const rounds = Number(option('rounds', '5'));
const cycles = Number(option('cycles', '10'));
const file = option('json', 'bench/results/field-cpu.json');
const python = process.env.GPUFORGE_BENCH_PYTHON ?? (existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3');
const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

interface Work {
  readonly name: string;
  readonly options: FieldOptions & { readonly resolution: number; readonly channels: number };
  readonly beside: boolean;
  /** Milliseconds, and times NumPy's. */
  readonly most?: { readonly ms: number; readonly ofNumpy: number };
}

const works: readonly Work[] = [
  { name: 'fused 32³×64', options: { resolution: 32, channels: 64 }, beside: true, most: { ms: 8, ofNumpy: 0.25 } },
  { name: 'fused 16³×32', options: { resolution: 16, channels: 32 }, beside: true },
  { name: 'full 16³×64', options: { resolution: 16, channels: 64, model: 'full' }, beside: false },
  { name: 'full 32³×64', options: { resolution: 32, channels: 64, model: 'full' }, beside: false },
];

/** A process that does cycles in NumPy, a turn at a time; null where that cannot be. */
async function numpy(resolution: number, channels: number) {
  const script = join(process.cwd(), 'bench', 'field', 'numpy_side.py');
  const child = spawn(python, [script, String(resolution), String(channels)], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const turn = async (n: number): Promise<number[] | null> => {
    if (child.exitCode !== null) return null;
    child.stdin.write(`${n}\n`);
    const { value, done } = await lines.next();
    return done ? null : (JSON.parse(value) as number[]);
  };
  const end = async (): Promise<void> => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  };
  return { turn, end };
}

await using rt = await createRuntime({ devices: ['cpu'] });
const rows: { name: string; ours: number; numpy: number | null; ok: boolean | null }[] = [];
let failed = false;
for (const { name, options, beside, most } of works) {
  await using field = await createField({ runtime: rt, device: 'cpu', ...options });
  const other = beside ? await numpy(options.resolution, options.channels) : null;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = -1; round < rounds; round++) {
    const turn: number[] = [];
    for (let t = 0; t < cycles; t++) {
      const input = Float32Array.from({ length: 16 }, (_, i) => Math.sin(0.1 * t + i) * 0.5);
      const start = performance.now();
      await field.step(input);
      turn.push(performance.now() - start);
    }
    const said = await other?.turn(Math.max(2, cycles >> 1));
    // The first turn warms up.
    if (round < 0) continue;
    ours.push(...turn);
    theirs.push(...(said ?? []));
  }
  await other?.end();
  const row = { name, ours: median(ours), numpy: theirs.length > 0 ? median(theirs) : null };
  const ok = most ? row.ours <= most.ms && (row.numpy === null || row.ours <= most.ofNumpy * row.numpy) : null;
  if (ok === false) failed = true;
  rows.push({ ...row, ok });
}
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0]!.toFixed(1)}`;
console.log(
  `\n${machine}\n${'ms per cycle, median'.padEnd(24)}${'ours'.padStart(10)}${'NumPy'.padStart(10)}${'ratio'.padStart(8)}`,
);
for (const r of rows)
  console.log(
    `${r.name.padEnd(24)}${r.ours.toFixed(2).padStart(10)}${(r.numpy?.toFixed(2) ?? '').padStart(10)}${(r.numpy ? (r.ours / r.numpy).toFixed(2) : '').padStart(8)}${r.ok === false ? '  MISSED' : ''}`,
  );
mkdirSync(dirname(file), { recursive: true });
writeFileSync(
  file,
  `${JSON.stringify({ schema: 'gpuforge.bench-field/1', date: new Date().toISOString(), machine, rows }, null, 2)}\n`,
);
process.exitCode = failed ? 1 : 0;
