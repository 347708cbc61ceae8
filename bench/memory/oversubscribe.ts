// More live data than the budget: tensors that together take 1 to 3 times the budget, updated round after round, and every
// element of every one checked at the end. What does not fit spills to host memory and comes back when it is used.
//
// `cyclic` touches all tensors in turn, the worst case for least-recently-used: from 1 × on, every use is a return.
// `local` touches a window that moves slowly, as most programs do. Times are per round, medians; the slow-down is against the
// same work without a budget. The update itself is made cheap on purpose: what is measured is the moving.

import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { formatBytes } from '../../src/memory/holders.ts';
import { table } from './table.ts';

export interface OversubscribeOptions {
  readonly device: DeviceKind;
  readonly budget: number;
  readonly rounds: number;
}

export interface OversubscribeRow {
  readonly device: string;
  readonly order: string;
  readonly factor: number;
  readonly budget: number;
  readonly liveBytes: number;
  readonly peakBytes: number;
  readonly spilledBytes: number;
  readonly returnedBytes: number;
  readonly msPerRound: number;
  readonly slowdown: number;
  /** Wrong elements. */
  readonly wrong: number;
}

const factors = [0.8, 1.5, 2, 3];
const perBudget = 16;

/** Which tensors a round touches, in order. */
const orders: Readonly<Record<string, (round: number, count: number) => number[]>> = {
  cyclic: (_, count) => Array.from({ length: count }, (_, i) => i),
  local: (round, count) => {
    const window = Math.max(1, Math.floor(perBudget / 4));
    const start = round * Math.max(1, Math.floor(window / 4));
    return Array.from({ length: count }, (_, i) => (start + (i % window)) % count);
  },
};

export async function oversubscribe(options: OversubscribeOptions): Promise<OversubscribeRow[]> {
  const rows: OversubscribeRow[] = [];
  for (const order of Object.keys(orders)) {
    for (const factor of factors) {
      const free = await run(options, order, factor, Number.POSITIVE_INFINITY);
      const tight = await run(options, order, factor, options.budget);
      rows.push({ ...tight, slowdown: tight.msPerRound / free.msPerRound, wrong: tight.wrong + free.wrong });
    }
  }
  return rows;
}

async function run(
  { device, budget: asked, rounds }: OversubscribeOptions,
  order: string,
  factor: number,
  budget: number,
): Promise<OversubscribeRow> {
  const rt = await createRuntime({
    devices: [device],
    routing: { mode: 'off' },
    memory: { ...(Number.isFinite(budget) ? { budget } : {}), hostBytes: 4 * asked, leaks: false },
  });
  try {
    return await measure(rt, { device, budget: asked, rounds }, order, factor, budget);
  } finally {
    await rt.close();
  }
}

async function measure(
  rt: Runtime,
  { device, budget: asked, rounds }: OversubscribeOptions,
  order: string,
  factor: number,
  budget: number,
): Promise<OversubscribeRow> {
  const tensorBytes = Math.floor(asked / perBudget / 4096) * 4096;
  const count = Math.round((factor * asked) / tensorBytes);
  const { id } = rt.devices().find((d) => d.open)!;
  if (!id.startsWith(device)) throw new Error(`${device} could not be opened here`);
  let [spilledBytes, returnedBytes] = [0, 0];
  rt.on('spill', (e) => {
    spilledBytes += e.bytes;
  });
  rt.on('move', (e) => {
    if (e.from === 'host') returnedBytes += e.bytes;
  });
  const elements = tensorBytes / 4;
  const tensors = Array.from({ length: count }, (_, i) => rt.tensor(new Float32Array(elements).fill(i)));
  const expected = Float32Array.from({ length: count }, (_, i) => i);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (const i of orders[order]!(round, count)) {
      step(rt, tensors, i);
      expected[i] = Math.fround(Math.fround(expected[i]! * 0.5) + 1);
    }
    await rt.flush();
    times.push(performance.now() - start);
  }
  const wrong = await countWrong(tensors, expected);
  const { peakAllocatedMb } = rt.memory.stats(id);
  times.sort((a, b) => a - b);
  return {
    device: id,
    order,
    factor,
    budget,
    liveBytes: count * tensorBytes,
    peakBytes: peakAllocatedMb * 2 ** 20,
    spilledBytes,
    returnedBytes,
    msPerRound: times[Math.floor(times.length / 2)]!,
    slowdown: 1,
    wrong,
  };
}

/** In a scope: the product that is never stored would hold on to the old tensor until it is collected. */
function step(rt: Runtime, tensors: Tensor[], i: number): void {
  const old = tensors[i]!;
  tensors[i] = rt.scope(() => old.mul(0.5).add(1).compute());
  old.dispose();
}

async function countWrong(tensors: readonly Tensor[], expected: Float32Array): Promise<number> {
  let wrong = 0;
  for (const [i, t] of tensors.entries()) {
    const data = await t.data();
    for (let k = 0; k < data.length; k++) if (data[k] !== expected[i]) wrong++;
  }
  return wrong;
}

export function showOversubscribe(rows: readonly OversubscribeRow[]): string {
  const cells = rows.map((r) => [
    r.device,
    r.order,
    `${r.factor} ×`,
    formatBytes(r.liveBytes),
    formatBytes(r.budget),
    formatBytes(r.peakBytes),
    formatBytes(r.spilledBytes),
    formatBytes(r.returnedBytes),
    `${r.msPerRound.toFixed(2)} ms`,
    `${r.slowdown.toFixed(2)} ×`,
    r.wrong === 0 ? 'all right' : `${r.wrong} wrong`,
  ]);
  const head = ['device', 'order', 'data', 'live', 'budget', 'peak', 'spilled', 'returned', 'round', 'slow-down', ''];
  return table(head, cells, 2);
}
