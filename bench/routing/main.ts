// npm run bench -- routing: the router's choices beside fixed policies and the best choice in hindsight.
//
//   --devices cpu,webgpu   the devices, the CPU first (default: cpu and cuda, else cpu and webgpu)
//   --calls 2400           length of the trace
//   --largest 26           log2 of the largest size
//   --measure 120          seconds for measuring; --seconds 25: the trace's, on the best devices
//   --samples 41           of each short call on each device; long ones have at least 3
//   --json FILE            the summary, by default bench/results/routing-<machine>.json; --svg FILE: predicted against measured
//   --raw FILE             every measured call, by default .cache/bench/routing-<machine>.json, which is not kept in the repository
//   --draw FILE --svg FILE draws the picture from the measured calls of an earlier run
//
// Every distinct call is first measured on every device (median over rounds through all calls, transfers and the read of the result
// included); policies are scored by these times. A call above twice its oracle is no miss if the samples cannot tell that it is slower there
// at all (the 95 % intervals of the two medians overlap): how many calls that concerns is printed. Ours is the public API: the trace is run twice through a runtime that was just opened on a machine
// it has never seen; where each call ran in the first pass is "cold", in the second "warm".

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { createRuntime, type DeviceId, type DeviceKind, type Runtime } from '../../src/index.ts';
import { type Call, sizes, works } from './calls.ts';
import { type Limits, measure, type Timed } from './measure.ts';
import { newDecisions, type Tiny, tinyTimes } from './overhead.ts';
import { type Dot, picture } from './picture.ts';
import { apply, bestOf, bestThreshold, type Score, score, threshold } from './policies.ts';
import { Requests, replay } from './replay.ts';
import { makeTrace } from './trace.ts';

const args = process.argv.slice(2);
const option = (name: string, usual: string): string => {
  const i = args.indexOf(`--${name}`);
  return i < 0 ? usual : (args[i + 1] ?? usual);
};

const say = (text: string): void => console.log(text);
const live = process.stderr.isTTY;
const progress = (text: string): void => {
  if (live) process.stderr.write(`\r\x1b[2K${text}`);
};

async function open(kinds: readonly DeviceKind[], routing: object): Promise<Runtime> {
  return createRuntime({ devices: kinds, routing: { cache: false, ...routing }, recovery: { keep: 'none' } });
}

async function findKinds(): Promise<DeviceKind[]> {
  const asked = option('devices', '');
  if (asked) return asked.split(',') as DeviceKind[];
  for (const gpu of ['cuda', 'webgpu'] as const) {
    const rt = await createRuntime({ devices: [gpu, 'cpu'], routing: { mode: 'off' } });
    const there = rt.devices().some((d) => d.open && d.id !== 'cpu');
    await rt.close();
    if (there) return ['cpu', gpu];
  }
  throw new Error('There is no second device. Set VK_ICD_FILENAMES to a software Vulkan driver (docs/webgpu.md).');
}

/** Every operation at every size, its data at home on each device. */
function allCalls(rt: Runtime, devices: readonly DeviceId[]): Call[] {
  const largest = 2 ** Number(option('largest', '26'));
  return works.flatMap((work) => {
    const homes = work.inputs(rt, 1).length > 0 ? devices : [devices[0]!];
    return sizes.filter((n) => n <= largest).flatMap((n) => homes.map((home): Call => ({ work, n, home })));
  });
}

const percent = (v: number): string => `${(100 * v).toFixed(1)} %`;

function row(s: Score): string {
  return [
    s.name.padEnd(34),
    `${s.totalMs.toFixed(0)} ms`.padStart(10),
    percent(s.regret).padStart(10),
    `${s.worst.toFixed(2)}×`.padStart(9),
    `${s.p99.toFixed(2)}×`.padStart(8),
    percent(s.accuracy).padStart(9),
  ].join('');
}

interface Drawn {
  readonly load: number;
  readonly devices: readonly string[];
  readonly measured: readonly {
    readonly us: Readonly<Record<DeviceId, number>>;
    readonly predicted: Readonly<Record<DeviceId, number>>;
  }[];
}

