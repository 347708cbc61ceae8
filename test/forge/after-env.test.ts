// What follows the files: containers that check what they install, installing, locking, wheels, verify, profiles, data.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { capture } from '../../src/forge/config/testing.ts';
import { runData } from '../../src/forge/data/command.ts';
import { loadTables } from '../../src/forge/data/tables.ts';
import { type EnvFlags, runEnv } from '../../src/forge/env/command.ts';
import { type InstallPort, installCommands } from '../../src/forge/env/install.ts';
import { type EnvPlan, planEnvironment } from '../../src/forge/env/plan.ts';
import { runVerify } from '../../src/forge/env/verify-run.ts';
import { formats, render } from '../../src/forge/env/writers.ts';
import { known, type Machine } from '../../src/forge/machine.ts';
import { nodePorts } from '../../src/forge/ports-node.ts';
import { runProfiles } from '../../src/forge/profiles/command.ts';
import { allProfiles } from '../../src/forge/profiles/profiles.ts';
import { machine, machines, nvidia } from './fixtures/targets.ts';

const { tables, reviewed } = loadTables();
const planFor = (name: string): EnvPlan => planOf(machines[name]!);
const planOf = (on: Machine): EnvPlan =>
  planEnvironment(tables, {
    name: 'demo',
    machine: on,
    framework: 'pytorch',
    profiles: allProfiles(tables),
    dataReviewed: reviewed,
  });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-after-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const ports = (env: Record<string, string> = {}) =>
  nodePorts({ env: { HOME: folder, PATH: process.env.PATH, ...env }, cacheFolder: join(folder, 'cache') });

