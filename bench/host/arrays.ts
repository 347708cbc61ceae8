// npm run bench -- arrays: ordinary work on arrays, on the CPU beside NumPy. Options as of `small`.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serve } from '../lib/side.mjs';
import { arrayJobs, arrayTitles } from './array-works.ts';
import { takeTurns, turnOptions } from './turns.ts';

const { values } = parseArgs({ options: turnOptions });
if (values.serve) await serve(await arrayJobs());
await takeTurns({ file: fileURLToPath(import.meta.url), numpy: 'numpy_arrays.py', titles: arrayTitles, values });
