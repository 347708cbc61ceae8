import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hopeless, machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import { capture } from '../config/testing.ts';
import { loadTables } from '../data/tables.ts';
import { explain } from '../explain/explain.ts';
import { known, type Machine } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { nodePorts } from '../ports-node.ts';
import { allProfiles, findProfile } from '../profiles/profiles.ts';
import { type EnvFlags, runEnv } from './command.ts';
import { checkName, planEnvironment } from './plan.ts';
import { difference, writeFiles } from './write.ts';
import { formats, render } from './writers.ts';

const { tables, reviewed } = loadTables();
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-env-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ports = (env: Record<string, string> = {}): Ports =>
  nodePorts({ env: { HOME: folder, PATH: process.env.PATH, ...env }, cacheFolder: join(folder, 'cache') });

async function run(
  name: string | undefined,
  flags: EnvFlags = {},
  on: Machine = machines['rtx4090-570']!,
  env: Record<string, string> = {},
) {
  const output = capture();
  const status = await runEnv(ports(env), name, flags, output, { machine: on, cwd: folder });
  return { status, out: output.out, err: output.err };
}

const plan = (
  on: Machine,
  profile: string,
  rest: { framework?: 'pytorch' | 'jax' | 'tensorflow'; python?: string; minimal?: boolean } = {},
) => {
  const profiles = allProfiles(tables);
  return planEnvironment(tables, {
    name: 'demo',
    machine: on,
    framework: 'pytorch',
    profile: findProfile(profiles, profile),
    profiles,
    dataReviewed: reviewed,
    ...rest,
  });
};

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

