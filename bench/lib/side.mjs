// The child's half of the bench: answers one request a line on standard input with one line on standard output.
//
//   prepare {work, values}  makes the inputs, runs once, answers with a digest of the result (or why it cannot); writes all of the result
//                           into the file `values`, if it is given, as f64
//   measure {work, seconds} answers with the times of one op in ms, many samples
//   drop    {work}          lets go of the inputs
//
// A side is a table: work name → () => { run, result, drop? }. `run` does the work and leaves it finished (it may return
// a promise); `result` gives the last result as a typed array.

import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { digest } from './data.mjs';

/** Samples shorter than this are made of several runs, so that the clock does not count. */
const sampleMs = 4;
const warmUpMs = 250;

export async function serve(table, about = {}) {
  const ready = new Map();
  const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  answer({ ready: true, about });
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    try {
      answer(await handle(ready, table, request));
    } catch (error) {
      answer({ error: `${error?.message ?? error}`.split('\n')[0] });
    }
    if (request.command === 'quit') break;
  }
  process.exit(0);
}

async function handle(ready, table, { command, work, seconds, values }) {
  if (command === 'quit') return {};
  if (command === 'drop') {
    await ready.get(work)?.drop?.();
    ready.delete(work);
    return {};
  }
  if (command === 'prepare') {
    const [name, size] = work.split(':');
    if (!table[name]) return { unsupported: true };
    const job = await table[name](Number(size));
    ready.set(work, job);
    await warmUp(job.run);
    const result = await job.result();
    if (values) writeFileSync(values, Float64Array.from(result, Number));
    return { digest: digest(result) };
  }
  return { times: await measure(ready.get(work).run, seconds * 1000) };
}

/** Long enough for the compilers of the engine and of the library to settle. */
async function warmUp(run) {
  const start = performance.now();
  do await run();
  while (performance.now() - start < warmUpMs);
}

async function measure(run, budget) {
  let runs = 1;
  let took = await time(run, runs);
  while (took < sampleMs) {
    runs = Math.ceil(runs * Math.max(2, Math.min(16, sampleMs / Math.max(took, 0.001))));
    took = await time(run, runs);
  }
  const times = [];
  // One look is enough at what takes seconds.
  const least = took > 1000 ? 1 : 3;
  const start = performance.now();
  while (times.length < least || performance.now() - start < budget) times.push((await time(run, runs)) / runs);
  return times;
}

/** Milliseconds: of the clock, or with GPUFORGE_BENCH_CLOCK=processor of this process alone, whatever else the machine does. */
const now =
  process.env.GPUFORGE_BENCH_CLOCK === 'processor'
    ? () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1000;
      }
    : () => performance.now();

async function time(run, runs) {
  const start = now();
  const first = run();
  if (first && typeof first.then === 'function') {
    await first;
    for (let i = 1; i < runs; i++) await run();
  } else {
    for (let i = 1; i < runs; i++) run();
  }
  return now() - start;
}
