// Why the runtime refuses a call of its own.

import { operationTypes } from '../base/operations.ts';
import { ArgumentError } from '../errors.ts';

export const notAName = (name: unknown): ArgumentError =>
  new ArgumentError({
    code: 'BAD_NAME',
    message: `scope: ${JSON.stringify(name)?.slice(0, 40)} is no name`,
    fix: 'Give a text of at least one letter.',
    where: 'scope',
  });

export const unknownOperation = (op: string): ArgumentError =>
  new ArgumentError({
    code: 'UNKNOWN_OPERATION',
    message: `scope: there is no operation '${op}'`,
    fix: `Use one of ${operationTypes.join(', ')}, or leave it out.`,
    where: 'scope',
  });
