// jax-js on WebGPU over Dawn, with `jit` wherever that is faster.

import { defaultDevice, init, jit, numpy as np } from '@jax-js/jax';
import { floats } from '../lib/data.mjs';
import { chain4m, field, fieldStep, iterated, square } from '../lib/jax.mjs';
import { serve } from '../lib/side.mjs';
import { installDawn } from './dawn.mjs';

const adapter = await installDawn();
const found = await init('webgpu');
if (!found.includes('webgpu')) throw new Error(`jax-js found only ${found.join(', ')}`);
defaultDevice('webgpu');

const step = jit(fieldStep);
// One jitted op a step: the whole chain under one jit would be one kernel, and no measure of what an op costs.
const plusOne = jit((x) => x.add(1));

await serve(
  {
    tiny200: () => iterated(np.array(floats(64)), plusOne, 200),
    field100: () => iterated(field(), step, 100),
    field4: () => iterated(field(), step, 4),
    matmul512: () => square(512),
    matmul1024: () => square(1024),
    matmul4096: () => square(4096),
    chain4m,
    updown10mb: () => {
      const host = floats(10 * 2 ** 18);
      // As an argument: a constant zero would be folded away, and with it all work.
      const zero = np.array(0);
      const plus = jit((x, y) => x.add(y));
      let out;
      return {
        run: async () => {
          const y = plus(np.array(host), zero.ref);
          out = await y.data();
        },
        result: () => out,
      };
    },
  },
  { version: '0.1.25', backend: 'webgpu', adapter },
);
