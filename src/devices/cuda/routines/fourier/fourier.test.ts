// Transforms on CUDA without a GPU: their plans, their values by an emulator, their text by the assembler.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../../test/gpu/assemble.ts';
import { Random } from '../../../../../test/gpu/data.ts';
import { emulate } from '../../../../../test/gpu/emulate.ts';
import { fourier, fourierCases } from '../../../../../test/gpu/fourier.ts';
import { bindingsOf } from '../../../../kernel/bindings.ts';
import { largestRadix, transformed } from '../../../../kernel/fourier.ts';
import type { Fourier } from '../../../../kernel/kernel.ts';
import { elementsOf } from '../../../reference/elements.ts';
import { runRoutine } from '../../../reference/routines.ts';
import type { Target } from '../../ptx/target.ts';
import { fourierRecipe } from './index.ts';
import { columnsBlock, halvesOf, inOneBlock, longestIn, radicesOf } from './plan.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
/** As on a device so small that few rows are many. */
const small: Target = { ...target, processors: 2 };

function check(routine: Fourier, on: Target): void {
  const random = new Random(routine.length + routine.rows);
  const bindings = bindingsOf(routine);
  const inputs = bindings.inputs.map(({ elements }) =>
    Float32Array.from({ length: elements }, () => 2 * random.unit() - 1),
  );
  const [got, want] = [0, 1].map(() =>
    bindings.outputs.map(({ elements }) => new Float32Array(elements).fill(Number.NaN)),
  ) as [Float32Array[], Float32Array[]];
  const views = [...inputs, ...want].map((d) => elementsOf(new Uint8Array(d.buffer), 'f32'));
  runRoutine(routine, views, [], () => expect.fail('needs no scratch'));
  const places = [...inputs, ...got].map((data, i) => ({ address: (i + 1) * 2 ** 33, data }));
  emulate(fourierRecipe(routine, on), places, 'early', random);
  const scale = want.flatMap((x) => [...x]).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  const bound = scale * 2 ** -24 * (2 + Math.log2(routine.length));
  got.forEach((x, i) => {
    x.forEach((v, k) => {
      if (!(Math.abs(v - want[i]![k]!) <= bound)) expect(v, `${routine.name}: ${k}`).toBeCloseTo(want[i]![k]!, 6);
    });
  });
}

const of = (rows: number, length: number, form: Fourier['form'], frequencies?: number): Fourier =>
  fourier('f32', rows, length, form, frequencies).routine as Fourier;

describe('transforms on CUDA', () => {
  it('are cut into few and even parts', () => {
    expect(radicesOf(4096)).toEqual([16, 16, 16]);
    expect(radicesOf(1024)).toEqual([16, 8, 8]);
    expect(radicesOf(1000)).toEqual([10, 10, 10]);
    expect(radicesOf(1001)).toEqual([13, 11, 7]);
    expect(radicesOf(1)).toEqual([1]);
    expect(halvesOf(2 ** 19)).toEqual([512, 1024]);
  });

  it('of every length that there is fit into a block or into two passes', () => {
    for (let n = 2; n <= 2 ** 20; n++) {
      if (!transformed(n)) continue;
      for (const bytes of [4, 8]) {
        if (inOneBlock(n, 1, 132, bytes)) continue;
        const [a, b] = halvesOf(n);
        // The second pass changes over from one order to the other between two stages.
        if (Math.max(a, b) > longestIn(bytes) || b <= 16 || b / a > largestRadix) expect.fail(`${n} = ${a} · ${b}`);
        for (const [length, count] of [
          [a, b],
          [b, a],
        ] as const)
          if (columnsBlock(length, count, 1, 132, bytes).threads > 1024) expect.fail(`${n}: too many threads`);
      }
    }
  });

  it.each([2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 16, 17, 20, 26, 34, 49, 64, 67, 100, 121, 128, 254])(
    'of rows of %i give the frequencies',
    (n) => {
      for (const on of [target, small]) {
        check(of(5, n, 'complex'), on);
        check(of(5, n, 'real'), on);
        if (n % 2 === 0) check(of(5, n, 'real', n / 2 + 1), on);
        if (n % 2 === 0) check(of(5, n, 'hermitian'), on);
      }
    },
  );

  it.each([
    [300, 16],
    [3, 256],
    [2, 500],
    [1, 1024],
  ])('of %i rows of %i, by few blocks or many', (rows, n) => {
    for (const on of [target, small]) {
      check(of(rows, n, 'complex'), on);
      check(of(rows, n, 'real', n / 2 + 1), on);
      check(of(rows, n, 'hermitian'), on);
    }
  });

  it.each([
    [1, 5000, 'complex'],
    [2, 4608, 'complex'],
    [1, 10_290, 'real'],
    [2, 9216, 'hermitian'],
  ] as const)('of %i rows of %i values in two passes (%s)', (rows, n, form) => {
    const r = of(rows, n, form, form === 'real' ? n / 2 + 1 : undefined);
    expect(fourierRecipe(r, target).launches.length).toBe(form === 'real' ? 3 : 2);
    check(r, target);
  });

  it.skipIf(!hasPtxas)('are PTX that ptxas accepts', { timeout: 240_000 }, () => {
    for (const on of [target, { sm: 75, ptx: 70, processors: 1, fastMath: false }]) {
      const cases = fourierCases().filter((_, i) => i % (on === target ? 13 : 41) === 0);
      // Modules with the same tables cannot be put together.
      for (const { routine } of cases) expect(assemble(fourierRecipe(routine as Fourier, on).ptx, on)).toBe('');
    }
  });
});
