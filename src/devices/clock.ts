// Two clocks compared: what the device's clock shows, in terms of the host's.
//
// A reading is a device time that lies between two host times. Each says that the difference of the clocks is within a range;
// the ranges of several readings, made within milliseconds, overlap, and the overlap is narrower than any of them.

import type { ClockReading } from './device.ts';

export interface ClockSample {
  /** Milliseconds of the host's clock before and after. */
  readonly before: number;
  readonly after: number;
  /** Milliseconds of the device's clock, at some moment between. */
  readonly device: number;
}

/** How often a clock is read for one comparison. */
export const clockReadings = 8;

/** The clocks as the samples show them together; `host` is the time at which the device's clock showed `device`. */
export function compareClocks(samples: readonly ClockSample[]): ClockReading {
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  let tightest = samples[0]!;
  for (const s of samples) {
    if (s.after - s.before < tightest.after - tightest.before) tightest = s;
    least = Math.max(least, s.before - s.device);
    most = Math.min(most, s.after - s.device);
  }
  // Clocks that drift, or jump, make ranges that miss each other: then the tightest reading stands for itself.
  if (least > most) {
    least = tightest.before - tightest.device;
    most = tightest.after - tightest.device;
  }
  const { device } = tightest;
  return { device, host: device + (least + most) / 2, errorUs: ((most - least) / 2) * 1000 };
}
