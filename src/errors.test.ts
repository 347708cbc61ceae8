import { expect, it } from 'vitest';
import * as batch from './batch/failures.ts';
import * as facade from './compute/errors.ts';
import * as errors from './errors.ts';
import * as memory from './governor/memory/errors.ts';
import * as recovery from './governor/recovery/errors.ts';

type AnyError = new (info: never) => errors.ForgeError;

const isError = (value: unknown): value is AnyError =>
  typeof value === 'function' && value.prototype instanceof errors.ForgeError;

const info = {
  code: 'X',
  message: 'm',
  fix: '',
  where: 'w',
  hint: '',
  operation: 'o',
  ms: 1,
  history: [],
  failures: [],
};

it('errors say the name of their class, also where a bundler has shortened it', () => {
  const below = [errors, memory, recovery, batch].flatMap((m) => Object.entries(m)).filter(([, c]) => isError(c));
  // The facade gives most of these second names.
  const own = Object.entries(facade).filter(([, c]) => isError(c) && !below.some(([, b]) => b === c));
  expect(own.map(([name]) => name).sort()).toEqual(['TransferError']);
  const classes = [...below, ...own];
  expect(classes.length).toBeGreaterThan(16);
  for (const [name, Class] of classes) {
    const Shortened = class extends (Class as AnyError) {};
    expect(new Shortened(info as never).name).toBe(name);
  }
});
