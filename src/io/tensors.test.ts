import { chmod, mkdtemp, readdir, readlink, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from '../../test/support/time.ts';
import { dtypes } from '../base/dtype.ts';
import { ForgeError, FormatError } from '../errors.ts';
import { createRuntime, type Runtime } from '../index.ts';
import { readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors } from './index.ts';

let rt: Runtime;
let folder: string;

beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  folder = await mkdtemp(join(tmpdir(), 'gpuforge-io-'));
});

afterAll(async () => {
  await rt.close();
  await rm(folder, { recursive: true });
});

describe('tensors and files', () => {
  it.each(dtypes)('keeps every bit of %s', async (dtype) => {
    const t = rt.tensor(
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      undefined,
      { dtype },
    );
    const expected = await t.bytes();
    const npy = await readNpy(rt, await writeNpy(t));
    expect([npy.dtype, npy.shape, await npy.bytes()]).toEqual([dtype, [2, 3], expected]);
    const { tensors } = await readSafetensors(rt, await writeSafetensors({ t }));
    expect(tensors.t!.dtype).toBe(dtype);
    expect(tensors.t!.shape).toEqual([2, 3]);
    expect(await tensors.t!.bytes()).toEqual(expected);
  });

  it('lets the event loop turn in a loop that reads bytes: what it forgets is collected then', async () => {
    const bytes = await writeNpy(rt.tensor([1, 2]));
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const end = performance.now() + within(2000);
    while (!turned && performance.now() < end) (await readNpy(rt, bytes)).dispose();
    expect(turned).toBe(true);
  });

  it('reads and writes paths and URLs, and leaves no partial files', async () => {
    const path = join(folder, 'x.npy');
    await writeNpy(rt.arange(4), path);
    expect(await (await readNpy(rt, pathToFileURL(path))).array()).toEqual([0, 1, 2, 3]);
    await writeNpz({ a: rt.ones([2]), b: rt.eye(2) }, { path: pathToFileURL(join(folder, 'x.npz')), compress: true });
    const { a, b } = await readNpz(rt, join(folder, 'x.npz'));
    expect([await a!.array(), await b!.array()]).toEqual([
      [1, 1],
      [
        [1, 0],
        [0, 1],
      ],
    ]);
    await writeSafetensors({ w: rt.ones([1]) }, { path: join(folder, 'x.safetensors'), metadata: { from: 'test' } });
    expect((await readSafetensors(rt, join(folder, 'x.safetensors'))).metadata).toEqual({ from: 'test' });
    expect((await readdir(folder)).sort()).toEqual(['x.npy', 'x.npz', 'x.safetensors']);
  });

  it('refuses a truncated file and loses nothing', async () => {
    const bytes = await writeNpy(rt.ones([100]));
    const one = rt.ones([1]).compute();
    const before = rt.stats().bytes;
    await expect(readNpy(rt, bytes.slice(0, -1))).rejects.toThrow(FormatError);
    await expect(writeNpy(one, join(folder, 'missing', 'x.npy'))).rejects.toThrow(/ENOENT/);
    expect(rt.stats().bytes).toBe(before);
  });

  it('names the file, the call and the fix where a file cannot be read or written', async () => {
    const missing = join(folder, 'no such.npy');
    const message = async (work: Promise<unknown>): Promise<string> => {
      const error = await work.then(
        () => null,
        (e: unknown) => e,
      );
      expect(error).toBeInstanceOf(ForgeError);
      return (error as ForgeError).message;
    };
    expect(await message(readNpy(rt, missing))).toMatch(
      /^readNpy: .*no such\.npy cannot be read \(ENOENT\)\n {2}fix: /,
    );
    expect(await message(readNpz(rt, folder))).toContain(`readNpz: ${folder} cannot be read (EISDIR)`);
    const written = await message(writeNpy(rt.ones([1]), join(folder, 'none', 'x.npy')));
    expect(written).toMatch(/^writeNpy: .*none.x\.npy cannot be written \(ENOENT\)\n {2}fix: /);
    expect(written).not.toContain('.tmp');
    // A file of another kind, by path and by URL.
    await writeNpz({ a: rt.ones([1]) }, { path: missing });
    for (const source of [missing, pathToFileURL(missing)])
      expect(await message(readNpy(rt, source))).toMatch(/^readNpy: .*no such\.npy: the \d+ bytes .* use readNpz\.$/s);
    expect(await message(readNpy(rt, new Uint8Array(3)))).toMatch(/^readNpy: the 3 bytes/);
    await rm(missing);
  });

  it('reads a tensor of any name as a property of its own', async () => {
    const named = Object.fromEntries([
      ['__proto__', rt.tensor([1, 2])],
      ['constructor', rt.tensor([3])],
    ]);
    const npz = await readNpz(rt, await writeNpz(named));
    const { tensors } = await readSafetensors(rt, await writeSafetensors(named));
    for (const read of [npz, tensors]) {
      expect(Object.keys(read).sort()).toEqual(['__proto__', 'constructor']);
      expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
      expect(await Object.getOwnPropertyDescriptor(read, '__proto__')!.value.array()).toEqual([1, 2]);
    }
  });

  it('keeps the permissions of a file it replaces, and the links to it', async () => {
    const [file, link, dangling] = ['private.npy', 'link.npy', 'dangling.npy'].map((n) => join(folder, n)) as [
      string,
      string,
      string,
    ];
    await writeNpy(rt.arange(1), file);
    await chmod(file, 0o600);
    await symlink('private.npy', link);
    await symlink('new.npy', dangling);
    await writeNpy(rt.arange(2), file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await writeNpy(rt.arange(3), link);
    await writeNpy(rt.arange(4), dangling);
    expect([await readlink(link), await readlink(dangling)]).toEqual(['private.npy', 'new.npy']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readNpy(rt, file)).size).toBe(3);
    expect((await readNpy(rt, join(folder, 'new.npy'))).size).toBe(4);
    await expect(writeNpy(rt.arange(1), folder)).rejects.toThrow(/EISDIR/);
    expect((await readdir(folder)).filter((n) => n.endsWith('.tmp'))).toEqual([]);
  });
});
