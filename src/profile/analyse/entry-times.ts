// What devices and copies took for each scope, the scopes inside it included.
//
// Work is booked to the innermost scope; here it goes up to the ones around. Stretches in which several kernels of a scope ran
// at the same time count once. Of a pass with kernels of several scopes nobody knows whose time it was: it counts for the scopes
// that hold all of it, and makes the time of the others unknown.

import type { KernelCall, Transfer } from '../file/types.ts';
import { clip, type Intervals, lengthOf, subtract, union } from './intervals.ts';

export interface EntryTimes {
  readonly gpuMs: number | null;
  readonly cpuMs: number | null;
  readonly transferMs: number | null;
  readonly overheadMs: number | null;
  readonly utilization: number | null;
  readonly devices: readonly string[];
  readonly issuedIn: readonly number[];
}

interface Scope {
  readonly id: number;
  readonly parentId: number | null;
  readonly startMs: number;
  readonly durationMs: number;
}

class Work {
  readonly gpu: number[] = [];
  readonly cpu: number[] = [];
  readonly copies: number[] = [];
  readonly devices = new Set<string>();
  readonly issuedIn = new Set<number>();
  /** Kernels of passes that were seen, by pass. */
  readonly passes = new Map<number, number>();
  gpuUnknown = false;
  cpuUnknown = false;
}

export const nothing: EntryTimes = {
  gpuMs: null,
  cpuMs: null,
  transferMs: null,
  overheadMs: null,
  utilization: null,
  devices: [],
  issuedIn: [],
};

/** A scope around which no device did anything: measured, and nothing. */
const quiet = (durationMs: number): EntryTimes => ({
  gpuMs: 0,
  cpuMs: 0,
  transferMs: 0,
  overheadMs: durationMs,
  utilization: 0,
  devices: [],
  issuedIn: [],
});

export const isHost = (device: string): boolean => /^(cpu|reference)/.test(device);

/** By id of the scope. Only for profiles with a runtime attached: otherwise nothing is known. */
export function* entryTimes(
  scopes: readonly Scope[],
  kernels: readonly KernelCall[],
  transfers: readonly Transfer[],
): Generator<void, Map<number, EntryTimes>> {
  const parents = new Map<number, number | null>();
  for (const s of scopes) parents.set(s.id, s.parentId);
  const works = new Map<number, Work>();
  const passes = new Map<number, number>();
  for (const { pass } of kernels) if (pass !== null) passes.set(pass, (passes.get(pass) ?? 0) + 1);
  yield;
  /** Calls back for a scope and all around it. */
  const upwards = (id: number | null, visit: (work: Work) => void): void => {
    for (let at = id, steps = 0; at !== null && steps < 1000; at = parents.get(at) ?? null, steps++) {
      if (!parents.has(at)) continue;
      let work = works.get(at);
      if (!work) {
        work = new Work();
        works.set(at, work);
      }
      visit(work);
    }
  };
  for (let i = 0; i < kernels.length; i++) {
    const k = kernels[i]!;
    const ms = k.ms ?? k.passMs;
    const host = isHost(k.device);
    upwards(k.entry, (w) => {
      w.devices.add(k.device);
      if (k.issuedIn !== null && k.issuedIn !== k.entry) w.issuedIn.add(k.issuedIn);
      if (k.pass !== null) {
        const seen = (w.passes.get(k.pass) ?? 0) + 1;
        w.passes.set(k.pass, seen);
        if (seen < passes.get(k.pass)!) return;
        w.passes.delete(k.pass);
      }
      if (ms !== null) (host ? w.cpu : w.gpu).push(k.start, k.start + ms);
      else if (host) w.cpuUnknown = true;
      else w.gpuUnknown = true;
    });
    if (i % 4096 === 4095) yield;
  }
  for (const t of transfers) upwards(t.entry, (w) => w.copies.push(t.start, t.start + t.ms));
  yield;
  const found = new Map<number, EntryTimes>();
  let at = 0;
  for (const s of scopes) {
    const work = works.get(s.id);
    found.set(s.id, work ? timesOf(work, s) : quiet(s.durationMs));
    if (++at % 4096 === 0) yield;
  }
  return found;
}

function timesOf(w: Work, { startMs, durationMs }: Scope): EntryTimes {
  const gpuUnknown = w.gpuUnknown || w.passes.size > 0;
  const [gpu, cpu] = [union(w.gpu), union(w.cpu)];
  const worked: Intervals = union([...gpu, ...cpu]);
  const copies = subtract(union(w.copies), worked);
  const known = !gpuUnknown && !w.cpuUnknown;
  const inside = (list: Intervals): number => lengthOf(clip(list, startMs, startMs + durationMs));
  const gpuMs = gpuUnknown ? null : lengthOf(gpu);
  return {
    gpuMs,
    cpuMs: w.cpuUnknown ? null : lengthOf(cpu),
    // A download waits for the work before it: without the device's times nobody knows which part was the copy.
    transferMs: known || w.copies.length === 0 ? lengthOf(copies) : null,
    overheadMs: known ? Math.max(0, durationMs - inside(worked) - inside(copies)) : null,
    utilization: gpuMs === null || durationMs === 0 ? null : inside(gpu) / durationMs,
    devices: [...w.devices].sort(),
    issuedIn: [...w.issuedIn].sort((a, b) => a - b),
  };
}
