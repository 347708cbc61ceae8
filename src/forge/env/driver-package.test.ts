import { describe, expect, it } from 'vitest';
import { loadTables } from '../data/tables.ts';
import { parseCc } from '../machine.ts';
import { ubuntuDriver } from './driver-package.ts';

const { tables } = loadTables();

describe("Ubuntu's driver package", () => {
  it.each([
    [['9.0'], 'nvidia-driver-580-server-open'],
    [['12.0'], 'nvidia-driver-580-server-open'],
    [['10.0', '8.0'], 'nvidia-driver-580-server-open'],
    [['7.0'], 'nvidia-driver-580-server'],
    [['6.1', '8.9'], 'nvidia-driver-580-server'],
    [['3.7'], 'nvidia-driver-470-server'],
    [['10.7'], null],
    [['3.7', '12.0'], null],
    [[], null],
  ])('for %j is %s', (cards, name) => {
    expect(
      ubuntuDriver(
        tables,
        cards.map((text) => parseCc(text)!),
      ),
    ).toBe(name);
  });
});
