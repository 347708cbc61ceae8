// All device checks, by group.

import type { Check } from '../support.ts';
import { elementwise } from './elementwise.ts';
import { reductions } from './reductions.ts';

export const allChecks: Readonly<Record<string, readonly Check[]>> = { elementwise, reductions };
