import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Framework } from '../../../src/forge/data/schemas.ts';
import { loadTables } from '../../../src/forge/data/tables.ts';
import { type EnvPlan, planEnvironment } from '../../../src/forge/env/plan.ts';
import { formats, render, usualFormats, writers } from '../../../src/forge/env/writers.ts';
import { allProfiles, findProfile } from '../../../src/forge/profiles/profiles.ts';
import { machines } from '../fixtures/targets.ts';

const { tables, reviewed } = loadTables();
const profiles = allProfiles(tables);

function plan(
  machine: string,
  options: {
    readonly profile?: string;
    readonly framework?: Framework;
    readonly minimal?: boolean;
    readonly cpuOnly?: boolean;
  } = {},
): EnvPlan {
  const { profile, framework = 'pytorch', minimal = false, cpuOnly = false } = options;
  return planEnvironment(tables, {
    name: 'demo',
    machine: machines[machine]!,
    framework,
    ...(profile === undefined ? {} : { profile: findProfile(profiles, profile) }),
    profiles,
    minimal,
    cpuOnly,
    dataReviewed: reviewed,
  });
}

/** One machine of each kind; the real parsers below read the files of all machines. */
const recorded = [
  'h200-580',
  'k80-470',
  'gtx1080ti-4090',
  'l4-kubernetes',
  'gb10-spark',
  'rtx4090-windows',
  'rtx4090-wsl',
  'mi300x',
  'rx7800xt-windows',
  'arc-b580',
  'm3-max',
  'no-gpu',
];

describe('golden files', () => {
  it('cover a dozen machines that differ in kind, and all writers', () => {
    expect(recorded.filter((name) => machines[name] === undefined)).toEqual([]);
    expect(readdirSync(new URL('golden', import.meta.url)).sort()).toEqual([...recorded].sort());
    expect(Object.keys(machines).length).toBeGreaterThanOrEqual(40);
    expect(formats).toEqual([
      ...['uv', 'requirements', 'conda', 'pixi', 'docker', 'devcontainer', 'verify', 'apptainer', 'cloud-init'],
    ]);
  });

  // Run vitest with -u after a change that is meant; the difference is then part of the review.
  for (const machine of recorded) {
    // The user data repeats requirements and check: two show its own part.
    const shown = formats.filter((format) => format !== 'cloud-init' || machine === 'h200-580' || machine === 'mi300x');
    it.each(shown)(`${machine}: %s is written as recorded`, async (format) => {
      const content = writers[format].write(plan(machine), true);
      const path: string | ((of: EnvPlan) => string) = writers[format].path;
      const name = `${machine}/${(typeof path === 'string' ? path : path(plan(machine))).split('/').at(-1)}`;
      await expect(content).toMatchFileSnapshot(`golden/${name}`);
      expect(writers[format].write(plan(machine), true)).toBe(content);
    });
  }
});

// Every profile × target × framework is parsed by the format's own parser. Python reads all files in one process.
const CHECKER = `
import ast, json, os, sys
try:
    import tomllib
except ImportError:
    tomllib = None
try:
    import yaml
except ImportError:
    yaml = None
try:
    from packaging.requirements import Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        Requirement = None
report = {"toml": tomllib is not None, "yaml": yaml is not None, "requirements": Requirement is not None, "files": 0, "problems": []}
def check(path):
    name = os.path.basename(path)
    with open(path, "rb") as handle:
        data = handle.read()
    text = data.decode("utf-8")
    if name == "pyproject.toml" and tomllib:
        value = tomllib.loads(text)
        project = value["project"]
        rows = list(project["dependencies"])
        for extra in project.get("optional-dependencies", {}).values():
            rows += extra
        names = [row["name"] for row in value["tool"]["uv"].get("index", [])]
        for sources in value["tool"]["uv"].get("sources", {}).values():
            for source in sources:
                assert source["index"] in names, source
                assert "extra" not in source or source["extra"] in project["optional-dependencies"], source
        if Requirement:
            for row in rows:
                Requirement(row)
    elif name == "pixi.toml" and tomllib:
        value = tomllib.loads(text)
        assert value["workspace"]["channels"] == ["conda-forge"]
        for features in value["environments"].values():
            for feature in features:
                assert feature in value["feature"], feature
    elif name == "environment.yml" and yaml:
        value = yaml.safe_load(text)
        assert value["channels"] == ["conda-forge"], value["channels"]
        pips = [entry for entry in value["dependencies"] if isinstance(entry, dict)]
        assert len(pips) <= 1
        assert all(isinstance(entry, str) for entry in value["dependencies"] if entry not in pips)
        if pips:
            assert "pip" in value["dependencies"]
            for entry in pips[0]["pip"]:
                if Requirement and not entry.startswith("--"):
                    Requirement(entry)
    elif name == "requirements.txt":
        for line in text.splitlines():
            if line and not line.startswith(("#", "--")) and Requirement:
                Requirement(line)
    elif name == "devcontainer.json":
        json.loads(text)
    elif name == "verify.py":
        ast.parse(text)
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        report["files"] += 1
        try:
            check(path)
        except Exception as error:
            report["problems"].append(f"{os.path.relpath(path, sys.argv[1])}: {type(error).__name__}: {error}")
print(json.dumps(report))
`;

