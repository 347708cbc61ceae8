// Names of environments: what is taken, and the nearest safe one for the rest.

import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folder, run, useFolder } from '../../../test/forge/env-plans.ts';
import { checkName } from './plan.ts';

useFolder();

describe('names', () => {
  it.each(['demo', 'a', 'my-env.2', 'x_1'])('%s is taken', (name) => expect(checkName(name)).toBe(name));

  it.each([
    '',
    '..',
    '../x',
    'a/b',
    'a\\b',
    'Demo',
    '-x',
    '.x',
    'x.',
    'a b',
    'a\nb: c',
    'x"y',
    '$(id)',
    'con',
    'nul.txt',
    'a..b',
    'x'.repeat(65),
    'ünïcode',
    '$HOME',
  ])('%j is refused before anything is read or written', async (name) => {
    expect(() => checkName(name)).toThrow(/cannot be the name/);
    const { status, err } = await run(name);
    expect(status).toBe(2);
    expect(err).toMatch(/^error: /);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('come with the nearest safe one', () => {
    expect(() => checkName('My Env!')).toThrow(/: my-env\./);
  });
});
