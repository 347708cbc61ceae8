// npm run bench -- tiny: work on a few values, on the CPU beside NumPy. Options as of `small`.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRuntime } from '../../src/index.ts';
import { serve } from '../lib/side.mjs';
import { tinyJob, tinyWorks } from './tiny-works.ts';
import { takeTurns, turnOptions } from './turns.ts';

const works = Object.entries(tinyWorks);
const { values } = parseArgs({ options: turnOptions });
if (values.serve) {
  const rt = await createRuntime({ devices: ['cpu'], routing: { mode: 'off' } });
  await serve(Object.fromEntries(works.map(([name, work]) => [name, () => tinyJob(rt, work)])));
}
await takeTurns({
  file: fileURLToPath(import.meta.url),
  numpy: 'numpy_tiny.py',
  titles: new Map(works.map(([name, { title }]) => [name, title])),
  values,
});
