// What one device takes for what: the result of a calibration.

import type { DeviceId } from '../../devices/device.ts';
import { at, type Curve } from './curve.ts';
import { leastTime } from './plausible.ts';
import { type KernelClass, kernelClasses } from './types.ts';

export interface Profile {
  readonly device: DeviceId;
  readonly name: string;
  /** The host's own processor. */
  readonly host: boolean;
  /** One more launch behind others, in µs. */
  readonly launchUs: number;
  /** From the end of the work until the host knows, in µs. */
  readonly waitUs: number;
  /** Making a new kernel ready, in µs. */
  readonly compileUs: number;
  /** Bytes → µs. `download` includes the wait. */
  readonly upload: Curve;
  readonly download: Curve;
  /** Time of one launch by class: over bytes, or over operations as `amountOf` says. */
  readonly classes: Readonly<Partial<Record<KernelClass, Curve>>>;
  /** How long the measurement took, in ms, and how many points did not fit into it. */
  readonly tookMs: number;
  readonly missed: number;
}

/** What a class's curve counts. */
export const amountOf: Readonly<Record<KernelClass, 'bytes' | 'flops'>> = {
  map: 'bytes',
  heavy: 'flops',
  reduce: 'bytes',
  matmul: 'flops',
  sort: 'flops',
  scan: 'bytes',
  scatter: 'bytes',
  raw: 'bytes',
};

// The memory roof under every class, and the arithmetic roof over those that are counted in bytes.
const memoryRoof: KernelClass = 'map';
const arithmeticRoof: KernelClass = 'heavy';

/** µs of one launch with its overhead: the highest of the roofs that apply. */
export function launchTime(p: Profile, cls: KernelClass, flops: number, bytes: number): number {
  const own = p.classes[cls];
  const memory = p.classes[memoryRoof];
  const arithmetic = p.classes[arithmeticRoof];
  let us = Math.max(p.launchUs, leastTime(p.host, bytes));
  if (own) us = Math.max(us, at(own, amountOf[cls] === 'bytes' ? bytes : flops));
  if (memory && cls !== memoryRoof) us = Math.max(us, at(memory, bytes));
  if (arithmetic && cls !== arithmeticRoof && amountOf[cls] === 'bytes') us = Math.max(us, at(arithmetic, flops));
  return us;
}

/** Reads a profile that was stored; null if anything about it is not as it should be. */
export function parseProfile(value: unknown): Profile | null {
  const v = value as Profile | null;
  if (typeof v !== 'object' || v === null) return null;
  const numbers = [v.launchUs, v.waitUs, v.compileUs, v.tookMs, v.missed];
  if (typeof v.device !== 'string' || typeof v.name !== 'string' || typeof v.host !== 'boolean') return null;
  if (!numbers.every((n) => Number.isFinite(n) && n >= 0)) return null;
  if (!isCurve(v.upload) || !isCurve(v.download) || typeof v.classes !== 'object' || v.classes === null) return null;
  for (const [cls, curve] of Object.entries(v.classes)) {
    if (!kernelClasses.includes(cls as KernelClass) || !isCurve(curve)) return null;
  }
  return v;
}

function isCurve(c: unknown): c is Curve {
  const { x, y } = (c ?? {}) as Partial<Curve>;
  return (
    Array.isArray(x) &&
    Array.isArray(y) &&
    x.length === y.length &&
    x.length > 0 &&
    [...x, ...y].every((n) => Number.isFinite(n)) &&
    x.every((n, i) => i === 0 || n > x[i - 1]!)
  );
}
