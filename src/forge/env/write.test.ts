// How files are written: all or none, never through a link.

import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, useFolder } from '../../../test/forge/env-plans.ts';
import { difference, writeFiles } from './write.ts';
import { formats } from './writers.ts';

useFolder();

describe('writing', () => {
  it('refuses a link or a folder in the way, and leaves no temporary file', () => {
    mkdirSync(join(folder, 'verify.py'));
    expect(() => writeFiles(folder, [{ path: 'verify.py', content: 'x' }], true)).toThrow(/is not a regular file/);
    symlinkSync('/etc/hostname', join(folder, 'link'));
    expect(() => writeFiles(folder, [{ path: 'link', content: 'x' }], true)).toThrow(/is not a regular file/);
    expect(readdirSync(folder).sort()).toEqual(['link', 'verify.py']);
  });

  it('writes all files or none', () => {
    writeFileSync(join(folder, 'b'), 'a file where a folder is needed');
    const files = [
      { path: 'a.txt', content: 'a' },
      { path: 'b/c.txt', content: 'c' },
    ];
    expect(() => writeFiles(folder, files, false)).toThrow(/cannot write/);
    expect(readdirSync(folder)).toEqual(['b']);
  });

  it('shows a difference line by line', () => {
    expect(difference('a\nb\nc', 'a\nx\nc\nd')).toEqual(['- b', '+ x', '+ d']);
    expect(difference('same', 'same')).toEqual([]);
  });

  it('knows all formats', () => expect(formats.length).toBe(9));
});
