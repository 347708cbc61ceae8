// Why the runtime refuses a call of its own.

import { ArgumentError } from '../errors.ts';
import { operationTypes } from '../governor/routing/types.ts';

export const notAName = (name: unknown): ArgumentError =>
  new ArgumentError({
    code: 'BAD_NAME',
    message: `scope: ${JSON.stringify(name)?.slice(0, 40)} is no name`,
    fix: 'Give a text of at least one letter.',
    where: 'scope',
  });

export const notAsked = (current: unknown): ArgumentError =>
  new ArgumentError({
    code: 'BAD_LISTENER',
    message: `attribute: ${current === null ? 'null' : `a ${typeof current}`} cannot be asked`,
    fix: 'Give a function that returns what is in progress, or null.',
    where: 'attribute',
  });

export const unknownOperation = (op: string): ArgumentError =>
  new ArgumentError({
    code: 'UNKNOWN_OPERATION',
    message: `scope: there is no operation '${op}'`,
    fix: `Use one of ${operationTypes.join(', ')}, or leave it out.`,
    where: 'scope',
  });

export const notAMode = (mode: unknown): ArgumentError =>
  new ArgumentError({
    code: 'BAD_OPTION',
    message: `spans: ${String(mode)} is no way to measure`,
    fix: "Use true, false or 'detailed'.",
    where: 'spans',
  });
