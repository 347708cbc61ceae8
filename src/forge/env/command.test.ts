// gpuforge env as a user calls it: what each flag changes, and what is never overwritten.

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, ports, run, useFolder } from '../../../test/forge/env-plans.ts';
import { hopeless, machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import { capture } from '../config/testing.ts';
import { known } from '../machine.ts';
import { type EnvFlags, runEnv } from './command.ts';

useFolder();

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

  it.each([
    ['uv', 'pyproject.toml'],
    ['conda', 'environment.yml'],
    ['pixi', 'pixi.toml'],
    ['requirements', 'requirements.txt'],
  ] as const)('names verify.py in the file of %s only where that is written too', async (format, file) => {
    await run('alone', { format });
    expect(readFileSync(join(folder, 'alone', file), 'utf8')).not.toMatch(/verify/);
    if (format === 'requirements') return;
    await run('both', { format: `${format},verify` });
    expect(readFileSync(join(folder, 'both', file), 'utf8')).toMatch(/verify/);
  });

  it('makes the virtual environment with the Python of the build, as the system writes that', async () => {
    expect((await run('demo', { format: 'requirements' })).out).toContain(
      'python3.12 -m venv .venv && . .venv/bin/activate',
    );
    const windows = await run('win', { format: 'requirements' }, machines['rtx4090-windows']!);
    expect(windows.out).toContain('py -3.12 -m venv .venv && .venv\\Scripts\\activate');
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
    ['a free-threaded Python', { python: '3.13t' }, /"3\.13t" is a free-threaded Python/],
    ['a Python of before 3', { python: '2.7' }, /no framework is built for Python 2\.7 any more/],
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

  it('names the mirror of PyPI in every file from which something is installed', async () => {
    const path = join(folder, 'config.json');
    writeFileSync(path, JSON.stringify({ mirrors: { pypi: 'https://mirror.example/simple' } }));
    // AMD's builds are not on conda-forge, so its file has packages for pip too.
    const formats = 'uv,requirements,conda,pixi,docker,apptainer,cloud-init,verify';
    const flags = { profile: 'nlp', format: formats };
    const output = capture();
    const on = { machine: machines.rx9070xt!, cwd: folder };
    expect(await runEnv(ports({ GPUFORGE_CONFIG: path }), 'demo', flags, output, on)).toBe(0);
    const files = readdirSync(join(folder, 'demo')).filter((name) => name !== 'verify.py');
    expect(files.length).toBe(7);
    for (const name of files)
      expect(readFileSync(join(folder, 'demo', name), 'utf8'), name).toContain('https://mirror.example/simple');
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
