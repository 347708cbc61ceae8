// All device checks, by group.

import type { Check } from '../support.ts';
import { elementwise } from './elementwise.ts';
import { functions } from './functions.ts';
import { movement } from './movement.ts';
import { onChip } from './on-chip.ts';
import { reductions } from './reductions.ts';
import { routines } from './routines.ts';
import { runtime } from './runtime.ts';

/** Checks for devices with the plans for GPUs. */
export const gpuChecks = (all: boolean): readonly Check[] => [
  ...onChip.filter((c) => all || !c.repeats),
  ...routines.filter((c) => c.name.startsWith(all ? 'deep products' : 'deep products of f32')),
  ...routines.filter((c) => c.name.startsWith('scan ') && all),
];

/** The name of the group above. */
export const forGpus = 'for GPUs';

/** The checks of any group. */
export const checksFor = (group: string, all: boolean): readonly Check[] =>
  group === forGpus ? gpuChecks(all) : checksToRun(group, all);

/** The checks that `npm test` runs: all but the slow ones that repeat another. */
export const checksToRun = (group: string, all: boolean): readonly Check[] =>
  allChecks[group]!.filter((c) => all || !c.repeats);

export const allChecks: Readonly<Record<string, readonly Check[]>> = {
  elementwise,
  functions,
  movement,
  reductions,
  routines,
  runtime,
};
