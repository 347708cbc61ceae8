// gpuforge resolve: the build to use, with the proof; or why there is none, and the ways out.

import { ArgumentError } from '../../errors.ts';
import { warnAll } from '../config/command.ts';
import { EXIT, guarded } from '../config/failure.ts';
import { type Config, loadConfig, settingOf } from '../config/file.ts';
import { FRAMEWORKS } from '../config/settings.ts';
import { tablesInUse } from '../data/in-use.ts';
import { nearest } from '../data/schema.ts';
import type { Framework, Tables } from '../data/schemas.ts';
import { type LoadedTables, staleness } from '../data/tables.ts';
import { type Mirrors, mirrored, mirrorsOf } from '../env/mirrors.ts';
import type { Ports } from '../ports.ts';
import { type Output, type Style, styleFor } from '../style.ts';
import { asWord, plainLine } from '../text/plain.ts';
import { compare, renderComparison } from './compare.ts';
import { type MachineFlags, machineFor } from './machine-for.ts';
import { renderBuilds, renderResolution } from './render.ts';
import { listBuilds, resolve } from './resolve.ts';
import { RESOLVE_SCHEMA, type Resolution, type ResolveRequest } from './types.ts';

export interface ResolveFlags extends MachineFlags {
  readonly framework?: string;
  readonly python?: string;
  readonly cpuOnly?: boolean;
  readonly all?: boolean;
  /** A build of the user's choice: "torch==2.14.1+cu130", "2.11", "cu128". */
  readonly check?: string;
  /** Two builds to set side by side. */
  readonly compare?: readonly string[];
  readonly data?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
}

export function runResolve(ports: Ports, flags: ResolveFlags, output: Output): Promise<number> {
  return guarded(RESOLVE_SCHEMA, flags.json ?? false, output, async () => {
    const start = performance.now();
    const { config, loaded } = prepare(ports, flags);
    const warnings = [...config.problems, ...stale(config, loaded, ports)];
    const request: ResolveRequest = { ...wishes(config, flags), machine: await machineOf(ports, flags, config) };
    const detected = performance.now();
    const mirrors = mirrorsOf(config);
    if (flags.compare) return compared(loaded.tables, request, flags, output, styleOf(ports, config, flags, output));
    if (flags.all) {
      const builds = listBuilds(loaded.tables, request).map((choice) => mirrored(choice, mirrors));
      if (flags.json)
        output.write(
          `${JSON.stringify({ schema: RESOLVE_SCHEMA, framework: request.framework, builds, warnings }, null, 2)}\n`,
        );
      else {
        output.write(renderBuilds(builds, request.framework));
        warnAll(warnings, output);
      }
      return builds.length > 0 ? EXIT.done : EXIT.no;
    }
    const result = withMirrors(resolve(loaded.tables, request, loaded.reviewed), mirrors);
    const timing = { detectMs: round(detected - start), resolveMs: round(performance.now() - detected) };
    if (flags.json) {
      output.write(
        `${JSON.stringify({ ...result, warnings: [...result.warnings, ...warnings], overrides: request.machine.overrides, timing }, null, 2)}\n`,
      );
    } else {
      const verbose = flags.verbose ?? settingOf<boolean>(config, 'output.verbose');
      output.write(
        renderResolution(result, request.machine, styleOf(ports, config, flags, output), {
          verbose,
          columns: output.columns,
          pypi: mirrors.pypi,
        }),
      );
      if (verbose) output.write(`\ndetect ${timing.detectMs} ms, resolve ${timing.resolveMs} ms\n`);
      warnAll(warnings, output);
    }
    return result.status === 'ok' ? EXIT.done : EXIT.no;
  });
}

function styleOf(ports: Ports, config: Config, flags: ResolveFlags, output: Output): Style {
  const color = settingOf<string>(config, 'output.color') === 'never' ? false : flags.color;
  return styleFor(output, { color, env: ports.env });
}

function compared(tables: Tables, request: ResolveRequest, flags: ResolveFlags, output: Output, style: Style): number {
  const [first, second, ...more] = flags.compare ?? [];
  if (first === undefined || second === undefined || more.length > 0) {
    throw new ArgumentError({
      code: 'FORGE_BAD_COMPARE',
      message: '--compare takes two builds',
      fix: 'Give them as: --compare torch==2.14.1+cu126 torch==2.14.1+cu130',
      where: 'forge.resolve',
    });
  }
  const asked = (text: string) => ({ text, request: { ...request, ...checked(text) } });
  const result = compare(tables, asked(first), asked(second));
  output.write(flags.json ? `${JSON.stringify(result, null, 2)}\n` : renderComparison(result, style));
  return result.sides.every(({ runs }) => runs) ? EXIT.done : EXIT.no;
}

