// Which package of Ubuntu brings the NVIDIA driver for some cards; null where it has none that knows them all.
//
// The cards decide, not the CUDA of the build: a build of CUDA 12 may be for Blackwell, which needs the open module.

import type { Tables } from '../data/schemas.ts';
import { type ComputeCapability, compareCc, formatCc } from '../machine.ts';
import { firstBranchFor, longTermBranch } from '../resolve/drivers.ts';

const TURING: ComputeCapability = { major: 7, minor: 5 };

export function ubuntuDriver(tables: Tables, cards: readonly ComputeCapability[]): string | null {
  const rows = cards.flatMap((cc) => tables.compute.capabilities.filter((row) => row.cc === formatCc(cc)));
  if (rows.length === 0) return null;
  const last = rows.map((row) => row.lastDriver).filter((branch) => branch !== null);
  const branch = Math.min(longTermBranch(tables), ...last);
  if (rows.some((row) => (firstBranchFor(tables, row.firstCuda)?.branch ?? 0) > branch)) return null;
  const open = cards.every((cc) => compareCc(cc, TURING) >= 0);
  return `nvidia-driver-${branch}-server${open ? '-open' : ''}`;
}
