// A stream of kernels of 10 µs: how much longer it takes with the profiler on, and in detail.

import type { Runtime, Tensor } from '../../src/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { median, type Row, verdict } from '../compute/report.ts';

const launches = 2000;
const rounds = 9;
const wantedUs = 10;

/** ms of one pass over the stream. */
async function pass(rt: Runtime, f: (x: Tensor) => Tensor, x: Tensor): Promise<number> {
  await rt.flush();
  const start = performance.now();
  for (let i = 0; i < launches; i++) f(x).dispose();
  await rt.flush();
  return performance.now() - start;
}

/** A compiled function and an input for which one call of many takes about 10 µs. */
async function tenMicroseconds(rt: Runtime): Promise<{ f: (x: Tensor) => Tensor; x: Tensor; us: number }> {
  const f = rt.compile((a: Tensor) => a.mul(0.999).add(0.001).tanh());
  let best: { x: Tensor; us: number } | null = null;
  for (let elements = 1 << 10; elements <= 1 << 26; elements = Math.ceil(elements * 1.5)) {
    const x = rt.ones([elements]).compute();
    await f(x).data();
    await pass(rt, f, x);
    const us = (1000 * Math.min(await pass(rt, f, x), await pass(rt, f, x))) / launches;
    if (best && Math.abs(us - wantedUs) > Math.abs(best.us - wantedUs) && us > wantedUs) {
      x.dispose();
      break;
    }
    best?.x.dispose();
    best = { x, us };
    if (us > 1.5 * wantedUs) break;
  }
  return { f, ...best! };
}

export async function streams(rt: Runtime, gpu: boolean): Promise<Row[]> {
  const { f, x, us } = await tenMicroseconds(rt);
  const modes = {
    off: null,
    on: new Profiler({ enabled: false, runtimes: [rt] }),
    detailed: new Profiler({ enabled: false, runtimes: [rt], detailed: true }),
  } as const;
  const times: Record<keyof typeof modes, number[]> = { off: [], on: [], detailed: [] };
  let measured = 0;
  const order = Object.keys(modes) as (keyof typeof modes)[];
  for (let r = 0; r < rounds + 1; r++) {
    for (const mode of r % 2 === 0 ? order : [...order].reverse()) {
      const profiler = modes[mode];
      profiler?.enable();
      await profiler?.ready();
      const ms = await pass(rt, f, x);
      // The first round makes everything ready.
      if (r > 0) times[mode].push(ms);
      if (mode === 'on')
        measured = profiler!.toProfile().kernels.filter((k) => k.ms !== null || k.passMs !== null).length;
      await profiler?.disable();
      profiler?.reset();
    }
  }
  x.dispose();
  // Rounds are compared pair by pair: what slows a machine down slows both.
  const cost = (mode: 'on' | 'detailed'): number => median(times[mode].map((t, i) => t / times.off[i]!)) - 1;
  const percent = (v: number): string => `${(100 * v).toFixed(1)} %`;
  const each = (mode: keyof typeof times): string => `${((1000 * median(times[mode])) / launches).toFixed(2)} µs`;
  const close = us > 0.5 * wantedUs && us < 2 * wantedUs;
  return [
    {
      id: 'stream',
      what: `${launches} kernels of ${us.toFixed(1)} µs in a row: off, on`,
      figures: `${each('off')}, ${each('on')}: ${percent(cost('on'))} more, ${measured} of ${launches} measured`,
      limit: gpu ? 'at most 3 %, 99 % measured' : '(on a GPU: at most 3 %)',
      verdict: gpu && close ? verdict(cost('on') <= 0.03 && measured >= 0.99 * launches) : 'not measured',
      data: { us, cost: cost('on'), measured, times },
    },
    {
      id: 'stream detailed',
      what: 'the same, in detail',
      figures: `${each('detailed')}: ${percent(cost('detailed'))} more`,
      limit: 'shown',
      verdict: 'not measured',
      data: { cost: cost('detailed') },
    },
  ];
}
