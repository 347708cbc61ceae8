// npm run bench -- host: what the runtime itself takes of loops of small work, beside the work.
//
//   --seconds 2    of each loop
//   --strict       fails if a share is over its bound
//
// Each loop awaits something again and again on the CPU device, one thread, and a timer of 1 ms runs beside it. Shown are the time
// of a round, the longest that the timer waited (99th percentile), and the shares of the time that went into turns of the
// event loop and into collections that the runtime asked for. All times but the first are the process's own (`process.cpuUsage`),
// so that other work on the machine does not count. A turn counts as what one takes in a loop of nothing else.

import { cpus, loadavg } from 'node:os';
import { turn } from '../../src/base/turn.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

const args = process.argv.slice(2);
const seconds = args.includes('--seconds') ? Number(args[args.indexOf('--seconds') + 1]) : 2;

/** Bounds: the longest wait of a timer in ms, and shares of the time in percent. */
const bounds = { timer: 10, turns: 2, collections: 3 };

interface Loop {
  readonly name: string;
  readonly elements: number;
  round(rt: Runtime, x: Tensor, i: number): Promise<unknown>;
}

const disposed = async (rt: Runtime, y: Tensor): Promise<void> => {
  await rt.flush(y);
  y.dispose();
};

const loops: readonly Loop[] = [
  { name: 'data of 5 that is there', elements: 5, round: (_, x) => x.data() },
  { name: 'add of 5 and read', elements: 5, round: (_, x, i) => x.add(i).data() },
  { name: 'add of 5 and flush', elements: 5, round: (rt, x, i) => rt.flush(x.add(i)) },
  { name: 'add of 16 Ki, disposed of', elements: 1 << 14, round: (rt, x, i) => disposed(rt, x.add(i)) },
  { name: 'add of 4 Ki, not disposed of', elements: 1 << 12, round: (rt, x, i) => rt.flush(x.add(i)) },
  { name: 'add of 16 Ki, not disposed of', elements: 1 << 14, round: (rt, x, i) => rt.flush(x.add(i)) },
  { name: 'tanh of 256 Ki, not disposed of', elements: 1 << 18, round: (rt, x) => rt.flush(x.tanh()) },
  { name: 'add of 256 Ki, not disposed of', elements: 1 << 18, round: (rt, x, i) => rt.flush(x.add(i)) },
  { name: 'add of 256 Ki and read', elements: 1 << 18, round: (_, x, i) => x.add(i).data() },
];

/** Milliseconds of processor time of this process so far. */
function busy(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

// The runtime takes the collector that is exposed, and asks for turns by `setImmediate`: here both are counted.
const asked = { collections: 0, ms: 0, turns: 0 };
const scope = globalThis as { gc?: () => void };
const [collect, immediately] = [scope.gc, globalThis.setImmediate];
if (!collect) throw new Error('bench/host: run it with --expose-gc');
scope.gc = () => {
  const start = busy();
  collect();
  asked.collections++;
  asked.ms += busy() - start;
};
globalThis.setImmediate = ((call: () => void) => {
  asked.turns++;
  return immediately(call);
}) as typeof setImmediate;

/** Milliseconds that one turn takes. */
async function turnMs(): Promise<number> {
  const start = busy();
  for (let i = 0; i < 20_000; i++) await turn();
  return (busy() - start) / 20_000;
}

interface Measured {
  readonly us: number;
  readonly timer: number;
  readonly turns: number;
  readonly collections: number;
  readonly asked: number;
}

async function measure(rt: Runtime, { elements, round }: Loop, perTurn: number): Promise<Measured> {
  const x = rt.tensor(new Float32Array(elements).fill(0.3)).compute();
  let rounds = 0;
  const go = async (ms: number): Promise<number> => {
    const end = performance.now() + ms;
    const start = busy();
    for (rounds = 0; performance.now() < end; rounds++) await round(rt, x, rounds + 0.5);
    return busy() - start;
  };
  await go(300);
  const gaps: number[] = [];
  let last = busy();
  const timer = setInterval(() => {
    const now = busy();
    gaps.push(now - last);
    last = now;
  }, 1);
  const before = { ...asked };
  const ms = await go(1000 * seconds);
  clearInterval(timer);
  gaps.sort((a, b) => a - b);
  x.dispose();
  return {
    us: (1000 * ms) / rounds,
    timer: gaps[Math.floor(0.99 * (gaps.length - 1))] ?? Number.POSITIVE_INFINITY,
    turns: (100 * perTurn * (asked.turns - before.turns)) / ms,
    collections: (100 * (asked.ms - before.ms)) / ms,
    asked: asked.collections - before.collections,
  };
}

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i === 0 ? c.padEnd(34) : c.padStart(13))).join('');

const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, routing: { mode: 'off' } });
console.log(`${cpus()[0]?.model ?? 'a processor'}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`);
console.log(line(['loop', 'µs a round', 'timer, ms', 'turns, %', 'collections', 'of them, %']));
const over: string[] = [];
const perTurn = await turnMs();
for (const loop of loops) {
  const m = await measure(rt, loop, perTurn);
  const cells = [m.us.toFixed(1), m.timer.toFixed(1), m.turns.toFixed(2), String(m.asked), m.collections.toFixed(1)];
  console.log(line([loop.name, ...cells]));
  for (const key of ['timer', 'turns', 'collections'] as const)
    if (m[key] > bounds[key]) over.push(`${loop.name}: ${key} ${m[key].toFixed(1)}, at most ${bounds[key]}`);
}
await rt.close();
console.log(over.length > 0 ? `over a bound:\n  ${over.join('\n  ')}` : 'everything is within its bounds');
process.exit(over.length > 0 && args.includes('--strict') ? 1 : 0);
