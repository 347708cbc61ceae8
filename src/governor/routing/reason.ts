// Decisions in plain words and figures.

import type { DeviceId } from '../../devices/device.ts';
import type { Prediction } from './types.ts';

/** 3.2 µs, 41 µs, 1.7 ms, 2.1 s. */
export function time(us: number): string {
  const [v, unit] = us < 1000 ? [us, 'µs'] : us < 1e6 ? [us / 1000, 'ms'] : [us / 1e6, 's'];
  return `${v < 9.95 ? v.toFixed(1) : v.toFixed(0)} ${unit}`;
}

const parts = (p: Prediction): string =>
  [
    `${time(p.launch + p.work)} of work`,
    ...(p.transfer > 0 ? [`${time(p.transfer)} of transfers and waiting`] : []),
    ...(p.penalty > 1 ? [`×${p.penalty.toFixed(1)} because it is short of memory or failed lately`] : []),
  ].join(', ');

const knowledge = (p: Prediction): string => (p.samples > 0 ? `, measured ${p.samples}×` : ', from calibration');

/** `cpu 3.0 µs (…) against webgpu:0 212 µs (…)`. */
export function compare(chosen: DeviceId, predictions: readonly Prediction[]): string {
  const sorted = [...predictions].sort(
    (a, b) => Number(b.device === chosen) - Number(a.device === chosen) || a.us - b.us,
  );
  return sorted.map((p) => `${p.device} ${time(p.us)} (${parts(p)}${knowledge(p)})`).join(' against ');
}
