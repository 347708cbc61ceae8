// Fourier transforms in f64.

import type { Fourier } from '../../kernel/kernel.ts';
import { frequenciesOf } from '../../kernel/unit-roots.ts';
import type { Elements } from './interpret.ts';

/** Each row by itself; what it gives is rounded once. */
export function fourier(r: Fourier, buffers: readonly Elements[]): void {
  if (r.form === 'hermitian') back(r, buffers);
  else forwards(r, buffers);
}

function forwards({ rows, length, frequencies, form }: Fourier, buffers: readonly Elements[]): void {
  const outputs = buffers.slice(-2);
  for (let row = 0; row < rows; row++) {
    const part = (i: number): Float64Array =>
      Float64Array.from({ length }, (_, at) => Number(buffers[i]!.get(row * length + at)));
    const made = frequenciesOf([part(0), form === 'complex' ? part(1) : new Float64Array(length)]);
    made.forEach((x, i) => {
      for (let k = 0; k < frequencies; k++) outputs[i]!.set(row * frequencies + k, x[k]!);
    });
  }
}

/** The conjugates of the frequencies are those of the values in the opposite order. */
function back({ rows, length, frequencies }: Fourier, [re, im, output]: readonly Elements[]): void {
  for (let row = 0; row < rows; row++) {
    const [x, y] = [new Float64Array(length), new Float64Array(length)];
    for (let k = 0; k < frequencies; k++) {
      const [other, at] = [(length - k) % length, row * frequencies + k];
      x[k] = x[other] = Number(re!.get(at));
      if (other === k) continue;
      y[k] = Number(im!.get(at));
      y[other] = -y[k]!;
    }
    const [made] = frequenciesOf([x, y]);
    for (let i = 0; i < length; i++) output!.set(row * length + ((length - i) % length), made[i]! / length);
  }
}