function draw(run: Drawn, file: string): void {
  const dots: Dot[] = run.measured.flatMap((m) =>
    Object.entries(m.predicted).map(([device, predicted]) => ({ device, predicted, measured: m.us[device]! })),
  );
  const caption = `${run.measured.length} calls on ${run.devices.map((d) => d.split(':')[0]).join(' and ')}; load of the machine ${run.load.toFixed(1)}`;
  writeFileSync(file, picture(dots, caption));
}

if (args.includes('--draw')) {
  draw(JSON.parse(readFileSync(option('draw', ''), 'utf8')), option('svg', 'docs/pictures/routing.svg'));
  process.exit(0);
}

const kinds = await findKinds();
const limits: Limits = {
  samples: Number(option('samples', '41')),
  fewest: 3,
  longestMs: 700,
  seconds: Number(option('measure', '120')),
};
const started = performance.now();

const bench = await open(kinds, { mode: 'off' });
const devices = bench
  .devices()
  .filter((d) => d.open)
  .map((d) => d.id)
  .sort((a, b) => Number(b === 'cpu') - Number(a === 'cpu'));
if (devices.length < 2)
  throw new Error(`Two devices are needed; open: ${devices.join(', ')} (npx gpuforge doctor tells why).`);
const names = bench.devices().flatMap((d) => (d.open ? [`${d.id}: ${d.name}`] : []));
say(`${names.join('; ')}; ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`);
const [cpu, gpu] = [devices[0]!, devices[1]!];
const timed = await measure(bench, allCalls(bench, devices), devices, limits, progress);
progress('');
await bench.close();
const trace = makeTrace(timed, Number(option('calls', '2400')), Number(option('seconds', '25')));
say(
  `${timed.length} distinct calls measured in ${((performance.now() - started) / 1000).toFixed(0)} s; trace of ${trace.length} calls`,
);

const rt = await open(kinds, {});
const calibration = devices.map((id) => rt.routing.profile(id)!);
const calibrationMs = calibration.reduce((sum, p) => sum + p.tookMs, 0);
const requests = new Requests(rt);
const cold = await replay(rt, trace, requests, (i) => progress(`cold replay ${i}/${trace.length}`));
const warm = await replay(rt, trace, requests, (i) => progress(`warm replay ${i}/${trace.length}`));
progress('');
const final = new Map(
  timed.flatMap((t) => {
    const d = requests.decision(t.call);
    return d ? [[t, d] as const] : [];
  }),
);
const blind = new Map<Timed, DeviceId>();
for (const [t, d] of final) {
  const [least] = [...d.predictions].sort((a, b) => a.launch + a.work - (b.launch + b.work));
  if (least) blind.set(t, least.device);
}
const hindsight = bestThreshold(trace, cpu, gpu);
const oracle = score('oracle', trace, apply(trace, bestOf));
const scores: Score[] = [
  score('ours, warm', trace, warm.choices),
  score('ours, cold', trace, cold.choices),
  score(
    `always ${cpu}`,
    trace,
    apply(trace, () => cpu),
  ),
  score(
    `always ${gpu}`,
    trace,
    apply(trace, () => gpu),
  ),
  score('threshold 128', trace, apply(trace, threshold(128, cpu, gpu))),
  score('threshold 1000', trace, apply(trace, threshold(1000, cpu, gpu))),
  score(`best threshold in hindsight (${hindsight})`, trace, apply(trace, threshold(hindsight, cpu, gpu))),
  score(
    'our model, blind to location',
    trace,
    apply(trace, (t) => blind.get(t) ?? cpu),
  ),
];
const decideNew = newDecisions(rt.routing);
const exploration = rt.routing.exploration();
const stats = rt.routing.stats();
const alone = await open(['cpu'], {});
const tiny = tinyTimes(rt, alone);
await rt.close();
await alone.close();
const extra = (t: Tiny): number => Math.max(0, t.choice.p50 - t.single.p50);
const remembered = Math.max(...tiny.map(extra));