describe('profiles', () => {
  it('drive the output: every profile gives other packages', () => {
    const seen = new Set(
      allProfiles(tables).map((profile) =>
        plan(machines['rtx4090-595']!, profile.name)
          .selection.packages.map((use) => use.name)
          .join(),
      ),
    );
    expect(seen.size).toBe(8);
    for (const profile of allProfiles(tables)) {
      const made = plan(machines['rtx4090-595']!, profile.name);
      for (const file of render(made, ['uv', 'requirements']))
        for (const use of made.selection.packages)
          expect(file.content, `${profile.name} ${file.path}`).toContain(use.name);
    }
  });

  it('leave out what cannot install, and say why', () => {
    const left = (on: Machine, profile: string, rest = {}) =>
      Object.fromEntries(plan(on, profile, rest).selection.left.map((row) => [row.name, row.why]));
    expect(left(machines.rx7900xtx!, 'deep_learning')).toMatchObject({
      deepspeed: expect.stringContaining('not for rocm'),
      bitsandbytes: expect.stringContaining('not for rocm'),
    });
    expect(left(machines['rtx4090-windows']!, 'production')).toMatchObject({
      gunicorn: expect.stringContaining('not for windows-x64'),
    });
    expect(left(machines['rtx4090-595']!, 'nlp', { framework: 'jax' })).toMatchObject({
      transformers: expect.stringContaining('PyTorch only'),
      accelerate: expect.stringContaining('depends on torch'),
    });
    expect(left(machines['gtx1080ti-580']!, 'deep_learning')).toMatchObject({
      'flash-attn': expect.stringContaining('compute capability 8.0'),
    });
    expect(left(machines['rtx4090-595']!, 'nlp', { python: '3.15' })).toMatchObject({
      spacy: expect.stringContaining('Python 3.15'),
    });
  });

  it('bring the libraries of another framework', () => {
    const names = (framework: 'jax' | 'tensorflow') =>
      plan(machines['rtx4090-595']!, 'research', { framework }).selection.packages.map((use) => use.name);
    expect(names('jax')).toEqual(expect.arrayContaining(['flax', 'optax', 'orbax-checkpoint']));
    expect(names('tensorflow')).toContain('tensorflow-datasets');
  });

  it('change their content on a small card, and say so', () => {
    const small = plan(machine({ gpus: [nvidia('RTX 4060', '8.9', 8)], driver: '580' }), 'deep_learning');
    expect(small.selection.packages.map((use) => use.name)).not.toContain('deepspeed');
    expect(small.selection.notes.join()).toMatch(/below 12 GB of GPU memory weights are loaded in 4 or 8 bits/);
    expect(small.warnings.join()).toMatch(/wants at least 12 GB/);
    expect(plan(machines['rtx4090-570']!, 'deep_learning').selection.packages.map((use) => use.name)).toContain(
      'deepspeed',
    );
  });

  it('take torchvision from the index of torch, of the version that belongs to it', () => {
    const [uv] = render(plan(machines['rtx4090-570']!, 'computer_vision'), ['uv']);
    expect(uv!.content).toContain('torchvision==0.29.*');
    expect(uv!.content).toMatch(/torchvision = \[\n {2}\{ index = "pytorch-cu126"/);
    expect(render(plan(machines['rtx4090-570']!, 'nlp'), ['uv'])[0]!.content).not.toContain('torchvision');
  });

  it('pin exactly where the policy is exact', () => {
    const [uv] = render(plan(machines['rtx4090-570']!, 'production'), ['uv']);
    for (const pin of ['numpy==2.4.6', 'pandas==3.0.6', 'fastapi==0.142.2', 'gunicorn==26.2.0'])
      expect(uv!.content).toContain(`"${pin}"`);
    const old = render(plan(machines['rtx4090-570']!, 'production', { python: '3.10' }), ['uv'])[0]!.content;
    expect(old).toContain('"numpy==2.2.6"');
    expect(old).toContain('"scikit-learn==1.6.1"');
  });

  it('of every name can be recommended by some hardware', () => {
    const profiles = allProfiles(tables);
    const best = (on: Machine) =>
      planEnvironment(tables, { name: 'x', machine: on, framework: 'pytorch', profiles, dataReviewed: '' }).profile
        .name;
    const card = (gib: number, cores = 8) =>
      machine({ gpus: [nvidia('card', '8.9', gib)], driver: '580', host: { cores } });
    expect(best(card(24))).toBe('deep_learning');
    expect(best(card(141))).toBe('deep_learning');
    expect(best(card(16))).toBe('computer_vision');
    expect(best(card(12))).toBe('research');
    expect(best(card(8))).toBe('nlp');
    expect(best(card(8, 32))).toBe('reinforcement_learning');
    expect(best(card(6))).toBe('learning');
    expect(best(card(2))).toBe('lightweight');
    expect(best(machines['l4-kubernetes']!)).toBe('production');
    expect(best(machines['no-gpu']!)).toBe('lightweight');
  });

  it('score cards apart, explain every point, and give unknown memory no score', () => {
    const scores = (on: Machine) => plan(on, 'deep_learning').scores;
    const of = (on: Machine, profile: string) => scores(on).find((row) => row.profile === profile)!;
    const order = ['h200-580', 'rtx4090-595', 'gtx1080ti-580', 'gtx750ti-580', 'no-gpu'].map(
      (name) => of(machines[name]!, 'deep_learning').score!,
    );
    expect([...order].sort((a, b) => b - a)).toEqual(order);
    expect(new Set(order).size).toBe(order.length);
    for (const row of scores(machines['rtx4090-595']!)) {
      expect(row.parts.map((part) => part.name)).toEqual(['memory', 'use', 'compute', 'packages', 'place']);
      expect(Math.round(row.parts.reduce((sum, part) => sum + part.points, 0))).toBe(row.score);
      for (const part of row.parts) expect(part.points).toBeLessThanOrEqual(part.most);
      expect(row.score).toBeLessThanOrEqual(100);
    }
    expect(of(machines['gb10-spark']!, 'nlp')).toMatchObject({
      score: null,
      warnings: [expect.stringContaining('does not tell its memory')],
    });
  });
});

describe('profiles of the user', () => {
  const config = (profiles: unknown): Record<string, string> => {
    const path = join(folder, 'config.json');
    writeFileSync(path, JSON.stringify({ profiles }));
    return { GPUFORGE_CONFIG: path };
  };

  it('extend a shipped one and reach every file', async () => {
    const env = config({
      audio: {
        extends: 'learning',
        packages: ['librosa>=0.11', 'torchcodec[dev]'],
        remove: ['seaborn'],
        recommendedGiB: 6,
      },
    });
    const { status } = await run('demo', { profile: 'audio' }, machines['rtx4090-570']!, env);
    expect(status).toBe(0);
    const text = readFileSync(join(folder, 'demo', 'pyproject.toml'), 'utf8');
    expect(text).toContain('"librosa>=0.11"');
    expect(text).toContain('"torchcodec[dev]"');
    expect(text).toContain('"plotly>=6.0"');
    expect(text).not.toContain('seaborn');
    expect(readFileSync(join(folder, 'demo', 'environment.yml'), 'utf8')).toMatch(/- pip:\n {6}- "librosa>=0\.11"/);
  });

  it('stand alone', async () => {
    const env = config({ bare: { packages: ['einops'] } });
    expect((await run('demo', { profile: 'bare', format: 'uv' }, machines['rtx4090-570']!, env)).status).toBe(0);
    expect(readFileSync(join(folder, 'demo', 'pyproject.toml'), 'utf8')).toMatch(/"numpy>=2\.0",\n {2}"einops",/);
  });

  it('that extend each other in a circle, or nothing, are errors that name them', async () => {
    const circle = await run(
      'demo',
      { profile: 'a' },
      machines['rtx4090-570']!,
      config({ a: { extends: 'b', packages: [] }, b: { extends: 'a', packages: [] } }),
    );
    expect(circle).toMatchObject({ status: 2, err: expect.stringContaining('a → b → a') });
    const lost = await run(
      'demo',
      { profile: 'a' },
      machines['rtx4090-570']!,
      config({ a: { extends: 'lost', packages: [] } }),
    );
    expect(lost).toMatchObject({ status: 2, err: expect.stringContaining('extends "lost", which does not exist') });
  });
});

describe('gpuforge env', () => {
  it('writes every file once, and a second run changes nothing', async () => {
    const first = await run('demo');
    expect(first.status).toBe(0);
    expect(readdirSync(join(folder, 'demo')).sort()).toEqual([
      '.devcontainer',
      'Dockerfile',
      'environment.yml',
      'pixi.toml',
      'pyproject.toml',
      'requirements.txt',
      'verify.py',
    ]);
    expect(first.out).toMatch(/wrote\s+demo\/pyproject\.toml/);
    expect(first.out).toMatch(/uv sync --extra cu126\n\s+uv run --extra cu126 python verify\.py/);
    const before = statSync(join(folder, 'demo', 'verify.py')).mtimeMs;
    const second = await run('demo');
    expect(second.out).not.toMatch(/wrote|replaced/);
    expect(statSync(join(folder, 'demo', 'verify.py')).mtimeMs).toBe(before);
  });

  it('never overwrites without --force, and then only what differs', async () => {
    await run('demo');
    const file = join(folder, 'demo', 'requirements.txt');
    writeFileSync(file, 'mine\n');
    const refused = await run('demo');
    expect(refused).toMatchObject({
      status: 2,
      err: expect.stringContaining('exists and differs; nothing was written'),
    });
    expect(readFileSync(file, 'utf8')).toBe('mine\n');
    const forced = await run('demo', { force: true });
    expect(forced.out).toMatch(/replaced\s+demo\/requirements\.txt/);
    expect(forced.out).toMatch(/unchanged\s+demo\/pyproject\.toml/);
    expect(readFileSync(file, 'utf8')).toContain('torch==2.14.1+cu126');
  });

  it('keeps a copy of what --force replaces where the configuration says so', async () => {
    await run('demo', { format: 'requirements' });
    writeFileSync(join(folder, 'demo', 'requirements.txt'), 'mine\n');
    const path = join(folder, 'config.json');
    writeFileSync(path, '{"env": {"backup": true}}');
    await run('demo', { format: 'requirements', force: true }, machines['rtx4090-570']!, { GPUFORGE_CONFIG: path });
    expect(readFileSync(join(folder, 'demo', 'requirements.txt.bak'), 'utf8')).toBe('mine\n');
  });

  it('--dry-run writes nothing and shows the difference', async () => {
    const dry = await run('demo', { dryRun: true });
    expect(dry.out).toMatch(/would write\s+demo\/pyproject\.toml/);
    expect(existsSync(join(folder, 'demo'))).toBe(false);
    await run('demo');
    writeFileSync(join(folder, 'demo', 'requirements.txt'), 'mine\n');
    const again = await run('demo', { dryRun: true });
    expect(again.out).toMatch(/differs: needs --force\s+demo\/requirements\.txt/);
    expect(again.out).toMatch(/- mine/);
    expect(again.out).toMatch(/\+ torch==2\.14\.1\+cu126/);
  });

  it('--format and --output choose files and folder', async () => {
    expect((await run('demo', { format: 'uv,verify', output: 'there' })).status).toBe(0);
    expect(readdirSync(join(folder, 'there')).sort()).toEqual(['pyproject.toml', 'verify.py']);
    expect((await run('demo', { format: 'devcontainer', output: 'box' })).status).toBe(0);
    expect(readdirSync(join(folder, 'box')).sort()).toEqual(['.devcontainer', 'Dockerfile', 'verify.py']);
  });

  it('--cpu-only, --minimal, --framework and --python change what is written', async () => {
    const text = async (flags: EnvFlags) => {
      expect((await run('demo', { ...flags, format: 'requirements', force: true })).status).toBe(0);
      return readFileSync(join(folder, 'demo', 'requirements.txt'), 'utf8');
    };
    expect(await text({ cpuOnly: true })).toContain('torch==2.14.1+cpu');
    expect((await text({ minimal: true })).split('\n').filter((line) => /^[a-z]/.test(line))).toEqual([
      'torch==2.14.1+cu126',
      'numpy==2.4.6',
    ]);
    expect(await text({ framework: 'jax' })).toContain('jax[cuda12]==0.11.1');
    expect(await text({ framework: 'tf' })).toContain('tensorflow[and-cuda]==2.21.0');
    expect(await text({ python: '3.11' })).toContain('Python 3.11');
  });

  it.each([
    ['an unknown profile', { profile: 'nlpp' }, /unknown profile "nlpp"[\s\S]*Did you mean nlp/],
    ['an unknown framework', { framework: 'pytoch' }, /unknown framework "pytoch"[\s\S]*Did you mean pytorch/],
    ['an unknown format', { format: 'uv,exe' }, /unknown format "exe"/],
    ['no Python version', { python: 'three' }, /is no Python version/],
    ['a data file that is not there', { data: '/nonexistent.json' }, /cannot read/],
  ] as const)('%s is an error with status 2, and nothing is written', async (_what, flags, message) => {
    const { status, err, out } = await run('demo', flags);
    expect(status).toBe(2);
    expect(err).toMatch(message);
    expect(out).toBe('');
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(Object.keys(hopeless))('%s ends with status 1, the reason and nothing written', async (name) => {
    const { status, err } = await run('demo', {}, hopeless[name]!);
    expect(status).toBe(1);
    expect(err).toMatch(/^error: no build of pytorch fits: /);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('a Python that nothing supports ends with status 1 and the range that fits', async () => {
    const { status, err } = await run('demo', { python: '3.6' });
    expect(status).toBe(1);
    expect(err).toMatch(/use Python 3\.12 \(3\.10 to 3\.15 fit\)/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('without a name is an error', async () => {
    expect(await run(undefined)).toMatchObject({ status: 2, err: expect.stringContaining('needs a name') });
  });

  it('--profiles lists scores and writes nothing', async () => {
    const { status, out } = await run(undefined, { profiles: true });
    expect(status).toBe(0);
    expect(out).toMatch(/deep_learning\s+\d+\s+memory/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('--json is pure JSON, for success and failure', async () => {
    const good = await run('demo', { json: true });
    expect(JSON.parse(good.out)).toMatchObject({
      schema: 'gpuforge.env/1',
      name: 'demo',
      choice: { variant: 'cu126' },
      files: expect.arrayContaining([expect.objectContaining({ state: 'new' })]),
    });
    const bad = await run('demo', { json: true, profile: 'x' });
    expect(JSON.parse(bad.out)).toMatchObject({ schema: 'gpuforge.env/1', error: { code: 'FORGE_UNKNOWN_PROFILE' } });
    expect(bad.err).toBe('');
  });

  it('reads defaults, mirrors and old tables from the configuration', async () => {
    const path = join(folder, 'config.json');
    writeFileSync(
      path,
      JSON.stringify({
        env: { framework: 'pytorch', profile: 'nlp', formats: ['uv'] },
        mirrors: { pytorch: 'https://mirror.example/torch/', pypi: 'https://mirror.example/simple' },
        data: { maxAgeMonths: 1 },
      }),
    );
    const output = capture();
    const late = { ...ports({ GPUFORGE_CONFIG: path }), now: () => Date.parse('2027-11-15T00:00:00Z') };
    expect(await runEnv(late, 'demo', {}, output, { machine: machines['rtx4090-570']!, cwd: folder })).toBe(0);
    const text = readFileSync(join(folder, 'demo', 'pyproject.toml'), 'utf8');
    expect(text).toContain('url = "https://mirror.example/torch/cu126"');
    expect(text).toMatch(/name = "pypi"\nurl = "https:\/\/mirror\.example\/simple"\ndefault = true/);
    expect(text).toContain('"nltk>=3.9"');
    expect(readdirSync(join(folder, 'demo'))).toEqual(['pyproject.toml']);
    expect(output.err).toMatch(/last reviewed on 2026-11-15, 12 months ago/);
  });

  it('warns about a broken configuration and goes on', async () => {
    const path = join(folder, 'config.json');
    writeFileSync(path, '{ "env": ');
    const { status, err } = await run('demo', { format: 'uv' }, machines['rtx4090-570']!, { GPUFORGE_CONFIG: path });
    expect(status).toBe(0);
    expect(err).toMatch(/config\.json:1:\d+: the file ends too early/);
  });

  it('keeps hostile names of hardware out of the files', async () => {
    const evil = machine({
      gpus: [
        nvidia('x\n[project]\nname = "evil"\n# ', '8.9', 24, { name: known('x\nRUN rm -rf /\n"]}\u0007', 'sysfs') }),
      ],
      driver: '580',
    });
    expect((await run('demo', {}, evil)).status).toBe(0);
    for (const format of ['pyproject.toml', 'Dockerfile', 'requirements.txt', 'verify.py']) {
      const text = readFileSync(join(folder, 'demo', format), 'utf8');
      expect(text).not.toMatch(/^RUN rm/m);
      expect(text).not.toContain('\u0007');
    }
  });
});

describe('verify.py', () => {
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['--version']).status === 0);
  // A module named torch that stands in the way of the real one, so that the script meets the fault on any machine.
  const check = (torch: string, on: Machine = machines['rtx4090-570']!) => {
    mkdirSync(join(folder, 'lib'), { recursive: true });
    writeFileSync(join(folder, 'lib', 'torch.py'), torch);
    const [file] = render(plan(on, 'learning'), ['verify']);
    const script = join(folder, 'verify.py');
    writeFileSync(script, file!.content);
    const run = spawnSync(python!, [script], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: join(folder, 'lib') },
    });
    return { status: run.status, out: run.stdout, err: run.stderr };
  };

  it.skipIf(python === undefined)(
    'ends with 2 when the framework cannot be loaded, in words that explain understands',
    () => {
      const { status, out } = check(
        "raise OSError('libcudart.so.13: cannot open shared object file: No such file or directory')",
      );
      expect(status).toBe(2);
      expect(out).toMatch(/^FAIL {2}import torch: OSError/);
      expect(explain(out)[0]!.code).toBe('cuda-lib-missing');
    },
  );

  it.skipIf(python === undefined)('ends with 1 when the framework sees no device', () => {
    const stub =
      "__version__ = '2.14.1+cu126'\nclass version: cuda = '12.6'\nclass cuda:\n    is_available = staticmethod(lambda: False)\n";
    const { status, out, err } = check(stub);
    expect(err).toBe('');
    expect(status).toBe(1);
    expect(out).toMatch(
      /torch 2\.14\.1\+cu126, built for CUDA\/ROCm 12\.6, expected 2\.14\.1 cu126\nFAIL {2}torch sees no GPU/,
    );
  });

  const real = python !== undefined && spawnSync(python, ['-c', 'import torch']).status === 0;
  it('runs a real kernel where torch is installed', ({ skip }) => {
    if (!real) skip('torch is not installed in this Python: the kernel was not run');
    const [file] = render(plan(machines['no-gpu']!, 'learning'), ['verify']);
    writeFileSync(join(folder, 'verify.py'), file!.content);
    const run = spawnSync(python!, [join(folder, 'verify.py')], { encoding: 'utf8' });
    expect(run.stdout).toMatch(/ok {4}cpu .* error \d/);
    expect(run.status).toBe(0);
  });
});

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
