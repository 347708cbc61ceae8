// How one device's memory stands at one moment.

import type { DeviceId } from '../../devices/device.ts';
import { availableOf, sourceOf, utilizationOf, wholeOf } from './figures.ts';
import { type LevelLimits, levelAt, nextLevel, type PressureLevel } from './levels.ts';
import { MiB, type PlaceFigures } from './view.ts';

/** Mb is 2^20 bytes. */
export interface MemorySnapshot {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly deviceId: DeviceId;
  /** `cuda`, `webgpu`, `cpu`. */
  readonly backend: string;
  /** In live buffers. */
  readonly allocatedMb: number;
  /** Held from the driver, live or idle. */
  readonly reservedMb: number;
  /** Of the device, or the budget where that is smaller or all that is known; null if neither is. */
  readonly totalMb: number | null;
  /** What can really be had: free plus what a clean-up gives back. Null where nothing is known. */
  readonly availableMb: number | null;
  readonly otherProcessesMb: number | null;
  /** Per cent; 0 where nothing is known to divide by. */
  readonly utilization: number;
  readonly pressure: PressureLevel;
  /** Whose figures utilisation comes from. */
  readonly source: 'device' | 'budget';
  /** Host memory that spilled tensors of the runtime take. */
  readonly spilledMb: number;
}

/**
 * `level` is the one the device was at, or null if that is not known: falling then takes no margin. `leftBytes`: see
 * `utilizationOf`.
 */
export function takeSnapshot(
  figures: PlaceFigures,
  timestamp: number,
  limits: LevelLimits,
  level: PressureLevel | null,
  spilledBytes: number,
  leftBytes: number,
): MemorySnapshot {
  const utilization = utilizationOf(figures, leftBytes);
  return {
    timestamp,
    deviceId: figures.id,
    backend: figures.id.split(':')[0]!,
    allocatedMb: figures.inUse / MiB,
    reservedMb: figures.reserved / MiB,
    totalMb: inMb(wholeOf(figures)),
    availableMb: inMb(availableOf(figures)),
    otherProcessesMb: inMb(figures.others),
    utilization,
    pressure: level === null ? levelAt(utilization, limits) : nextLevel(level, utilization, limits),
    source: sourceOf(figures, leftBytes),
    spilledMb: spilledBytes / MiB,
  };
}

const inMb = (bytes: number | null): number | null => (bytes === null ? null : bytes / MiB);