describe('a container', () => {
  it.each(['h200-580', 'm3-max', 'rtx4090-windows', 'rx7800xt-windows', 'mi300x', 'no-gpu'])(
    'for %s checks the build that it installs',
    (name) => {
      const plan = planFor(name);
      const files = render(plan, formats);
      const dockerfile = files.find(({ path }) => path === 'Dockerfile')!.content;
      const script = /^COPY (\S+) \/opt\/verify\.py$/m.exec(dockerfile)![1]!;
      const check = files.find(({ path }) => path === script)!.content;
      const { choice } = plan.container;
      expect(check).toContain(`EXPECTED_VERSION = "${choice.version}"`);
      expect(check).toContain(`EXPECTED_VARIANT = "${choice.variant}"`);
      expect(dockerfile).toContain(choice.version);
      const definition = files.find(({ path }) => path === 'demo.def')!.content;
      expect(definition).toContain(`${script} /opt/verify.py`);
      expect(definition).toMatch(/^Bootstrap: docker\nFrom: \S+$/m);
      for (const section of ['%files', '%post', '%environment', '%runscript'])
        expect(definition).toContain(`\n${section}\n`);
    },
  );

  it('hands the GPU in by the flag of its vendor', () => {
    const definition = (name: string) =>
      render(planFor(name), ['apptainer']).find(({ path }) => path === 'demo.def')!.content;
    expect(definition('h200-580')).toContain('apptainer run --nv demo.sif');
    expect(definition('mi300x')).toContain('apptainer run --rocm demo.sif');
    expect(definition('no-gpu')).toContain('apptainer run demo.sif');
  });

  it('on a board takes the image of its JetPack and the runtime that hands the board in', () => {
    const board = known({ model: 'Jetson AGX Orin', soc: 'tegra234', l4t: '36.4.3' }, 'device-tree');
    const orin = nvidia('Jetson AGX Orin', '8.7', 60, { tegra: true });
    const plan = planOf(machine({ gpus: [orin], driver: '540.4.0', arch: 'arm64', host: { board } }));
    const [file] = render(plan, ['docker', 'verify']);
    expect(file!.content).toMatch(/^FROM nvcr\.io\/nvidia\/l4t-jetpack:r36/m);
    expect(file!.content).toMatch(/docker run .*--runtime=nvidia/);
    expect(file!.content).not.toContain('--gpus');
  });

  it('in a cloud gets driver, environment and check', () => {
    const [file] = render(planFor('a10g-cloud'), ['cloud-init']);
    expect(file!.path).toBe('cloud-init.yaml');
    expect(file!.content).toMatch(/^#cloud-config\n/);
    expect(file!.content).toMatch(/nvidia-driver-580-server/);
    expect(file!.content).toContain('/opt/demo/verify.py');
    expect(render(planFor('mi300x'), ['cloud-init'])[0]!.content).not.toContain('nvidia-driver');
  });
});

interface Fake extends InstallPort {
  readonly ran: string[];
  readonly written: Record<string, string>;
}

function fake(
  options: Partial<InstallPort> & { readonly tools?: readonly string[]; readonly fails?: RegExp } = {},
): Fake {
  const ran: string[] = [];
  const written: Record<string, string> = {};
  return {
    ran,
    written,
    run: async (program, args) => {
      ran.push([program, ...args].join(' '));
      return options.fails?.test(ran.at(-1)!) ? 1 : 0;
    },
    has: (name) => (options.tools ?? ['uv', 'python3', 'pixi']).includes(name),
    pythonVersion: () => '3.12',
    platform: 'linux-x64',
    freeBytes: () => 500e9,
    isRoot: false,
    hashes: () => ({}),
    read: (file) => written[file],
    write: (file, text) => {
      written[file] = text;
    },
    ...options,
  };
}

async function env(flags: EnvFlags, tools: InstallPort, confirm?: boolean, variables: Record<string, string> = {}) {
  const output = capture(false);
  const status = await runEnv(ports(variables), 'demo', { cache: false, color: false, ...flags }, output, {
    machine: machines['rtx4090-570']!,
    cwd: folder,
    tools,
    ...(confirm === undefined ? {} : { confirm: async () => confirm }),
  });
  return { status, out: output.out, err: output.err };
}

describe('env --install', () => {
  it('says how large it is, asks, installs and checks', async () => {
    const tools = fake();
    const { status, err } = await env({ install: true }, tools, true);
    expect(err).toMatch(/About [\d.]+ GB to download, [\d.]+ GB on disk/);
    expect(tools.ran).toEqual(['uv sync --extra cu126', 'uv run --extra cu126 python verify.py']);
    expect(status).toBe(0);
  });

  it.each([
    ['nobody agrees', fake(), false, {}, /Nothing was installed/],
    ['nobody can be asked', fake(), undefined, {}, /Nothing was installed/],
    ['the disk is too small', fake({ freeBytes: () => 2e9 }), true, {}, /only 2\.0 GB are free/],
    ['this is root', fake({ isRoot: true }), true, {}, /this is root/],
    ['the setting says never', fake(), true, { GPUFORGE_INSTALL: 'never' }, /Nothing was installed/],
    ['no tool is there', fake({ tools: [] }), true, {}, /uv \(for pyproject\.toml\), Python/],
  ] as const)('does nothing where %s', async (_, tools, confirm, variables, expected) => {
    const { status, err } = await env({ install: true }, tools, confirm, variables);
    expect(status).toBe(1);
    expect(err).toMatch(expected);
    expect(tools.ran).toEqual([]);
  });

  it('keeps the files after a failure and says how to go on', async () => {
    const tools = fake({ fails: /sync/ });
    const { status, err } = await env({ install: true, yes: true }, tools);
    expect(status).toBe(1);
    expect(err).toMatch(/go on with: cd .*demo && uv sync/);
    expect(tools.ran).toHaveLength(1);
  });

  it('explains what the tool said, or tells how to have it explained', async () => {
    const words = 'ERROR: No matching distribution found for torch==2.14.1+cu126\n';
    const tools = fake({
      run: async (_program, _args, _cwd, hear) => {
        hear?.(words);
        return 1;
      },
    });
    const flags = { install: true, yes: true, format: 'requirements' };
    expect((await env(flags, tools)).err).toMatch(/go on with: .*\n\n.+\n {2}1\. /);
    expect((await env(flags, fake({ fails: /venv/ }))).err).toMatch(/-m venv \.venv 2>&1 \| gpuforge explain -/);
  });

  it('is refused offline, and runs unasked where the setting says so', async () => {
    expect((await env({ install: true, yes: true }, fake(), true, { GPUFORGE_OFFLINE: '1' })).status).toBe(2);
    expect((await env({ install: true }, fake(), undefined, { GPUFORGE_INSTALL: 'always' })).status).toBe(0);
  });

  it('takes the Python that the versions are pinned for, and no shim without one behind it', async () => {
    const flags = { install: true, yes: true, format: 'requirements' };
    const versions: Record<string, string | undefined> = { 'python3.12': undefined, python3: '3.11', python: '3.12' };
    const tools = fake({ tools: Object.keys(versions), pythonVersion: (name) => versions[name] });
    expect((await env(flags, tools)).status).toBe(0);
    expect(tools.ran[0]).toBe('python -m venv .venv');
    const other = fake({ tools: ['python3'], pythonVersion: () => '3.11' });
    const { err } = await env(flags, other);
    expect(err).toContain('The versions are pinned for Python 3.12, and python3 is 3.11');
    expect(other.ran[0]).toBe('python3 -m venv .venv');
    const none = fake({ tools: ['python3.12'], pythonVersion: () => undefined });
    expect((await env(flags, none)).err).toMatch(/Python \(for requirements\.txt\) is not here/);
    expect(none.ran).toEqual([]);
  });

  it('installs nothing that is for another system', async () => {
    const tools = fake({ platform: 'macos-arm64' });
    for (const flags of [{ install: true, yes: true }, { wheelhouse: 'wheels' }]) {
      const { status, err } = await env(flags, tools);
      expect([status, err]).toEqual([
        2,
        expect.stringContaining('the files are for linux-x64, and this is macos-arm64'),
      ]);
    }
    expect(tools.ran).toEqual([]);
  });

  it('uses the tool whose file was written', () => {
    const plan = planFor('rtx4090-570');
    const all = () => true;
    expect(installCommands(plan, ['requirements'], all).map(([, ...args]) => args.join(' '))).toContain(
      '-m pip install -r requirements.txt',
    );
    expect(installCommands(plan, ['pixi', 'verify'], all)).toEqual([['pixi', 'run', 'verify']]);
    expect(installCommands(plan, ['conda'], all)).toEqual([['conda', 'env', 'create', '-f', 'environment.yml']]);
    expect(installCommands(plan, ['docker'], all)).toEqual([]);
  });
});

describe('env --lock and --wheelhouse', () => {
  it('lock by the tools that are there', async () => {
    const tools = fake();
    expect((await env({ lock: true }, tools)).status).toBe(0);
    expect(tools.ran).toEqual(['uv lock', 'pixi lock']);
    expect((await env({ lock: true }, fake({ tools: [] }))).status).toBe(1);
  });

  it('download with hashes, and refuse a wheel that changed', async () => {
    const hash = 'a'.repeat(64);
    const tools = fake({ hashes: () => ({ 'torch.whl': hash }) });
    expect((await env({ wheelhouse: 'wheels' }, tools)).status).toBe(0);
    expect(tools.ran[0]).toMatch(/^python3 -m pip download --dest .*wheels/);
    const sums = join(folder, 'wheels', 'SHA256SUMS');
    expect(tools.written[sums]).toBe(`${hash}  torch.whl\n`);
    const older = fake({ hashes: () => ({}), pythonVersion: () => '3.11' });
    await env({ wheelhouse: 'wheels' }, older);
    expect(older.ran[0]).toMatch(/pip download --python-version 3\.12 --only-binary :all: --dest/);
    const uv = fake();
    expect((await env({ wheelhouse: 'wheels', format: 'uv', force: true }, uv)).err).toMatch(
      /requirements\.txt is not among the files/,
    );
    expect(uv.ran).toEqual([]);
    const changed = fake({ hashes: () => ({ 'torch.whl': 'b'.repeat(64) }), read: () => `${hash}  torch.whl\n` });
    expect((await env({ wheelhouse: 'wheels' }, changed)).status).toBe(2);
  });
});

describe('only commands for files that were written', () => {
  it.each(formats.map((format) => [format]))('%s', async (format) => {
    const { out } = await env({ format }, fake());
    const next = out.slice(out.indexOf('Next'));
    const written = out.slice(0, out.indexOf('Next'));
    for (const file of ['verify.py', 'requirements.txt', 'environment.yml', 'cloud-init.yaml', 'demo.def'])
      if (next.includes(file)) expect(written).toContain(file);
  });
});

describe('gpuforge verify', () => {
  const script = (text: string) => writeFileSync(join(folder, 'verify.py'), text);
  const verify = async (flags: object = {}) => {
    const output = capture(false);
    // Node stands in for Python, which not every machine has.
    const status = await runVerify(ports(), { env: folder, python: process.execPath, ...flags }, output);
    return { status, out: output.out, err: output.err };
  };

  it('passes the status on, and explains what fails', async () => {
    script('console.log("ok")\n');
    expect(await verify()).toMatchObject({ status: 0, out: 'ok\n' });
    script(
      'console.log("FAIL  import torch: ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory");process.exitCode = 2\n',
    );
    const failed = await verify();
    expect(failed.status).toBe(2);
    expect(failed.out).toMatch(/cuDNN/);
    const json = JSON.parse((await verify({ json: true })).out);
    expect(json).toMatchObject({ schema: 'gpuforge.verify/1', status: 2 });
    expect(json.explanations[0].code).toBe('cudnn-missing');
  });

  it('says what to do without a check or a Python', async () => {
    expect((await verify()).err).toMatch(/no verify\.py/);
    expect((await verify({ env: join(folder, 'nowhere') })).err).toMatch(/there is no folder .*nowhere/);
    mkdirSync(join(folder, 'verify.py'));
    expect((await verify()).err).toMatch(/no verify\.py that can be read/);
    rmSync(join(folder, 'verify.py'), { recursive: true });
    script('');
    expect((await verify({ python: '/no/such/python' })).err).toMatch(/cannot be run/);
  });
});

describe('gpuforge profiles and data', () => {
  const show = async (action: 'list' | 'show' | 'recommend', name?: string, flags: object = {}) => {
    const output = capture(false);
    const status = await runProfiles(ports(), action, name, { cache: false, color: false, ...flags }, output);
    return { status, out: output.out, err: output.err };
  };

  it('list, show and recommend', async () => {
    expect((await show('list')).out).toMatch(/^learning/m);
    expect((await show('show', 'nlp')).out).toMatch(/transformers/);
    expect((await show('show', 'nlpp')).status).toBe(2);
    expect((await show('show')).err).toContain('profiles show needs a name');
    for (const action of ['list', 'recommend'] as const)
      expect((await show(action, 'nlp')).err).toContain('gpuforge profiles show nlp');
    const sizes = (await show('recommend', undefined, { for: ['RTX 3050'], os: 'linux' })).out;
    expect(sizes.match(/does not tell its memory/g)).toHaveLength(1);
    expect(sizes).toContain('Give the size with the name: --for "RTX 3060 12GB"');
    expect((await show('recommend', undefined, { for: ['RTX 4090'], os: 'linux', driver: '570' })).out).toMatch(
      /score/,
    );
    expect(JSON.parse((await show('list', undefined, { json: true })).out).profiles.length).toBeGreaterThanOrEqual(8);
  });

  it('tell which tables are used and from when', async () => {
    const output = capture(false);
    expect(await runData(ports(), 'version', {}, output)).toBe(0);
    expect(output.out).toMatch(/^pytorch +\d{4}-\d\d-\d\d/m);
  });
});
