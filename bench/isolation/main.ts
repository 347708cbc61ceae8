// npm run bench -- isolation: what it costs to keep a device in a process of its own, and how fast it is back after a fault.
//
//   --devices cpu     the kind of device: cpu (default), cuda, webgpu
//   --json FILE       default bench/results/isolation-<kind>.json
//   --svg FILE        the timeline of the killed process; default docs/pictures/recovery.svg with cpu, else none
//
// Both modes run the same work in turns in one process, through the public API. Times are medians over rounds. The fault is
// a killed process; with cuda a second one is a kernel that writes to an address that is not there, after which CUDA is
// unusable in the process it ran in.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import type { IsolatedDevice } from '../../src/governor/recovery/isolated/device.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import type { RawKernel } from '../../src/kernel/kernel.ts';
import { type Moment, timeline } from './picture.ts';

const args = process.argv.slice(2);
const option = (name: string, usual: string): string => {
  const i = args.indexOf(`--${name}`);
  return i < 0 ? usual : (args[i + 1] ?? usual);
};

type Kind = 'cpu' | 'cuda' | 'webgpu';
const kind = option('devices', 'cpu') as Kind;
const rounds = 7;

async function open(isolated: boolean, second = false): Promise<Runtime> {
  const rt = await createRuntime({
    devices: second ? [kind, 'cpu'] : [kind],
    isolation: isolated ? [kind] : 'none',
    routing: { mode: 'off', cache: false },
  });
  const device = rt.devices().find((d) => d.id.startsWith(kind));
  if (!device?.open) throw new Error(`${kind} could not be opened: ${rt.devices().map((d) => d.reason ?? d.id)}`);
  return rt;
}

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

interface Work {
  readonly name: string;
  readonly unit: 'µs' | 'ms';
  /** Ready to run; the result is the time of one piece of work in ms. */
  prepare(rt: Runtime): Promise<() => Promise<number>>;
}

const works: readonly Work[] = [
  {
    name: 'eager op of 16 elements, not read',
    unit: 'µs',
    prepare: async (rt) => {
      const [x, y] = [rt.full([16], 1).compute(), rt.full([16], 2).compute()];
      return async () => {
        const n = 2000;
        const start = performance.now();
        for (let i = 0; i < n; i++) x.add(y).compute().dispose();
        await rt.flush();
        return (performance.now() - start) / n;
      };
    },
  },
  {
    name: 'eager op of 16 elements, awaited',
    unit: 'µs',
    prepare: async (rt) => {
      const [x, y] = [rt.full([16], 1).compute(), rt.full([16], 2).compute()];
      return async () => {
        const n = 300;
        const start = performance.now();
        for (let i = 0; i < n; i++) {
          const z = x.add(y);
          await z.data();
          z.dispose();
        }
        return (performance.now() - start) / n;
      };
    },
  },
  {
    name: 'eager op of 16 elements, read synchronously',
    unit: 'µs',
    prepare: async (rt) => {
      const [x, y] = [rt.full([16], 1).compute(), rt.full([16], 2).compute()];
      if (!rt.device(rt.devices()[0]!.id).readSync) return async () => Number.NaN;
      return async () => {
        const n = 300;
        const start = performance.now();
        for (let i = 0; i < n; i++) {
          const z = x.add(y);
          z.dataSync();
          z.dispose();
        }
        return (performance.now() - start) / n;
      };
    },
  },
  {
    name: 'compiled step on 32×32×32',
    unit: 'µs',
    prepare: async (rt) => {
      const step = rt.compile((x: Tensor) => x.mul(0.99).add(x.roll(1, 0).sub(x).mul(0.1)).tanh());
      return async () => {
        const n = 300;
        let f: Tensor = rt.full([32, 32, 32], 0.5);
        const start = performance.now();
        for (let i = 0; i < n; i++) f = step(f);
        await f.data();
        const took = (performance.now() - start) / n;
        f.dispose();
        return took;
      };
    },
  },
  {
    name: '10 MB up, + 0, down',
    unit: 'ms',
    prepare: async (rt) => {
      const data = new Float32Array(2_500_000).fill(1);
      return async () => {
        const start = performance.now();
        const x = rt.tensor(data);
        const y = x.add(0);
        await y.data();
        const took = performance.now() - start;
        x.dispose();
        y.dispose();
        return took;
      };
    },
  },
];

interface Row {
  readonly name: string;
  readonly unit: string;
  readonly none: number;
  readonly process: number;
}

async function costs(): Promise<Row[]> {
  const [plain, apart] = [await open(false), await open(true)];
  const rows: Row[] = [];
  for (const { name, unit, prepare } of works) {
    const runs = [await prepare(plain), await prepare(apart)];
    const times: [number[], number[]] = [[], []];
    for (const run of runs) await run();
    for (let r = 0; r < rounds; r++) for (const [i, run] of runs.entries()) times[i as 0 | 1].push(await run());
    const scale = unit === 'µs' ? 1000 : 1;
    rows.push({ name, unit, none: median(times[0]) * scale, process: median(times[1]) * scale });
  }
  await plain.close();
  await apart.close();
  return rows;
}

