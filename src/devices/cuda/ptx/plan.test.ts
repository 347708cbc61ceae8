import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { planReduction } from './plan.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };

/** The sum over the middle axis of [outer, middle, width]. */
function overTheMiddle(outer: number, middle: number, width: number): Kernel {
  const k = new KernelBuilder([outer, width], [middle]);
  const at = k.flat([outer, middle, width], [k.axis(0), k.axis(2), k.axis(1)]);
  k.output(k.reduce('sum', k.at(k.input('f32', outer * middle * width), at)));
  return k.done('over_the_middle');
}

describe('how a reduction lies over the device', () => {
  it('columns lie side by side, as many as there are where warps would be idle', () => {
    expect(planReduction(overTheMiddle(1000, 1000, 37), target)).toMatchObject({ form: 'column', group: 37 });
    expect(planReduction(overTheMiddle(1000, 1000, 5), target)).toMatchObject({ group: 5 });
    expect(planReduction(overTheMiddle(64, 1000, 1024), target)).toMatchObject({ group: 32, vector: 4 });
    for (const width of [3, 5, 37, 100, 126, 130, 1000]) {
      const { threads, group } = planReduction(overTheMiddle(1000, 1000, width), target);
      // Threads below each other combine by halves.
      expect(Math.log2(threads / group) % 1, `${width}`).toBe(0);
      expect(threads).toBeLessThanOrEqual(512);
    }
  });

  it('what is read most decides: the matrices, not their vectors', () => {
    const k = new KernelBuilder([4096, 128], [128]);
    const [b, j, i] = [k.axis(0), k.axis(1), k.axis(2)];
    const vector = k.at(k.input('f32', 4096 * 128), k.flat([4096, 128], [b, i]));
    const matrix = k.at(k.input('f32', 4096 * 128 * 128), k.flat([4096, 128, 128], [b, i, j]));
    k.output(k.reduce('sum', k.op('mul', vector, matrix)));
    expect(planReduction(k.done('vectors_times_matrices'), target).form).toBe('column');
  });

  it('of two matrices each way that is contiguous for one, the way in which the other is the same for neighbours', () => {
    const k = new KernelBuilder([512, 512], [512]);
    const [i, j, over] = [k.axis(0), k.axis(1), k.axis(2)];
    const from = k.at(k.input('f32', 512 * 512), k.flat([512, 512], [i, over]));
    const to = k.at(k.input('f32', 512 * 512), k.flat([512, 512], [over, j]));
    k.output(k.reduce('min', k.op('add', from, to)));
    expect(planReduction(k.done('shortest_paths'), target).form).toBe('column');
  });
});
