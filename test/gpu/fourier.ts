// Transforms of every way in which devices do them.

import type { DType } from '../../src/base/dtype.ts';
import { bindingsOf } from '../../src/kernel/bindings.ts';
import type { Fourier } from '../../src/kernel/kernel.ts';
import type { RoutineCase } from './routines.ts';

export function fourier(
  type: DType,
  rows: number,
  length: number,
  form: Fourier['form'],
  frequencies = form === 'hermitian' ? length / 2 + 1 : length,
): RoutineCase {
  const names = { complex: 'fft', real: frequencies < length ? 'rfft' : 'fft_of_reals', hermitian: 'irfft' };
  const routine: Fourier = {
    kind: 'routine',
    op: 'fourier',
    name: `${names[form]}_${type}_${rows}x${length}`,
    type,
    rows,
    length,
    form,
    frequencies,
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  const { inputs, outputs } = bindingsOf(routine);
  return {
    routine,
    buffers: [...inputs, ...outputs],
    outputs: outputs.length,
    // Of the largest frequency: the error grows with the number of stages.
    tolerance: (type === 'f32' ? 2 ** -23 : 2 ** -51) * Math.log2(2 * length),
    mild: true,
  };
}

/** Short ones, of which a block does many; of every radix; one block, two passes; rows that fill blocks and rows that do not. */
export function fourierCases(): RoutineCase[] {
  const cases: RoutineCase[] = [];
  const lengths = [
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 22, 24, 26, 27, 32, 49, 64, 77, 100, 121, 128, 169, 210,
    256,
  ];
  for (const type of ['f32', 'f64'] as const) {
    const all = (rows: number, n: number): void => {
      cases.push(fourier(type, rows, n, 'complex'), fourier(type, rows, n, 'real'));
      if (n % 2 === 0) cases.push(fourier(type, rows, n, 'real', n / 2 + 1), fourier(type, rows, n, 'hermitian'));
    };
    for (const n of lengths) all(3, n);
    for (const n of [17, 34, 67, 254, 509, 1018, 1048, 2039]) all(n < 300 ? 5 : 2, n);
    all(300, 46);
    for (const [rows, n] of [
      [700, 16],
      [1000, 6],
      [301, 50],
      [267, 128],
      [1, 512],
      [133, 1000],
      [5, 1024],
      [2, 1001],
      [3, 2048],
      [2, 3375],
      [4, 4096],
      [70, 5000],
      [70, 8192],
      [1, 8192],
      [2, 10_000],
      [3, 16_384],
      [1, 28_561],
      [1, 65_536],
      [2, 99_000],
      [1, 2 ** 18],
    ] as const)
      all(rows, n);
    cases.push(fourier(type, 3, 110_880, 'hermitian'), fourier(type, 1, 13 ** 5, 'complex'));
  }
  cases.push(fourier('f32', 1, 2 ** 20, 'real', 2 ** 19 + 1), fourier('f64', 1, 2 ** 20, 'complex'));
  cases.push(fourier('f32', 1, 2 ** 20, 'hermitian'), fourier('f32', 2, 1_048_320, 'real', 524_161));
  return cases;
}
