// Busy and idle time of a device, from times that are written down here.

import { describe, expect, it } from 'vitest';
import type { KernelCall, Transfer, Wait } from '../file/types.ts';
import { deviceTime } from './idle.ts';

const kernel = (start: number, ms: number | null, enqueued = start): KernelCall =>
  ({ start, ms, passMs: null, enqueued }) as unknown as KernelCall;
const copy = (start: number, ms: number): Transfer => ({ start, ms }) as unknown as Transfer;
const wait = (start: number, ms: number, line: string): Wait => ({ start, ms, line }) as unknown as Wait;

describe('the time of a device', () => {
  it('is busy, waiting for the host, waiting for a copy, or unknown, and adds up to 1', () => {
    // 0-20 busy; 20-30 a copy; 30-40 nothing enqueued until 37, then unknown; 40-100 busy.
    const time = deviceTime([kernel(0, 20), kernel(40, 60, 37)], [copy(20, 10)], [wait(25, 8, 'app.ts:3')], 0, 100)!;
    expect(time.busy).toBeCloseTo(0.8);
    expect(time.idleTransfer).toBeCloseTo(0.1);
    expect(time.idleHost).toBeCloseTo(0.07);
    expect(time.idleUnknown).toBeCloseTo(0.03);
    expect([time.longestGapMs, time.longestGapStart, time.longestGapLine]).toEqual([7, 30, 'app.ts:3']);
  });

  it('counts what follows the last kernel as waiting for the host, and kernels at the same time once', () => {
    const time = deviceTime([kernel(0, 30), kernel(10, 40)], [], [], 0, 100)!;
    expect([time.busy, time.idleHost, time.idleTransfer, time.idleUnknown]).toEqual([0.5, 0.5, 0, 0]);
    expect([time.longestGapMs, time.longestGapLine]).toEqual([50, null]);
  });

  it('is unknown without the times of more than one kernel in a hundred', () => {
    const kernels = (unmeasured: number): KernelCall[] =>
      Array.from({ length: 200 }, (_, i) => kernel(i, i < unmeasured ? null : 1));
    expect(deviceTime(kernels(2), [], [], 0, 200)?.busy).toBeCloseTo(0.99);
    expect(deviceTime(kernels(3), [], [], 0, 200)).toBeNull();
    expect(deviceTime([], [], [], 0, 200)).toBeNull();
    expect(deviceTime(kernels(0), [], [], 5, 5)).toBeNull();
  });
});
