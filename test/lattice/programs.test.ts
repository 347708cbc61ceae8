// Random programs on every device; `GPUFORGE_TEST_ALL=1` runs many, and LATTICE_PROGRAMS as many as it says, from the tests' seed on.

import { afterAll, describe, it } from 'vitest';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { graphProgram, latticeProgram } from './programs.ts';

afterAll(closeAll);

const asked = Number(process.env.LATTICE_PROGRAMS ?? 0);
const counts = { reference: all ? 20 : 3, cpu: all ? 300 : 12, webgpu: all ? 20 : 1, cuda: all ? 100 : 8 };

describe.each(kinds)('random programs on %s', (kind) => {
  const count = asked || counts[kind];

  it('on lattices find what plain loops find', { timeout: 3_600_000 }, async () => {
    const rt = await runtimeOf(kind);
    for (let i = 0; i < count; i++) await latticeProgram(rt, i);
  });

  it('on graphs find what plain loops find', { timeout: 3_600_000 }, async () => {
    const rt = await runtimeOf(kind);
    for (let i = 0; i < count; i++) await graphProgram(rt, i);
  });
});
