// A loop for a while: memory must be flat. `node scripts/soak.mjs [--device cpu] [--minutes 10] [--dispose]`
//
// Each round makes tensors of a MiB from new data, computes on them and reads the result; with --dispose it frees them, without
// it nothing does but the collector. After the first minute the memory of the process and the bytes of live tensors
// may not grow by a MiB a minute (slope by least squares). Exit code 1 if they do.

import { parseArgs } from 'node:util';
import { ensureBuilt } from './build.mjs';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    minutes: { type: 'string', default: '10' },
    dispose: { type: 'boolean', default: false },
  },
});
ensureBuilt({ quiet: true });
const { createRuntime } = await import('../dist/index.js');
const MiB = 2 ** 20;
const minutes = Number(options.minutes);
const warmUp = Math.min(1, minutes / 3);
const rt = await createRuntime({ devices: [options.device] });
const samples = [];
const started = performance.now();
const elapsed = () => (performance.now() - started) / 60_000;
let rounds = 0;
let most = 0;
let next = 0;
while (elapsed() < minutes) {
  const x = rt.tensor(new Float32Array(1 << 18));
  const y = x.add(rounds);
  const [first] = await y.data();
  if (first !== Math.fround(rounds)) throw new Error(`round ${rounds}: ${first}`);
  if (options.dispose) {
    x.dispose();
    y.dispose();
  }
  rounds++;
  most = Math.max(most, process.memoryUsage().rss);
  if (elapsed() < next) continue;
  next += 1 / 20;
  if (elapsed() > warmUp) samples.push({ minute: elapsed(), rss: most / MiB, live: rt.stats().peakBytes / MiB });
  // The most of each stretch: where the saw of a collector happens to stand says nothing.
  most = 0;
}
await rt.close();

/** MiB a minute. */
function slope(of) {
  const mean = (f) => samples.reduce((sum, s) => sum + f(s), 0) / samples.length;
  const [x, y] = [mean((s) => s.minute), mean(of)];
  let [top, bottom] = [0, 0];
  for (const s of samples) {
    top += (s.minute - x) * (of(s) - y);
    bottom += (s.minute - x) ** 2;
  }
  return bottom === 0 ? 0 : top / bottom;
}

const [rss, live] = [slope((s) => s.rss), slope((s) => s.live)];
const last = samples[samples.length - 1];
console.log(
  `${options.device}, ${options.dispose ? 'disposed of' : 'not disposed of'}: ${rounds} rounds in ${minutes} min; process ${last.rss.toFixed(0)} MiB (${rss.toFixed(2)} MiB/min), most live bytes ${last.live.toFixed(0)} MiB (${live.toFixed(2)} MiB/min)`,
);
process.exitCode = rss < 1 && live < 1 ? 0 : 1;
