// PT3: what is held from the driver beyond the live tensors, at the peak of a thousand random sizes.
//
// Measured on the device, and beside it the same trace over simulated memory: CUDA's allocator, which maps memory behind
// addresses in granules, and two textbook allocators (best fit, first fit) that know every hole but cannot move or remap what
// lives. The CPU device is of that kind: a WebAssembly memory is one stretch that neither moves nor gives pages back.

import type { Tensor } from '../../src/index.ts';
import { allocators } from '../memory/allocators.ts';
import { type Row, verdict } from './report.ts';
import type { Setup } from './setup.ts';

const mb = 2 ** 20;
const count = 1000;
const warmUp = 100;

/** Something that holds stretches of bytes. */
interface Holder<T> {
  take(elements: number): T;
  give(held: T): void;
  reserved(): number;
}

/** Log-uniform sizes between 64 KB and 64 MB; whatever goes is picked at random. Returns the excess of the peak over the live peak. */
function play<T>(holder: Holder<T>, limit: number): { peakLive: number; peakReserved: number; share: number } {
  let seed = 11;
  const next = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const live: { readonly held: T; readonly bytes: number }[] = [];
  let [bytes, peakLive, peakReserved] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const elements = Math.floor(2 ** (14 + 10 * next()));
    while (live.length > 0 && bytes + 4 * elements > limit) {
      const gone = live.splice(Math.floor(next() * live.length), 1)[0]!;
      bytes -= gone.bytes;
      holder.give(gone.held);
    }
    live.push({ held: holder.take(elements), bytes: 4 * elements });
    bytes += 4 * elements;
    if (i < warmUp) continue;
    peakLive = Math.max(peakLive, bytes);
    peakReserved = Math.max(peakReserved, holder.reserved());
  }
  for (const { held } of live) holder.give(held);
  return { peakLive, peakReserved, share: (peakReserved - peakLive) / peakLive };
}

interface Hole {
  at: number;
  bytes: number;
}

/** One stretch of memory; `pick` chooses the hole that a request goes into. */
function linear(pick: (holes: readonly Hole[], bytes: number) => Hole | undefined): Holder<Hole> {
  // In order of address, no two of them adjacent.
  const holes: Hole[] = [];
  let top = 0;
  return {
    reserved: () => top,
    take: (elements) => {
      const bytes = Math.ceil((4 * elements) / 64) * 64;
      const hole = pick(holes, bytes);
      if (!hole) {
        const last = holes.at(-1);
        const at = last && last.at + last.bytes === top ? holes.pop()!.at : top;
        top = at + bytes;
        return { at, bytes };
      }
      const taken = { at: hole.at, bytes };
      hole.at += bytes;
      hole.bytes -= bytes;
      if (hole.bytes === 0) holes.splice(holes.indexOf(hole), 1);
      return taken;
    },
    give: ({ at, bytes }) => {
      let i = holes.findIndex((h) => h.at > at);
      if (i < 0) i = holes.length;
      holes.splice(i, 0, { at, bytes });
      for (const k of [i, i - 1]) {
        const [a, b] = [holes[k], holes[k + 1]];
        if (!a || !b || a.at + a.bytes !== b.at) continue;
        a.bytes += b.bytes;
        holes.splice(k + 1, 1);
      }
    },
  };
}

const bestFit = linear((holes, bytes) =>
  holes.reduce<Hole | undefined>(
    (best, h) => (h.bytes >= bytes && !(best && best.bytes <= h.bytes) ? h : best),
    undefined,
  ),
);
const firstFit = linear((holes, bytes) => holes.find((h) => h.bytes >= bytes));

function simulated(name: string, bytes: number): Holder<unknown> {
  const allocator = allocators[name]!(bytes);
  return {
    take: (elements) => allocator.allocate(4 * elements),
    give: (block) => allocator.release(block),
    reserved: () => allocator.reserved(),
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export async function overhead({ make, kind }: Setup): Promise<Row[]> {
  const gpu = make();
  const { runtime, device, id } = await gpu.devices.ready();
  const data = new Float32Array(16 * mb);
  // The largest tensor is a small part of what lives; of 768 MB, one hole for it would be 8 % by itself.
  const limit = Math.min(1536 * mb, device.memory().free * 0.4);
  const onDevice = play<Tensor>(
    {
      take: (elements) => runtime.tensor(data.subarray(0, elements), [elements]) as Tensor,
      give: (t) => t.dispose(),
      reserved: () => runtime.memory.snapshot(id).reservedMb * mb,
    },
    limit,
  );
  await gpu.dispose();
  const textbook = Math.min(play(bestFit, limit).share, play(firstFit, limit).share);
  const cuda = play(simulated('cuda', 8 * limit), limit);
  const what = 'memory held beyond live tensors, 1,000 random sizes of 64 KB to 64 MB';
  const beside = kind === 'cpu' ? ` (best or first fit: ${percent(textbook)})` : '';
  return [
    {
      id: 'PT3',
      what,
      figures: `${percent(onDevice.share)} of ${(onDevice.peakLive / mb).toFixed(0)} MB${beside}`,
      limit: 'below 10 %',
      verdict: verdict(onDevice.share < 0.1),
      data: { ...onDevice, textbook },
    },
    {
      id: 'PT3',
      what: "the same over simulated memory, CUDA's allocator",
      figures: percent(cuda.share),
      limit: 'below 10 %',
      verdict: verdict(cuda.share < 0.1),
      data: { ...cuda },
    },
  ];
}