/** A store to an address that is never mapped: CUDA reports an illegal access and refuses everything after it. */
const wild: RawKernel = {
  kind: 'routine',
  op: 'raw',
  name: 'wild_store',
  language: 'ptx',
  source: `.version 7.0
.target sm_70
.address_size 64
.visible .entry wild(.param .u64 out) {
  .reg .b64 %a;
  .reg .b32 %v;
  mov.u64 %a, 0x10;
  mov.u32 %v, 1;
  st.global.u32 [%a], %v;
  ret;
}
`,
  entry: 'wild',
  inputs: [],
  outputs: [{ type: 'f32', elements: 4 }],
  scalars: [],
  grid: [1, 1, 1],
  block: [1, 1, 1],
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 16 },
};

const faults: Readonly<Record<string, (device: IsolatedDevice) => void>> = {
  'process killed': (device) => device.kill(),
  'kernel wrote out of bounds': (device) => device.launch(device.prepare(wild), [device.allocate(16)], []),
};

/** From the fault to the first right result of the same device, with what happened in between. */
async function recovery(fault: string): Promise<{ ms: number; moments: Moment[] }> {
  const rt = await open(true);
  const device = rt.device(rt.devices()[0]!.id) as IsolatedDevice;
  const x = rt.tensor(Float32Array.from({ length: 4096 }, (_, i) => i));
  const good = async (): Promise<boolean> => {
    const y = x.mul(2).add(1);
    const data = await y.data();
    y.dispose();
    return data[4095] === 8191;
  };
  if (!(await good())) throw new Error('wrong before the fault');
  const moments: Moment[] = [];
  const start = performance.now();
  const note = (what: string): void => void moments.push({ at: performance.now() - start, what });
  rt.on('lost', () => note('loss noticed'));
  rt.on('reborn', () => note('new process, device checked'));
  faults[fault]!(device);
  note(fault);
  let failed = 0;
  const failure = (): boolean => {
    failed++;
    return false;
  };
  while (!(await good().catch(failure))) if (performance.now() - start > 20_000) throw new Error('not back');
  note(failed === 0 ? 'first right result; no call failed' : `first right result; ${failed} calls failed`);
  const ms = performance.now() - start;
  await rt.close();
  return { ms, moments };
}

/** The time a new process needs, and in it what the system and Node take. */
async function opening(): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    const rt = await open(true);
    times.push(performance.now() - start);
    await rt.close();
  }
  return median(times);
}

const rows = await costs();
const opened = await opening();
const machine = `${cpus()[0]?.model.trim()} × ${cpus().length}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}`;
console.log(`Isolation of ${kind}: ${machine}\n`);
console.log(`${'work'.padEnd(46)}${'none'.padStart(12)}${'process'.padStart(12)}`);
const shown = (v: number, unit: string): string => (Number.isNaN(v) ? '–' : `${v.toFixed(v < 10 ? 2 : 1)} ${unit}`);
for (const r of rows)
  console.log(`${r.name.padEnd(46)}${shown(r.none, r.unit).padStart(12)}${shown(r.process, r.unit).padStart(12)}`);
console.log(`\nopening a device in a process of its own: ${opened.toFixed(0)} ms`);
const recovered: Record<string, { ms: number; moments: Moment[] }> = {};
for (const fault of kind === 'cuda' ? Object.keys(faults) : ['process killed']) {
  const runs: { ms: number; moments: Moment[] }[] = [];
  for (let i = 0; i < 3; i++) runs.push(await recovery(fault));
  runs.sort((a, b) => a.ms - b.ms);
  recovered[fault] = runs[1]!;
  console.log(`${fault}: first right result after ${runs[1]!.ms.toFixed(0)} ms (goal 2000)`);
  for (const m of runs[1]!.moments) console.log(`  ${m.at.toFixed(1).padStart(8)} ms  ${m.what}`);
}

const json = option('json', `bench/results/isolation-${kind}.json`);
mkdirSync(dirname(json), { recursive: true });
writeFileSync(json, `${JSON.stringify({ kind, machine, rows, openingMs: opened, recovered }, null, 1)}\n`);
const svg = option('svg', kind === 'cpu' ? 'docs/pictures/recovery.svg' : '');
const killed = recovered['process killed'];
if (svg && killed) {
  mkdirSync(dirname(svg), { recursive: true });
  writeFileSync(svg, timeline(killed.moments, `A killed device process (${kind}), and the runtime going on`));
}
if (Object.values(recovered).some((r) => r.ms > 2000)) process.exitCode = 1;
