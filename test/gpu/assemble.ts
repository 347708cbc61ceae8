// ptxas for tests: assembles PTX without a GPU, where the tool exists.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Target } from '../../src/devices/cuda/ptx/target.ts';

export const hasPtxas = spawnSync('ptxas', ['--version']).status === 0;
if (!hasPtxas) console.log('ptxas is not on the PATH: the assembler checks of the CUDA device are skipped');

/** What ptxas has to say against the text; empty if it assembles. */
export function assemble(ptx: string, target: Target): string {
  const folder = mkdtempSync(join(tmpdir(), 'ptx-'));
  try {
    const file = join(folder, 'module.ptx');
    writeFileSync(file, ptx);
    const arch = /\.target (sm_\w+)/.exec(ptx)?.[1] ?? `sm_${target.sm}`;
    // What is valid does not depend on how well it is optimised.
    const options = ['-arch', arch, '-O0', file, '-o', join(folder, 'module.cubin')];
    const run = spawnSync('ptxas', options, { encoding: 'utf8' });
    return run.status === 0 ? '' : run.stderr.slice(0, 4000);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
