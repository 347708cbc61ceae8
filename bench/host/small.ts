// npm run bench -- small: small work on the CPU beside NumPy, and what the runtime itself takes of a call.
//
//   --rounds 9 --seconds 0.2    of each row
//   --only chain100,add5        some of the rows
//   --gpu cuda                  rows of a GPU too
//   --processor                 the processor time of the processes: on a machine that does other things too
//   --against FILE              beside the bundle of another tree (its dist/bench/small.mjs), in turns
//   --strict                    fails if a row is slower than NumPy
//   --values                    compares every value with NumPy's, not a few of them
//
// Rows on a device that does nothing have no NumPy beside them: there the host's time is all there is.

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serve } from '../lib/side.mjs';
import { smallWorks } from './small-works.ts';
import { takeTurns, turnOptions } from './turns.ts';

const cpuTitles: Readonly<Record<string, string>> = {
  chain100: 'tanh((x*.99+.5)*x-.1), 100 f32',
  chain1000: 'the same, 1,000 f32',
  chain4096: 'the same, 4,096 f32',
  chain16384: 'the same, 16,384 f32',
  sum1000: 'sum of 1,000 f32',
  matmul64: 'product of 64² f32',
  add5: 'add of 5 f32, read',
  ops200: '200 dependent ops on 64 f32',
};

/** Of every device that has rows of its own. */
const deviceTitles: Readonly<Record<string, string>> = {
  eager: 'one op on 64 f32',
  chain: 'the chain of 64 f32',
  compiled: 'a compiled call',
  steps: 'a compiled call of several kernels',
  recurrence: 'compiled f = step(f)',
  ops200: '200 dependent ops on 64 f32',
  'ops200-done': 'the same, until they are done',
};
const titlesOf = (name: string, called: string): [string, string][] =>
  Object.entries(deviceTitles).map(([key, title]) => [`${name}-${key}`, `${title}, ${called}`]);

const { values } = parseArgs({ options: { ...turnOptions, gpu: { type: 'string' } } });
const gpu = values.gpu === 'cuda' || values.gpu === 'webgpu' ? values.gpu : null;
if (values.serve) await serve(await smallWorks(gpu));
await takeTurns({
  file: fileURLToPath(import.meta.url),
  extra: gpu ? ['--gpu', gpu] : [],
  numpy: 'numpy_side.py',
  titles: new Map([...Object.entries(cpuTitles), ...titlesOf('noop', 'no device'), ...(gpu ? titlesOf(gpu, gpu) : [])]),
  values,
});