function withMirrors(result: Resolution, mirrors: Mirrors): Resolution {
  return result.status === 'ok'
    ? {
        ...result,
        choice: mirrored(result.choice, mirrors),
        alternatives: result.alternatives.map((choice) => mirrored(choice, mirrors)),
      }
    : result;
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

export function prepare(
  ports: Ports,
  flags: { readonly data?: string },
): { readonly config: Config; readonly loaded: LoadedTables } {
  const config = loadConfig(ports);
  return { config, loaded: tablesInUse(ports, config, flags.data) };
}

export function stale(config: Config, loaded: LoadedTables, ports: Ports): readonly string[] {
  const warning = staleness(loaded.reviewed, new Date(ports.now()), settingOf<number>(config, 'data.maxAgeMonths'));
  return warning === undefined ? [] : [warning];
}

export function machineOf(ports: Ports, flags: MachineFlags, config: Config): ReturnType<typeof machineFor> {
  return machineFor(ports, flags, {
    cache: settingOf<boolean>(config, 'cache.enabled'),
    cacheLifeMs: settingOf<number>(config, 'cache.lifeHours') * 3_600_000,
  });
}

function pythonFault(asked: string): string {
  const version = asked.replace(/^python/i, '');
  if (/^[12](?:\.\d+)*$/.test(version)) return `no framework is built for Python ${version} any more`;
  return /^3\.\d+(?:\.\d+)?t$/i.test(version)
    ? `"${asked}" is a free-threaded Python, and the tables hold no builds for those`
    : `"${asked}" is no Python version`;
}

/** What the flags and the configuration ask for, checked. */
export function wishes(
  config: Config,
  flags: Pick<ResolveFlags, 'framework' | 'python' | 'cpuOnly' | 'check'>,
): Omit<ResolveRequest, 'machine'> {
  const given = flags.python ?? settingOf<string | null>(config, 'env.python') ?? undefined;
  const asked = given === undefined ? undefined : plainLine(given).trim();
  // Wheels go by the minor version: "3.12.7" and "python3.12" are 3.12.
  const python = asked === undefined ? undefined : /^(?:python)?(3\.\d{1,2})(?:\.\d{1,3})?$/i.exec(asked)?.[1];
  if (asked !== undefined && python === undefined) {
    throw new ArgumentError({
      code: 'FORGE_BAD_PYTHON',
      message: `--python: ${pythonFault(asked)}`,
      fix: 'Give a version of Python 3, such as 3.12.',
      where: 'forge.resolve',
    });
  }
  return {
    framework: frameworkOf(flags.framework ?? settingOf<string>(config, 'env.framework')),
    ...(python === undefined ? {} : { python }),
    ...(flags.cpuOnly ? { cpuOnly: true } : {}),
    ...(flags.check === undefined ? {} : checked(flags.check)),
  };
}

const NAMES: Readonly<Record<string, Framework>> = {
  pytorch: 'pytorch',
  torch: 'pytorch',
  tensorflow: 'tensorflow',
  tf: 'tensorflow',
  keras: 'tensorflow',
  jax: 'jax',
  flax: 'jax',
};

export function frameworkOf(name: string): Framework {
  const word = asWord(name);
  const found = NAMES[word];
  if (found) return found;
  const near = nearest(word, Object.keys(NAMES));
  throw new ArgumentError({
    code: 'FORGE_UNKNOWN_FRAMEWORK',
    message: `unknown framework "${name}"`,
    fix: `${near ? `Did you mean ${near}? ` : ''}Known are ${FRAMEWORKS.join(', ')}.`,
    where: 'forge.resolve',
  });
}

function checked(text: string): {
  readonly framework?: Framework;
  readonly version?: string;
  readonly variant?: string;
} {
  const found =
    /^(?:(?<name>[a-z]+)(?:\[(?<extra>[\w-]+)\])?(?:==|@|\s)?)?(?<version>\d+\.\d+(?:\.\d+)?)?(?:\+?(?<variant>cu\d{3}|rocm[\d.]+|cpu|xpu|mps|cuda\d\d|and-cuda))?$/i.exec(
      text.trim(),
    );
  const { name, extra, version } = found?.groups ?? {};
  // "cu130" alone is read as a name; a known variant wins.
  const alone = name !== undefined && /^(?:cpu|xpu|mps)$/.test(name) ? name : undefined;
  const variant = found?.groups?.variant ?? extra ?? alone;
  if (!found || (version === undefined && variant === undefined)) {
    throw new ArgumentError({
      code: 'FORGE_BAD_CHECK',
      message: `--check: "${text}" is no build`,
      fix: 'Give it as "torch==2.14.1+cu126", "jax[cuda13]==0.11.1", "2.11" or "cu128".',
      where: 'forge.resolve',
    });
  }
  return {
    ...(name === undefined || alone !== undefined ? {} : { framework: frameworkOf(name) }),
    ...(version === undefined ? {} : { version }),
    ...(variant === undefined ? {} : { variant: variant.toLowerCase() }),
  };
}
