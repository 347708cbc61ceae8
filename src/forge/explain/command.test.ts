import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machines } from '../../../test/forge/fixtures/targets.ts';
import { capture } from '../config/testing.ts';
import { nodePorts } from '../ports-node.ts';
import { type ExplainFlags, type Input, runExplain } from './command.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-explain-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(
  words: readonly string[],
  flags: ExplainFlags = { machine: false },
  input: Partial<Input> = {},
  on?: (typeof machines)[string],
) {
  const output = capture();
  const ports = nodePorts({ env: { HOME: folder }, cacheFolder: join(folder, 'cache') });
  const status = await runExplain(ports, words, flags, output, { isTTY: true, read: async () => '', ...input }, on);
  return { status, out: output.out, err: output.err };
}

describe('gpuforge explain', () => {
  const text = 'RuntimeError: CUDA error: no kernel image is available for execution on the device';

  it('takes a text, a file and standard input', async () => {
    expect((await run([text])).out).toMatch(/no-kernel-image/);
    expect((await run(text.split(' '))).out).toMatch(/no-kernel-image/);
    const file = join(folder, 'train.log');
    writeFileSync(file, `step 1\n${text}\n`);
    expect((await run([file])).out).toMatch(/line 2: RuntimeError/);
    expect((await run(['-'], { machine: false }, { read: async () => text })).out).toMatch(/no-kernel-image/);
    expect((await run([], { machine: false }, { isTTY: false, read: async () => text })).out).toMatch(
      /no-kernel-image/,
    );
  });

  it('prints cause, evidence, numbered steps and links, with the facts of the machine', async () => {
    const { out, status } = await run([text], {}, {}, machines['gtx1080ti-580']!);
    expect(status).toBe(0);
    expect(out).toMatch(/^error {2}The build has no kernels for this GPU {2}no-kernel-image, high confidence/);
    expect(out).toMatch(/this machine: NVIDIA GeForce GTX 1080 Ti \(6\.1\), driver 580\.95\.05/);
    expect(out).toMatch(/1\. Install torch 2\.14\.1 cu126/);
    expect(out).toMatch(/https:\/\/github\.com\/pytorch/);
    expect(out).not.toContain('\u001b');
  });

  it('works for another machine', async () => {
    const { out } = await run([text], { for: ['RTX 5090'], driver: '570', os: 'linux', json: true });
    expect(JSON.parse(out).explanations[0].fix[0].command).toContain('torch==2.11.0+cu128');
  });

  it('answers an unknown text honestly with status 1', async () => {
    const { status, out } = await run(['everything is fine']);
    expect(status).toBe(1);
    expect(out).toMatch(/No known error was recognised/);
    expect(JSON.parse((await run(['fine'], { machine: false, json: true })).out)).toEqual({
      schema: 'gpuforge.explain/1',
      explanations: [],
    });
  });

  it('refuses nothing, a folder and a file that is not there with status 2', async () => {
    expect(await run([])).toMatchObject({ status: 2, err: expect.stringContaining('nothing to explain') });
    expect(await run([folder])).toMatchObject({ status: 2, err: expect.stringContaining('is a folder') });
    expect(await run(['./missing.log'])).toMatchObject({ status: 2, err: expect.stringContaining('there is no file') });
  });

  it('--limit bounds the answers', async () => {
    const many = 'CUDA_ERROR_ILLEGAL_ADDRESS\nFailed to initialize NVML: Unknown Error\nexternally-managed-environment';
    const count = async (limit: number) =>
      JSON.parse((await run([many], { machine: false, json: true, limit })).out).explanations.length;
    expect(await count(1)).toBe(1);
    expect(await count(3)).toBe(3);
  });
});
