// The set-up of the tests themselves: what it unpacks, and that nothing is skipped where it must be there.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { softwareGpu, tarFiles, unpack } from '../../scripts/software-gpu.mjs';
import { noWebGpu } from './webgpu.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-unpack-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A tar archive with one entry. */
function tar(name: string, text: string, { mode = 0o644, kind = '0' } = {}): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`000${mode.toString(8)}`.padStart(7, '0'), 100);
  header.write(text.length.toString(8).padStart(11, '0'), 124);
  header.write(kind, 156);
  const body = Buffer.alloc(Math.ceil(text.length / 512) * 512);
  body.write(text);
  return Buffer.concat([header, body]);
}

describe('a tar archive', () => {
  it('gives its regular files with their modes, and passes over folders', () => {
    const text = 'x'.repeat(700);
    const archive = Buffer.concat([
      tar('lib/', '', { kind: '5' }),
      tar('lib/a.so', text, { mode: 0o755 }),
      tar('b.json', '{}'),
      Buffer.alloc(1024),
    ]);
    expect([...tarFiles(archive)].map((f) => [f.name, f.mode, f.data.toString()])).toEqual([
      ['lib/a.so', 0o755, text],
      ['b.json', 0o644, '{}'],
    ]);
  });

  it.each([
    ['is cut off', tar('a', 'x'.repeat(600)).subarray(0, 1024), /a is cut off/],
    ['names a file outside of its folder', tar('../a', 'x'), /leaves its folder/],
    ['names a file by its whole path', tar('/etc/a', 'x'), /leaves its folder/],
  ])('that %s is refused', (_, archive, message) => {
    expect(() => [...tarFiles(archive)]).toThrow(message);
  });
});

describe('unpacking', () => {
  const from = join(folder, 'bin');
  const pack = (name: string, data: Buffer): void => writeFileSync(join(from, name), brotliCompressSync(data));
  mkdirSync(from);
  pack('chromium.br', Buffer.from('#!/bin/sh\n'));
  pack('swiftshader.tar.br', Buffer.concat([tar('libvulkan.so.1', 'loader'), tar('libEGL.so', 'egl')]));
  pack('al2023.tar.br', tar('lib/libnss3.so', 'nss'));
  pack('fonts.tar.br', Buffer.concat([tar('fonts.conf', 'theirs'), tar('fonts/a.ttf', 'font')]));
  const files = (at: string): string[] =>
    readdirSync(at, { recursive: true, withFileTypes: true })
      .filter((f) => f.isFile())
      .map((f) => join(f.parentPath, f.name).slice(at.length + 1))
      .sort();

  it('gives each reader its own folder', () => {
    const to = join(folder, 'one/unpacked');
    unpack(to, from);
    expect(files(to)).toEqual([
      'browser/chromium',
      'browser/libEGL.so',
      'browser/libvulkan.so.1',
      'fonts.conf',
      'fonts/fonts/a.ttf',
      'libraries/lib/libnss3.so',
      'vulkan/libvulkan.so.1',
    ]);
    expect(statSync(join(to, 'browser/chromium')).mode & 0o111).toBe(0o111);
    expect(readFileSync(join(to, 'fonts.conf'), 'utf8')).toContain('relative');
  });

  it('by several processes at once leaves one whole folder and nothing beside it', async () => {
    const to = join(folder, 'many/unpacked');
    const script = new URL('../../scripts/software-gpu.mjs', import.meta.url).href;
    const code = `import { unpack } from ${JSON.stringify(script)}; unpack(${JSON.stringify(to)}, ${JSON.stringify(from)});`;
    await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', code])));
    expect(files(to)).toHaveLength(7);
    expect(readdirSync(dirname(to))).toEqual(['unpacked']);
  });

  it('that fails leaves nothing, and says why', () => {
    const to = join(folder, 'none/unpacked');
    expect(() => unpack(to, join(folder, 'nowhere'))).toThrow(/ENOENT/);
    expect(readdirSync(folder)).not.toContain('none');
  });
});

describe('the environment', () => {
  it('may name another browser or none, and a Vulkan driver, which then stay', () => {
    expect(softwareGpu({ GPUFORGE_TEST_BROWSER: 'none' }).browser.reason).toMatch(/none/);
    expect(softwareGpu({ GPUFORGE_TEST_BROWSER: '/opt/own' }).browser).toEqual({ executablePath: '/opt/own', env: {} });
    expect(softwareGpu({ VK_ICD_FILENAMES: '/etc/own.json' }).dawn).toEqual({});
  });
});

// Without this a broken set-up would skip every WebGPU test, and the run would pass.
describe.runIf(process.platform === 'linux' && process.arch === 'x64')('on Linux x64', () => {
  const { browser, dawn } = softwareGpu({});

  it('the browser comes with the packages, and starts', async () => {
    if (browser.reason !== undefined) expect.fail(browser.reason);
    const { stdout } = await run(browser.executablePath, ['--version'], { env: { ...process.env, ...browser.env } });
    expect(stdout).toMatch(/Chrom/);
  });

  it('Dawn in Node finds a device', () => {
    expect(noWebGpu).toBeUndefined();
  });

  it('other programs find nothing but the Vulkan loader on the added path', () => {
    expect(readdirSync(dawn.LD_LIBRARY_PATH!).sort()).toEqual([
      'libvk_swiftshader.so',
      'libvulkan.so.1',
      'vk_swiftshader_icd.json',
    ]);
    expect(softwareGpu({ LD_LIBRARY_PATH: '/own' }).dawn.LD_LIBRARY_PATH).toMatch(/vulkan:\/own$/);
  });
});
