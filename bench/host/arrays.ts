// npm run bench -- arrays: ordinary work on arrays, on the CPU beside NumPy. Options as of `small`.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRuntime } from '../../src/index.ts';
import { serve } from '../lib/side.mjs';
import { arrayWorks } from './array-works.ts';
import { classWorks } from './class-works.ts';
import { linearWorks } from './linear-works.ts';
import { oddWorks } from './odd-works.ts';
import { takeTurns, turnOptions } from './turns.ts';
import { usageWorks } from './usage-works.ts';
import { job } from './work.ts';

const works = Object.entries({ ...arrayWorks, ...oddWorks, ...linearWorks, ...classWorks, ...usageWorks });
const { values } = parseArgs({ options: turnOptions });
if (values.serve) {
  const rt = await createRuntime({ devices: ['cpu'], routing: { mode: 'off' } });
  await serve(Object.fromEntries(works.map(([name, work]) => [name, () => job(rt, work)])));
}
await takeTurns({
  file: fileURLToPath(import.meta.url),
  numpy: 'numpy_arrays.py',
  titles: new Map(works.map(([name, { title }]) => [name, title])),
  values,
});
