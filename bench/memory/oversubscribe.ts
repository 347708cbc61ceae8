// More live data than the budget: tensors that together take 1 to 3 times the budget, updated round after round, and every
// element of every one checked at the end. What does not fit spills to host memory and comes back when it is used.
//
// `cyclic` touches all tensors in turn, the worst case for least-recently-used: from 1 × on, every use is a return.
// `local` touches a window that moves slowly, as most programs do. Times are per round, medians; the slow-down is against the
// same work without a budget. The update itself is made cheap on purpose: what is measured is the moving.
//
// Tensors are made and checked where they live, so that the host does not become what is measured: an element starts as its
// place plus a number of its tensor, an update is x → 3x + 1 in 32 bits, which loses nothing, and what must come of it is computed
// anew from the place and compared element by element. The first and last elements are compared by the host as well.

import { formatBytes } from '../../src/base/format.ts';
import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { type Column, rowOf } from './table.ts';

export interface OversubscribeOptions {
  readonly device: DeviceKind;
  readonly budget: number;
  readonly rounds: number;
  /** Live data as multiples of the budget. */
  readonly factors: readonly number[];
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

/** Tells each row as soon as it is known. */
export async function* oversubscribe(options: OversubscribeOptions): AsyncGenerator<OversubscribeRow> {
  const { budget, factors } = options;
  const free = await open(options, Number.POSITIVE_INFINITY);
  try {
    for (const order of Object.keys(orders)) {
      for (const factor of factors) {
        const without = await measure(free, options, order, factor, Number.POSITIVE_INFINITY);
        const tight = await open(options, budget);
        try {
          const row = await measure(tight, options, order, factor, budget);
          yield { ...row, slowdown: row.msPerRound / without.msPerRound, wrong: row.wrong + without.wrong };
        } finally {
          await tight.close();
        }
      }
    }
  } finally {
    await free.close();
  }
}

const open = ({ device, budget: asked }: OversubscribeOptions, budget: number): Promise<Runtime> =>
  createRuntime({
    devices: [device],
    routing: { mode: 'off' },
    memory: { ...(Number.isFinite(budget) ? { budget } : {}), hostBytes: 4 * asked, leaks: false },
  });

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
  const watched = [
    rt.on('spill', (e) => {
      spilledBytes += e.bytes;
    }),
    rt.on('move', (e) => {
      if (e.from === 'host') returnedBytes += e.bytes;
    }),
  ];
  const elements = tensorBytes / 4;
  const lines = Array.from({ length: count }, (_, i): Line => ({ slope: 1, start: Math.imul(i, 0x9e3779b1) >>> 0 }));
  const tensors = lines.map((line) => rt.scope(() => along(rt, elements, line).compute()));
  await rt.flush();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (const i of orders[order]!(round, count)) {
      step(rt, tensors, i);
      lines[i] = { slope: Math.imul(lines[i]!.slope, 3) >>> 0, start: (Math.imul(lines[i]!.start, 3) + 1) >>> 0 };
    }
    await rt.flush();
    times.push(performance.now() - start);
  }
  let wrong = 0;
  for (const [i, t] of tensors.entries()) wrong += await countWrong(rt, t, lines[i]!);
  for (const t of tensors) t.dispose();
  for (const stop of watched) stop();
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

/** What a tensor holds: at place k, slope · k + start modulo 2^32. */
interface Line {
  readonly slope: number;
  readonly start: number;
}

const along = (rt: Runtime, elements: number, { slope, start }: Line): Tensor =>
  rt.arange(0, elements, 1, { dtype: 'u32' }).mul(slope).add(start);

/** In a scope: the product that is never stored would hold on to the old tensor until it is collected. */
function step(rt: Runtime, tensors: Tensor[], i: number): void {
  const old = tensors[i]!;
  tensors[i] = rt.scope(() => old.mul(3).add(1).compute());
  old.dispose();
}

async function countWrong(rt: Runtime, t: Tensor, line: Line): Promise<number> {
  const n = t.shape[0]!;
  const ends = 4;
  return rt.scope(async () => {
    const count = t.notEqual(along(rt, n, line)).sum({ dtype: 'i32' });
    let wrong = Number(await count.item());
    for (const from of [0, n - ends]) {
      const got = await t.slice([[from, from + ends]]).data();
      for (let k = 0; k < ends; k++) if (got[k] !== (Math.imul(line.slope, from + k) + line.start) >>> 0) wrong++;
    }
    return wrong;
  });
}

const columns: readonly (Column & { readonly cell: (r: OversubscribeRow) => string })[] = [
  { head: 'device', width: 8, left: true, cell: (r) => r.device },
  { head: 'order', width: 6, left: true, cell: (r) => r.order },
  { head: 'data', width: 5, cell: (r) => `${r.factor} ×` },
  { head: 'live', width: 9, cell: (r) => formatBytes(r.liveBytes) },
  { head: 'budget', width: 9, cell: (r) => formatBytes(r.budget) },
  { head: 'peak', width: 9, cell: (r) => formatBytes(r.peakBytes) },
  { head: 'spilled', width: 9, cell: (r) => formatBytes(r.spilledBytes) },
  { head: 'returned', width: 9, cell: (r) => formatBytes(r.returnedBytes) },
  { head: 'round', width: 11, cell: (r) => `${r.msPerRound.toFixed(2)} ms` },
  { head: 'slow-down', width: 9, cell: (r) => `${r.slowdown.toFixed(2)} ×` },
  { head: '', width: 9, cell: (r) => (r.wrong === 0 ? 'all right' : `${r.wrong} wrong`) },
];

export const oversubscribeHead = (): string =>
  rowOf(
    columns,
    columns.map((c) => c.head),
  );
export const oversubscribeLine = (r: OversubscribeRow): string =>
  rowOf(
    columns,
    columns.map((c) => c.cell(r)),
  );
