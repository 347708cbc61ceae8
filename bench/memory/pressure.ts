// Memory pressure over time: a run that fills a budget, is cleaned up, goes on beyond it, and is taken down again. Recorded by
// the runtime's own monitor, drawn as it was.

import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import type { Chart, Mark, Point } from './draw.ts';

const MiB = 2 ** 20;

export interface PressureRun extends Chart {
  readonly levels: readonly string[];
  readonly cleanups: number;
  readonly spills: number;
  readonly wrong: number;
}

export async function pressureRun(budget = 256 * MiB): Promise<PressureRun> {
  const rt = await createRuntime({
    devices: ['cpu'],
    memory: { budget, hostBytes: 2 * budget, leaks: false, sampleMs: false },
  });
  try {
    return await record(rt, budget);
  } finally {
    await rt.close();
  }
}

async function record(rt: Runtime, budget: number): Promise<PressureRun> {
  const marks: Mark[] = [];
  const points: Point[] = [];
  const levels: string[] = [];
  let [cleanups, spills] = [0, 0];
  const at = (): number => points.length;
  const sample = (): void => {
    const s = rt.memory.recordSnapshot('cpu');
    points.push({ at: at(), live: s.allocatedMb, reserved: s.reservedMb, spilled: s.spilledMb, level: s.pressure });
  };
  // A cache of our own, which is dropped when the monitor asks for it.
  let cache: Tensor[] = [];
  rt.memory.registerCleanupCallback(() => {
    for (const t of cache) t.dispose();
    cache = [];
  });
  rt.on('pressure', (e) => {
    levels.push(e.to);
    marks.push({ at: at(), text: e.to, kind: 'level' });
  });
  rt.on('cleanup', (r) => {
    cleanups++;
    const did = [
      { what: 'freed', mb: Math.round(r.freedLiveMb) },
      { what: 'given back', mb: Math.round(r.freedMb) },
    ].filter((d) => d.mb > 0);
    if (did.length > 0)
      marks.push({ at: at(), text: `clean-up: ${did.map((d) => `${d.mb} MB ${d.what}`).join(', ')}`, kind: 'cleanup' });
  });
  rt.on('spill', () => {
    if (spills++ === 0) marks.push({ at: at(), text: 'first spill', kind: 'spill' });
  });
  const piece = 4 * MiB;
  const filled = (v: number): Tensor => rt.tensor(new Float32Array(piece / 4).fill(v));
  const kept: Tensor[] = [];
  sample();
  // Up: a third of it is the cache.
  for (let i = 0; kept.length * piece < 1.6 * budget; i++) {
    if (i < 60 && i % 3 === 0) cache.push(filled(-1));
    const x = filled(kept.length);
    kept.push(rt.scope(() => x.mul(2).add(1).compute()));
    x.dispose();
    sample();
  }
  // Use all of it once more: what has spilled comes back, and others go.
  let wrong = 0;
  for (const [i, t] of kept.entries()) {
    const sum = await rt.scope(async () => Number((await t.mean().data())[0]));
    if (sum !== 2 * i + 1) wrong++;
    sample();
  }
  for (const t of kept) {
    t.dispose();
    sample();
  }
  rt.memory.cleanupMemory('cpu');
  sample();
  return { points, marks, budgetMb: budget / MiB, levels, cleanups, spills, wrong };
}
