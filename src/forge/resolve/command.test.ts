import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { capture } from '../config/testing.ts';
import { nodePorts } from '../ports-node.ts';
import { frameworkOf, type ResolveFlags, runResolve } from './command.ts';
import { overrideOf } from './machine-for.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-resolve-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(flags: ResolveFlags, env: Record<string, string> = {}, isTTY = false) {
  const output = capture(isTTY);
  const ports = nodePorts({
    env: { HOME: folder, PATH: process.env.PATH, ...env },
    cacheFolder: join(folder, 'cache'),
  });
  const status = await runResolve(ports, flags, output);
  return { status, out: output.out, err: output.err };
}

const answer = async (flags: ResolveFlags) => JSON.parse((await run({ ...flags, json: true })).out);

describe('a machine that is not this one', () => {
  it.each([
    [{ for: ['RTX 4090'], driver: '570', os: 'linux', arch: 'x64' }, 'cu126'],
    [{ for: ['rtx4090'], driver: '595', os: 'windows', arch: 'x64' }, 'cu132'],
    [{ gpu: ['GTX 1080 Ti'], driver: '580', os: 'linux', arch: 'x64' }, 'cu126'],
    [{ for: ['GTX 1080 Ti,RTX 4090'], driver: '580', os: 'linux', arch: 'x64' }, 'cu126'],
    [{ for: ['sm_120'], driver: '570', os: 'linux', arch: 'x64' }, 'cu128'],
    [{ for: ['RX 7900 XTX'], os: 'linux', arch: 'x64' }, 'rocm7.2'],
    [{ for: ['gfx1103'], os: 'windows', arch: 'x64' }, 'rocm10.0.0'],
    [{ for: ['Arc B580'], os: 'linux', arch: 'x64' }, 'xpu'],
    [{ for: ['M3 Max'] }, 'mps'],
    [{ for: ['GB10'], driver: '580' }, 'cu130'],
    [{ for: ['H200'], driver: '580.159.04', os: 'linux', arch: 'x64' }, 'cu130'],
  ] as const)('%o gets %s', async (flags, variant) => {
    const result = await answer(flags);
    expect(result.status).toBe('ok');
    expect(result.choice.variant).toBe(variant);
    expect(result.overrides.length).toBeGreaterThan(0);
  });

  it('implies the processor and the system of a product', () => {
    expect(overrideOf({ for: ['M3 Max'] })).toMatchObject({ platform: 'macos', arch: 'arm64' });
    expect(
      overrideOf({ gpu: ['Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XTX],RTX 4090'] }).gpus,
    ).toHaveLength(2);
    for (const empty of ['', ' ', ',,']) expect(() => overrideOf({ gpu: [empty] }), empty).toThrow(/names no GPU/);
    expect(() => overrideOf({ forInstance: 'g5.xlarge', for: ['RTX 4090'] })).toThrow(/has its own GPU \(A10G\)/);
    expect(overrideOf({ for: ['GB10'] })).toMatchObject({ arch: 'arm64' });
    // Pasted from a page, with what cannot be seen.
    expect(overrideOf({ os: ' linux\u200b', arch: '\ufeffx64' })).toEqual({ platform: 'linux', arch: 'x64' });
    expect(frameworkOf('Torch\u200b ')).toBe('pytorch');
    expect(overrideOf({ os: 'win32', arch: 'AMD64' })).toEqual({ platform: 'windows', arch: 'x64' });
    expect(overrideOf({})).toEqual({});
  });

  it.each([
    [{ for: ['RTX 9999'] }, 'UNKNOWN_GPU'],
    [{ for: ['RTX 4090'], driver: 'new' }, 'FORGE_BAD_DRIVER'],
    [{ for: ['RTX 4090'], os: 'beos' }, 'FORGE_BAD_VALUE'],
    [{ framework: 'mxnet' }, 'FORGE_UNKNOWN_FRAMEWORK'],
    [{ python: '3' }, 'FORGE_BAD_PYTHON'],
    [{ check: 'latest please' }, 'FORGE_BAD_CHECK'],
    [{ data: '/nonexistent.json' }, 'FORGE_DATA_UNREADABLE'],
  ] as const)('%o is refused with status 2 and %s', async (flags, code) => {
    const { status, out } = await run({ ...flags, json: true } as ResolveFlags);
    expect(status).toBe(2);
    expect(JSON.parse(out).error.code).toBe(code);
  });
});

