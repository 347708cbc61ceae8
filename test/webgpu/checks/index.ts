// All device checks, by group.

import type { Check } from '../support.ts';
import { elementwise } from './elementwise.ts';

export const allChecks: Readonly<Record<string, readonly Check[]>> = { elementwise };
