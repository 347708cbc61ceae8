// What a studio costs the program that it watches: with nobody looking, and with one page that gets a snapshot a second.
//
//   npm run bench -- studio [--rounds 9] [--json out.json]
//
// Two equal runtimes of one process take turns of a few milliseconds, so that a busy machine slows both alike: one of them is watched by a page
// in another process, the other is not. Their computations are small, so that events weigh as much as they can; counted is the time of the
// processor, not of the clock on the wall. What an event costs times 10,000, and what the studio does by itself (sampling, sending), is
// the slow-down of a program that emits 10,000 events a second.

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, eventNames, type Runtime } from '../../src/index.ts';
import { type Studio, serveStudio } from '../../src/studio/index.ts';

const flag = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const rounds = Number(flag('rounds') ?? 150);
const computations = 300;
const idleMs = 6000;
const elements = 5000;
const pace = 10_000;

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]!;

/** A page that is no browser: reads what comes and throws it away. */
function reader(studio: Studio): Promise<ChildProcess> {
  const code = `
    const [url, token] = process.argv.slice(1);
    const r = await fetch(url, { headers: { authorization: 'Bearer ' + token } });
    console.log(r.status);
    for await (const _ of r.body);`;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', code, `http://127.0.0.1:${studio.port}/api/stream`, studio.token],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (d: Buffer) =>
      String(d).trim() === '200' ? resolve(child) : reject(new Error(String(d))),
    );
  });
}

/** Microseconds of the processor for a computation with its read. */
function work(rt: Runtime): number {
  const before = process.cpuUsage();
  for (let n = 0; n < computations; n++) {
    const x = rt.ones([elements]).mul(n).add(1);
    const y = x.sum();
    y.dataSync();
    x.dispose();
    y.dispose();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / computations;
}

/** Events of a computation that a studio listens to. */
function eventsEach(rt: Runtime): number {
  let count = 0;
  const stops = eventNames.filter((k) => k !== 'wait' && k !== 'span').map((kind) => rt.on(kind, () => count++));
  work(rt);
  for (const stop of stops) stop();
  return count / computations;
}

/** How many microseconds longer a computation of the second runtime takes than one of the first. */
async function longer(first: Runtime, second: Runtime): Promise<{ us: number; more: number }> {
  for (let i = 0; i < 10; i++) for (const rt of [first, second]) work(rt);
  const times: number[] = [];
  const more: number[] = [];
  for (let i = 0; i < rounds; i++) {
    // ABBA: a drift of the machine meets both.
    const [a, b, c, d] = [work(first), work(second), work(second), work(first)];
    times.push(a, d);
    more.push((b + c - a - d) / 2);
    await sleep(1);
  }
  return { us: median(times), more: median(more) };
}

/** Share of a core that the process takes while it does nothing but being looked at. */
async function idleShare(rt: Runtime): Promise<{ alone: number; watched: number }> {
  const share = async (): Promise<number> => {
    const before = process.cpuUsage();
    await sleep(idleMs);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (1000 * idleMs);
  };
  const alone = await share();
  const studio = await serveStudio({ runtimes: [rt] });
  const page = await reader(studio);
  await sleep(1500);
  const watched = await share();
  page.kill();
  await studio.close();
  return { alone, watched };
}

const open = () => createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
const [plain, watched] = [await open(), await open()];
const noise = await longer(plain, watched);
const studio = await serveStudio({ runtimes: [watched] });
const served = await longer(plain, watched);
const page = await reader(studio);
await sleep(1500);
const looked = await longer(plain, watched);
page.kill();
await studio.close();
const idle = await idleShare(watched);
const events = eventsEach(plain);
await plain.close();
await watched.close();
const ticks = Math.max(0, idle.watched - idle.alone);
/** The share of a program's time, at the pace. */
const share = (us: number): number => (us / events) * pace * 1e-6;

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
const rows = [
  { what: 'a studio is served, nobody looks: slow-down at 10,000 events/s', value: share(served.more), bound: 0.01 },
  { what: 'one page at 1 Hz: slow-down at 10,000 events/s', value: share(looked.more) + ticks, bound: 0.02 },
  { what: 'one page at 1 Hz, idle program: share of a core', value: ticks, bound: 0.01 },
];
console.log(
  `${cpus()[0]?.model ?? 'CPU'}, ${cpus().length} cores, Node ${process.versions.node}; a computation takes ${noise.us.toFixed(1)} µs and tells ${events.toFixed(1)} events; two equal runtimes differ by ${percent(share(noise.more))}`,
);
console.log(`an event costs ${((1000 * looked.more) / events).toFixed(0)} ns while somebody looks`);
for (const { what, value, bound } of rows)
  console.log(
    `${what.padEnd(62)} ${percent(value).padStart(9)}   at most ${percent(bound)}   ${value <= bound ? 'met' : 'missed'}`,
  );
const out = flag('json');
if (out)
  writeFileSync(
    out,
    `${JSON.stringify({ schema: 'gpuforge.bench.studio/1', createdAt: new Date().toISOString(), command: 'npm run bench -- studio', machine: { cpu: cpus()[0]?.model ?? null, cores: cpus().length, node: process.versions.node }, events, noise, served, looked, idle, rows }, null, 2)}\n`,
  );
process.exit(0);
