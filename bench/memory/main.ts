// npm run bench -- memory [PART...] [options]
//
//   pools           the devices' allocators on traces: reserved against live, hit rates, cost of a call
//   oversubscribe   live data of up to 3 × the budget, results checked, slow-down
//   pressure        a run through all pressure levels; with --svg FILE drawn
//
//   --trace FILE       a log of RMM (Thread,Time,Action,Pointer,Size,Stream) instead of made traces
//   --devices KIND     cpu, cuda or webgpu for oversubscribe (default: cpu)
//   --budget BYTES     for oversubscribe, such as 64MiB or 8GiB (default: 64MiB)
//   --rounds N         for oversubscribe (default: 9)
//   --factors LIST     for oversubscribe: live data as multiples of the budget (default: 0.8,1.5,2,3)
//   --json FILE        everything as data
//
// Exit status 1 if a bound is missed or a result is wrong.

import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { bytesOf } from '../../src/governor/memory/options.ts';
import type { DeviceKind } from '../../src/index.ts';
import { draw } from './draw.ts';
import { type OversubscribeRow, oversubscribe, oversubscribeHead, oversubscribeLine } from './oversubscribe.ts';
import { measurePools, showPools } from './pools.ts';
import { pressureRun } from './pressure.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    trace: { type: 'string' },
    devices: { type: 'string', default: 'cpu' },
    budget: { type: 'string', default: '64MiB' },
    rounds: { type: 'string', default: '9' },
    factors: { type: 'string', default: '0.8,1.5,2,3' },
    svg: { type: 'string' },
    json: { type: 'string' },
  },
});

interface Part {
  /** Returns the data, and whether all is well. */
  run(): Promise<{ readonly data: unknown; readonly ok: boolean }>;
}

const parts: Readonly<Record<string, Part>> = {
  pools: {
    run: async () => {
      const rows = measurePools(values.trace ?? null);
      console.log(`Allocators on traces; worst of five seeds. Bounds: 1.08 reserved/live (dataframe), 99.5 % and 95 % hits (training),
1 µs and 5 µs a call (training). ${cpus()[0]?.model ?? ''}, Node ${process.version}\n`);
      console.log(showPools(rows));
      return { data: rows, ok: rows.every((r) => r.ok) };
    },
  },
  oversubscribe: {
    run: async () => {
      const budget = bytesOf(values.budget, null, '--budget');
      const rounds = Number(values.rounds);
      const factors = values.factors.split(',').map(Number);
      console.log(`More live data than the budget: median of ${rounds} rounds, slow-down against no budget\n`);
      console.log(oversubscribeHead());
      const rows: OversubscribeRow[] = [];
      for await (const row of oversubscribe({ device: values.devices as DeviceKind, budget, rounds, factors })) {
        console.log(oversubscribeLine(row));
        rows.push(row);
      }
      const ok = rows.every((r) => r.wrong === 0 && r.peakBytes <= r.budget);
      return { data: rows, ok };
    },
  },
  pressure: {
    run: async () => {
      const run = await pressureRun();
      console.log(
        `Pressure over time, budget ${run.budgetMb} MB: ${run.levels.join(' → ')}; ${run.cleanups} clean-ups, ${run.spills} spills, ${run.wrong} wrong results`,
      );
      if (values.svg) writeFileSync(values.svg, draw(run, 'Memory of a run beyond its budget (CPU device)'));
      const ok = run.wrong === 0 && run.cleanups > 0 && run.spills > 0 && run.levels.includes('critical');
      return { data: run, ok };
    },
  },
};

const wanted = positionals.length > 0 ? positionals : Object.keys(parts);
const unknown = wanted.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  console.error(`There is no part '${unknown}'. Parts are ${Object.keys(parts).join(', ')}.`);
  process.exit(2);
}
const results: Record<string, unknown> = {};
let ok = true;
for (const [i, name] of wanted.entries()) {
  if (i > 0) console.log('');
  const result = await parts[name]!.run();
  results[name] = result.data;
  if (!result.ok) ok = false;
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
process.exitCode = ok ? 0 : 1;
