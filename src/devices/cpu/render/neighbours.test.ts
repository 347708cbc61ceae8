import { describe, expect, it } from 'vitest';
import { stencil } from '../../../../test/gpu/stencils.ts';
import { Run, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { sizeOf } from '../../../base/shape.ts';

describe('neighbours of a stencil computed together', () => {
  it.each([[[4, 8, 16, 16]], [[6, 4, 14, 5]], [[3, 3, 2, 33]], [[5, 7, 9, 4]], [[4, 4, 64]], [[4, 3, 8, 700]]])(
    'have the values they have alone, however items are cut: %j',
    (space) => {
      const { outputs } = stencil(space, []);
      const values = Array.from({ length: sizeOf(space) }, (_, i) => Math.fround(Math.sin(i * 1.7)));
      const spec: Spec = { space, outputs, inputs: [{ type: 'f32', values }] };
      const want = reference(spec);
      const run = new Run(spec);
      run.run(1, Math.floor(run.wasm.items / 2));
      want.forEach((expected, k) => {
        expect(run.values(k), `output ${k}`).toEqual(expected);
      });
    },
  );

  it('are fewer items: four cells in each of two rows are one', () => {
    const { outputs } = stencil([8, 8, 16, 16], []);
    const values = new Array<number>(8 * 8 * 16 * 16).fill(1);
    expect(new Run({ space: [8, 8, 16, 16], outputs, inputs: [{ type: 'f32', values }] }).wasm.items).toBe(
      (8 * 8 * 16) / 8,
    );
  });
});
