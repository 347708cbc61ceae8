import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultCacheFolder, openCubinCache } from './cache.ts';

describe('the cubin cache', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cubin-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const bytes = (n: number, fill: number): Uint8Array => new Uint8Array(n).fill(fill);
  const only = (): string => join(folder, readdirSync(folder)[0]!);

  it('gives back what was put, and nothing for another text, architecture or driver', async () => {
    const a = await openCubinCache({ folder, salt: 'sm_90 13000' });
    a.put('ptx one', bytes(1000, 7));
    expect([...a.get('ptx one')!]).toEqual([...bytes(1000, 7)]);
    expect(a.get('ptx two')).toBeUndefined();
    const b = await openCubinCache({ folder, salt: 'sm_80 13000' });
    expect(b.get('ptx one')).toBeUndefined();
  });

  it.each([
    ['truncated', (f: string) => truncateSync(f, 500)],
    ['emptied', (f: string) => truncateSync(f, 0)],
    [
      'changed in one byte',
      (f: string) => {
        const b = readFileSync(f);
        b[600]! ^= 1;
        writeFileSync(f, b);
      },
    ],
    ['replaced by something else', (f: string) => writeFileSync(f, 'hello')],
  ])('treats a file that was %s as missing, and removes it', async (_, damage) => {
    const cache = await openCubinCache({ folder, salt: '' });
    cache.put('ptx', bytes(1000, 1));
    damage(only());
    expect(cache.get('ptx')).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('stays within its limit and drops what was not used for longest', async () => {
    const cache = await openCubinCache({ folder, salt: '', maxBytes: 10_000 });
    for (let i = 0; i < 30; i++) {
      cache.put(`ptx ${i}`, bytes(1000, i));
      await new Promise((r) => setTimeout(r, 3));
    }
    expect(readdirSync(folder).length).toBeLessThanOrEqual(12);
    expect(cache.get('ptx 29')).toBeDefined();
    expect(cache.get('ptx 0')).toBeUndefined();
  });

  it('drops an entry on request', async () => {
    const cache = await openCubinCache({ folder, salt: '' });
    cache.put('ptx', bytes(10, 1));
    cache.drop('ptx');
    expect(cache.get('ptx')).toBeUndefined();
  });

  it('carries on without a word when the folder cannot be made', async () => {
    writeFileSync(join(folder, 'file'), '');
    const cache = await openCubinCache({ folder: join(folder, 'file', 'inside'), salt: '' });
    cache.put('ptx', bytes(10, 1));
    expect(cache.get('ptx')).toBeUndefined();
  });

  it('follows the XDG rules for its place', () => {
    expect(defaultCacheFolder({ XDG_CACHE_HOME: '/x' }, '/home/u')).toBe('/x/gpuforge/cubin');
    expect(defaultCacheFolder({}, '/home/u')).toBe('/home/u/.cache/gpuforge/cubin');
  });
});
