// Memory pressure: four levels of utilisation, in per cent.
//
// A limit belongs to the level above it: exactly 90 % is critical. Going up takes effect at once; going down needs two
// points of margin below the limit, so that a load that swings around a limit does not flicker.

export const pressureLevels = ['low', 'moderate', 'high', 'critical'] as const;
export type PressureLevel = (typeof pressureLevels)[number];

/** Where each level begins, in per cent of utilisation. */
export interface LevelLimits {
  readonly moderate: number;
  readonly high: number;
  readonly critical: number;
}

export const defaultLimits: LevelLimits = { moderate: 60, high: 80, critical: 90 };

/** Points below a limit that a level is left at. */
export const margin = 2;

const rankOf = (level: PressureLevel): number => pressureLevels.indexOf(level);

/** The level of a utilisation seen on its own. */
export function levelAt(utilization: number, limits: LevelLimits = defaultLimits): PressureLevel {
  if (utilization >= limits.critical) return 'critical';
  if (utilization >= limits.high) return 'high';
  return utilization >= limits.moderate ? 'moderate' : 'low';
}

/** The level after `current`, once utilisation has this value. */
export function nextLevel(current: PressureLevel, utilization: number, limits: LevelLimits): PressureLevel {
  const plain = levelAt(utilization, limits);
  if (rankOf(plain) >= rankOf(current)) return plain;
  // Left, but not by the margin: the lowest level that this value is clearly below.
  const lowered = levelAt(utilization + margin, limits);
  return rankOf(lowered) < rankOf(current) ? lowered : current;
}
