// What a device could reach at best, as calibration measured it, and how close a kernel came.

import type { Runtime } from '../../index.ts';
import type { Bound, Roof } from '../file/types.ts';

type Profile = NonNullable<ReturnType<Runtime['routing']['profile']>>;
type Curve = Profile['upload'];

/** The best rate on a curve of amounts over µs; null if it has none. */
function best(curve: Curve | undefined): number | null {
  if (!curve) return null;
  let rate = 0;
  curve.x.forEach((x, i) => {
    if (curve.y[i]! > 0) rate = Math.max(rate, x / curve.y[i]!);
  });
  return rate > 0 ? rate : null;
}

// Bytes a µs are MB/s; a thousand of them are GB/s. The same holds for operations.
const perNs = (perUs: number | null): number | null => (perUs === null ? null : perUs / 1000);

export function roofOf(profile: Profile | undefined): Roof | null {
  if (!profile) return null;
  const { map, heavy, matmul } = profile.classes;
  const arithmetic = [best(heavy), best(matmul)].filter((r) => r !== null);
  return {
    memoryGBs: perNs(best(map)),
    gflops: arithmetic.length > 0 ? perNs(Math.max(...arithmetic)) : null,
    launchUs: profile.launchUs,
    waitUs: profile.waitUs,
    uploadGBs: perNs(best(profile.upload)),
    downloadGBs: perNs(best(profile.download)),
  };
}

/** Calibration and work differ by this much without anything being wrong. */
const mostShare = 1.25;

export interface Reached {
  readonly share: number | null;
  readonly bound: Bound | null;
}

/** How close work of so many bytes and operations in so many ms came to the roof. */
export function reached(roof: Roof | null, ms: number, bytes: number | null, flops: number | null): Reached {
  if (!roof || bytes === null || flops === null || !(ms > 0)) return { share: null, bound: null };
  const us = 1000 * ms;
  if (us <= roof.launchUs) return { share: null, bound: 'launch' };
  if (roof.memoryGBs === null) return { share: null, bound: null };
  const memoryUs = bytes / roof.memoryGBs / 1000;
  const computeUs = roof.gflops === null ? 0 : flops / roof.gflops / 1000;
  const least = Math.max(memoryUs, computeUs);
  if (least === 0) return { share: null, bound: null };
  // Faster than the best that was measured: the calibration was disturbed, and nothing can be said.
  const share = least / us > mostShare ? null : least / us;
  return { share, bound: memoryUs >= computeUs ? 'memory' : 'compute' };
}