interface Report {
  readonly toml: boolean;
  readonly yaml: boolean;
  readonly requirements: boolean;
  readonly files: number;
  readonly problems: readonly string[];
}

const python = ['python3', 'python'].find(
  (name) => spawnSync(name, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0,
);

describe.skipIf(python === undefined)(`real parsers (${python ?? 'no python3 on this machine: not checked'})`, () => {
  let folder = '';
  let report: Report;
  const written: string[] = [];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gpuforge-env-'));
    const put = (label: string, made: EnvPlan): void => {
      written.push(label);
      for (const file of render(made)) {
        const path = join(folder, label, file.path);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, file.content);
      }
    };
    for (const machine of Object.keys(machines)) {
      for (const profile of profiles) put(`${machine}-${profile.name}`, plan(machine, { profile: profile.name }));
      put(`${machine}-minimal`, plan(machine, { minimal: true }));
      put(`${machine}-cpu`, plan(machine, { cpuOnly: true }));
    }
    for (const framework of ['tensorflow', 'jax'] as const) {
      for (const machine of ['rtx4090-595', 'h200-580', 'no-gpu', 't4-cloud', 'm1'])
        put(`${framework}-${machine}`, plan(machine, { framework }));
    }
    put('jax-mi300x', plan('mi300x', { framework: 'jax' }));
    const run = spawnSync(python!, ['-c', CHECKER, folder], { encoding: 'utf8', maxBuffer: 1 << 26 });
    expect(run.stderr).toBe('');
    report = JSON.parse(run.stdout) as Report;
    for (const [format, there] of [
      ['TOML', report.toml],
      ['YAML', report.yaml],
      ['requirement', report.requirements],
    ] as const) {
      if (!there) console.warn(`no ${format} parser in ${python}: ${format} files were not checked`);
    }
  }, 120_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('read every profile × target × file without a problem', () => {
    expect(report.problems).toEqual([]);
    expect(report.files).toBeGreaterThanOrEqual(written.length * usualFormats.length);
    expect(written.length).toBeGreaterThan(400);
  });

  it('include at least the TOML parser that ships with Python 3.11', ({ skip }) => {
    if (!report.toml) skip(`${python} has no tomllib: TOML was not checked here`);
    expect(report.toml).toBe(true);
  });

  it('include a YAML parser where the package python3-yaml is installed', ({ skip }) => {
    if (!report.yaml) skip(`${python} has no yaml module: environment.yml was not checked here`);
    expect(report.yaml).toBe(true);
  });
});

// The tools themselves, where they are installed.
const tools: readonly {
  readonly tool: string;
  readonly args: (folder: string) => readonly string[];
  readonly format: string;
}[] = [
  { tool: 'uv', format: 'pyproject.toml', args: (folder) => ['tree', '--frozen', '--offline', '--directory', folder] },
  {
    tool: 'pixi',
    format: 'pixi.toml',
    args: (folder) => ['task', 'list', '--manifest-path', join(folder, 'pixi.toml')],
  },
  {
    tool: 'conda',
    format: 'environment.yml',
    args: (folder) => ['env', 'create', '--dry-run', '--offline', '-f', join(folder, 'environment.yml')],
  },
];

describe('the tools themselves', () => {
  for (const { tool, args, format } of tools)
    it(`${tool} reads ${format}`, ({ skip }) => {
      const there = spawnSync(tool, ['--version'], { encoding: 'utf8' }).status === 0;
      if (!there) skip(`${tool} is not installed: its file was only parsed`);
      const folder = mkdtempSync(join(tmpdir(), 'gpuforge-tool-'));
      try {
        for (const file of render(plan('rtx4090-595'))) {
          const path = join(folder, file.path);
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, file.content);
        }
        const run = spawnSync(tool, [...args(folder)], { encoding: 'utf8', timeout: 60_000 });
        // Offline a solver may not find packages; a file it cannot read is another matter.
        expect(`${run.stderr}${run.stdout}`).not.toMatch(/parse error|TOML parse|invalid type|unknown field|YAML/i);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