describe('gpuforge resolve', () => {
  const card = { for: ['RTX 4090'], driver: '570', os: 'linux', arch: 'x64' };

  it('prints the build, the reason, the command, the proof and the sources', async () => {
    const { status, out } = await run(card);
    expect(status).toBe(0);
    expect(out).toMatch(/^for GPU: RTX 4090, driver: 570/);
    expect(out).toMatch(/torch 2\.14\.1 cu126 {2}Python 3\.12/);
    expect(out).toMatch(/driver 570 → CUDA 12\.8 → torch 2\.14\.1 cu126, because cu132 and cu130/);
    expect(out).toContain(
      'python -m pip install --extra-index-url https://download.pytorch.org/whl/cu126 torch==2.14.1+cu126',
    );
    expect(out).toMatch(/kernels {3}cu126 holds sm_86 kernels/);
    expect(out).toMatch(/\[1\] https:\/\//);
    expect(out).not.toContain('\u001b');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
  });

  it('reads well where one Python fits and many builds do not', async () => {
    const { out } = await run({ for: ['Orin'], os: 'linux' });
    expect(out).toContain('Python 3.10 (no other fits)');
    expect(out).toContain('comes with its JetPack');
    expect(out).not.toMatch(/install that branch/);
    const arc = (await run({ for: ['Arc A770'], os: 'windows', arch: 'x64', python: '3.9' })).out;
    expect(arc.replaceAll(/\s+/g, ' ')).toContain('torch 2.8.0 xpu, because newer releases need Python 3.10 at least');
    expect(arc.split('newer releases')).toHaveLength(2);
    expect(out).toContain('Python 3.10: the range is 3.10 only');
    expect(out.replaceAll(/\s+/g, ' ')).toContain('because sm_87 is not in cu132, cu130, cu128 and cu126');
  });

  it('-v also shows what was rejected and the time', async () => {
    const { out } = await run({ ...card, verbose: true });
    expect(out).toMatch(/Rejected[\s\S]*torch 2\.14\.1 cu130 +driver +cu130 needs driver 580/);
    expect(out).toMatch(/detect [\d.]+ ms, resolve [\d.]+ ms/);
  });

  it('--check judges one build', async () => {
    expect(await answer({ ...card, check: 'torch==2.11.0+cu128' })).toMatchObject({
      status: 'ok',
      choice: { version: '2.11.0', variant: 'cu128' },
    });
    expect(await answer({ ...card, check: 'cu130' })).toMatchObject({
      status: 'none',
      waysOut: expect.arrayContaining([expect.objectContaining({ kind: 'variant' })]),
    });
    expect(await answer({ ...card, check: 'jax[cuda12]==0.11.1' })).toMatchObject({ status: 'ok', framework: 'jax' });
    expect(await answer({ ...card, check: '2.9' })).toMatchObject({ status: 'ok', choice: { version: '2.9.1' } });
    expect((await run({ ...card, check: 'cu130' })).status).toBe(1);
  });

  it('--all lists every build', async () => {
    const { out, status } = await run({ ...card, all: true });
    expect(status).toBe(0);
    expect(out.split('\n').length).toBeGreaterThan(10);
    expect((await answer({ ...card, all: true })).builds[0]).toMatchObject({ version: '2.14.1', variant: 'cu126' });
    expect((await run({ for: ['RTX 5090'], driver: '550', os: 'linux', all: true })).status).toBe(1);
  });

  it('says no with status 1 and ways out', async () => {
    const { status, out } = await run({ for: ['RTX 5090'], driver: '550', os: 'linux', arch: 'x64' });
    expect(status).toBe(1);
    expect(out).toMatch(
      /No build fits[\s\S]*too old for NVIDIA GeForce RTX 5090 itself[\s\S]*Ways out\n {2}- update the driver to R580/,
    );
  });

  it('--data replaces tables, and old ones are warned about', async () => {
    const file = join(folder, 'own.json');
    const row = { source: 'https://example.org/', reviewed: '2020-01-01' };
    writeFileSync(
      file,
      JSON.stringify({
        python: { schema: 1, title: 'x', reviewed: '2020-01-01', versions: [{ version: '3.13', ...row }] },
      }),
    );
    const { out, err } = await run({ ...card, data: file });
    expect(out).toMatch(/Python 3\.13/);
    expect(err).toMatch(/warning: the compatibility tables were last reviewed on 2020-01-01/);
  });

  it('takes what the environment describes', async () => {
    const { out } = await run(
      { json: true, os: 'linux', arch: 'x64' },
      { GPUFORGE_GPU: 'RTX 5090', GPUFORGE_DRIVER: '580' },
    );
    expect(JSON.parse(out)).toMatchObject({ status: 'ok', choice: { variant: 'cu130' } });
  });

  it('--no-cache leaves no trace, and the configuration can switch the cache off', async () => {
    await run({ ...card, cache: false });
    expect(existsSync(join(folder, 'cache'))).toBe(false);
    await run(card, { GPUFORGE_CACHE: 'off' });
    expect(existsSync(join(folder, 'cache'))).toBe(false);
    await run(card);
    expect(existsSync(join(folder, 'cache'))).toBe(true);
  });

  it('colours a terminal, unless --no-color, NO_COLOR or the configuration says no', async () => {
    const painted = async (flags: ResolveFlags, env: Record<string, string> = {}) =>
      (await run(flags, env, true)).out.includes('\u001b[');
    expect(await painted(card)).toBe(true);
    expect(await painted({ ...card, color: false })).toBe(false);
    expect(await painted(card, { NO_COLOR: '1' })).toBe(false);
    const file = join(folder, 'config.json');
    writeFileSync(file, '{"output": {"color": "never"}}');
    expect(await painted(card, { GPUFORGE_CONFIG: file })).toBe(false);
  });

  it('--cpu-only ignores the GPU', async () => {
    expect(await answer({ ...card, cpuOnly: true })).toMatchObject({ choice: { backend: 'cpu' } });
  });
});

describe('builds side by side, instances and mirrors', () => {
  const base: ResolveFlags = {
    for: ['GTX 1080 Ti'],
    driver: '580',
    os: 'linux',
    arch: 'x64',
    cache: false,
    color: false,
  };
  const go = (flags: ResolveFlags, env: Record<string, string> = {}) => run({ ...base, ...flags }, env);

  it('says where two builds part', async () => {
    const { out, status } = await go({ compare: ['torch==2.14.1+cu126', 'cu130'] });
    expect(status).toBe(1);
    expect(out).toMatch(/torch 2\.14\.1 cu126\s+runs here/);
    expect(out).toMatch(/torch 2\.14\.1 cu130\s+does not run here/);
    expect(out).toMatch(/part at the check kernels/);
    expect(JSON.parse((await go({ compare: ['cu126', 'cu130'], json: true })).out).differsAt).toBe('kernels');
    expect((await go({ compare: ['cu126'] })).status).toBe(2);
    expect((await go({ compare: ['9.9', 'cu126'] })).out).toMatch(
      /part before any check:\n {2}9\.9: no build of pytorch 9\.9 is known: the tables hold 1\.13\.1 to/,
    );
    expect((await go({ compare: ['torch==2.13.0+cu130', 'torch==2.14.1+cu130'] })).out).toMatch(
      /neither runs here:\n.*2\.13\.0.*holds no kernels.*\n.*2\.14\.1.*holds no kernels/,
    );
    const newer = { for: ['RTX 5090'], driver: '580' };
    const both = await go({ ...newer, compare: ['torch==2.14.1+cu132', 'torch==2.14.1+cu130'] });
    expect(both.out).toMatch(/both run; they differ at the check driver:\n.*minor-version compatibility/);
    expect((await go({ ...newer, compare: ['cu130', 'cu130'] })).out).toContain('no check tells them apart');
  });

  it('rejects no build for a system that another row of it serves', async () => {
    const { out } = await go({ for: ['RTX 4090'], driver: '580', verbose: true });
    expect(out).not.toMatch(/cu13\d has no wheel for linux x64/);
  });

  it('knows the GPUs of cloud instances', async () => {
    const { out } = await go({ for: [], forInstance: 'g5.12xlarge', driver: '570', json: true });
    expect(JSON.parse(out).choice.gpus).toHaveLength(4);
    expect((await run({ forInstance: 'p6e-gb200.36xlarge', driver: '580', json: true })).out).toContain('linux arm64');
    expect((await go({ for: [], forInstance: 'g5.xlargee' })).status).toBe(2);
    expect((await go({ for: [], forInstance: 'p5.48xlarge' })).out).toMatch(/^for GPU: 8 × H100 SXM5, driver/);
  });

  it.each(['3.12.7', 'python3.12', '3.12'])('reads --python %s', async (python) => {
    expect(JSON.parse((await go({ python, json: true })).out).choice.python).toBe('3.12');
  });

  it('prints the addresses of the mirrors', async () => {
    const mirrors = {
      GPUFORGE_PYTORCH: 'https://mirror.example/torch',
      GPUFORGE_PYPI: 'https://mirror.example/simple',
    };
    const { out } = await go({}, mirrors);
    expect(out).toContain(
      '--index-url https://mirror.example/simple --extra-index-url https://mirror.example/torch/cu126',
    );
    expect(out).not.toContain('download.pytorch.org/whl/cu126 ');
  });
});
