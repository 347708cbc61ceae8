// Everything the renderer emits for the corpus, assembled by ptxas: no GPU needed.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allKernelCases } from '../../../../test/gpu/corpus.ts';
import { entryName, moduleText } from './code.ts';
import { renderKernel } from './index.ts';
import type { Target } from './target.ts';

const hasPtxas = spawnSync('ptxas', ['--version']).status === 0;
if (!hasPtxas) console.log('ptxas is not on the PATH: the assembler checks of the PTX renderer are skipped');

function assemble(text: string, sm: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ptx-'));
  try {
    const file = join(folder, 'module.ptx');
    writeFileSync(file, text);
    const run = spawnSync('ptxas', ['-arch', sm, '-O1', file, '-o', join(folder, 'module.cubin')], {
      encoding: 'utf8',
    });
    return run.status === 0 ? '' : run.stderr.slice(0, 4000);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const targets: readonly Target[] = [
  { sm: 90, ptx: 78, processors: 132, fastMath: false },
  { sm: 75, ptx: 70, processors: 1, fastMath: false },
  { sm: 80, ptx: 70, processors: 1, fastMath: true },
];

describe.skipIf(!hasPtxas)('the PTX renderer', () => {
  it.each(targets)(
    'emits what ptxas accepts for sm_$sm with $processors processors',
    { timeout: 240_000 },
    (target) => {
      const seen = new Set<string>();
      const entries: string[] = [];
      for (const { kernel } of allKernelCases(target)) {
        const name = entryName(kernel.name);
        if (seen.has(name)) continue;
        seen.add(name);
        entries.push(renderKernel(kernel, target).text);
      }
      expect(entries.length).toBeGreaterThan(400);
      expect(assemble(moduleText(target, entries), `sm_${target.sm}`)).toBe('');
    },
  );
});
