// The profiler of the whole process.

import { checked } from '../base/signatures.ts';
import { Profiler, wholeProgram } from './profiler.ts';
import type { ProfilerOptions } from './profiler-options.ts';
import { Shared } from './shared.ts';
import { profileKinds, profilerOptions } from './signatures.ts';

const shared = new Shared<Profiler, ProfilerOptions>('Profiler', (options) => new Profiler(options), {
  ask: 'getProfiler',
  own: 'new Profiler()',
});

/**
 * The profiler of the whole process, made at the first call. Asking with other options than it was made with is an error.
 * @example getProfiler() === getProfiler() // → true
 */
export const getProfiler = checked(
  'getProfiler',
  profilerOptions,
  (options?: ProfilerOptions): Profiler => {
    const profiler = shared.get(options);
    for (const rt of options?.runtimes ?? []) profiler.attach(rt);
    return profiler;
  },
  profileKinds,
);

/** For `gpuforge profile run`: a profiler for the whole program, which is also the shared one. What is in no scope is in `program`. */
export function profileProgram(options: ProfilerOptions, program: string): Profiler {
  const profiler = new Profiler(options);
  profiler[wholeProgram](program);
  shared.adopt(profiler);
  return profiler;
}
