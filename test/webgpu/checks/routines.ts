// The routines against plain loops in double precision.

import type { Check } from '../support.ts';
import { matmuls } from './products.ts';
import { scans } from './scans.ts';
import { scatters } from './scatters.ts';
import { sorts } from './sorts.ts';

export const routines: Check[] = [...matmuls, ...sorts, ...scans, ...scatters];
