import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from './folder.ts';

const base = fs.mkdtempSync(join(tmpdir(), 'gpuforge-folder-'));
afterAll(() => fs.rmSync(base, { recursive: true, force: true }));

it('is made with its parents, also a second time and with a stroke at the end', () => {
  for (const name of ['a/b/c', 'a/b/c', 'a/d/', 'a//e/f', 'a/b\\g/h']) {
    makeFolder(fs, `${join(base, 'x')}/${name}`, 0o700);
    expect(fs.statSync(join(base, 'x', name)).isDirectory(), name).toBe(true);
  }
});

it.runIf(process.platform === 'linux')(
  'cannot be made in /proc, below a file or through a dead link, and says so',
  () => {
    fs.writeFileSync(join(base, 'file'), '');
    fs.symlinkSync(join(base, 'nowhere'), join(base, 'dead'));
    for (const folder of [
      '/proc/1/gpuforge',
      '/proc/self/x/y/z',
      join(base, 'file'),
      join(base, 'file', 'x'),
      join(base, 'dead', 'x'),
    ]) {
      expect(() => makeFolder(fs, folder), folder).toThrow();
    }
  },
);
