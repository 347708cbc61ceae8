// What PTX is written for: architecture, language version, and the choices that change the generated code.

export interface Target {
  /** Compute capability as one number: 90 for 9.0. */
  readonly sm: number;
  /** PTX language version as one number: 78 for 7.8. */
  readonly ptx: number;
  /** Multiprocessors: how many blocks it takes to fill the device. */
  readonly processors: number;
  /** Approximate instructions for division, square root and transcendental functions. */
  readonly fastMath: boolean;
  /** Fixed choices in place of the usual ones, for measuring what they cost. */
  readonly tuning?: {
    readonly unroll?: number;
    readonly threads?: number;
    readonly streaming?: boolean;
    /** The name of the plan by which products without tensor cores are done. */
    readonly product?: string;
    /** Threads of a long row, and blocks of a multiprocessor that stay for many rows (0: none do). */
    readonly rows?: { readonly threads?: number; readonly resident?: number };
  };
}

/** Architectures and the PTX version that introduced each, oldest first. */
const introduced: readonly (readonly [sm: number, ptx: number])[] = [
  [70, 60],
  [72, 61],
  [75, 63],
  [80, 70],
  [86, 71],
  [87, 74],
  [89, 78],
  [90, 78],
  [100, 86],
  [103, 88],
  [120, 87],
  [121, 88],
];

/** The newest PTX version a driver reads, from the CUDA version it reports (12040 for 12.4). */
export function ptxVersionOf(driverVersion: number): number {
  const major = Math.floor(driverVersion / 1000);
  const minor = Math.floor((driverVersion % 1000) / 10);
  if (major >= 13) return (major - 4) * 10 + minor;
  // CUDA 12.0 to 12.9 read PTX 8.0 to 8.8: 12.6 brought no change but 12.4 and 12.5 did, so 12.6 and later lag by one.
  if (major === 12) return 80 + (minor >= 6 ? minor - 1 : minor);
  if (major === 11) return 70 + minor;
  return 60 + Math.min(minor + 3, 5);
}

/**
 * The architecture and version to name in the text: the device's own where the driver's PTX knows it, else the newest
 * older one (PTX for an older architecture runs on newer devices). Undefined if the driver is too old for any.
 */
export function chooseTarget(sm: number, driverVersion: number): { sm: number; ptx: number } | undefined {
  const newest = ptxVersionOf(driverVersion);
  let found: { sm: number; ptx: number } | undefined;
  for (const [known, version] of introduced) {
    if (known <= sm && version <= newest) found = { sm: known, ptx: Math.max(version, 70) };
  }
  return newest >= 70 ? found : undefined;
}
