// Driver arithmetic: which CUDA version a driver reports, and which driver a CUDA version needs.
//
// A driver given by branch alone ("570") stands for the newest of that branch, so it is compared by branch only.

import type { Tables } from '../data/schemas.ts';
import { compareVersions } from '../machine.ts';

export const branchOf = (driver: string): number => Number.parseInt(driver, 10);

/** Whether `driver` is at least `minimum`; a bare branch counts as the newest of its branch. */
export function driverAtLeast(driver: string, minimum: string): boolean {
  return driver.includes('.') ? compareVersions(driver, minimum) >= 0 : branchOf(driver) >= branchOf(minimum);
}

/** The highest CUDA version that a driver of this branch reports; undefined below the table. */
export function reportedCuda(tables: Tables, driver: string): string | undefined {
  const branch = branchOf(driver);
  let found: string | undefined;
  for (const row of tables.cuda.branches) if (row.branch <= branch) found = row.cuda;
  return found;
}

/** The lowest driver of the CUDA family that a version belongs to, under minor-version compatibility. */
export function familyMinimum(
  tables: Tables,
  cuda: string,
  column: 'linux' | 'windows',
): { readonly driver: string; readonly source: string } | undefined {
  const family = cuda.split('.')[0];
  const row = tables.cuda.families.find((candidate) => candidate.family === family);
  return row && { driver: row[column], source: row.source };
}

/** The first branch that reports at least this CUDA version. */
export function firstBranchFor(
  tables: Tables,
  cuda: string,
): { readonly branch: number; readonly source: string } | undefined {
  const row = tables.cuda.branches.find((candidate) => compareVersions(candidate.cuda, cuda) >= 0);
  return row && { branch: row.branch, source: row.source };
}

/** The branch that is supported longest; what to install where nothing else decides. */
export function longTermBranch(tables: Tables): number {
  const rows = tables.cuda.support.filter((row) => row.kind === 'long-term');
  return Math.max(...rows.map((row) => row.branch));
}
