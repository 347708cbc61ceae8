// All device checks, by group.

import type { Check } from '../support.ts';
import { elementwise } from './elementwise.ts';
import { functions } from './functions.ts';
import { movement } from './movement.ts';
import { reductions } from './reductions.ts';
import { routines } from './routines.ts';
import { runtime } from './runtime.ts';

export const allChecks: Readonly<Record<string, readonly Check[]>> = {
  elementwise,
  functions,
  movement,
  reductions,
  routines,
  runtime,
};
