// Everything the renderer emits for the corpus, assembled by ptxas: no GPU needed.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { allKernelCases } from '../../../../test/gpu/corpus.ts';
import { everyNth } from '../../../../test/support/extent.ts';
import { entryName, moduleText } from './code.ts';
import { renderKernel } from './index.ts';
import type { Target } from './target.ts';

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
      // All for the newest; the others differ from it in few.
      const n = target === targets[0] ? 1 : 7;
      for (const { kernel, lowered } of everyNth([...allKernelCases(target)], n)) {
        const name = entryName(kernel.name);
        if (seen.has(name)) continue;
        seen.add(name);
        entries.push(renderKernel(lowered ?? kernel, target).text);
      }
      expect(entries.length).toBeGreaterThan(400 / n);
      expect(assemble(moduleText(target, entries), target)).toBe('');
    },
  );
});
