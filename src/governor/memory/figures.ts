// What a device's figures come to: how full it is, and what can still be had.

import type { PlaceFigures } from './view.ts';

/** The size that use is measured against: the device's, or a budget where that is smaller or all that is known. */
export function wholeOf({ total, budget, shared }: PlaceFigures): number | null {
  const whole = Math.min(total ?? Number.POSITIVE_INFINITY, budget, shared?.limit ?? budget);
  return Number.isFinite(whole) ? whole : null;
}

/** Whose figures decide: the device's own, unless a budget of ours is the tighter one. */
export function sourceOf(figures: PlaceFigures, leftBytes = 0): 'device' | 'budget' {
  const budget = Math.max(byBudget(figures, leftBytes), byShared(figures));
  return figures.source === 'device' && byDevice(figures) >= budget ? 'device' : 'budget';
}

/**
 * Per cent in use, 0 to 100: of the device with everybody on it, or of our budget, for it or for all devices, if that is fuller. `leftBytes` is what the last
 * clean-up left idle because it cannot be given back (a heap with something live at its end): it is ours to use again, so
 * it takes nothing from a budget.
 */
export function utilizationOf(figures: PlaceFigures, leftBytes = 0): number {
  return Math.min(100, Math.max(byDevice(figures), byBudget(figures, leftBytes), byShared(figures)));
}

function byDevice({ source, total, free, reserved, others }: PlaceFigures): number {
  if (source !== 'device' || total === null || total <= 0) return 0;
  const used = free === null ? reserved + (others ?? 0) : total - free;
  return (used / total) * 100;
}

function byBudget({ source, total, budget, reserved, reclaimable }: PlaceFigures, leftBytes: number): number {
  const whole = source === 'budget' ? Math.min(budget, total ?? budget) : budget;
  const held = reserved - Math.min(leftBytes, reclaimable);
  return whole > 0 && Number.isFinite(whole) ? (held / whole) * 100 : 0;
}

const byShared = ({ shared }: PlaceFigures): number => (shared ? (shared.inUse / shared.limit) * 100 : 0);

/** Bytes that can really be obtained: free ones, and what is held only for reuse. Null if nothing is known. */
export function availableOf(figures: PlaceFigures): number | null {
  const { total, free, reserved, reclaimable, others, budget, shared, lost } = figures;
  if (lost) return 0;
  const onDevice = free ?? (total === null ? Number.POSITIVE_INFINITY : total - reserved - (others ?? 0));
  const own = Math.min(onDevice, budget - reserved) + reclaimable;
  const room = shared ? Math.min(own, shared.limit - shared.inUse) : own;
  return Number.isFinite(room) ? Math.max(0, room) : null;
}
