// What a command printed, for tests.

import type { Output } from '../style.ts';

export interface Captured extends Output {
  out: string;
  err: string;
}

export function capture(isTTY = false): Captured {
  const output: Captured = {
    out: '',
    err: '',
    isTTY,
    columns: 100,
    write(text) {
      output.out += text;
    },
    warn(text) {
      output.err += text;
    },
  };
  return output;
}
