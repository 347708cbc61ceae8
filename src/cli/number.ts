// Numbers as they are typed on the command line.

import { ArgumentError } from '../errors.ts';

/** The number that was typed; what is none is named as it was typed. */
export function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && !Number.isNaN(value)) return value;
  const info = { code: 'BAD_NUMBER', message: `${name} is '${text}'`, fix: 'Give a number.', where: 'gpuforge' };
  throw new ArgumentError(info);
}