say(
  `${'policy'.padEnd(34)}${'time'.padStart(10)}${'regret'.padStart(10)}${'worst'.padStart(9)}${'p99'.padStart(8)}${'right'.padStart(9)}`,
);
say(`${'oracle'.padEnd(34)}${`${oracle.totalMs.toFixed(0)} ms`.padStart(10)}`);
for (const s of scores) say(row(s));
say(`worst call, warm: ${scores[0]!.worstCall}; cold: ${scores[1]!.worstCall}`);
say(
  `decision: new ${decideNew.p50.toFixed(2)} µs (p99 ${decideNew.p99.toFixed(2)}), remembered ${remembered.toFixed(2)} µs (${tiny.map((t) => `${t.name} ${t.choice.p50.toFixed(2)} µs with a choice, ${t.single.p50.toFixed(2)} without`).join('; ')})`,
);
say(
  `calibration: ${calibration.map((p) => `${p.device} ${p.tookMs.toFixed(0)} ms`).join(', ')}, ${calibrationMs.toFixed(0)} ms in all`,
);
say(
  `replays as they ran: cold ${(cold.tookUs / 1e6).toFixed(1)} s (compiling included), warm ${(warm.tookUs / 1e6).toFixed(1)} s; explored ${cold.explored} and ${warm.explored} calls`,
);
const [w, c] = [scores[0]!, scores[1]!];
say(
  `calls above twice their oracle: warm ${w.above}, cold ${c.above}; of these the samples cannot tell that they are slower there: ${w.unclear} and ${c.unclear}`,
);
const fixed = scores.slice(2, 7);
const checks: readonly (readonly [string, boolean])[] = [
  ['regret at most 5 % warm', w.regret <= 0.05],
  ['regret at most 15 % cold', c.regret <= 0.15],
  ['ahead of every fixed policy', fixed.every((s) => s.totalMs >= w.totalMs)],
  ['no call above twice its oracle (warm), as far as samples can tell', w.above === w.unclear],
  ['new decision at most 20 µs', decideNew.p50 <= 20],
  ['remembered decision at most 1 µs', remembered <= 1],
  ['calibration at most 600 ms', calibrationMs <= 600],
];
for (const [what, ok] of checks) say(`${ok ? 'reached' : 'MISSED '}  ${what}`);
say(`${((performance.now() - started) / 1000).toFixed(0)} s in all`);

const machine = gpu.replace(/\W+/g, '-');
const file = option('json', `bench/results/routing-${machine}.json`);
const raw = option('raw', `.cache/bench/routing-${machine}.json`);
for (const f of [file, raw]) mkdirSync(dirname(f), { recursive: true });
const record = {
  command: `npm run bench -- routing ${args.join(' ')}`.trim(),
  at: new Date().toISOString(),
  devices: names,
  cores: cpus().length,
  cpuModel: cpus()[0]?.model,
  load: loadavg()[0]!,
  calls: trace.length,
  distinct: timed.length,
  oracleMs: oracle.totalMs,
  scores,
  decision: { new: decideNew, remembered, tiny },
  calibration,
  exploration,
  explored: { cold: cold.explored, warm: warm.explored },
  replayMs: { cold: cold.tookUs / 1000, warm: warm.tookUs / 1000 },
  checks: Object.fromEntries(checks),
  stats,
  above: trace.flatMap((t, i) => {
    const [device, decision] = [warm.choices[i]!, warm.decisions[i]!];
    if (t.us.get(device)! <= 2 * t.us.get(bestOf(t))!) return [];
    const predicted = decision?.predictions.map(({ device, us, samples }) => ({ device, us, samples })) ?? null;
    return [
      { op: t.call.work.op, elements: t.call.n, home: t.call.home, device, explored: decision?.explored, predicted },
    ];
  }),
};
const drawn = {
  devices: record.devices,
  load: record.load,
  measured: timed.map((t) => ({
    op: t.call.work.op,
    elements: t.call.n,
    home: t.call.home,
    samples: t.samples,
    us: Object.fromEntries(t.us),
    between: Object.fromEntries(t.between),
    quartiles: Object.fromEntries(t.quartiles),
    chosen: warm.choices[trace.lastIndexOf(t)],
    predicted: Object.fromEntries((final.get(t)?.predictions ?? []).map((p) => [p.device, p.us])),
  })),
};
writeFileSync(file, `${JSON.stringify(record, null, 1)}\n`);
writeFileSync(raw, `${JSON.stringify(drawn, null, 1)}\n`);
const svg = option('svg', '');
if (svg) draw(drawn, svg);
say(`written to ${[file, raw, svg].filter(Boolean).join(', ')}`);
process.exit(0);
