// The whole catalogue. A code is never renamed once it has shipped.

import type { ErrorClass } from '../types.ts';
import { buildClasses } from './build.ts';
import { installClasses } from './install.ts';
import { nvidiaClasses } from './nvidia.ts';
import { platformClasses } from './platforms.ts';

export const catalogue: readonly ErrorClass[] = [
  ...nvidiaClasses,
  ...buildClasses,
  ...installClasses,
  ...platformClasses,
];
