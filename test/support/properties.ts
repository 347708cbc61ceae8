// fast-check with the seed of the tests. Unit tests take it from here and not from the package: there each run would draw its own.

import fc from 'fast-check';
import { seed } from './seed.ts';

fc.configureGlobal({ seed });

export default fc;
