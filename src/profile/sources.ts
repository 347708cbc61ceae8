// Which profiler listens to a runtime: monitors and the facade read their times from it, so that there is one source.

import type { Runtime } from '../index.ts';
import type { Profiler } from './profiler.ts';

export const attached = new WeakMap<Runtime, Profiler>();
