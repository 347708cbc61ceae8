// gpuforge env NAME: from machine and profile to files on disk.

import { copyFileSync } from 'node:fs';
import { join, relative, resolve as resolvePath } from 'node:path';
import { ArgumentError } from '../../errors.ts';
import { warnAll } from '../config/command.ts';
import { EXIT, guarded } from '../config/failure.ts';
import { type Config, settingOf } from '../config/file.ts';
import type { Machine } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { allProfiles, findProfile } from '../profiles/profiles.ts';
import { machineOf, prepare, type ResolveFlags, stale, wishes } from '../resolve/command.ts';
import { nameOf } from '../resolve/wheels.ts';
import { columns, type Output, type Style, styleFor } from '../style.ts';
import { wrap } from '../text/quote.ts';
import { type InstallPort, install, lock, wheelhouse } from './install.ts';
import { mirrorsOf } from './mirrors.ts';
import { checkName, type EnvPlan, planEnvironment } from './plan.ts';
import { extraOf } from './uv.ts';
import { inspect, type Placement, writeFiles } from './write.ts';
import { type Format, formats, render } from './writers.ts';

const ENV_SCHEMA = 'gpuforge.env/1';

export interface EnvFlags extends Omit<ResolveFlags, 'all' | 'check'> {
  readonly profile?: string;
  readonly format?: string;
  readonly output?: string;
  readonly minimal?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  /** Install what was written, after saying how large it is. */
  readonly install?: boolean;
  readonly yes?: boolean;
  readonly allowRoot?: boolean;
  /** Write the lock files of uv and pixi. */
  readonly lock?: boolean;
  /** Download every wheel into this folder. */
  readonly wheelhouse?: string;
  /** List the profiles and how well each suits the machine; writes nothing. */
  readonly profiles?: boolean;
}

export interface EnvOptions {
  /** In place of detection, for tests and for programs that already know the machine. */
  readonly machine?: Machine;
  readonly cwd?: string;
  /** What --install, --lock and --wheelhouse work with. */
  readonly tools?: InstallPort;
  readonly confirm?: (question: string) => Promise<boolean>;
}

export function runEnv(
  ports: Ports,
  name: string | undefined,
  flags: EnvFlags,
  output: Output,
  options: EnvOptions = {},
): Promise<number> {
  return guarded(ENV_SCHEMA, flags.json ?? false, output, async () => {
    const start = performance.now();
    const { config, loaded } = prepare(ports, flags);
    const profiles = allProfiles(loaded.tables, config.profiles);
    const wish = wishes(config, flags);
    const chosen = flags.profile ?? settingOf<string | null>(config, 'env.profile') ?? undefined;
    const profile = chosen === undefined ? undefined : findProfile(profiles, chosen);
    const wanted = wantedFormats(flags, config);
    if (!flags.profiles) checkName(name ?? missingName());
    const machine = options.machine ?? (await machineOf(ports, flags, config));
    const detected = performance.now();
    const mirrors = mirrorsOf(config);
    const plan = planEnvironment(loaded.tables, {
      ...wish,
      name: name ?? 'environment',
      machine,
      ...(profile ? { profile } : {}),
      profiles,
      mirrors,
      minimal: flags.minimal ?? false,
      dataReviewed: loaded.reviewed,
    });
    const warnings = [...config.problems, ...stale(config, loaded, ports)];
    const color = settingOf<string>(config, 'output.color') === 'never' ? false : flags.color;
    const style = styleFor(output, { color, env: ports.env });
    if (flags.profiles) return listProfiles(plan, flags, warnings, style, output);

    const folder = resolvePath(options.cwd ?? process.cwd(), flags.output ?? plan.name);
    const files = render(plan, wanted);
    const planned = performance.now();
    if (settingOf<boolean>(config, 'env.backup') && flags.force && !flags.dryRun) {
      for (const row of inspect(folder, files))
        if (row.state === 'different') copyFileSync(row.path, `${row.path}.bak`);
    }
    const placements = flags.dryRun ? inspect(folder, files) : writeFiles(folder, files, flags.force ?? false);
    const timing = {
      detectMs: round(detected - start),
      planMs: round(planned - detected),
      writeMs: round(performance.now() - planned),
    };
    if (flags.json) {
      output.write(
        `${JSON.stringify({ ...planJson(plan), folder, dryRun: flags.dryRun ?? false, files: placements, warnings: [...plan.warnings, ...warnings], timing }, null, 2)}\n`,
      );
    } else {
      const where = relative(options.cwd ?? process.cwd(), folder) || '.';
      output.write(summary(plan, placements, where, wanted, flags, style, output.columns));
      if (flags.verbose ?? settingOf<boolean>(config, 'output.verbose'))
        output.write(`\ndetect ${timing.detectMs} ms, plan ${timing.planMs} ms, write ${timing.writeMs} ms\n`);
      warnAll(warnings, output);
    }
    if (flags.dryRun || !options.tools || !(flags.install || flags.lock || flags.wheelhouse !== undefined))
      return EXIT.done;
    return follow(plan, folder, wanted, flags, config, output, { ...options, tools: options.tools });
  });
}

/** What was asked for beyond the files; the first that fails ends it. */
async function follow(
  plan: EnvPlan,
  folder: string,
  wanted: readonly Format[],
  flags: EnvFlags,
  config: Config,
  output: Output,
  options: EnvOptions & { readonly tools: InstallPort },
): Promise<number> {
  if (
    (flags.lock || flags.wheelhouse !== undefined || flags.install) &&
    settingOf<boolean>(config, 'network.offline')
  ) {
    throw new ArgumentError({
      code: 'FORGE_OFFLINE',
      message: 'the network is off (network.offline or --offline): nothing is downloaded',
      fix: 'Leave --offline out, or switch the setting off with: gpuforge config set network.offline false.',
      where: 'forge.env',
    });
  }
  if (flags.lock && (await lock(folder, wanted, options.tools, output)) !== 0) return EXIT.no;
  if (flags.wheelhouse !== undefined) {
    const target = resolvePath(options.cwd ?? process.cwd(), flags.wheelhouse);
    if ((await wheelhouse(plan, folder, target, wanted, options.tools, output)) !== 0) return EXIT.no;
  }
  if (!flags.install) return EXIT.done;
  return install(plan, folder, wanted, options.tools, output, {
    policy: settingOf<'ask' | 'always' | 'never'>(config, 'env.install'),
    allowRoot: flags.allowRoot ?? false,
    yes: flags.yes ?? false,
    confirm: options.confirm,
  });
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

function missingName(): never {
  throw new ArgumentError({
    code: 'FORGE_NO_NAME',
    message: 'the environment needs a name',
    fix: 'gpuforge env NAME, for example: gpuforge env demo.',
    where: 'forge.env',
  });
}

function wantedFormats(flags: EnvFlags, config: Config): readonly Format[] {
  const names =
    flags.format === undefined
      ? settingOf<readonly string[]>(config, 'env.formats')
      : flags.format.split(',').map((part) => part.trim().toLowerCase());
  return names.flatMap((name) => {
    if (name === 'all') return formats;
    const found = formats.find((format) => format === name);
    if (found) return [found];
    throw new ArgumentError({
      code: 'FORGE_UNKNOWN_FORMAT',
      message: `unknown format "${name}"`,
      fix: `Use one or more of ${formats.join(', ')}, with commas; or all.`,
      where: 'forge.env',
    });
  });
}

function planJson(plan: EnvPlan) {
  return {
    schema: ENV_SCHEMA,
    name: plan.name,
    profile: plan.profile.name,
    recommended: plan.recommended,
    scores: plan.scores,
    choice: plan.choice,
    proof: plan.resolution.proof,
    python: plan.python,
    packages: plan.selection.packages,
    left: plan.selection.left,
    notes: plan.selection.notes,
    container: {
      image: plan.container.image,
      choice: plan.container.choice,
      runFlags: plan.container.runFlags,
      note: plan.container.note,
    },
  };
}

function summary(
  plan: EnvPlan,
  placements: readonly Placement[],
  where: string,
  wanted: readonly Format[],
  flags: EnvFlags,
  style: Style,
  width: number,
): string {
  const lines: string[] = [];
  const { choice, selection, profile } = plan;
  const score = plan.scores.find((row) => row.profile === profile.name)?.score;
  const why = plan.recommended
    ? ` (suits the hardware best${score === null || score === undefined ? '' : `, ${score} of 100`})`
    : '';
  lines.push(`${style.bold(plan.name)}: ${nameOf(choice)}, Python ${plan.python}, profile ${profile.name}${why}`);
  lines.push(...wrap(plan.resolution.summary, Math.max(60, Math.min(width, 120)) - 2).map((line) => `  ${line}`), '');
  const verb: Readonly<Record<Placement['state'], string>> = flags.dryRun
    ? { new: 'would write', same: 'unchanged', different: flags.force ? 'would replace' : 'differs: needs --force' }
    : { new: 'wrote', same: 'unchanged', different: 'replaced' };
  lines.push(
    columns(
      placements.map((row) => [verb[row.state], join(where, suffix(row.path)), style.dim(`${row.lines} lines`)]),
      2,
      2,
    ).trimEnd(),
  );
  if (flags.dryRun) {
    for (const row of placements.filter((entry) => entry.state === 'different')) {
      lines.push('', style.dim(`${join(where, suffix(row.path))}: - as it is, + as it would be`));
      for (const line of row.difference.slice(0, 40))
        lines.push(`  ${line.startsWith('+') ? style.green(line) : style.red(line)}`);
      if (row.difference.length > 40) lines.push(style.dim(`  … and ${row.difference.length - 40} more lines`));
    }
  }
  const notes = [
    ...selection.left.map((row) => `${row.name} left out: ${row.why}`),
    ...selection.notes,
    ...plan.warnings,
  ];
  if (plan.container.note && wanted.some((format) => format === 'docker' || format === 'devcontainer'))
    notes.push(plan.container.note);
  if (notes.length > 0)
    lines.push(
      '',
      style.yellow('Note'),
      ...notes.flatMap((note) => wrap(`- ${note}`, Math.max(60, Math.min(width, 120)) - 2).map((line) => `  ${line}`)),
    );
  if (!flags.dryRun) lines.push('', style.bold('Next'), ...next(plan, wanted, where).map((line) => `  ${line}`));
  return `${lines.join('\n')}\n`;
}

const suffix = (path: string): string =>
  path.replaceAll('\\', '/').endsWith('.devcontainer/devcontainer.json')
    ? '.devcontainer/devcontainer.json'
    : (path.replaceAll('\\', '/').split('/').at(-1) ?? path);

/** Only commands for files that were written. Writing files is not an environment: these make it, and prove it. */
function next(plan: EnvPlan, wanted: readonly Format[], where: string): readonly string[] {
  const extra =
    plan.choice.backend === 'cpu' || plan.choice.backend === 'mps' ? '' : ` --extra ${extraOf(plan.choice)}`;
  const cd = where === '.' ? [] : [`cd ${where}`];
  if (wanted.includes('uv'))
    return [...cd, `uv sync${extra}`, ...(wanted.includes('verify') ? [`uv run${extra} python verify.py`] : [])];
  if (wanted.includes('requirements'))
    return [
      ...cd,
      plan.platform.startsWith('windows')
        ? `py -${plan.python} -m venv .venv && .venv\\Scripts\\activate`
        : `python${plan.python} -m venv .venv && . .venv/bin/activate`,
      'python -m pip install -r requirements.txt',
      ...(wanted.includes('verify') ? ['python verify.py'] : []),
    ];
  const check = wanted.includes('verify');
  if (wanted.includes('pixi')) return [...cd, check ? 'pixi run verify' : 'pixi install'];
  if (wanted.includes('conda'))
    return [
      ...cd,
      'conda env create -f environment.yml',
      ...(check ? [`conda run -n ${plan.name} python verify.py`] : []),
    ];
  if (wanted.includes('docker') || wanted.includes('devcontainer'))
    return [
      ...cd,
      `docker build -t ${plan.name} .`,
      `docker run --rm ${plan.container.runFlags.join(' ')} ${plan.name}`,
    ];
  if (wanted.includes('apptainer')) {
    const flag = { cuda: ' --nv', rocm: ' --rocm' }[plan.container.choice.backend as string] ?? '';
    return [...cd, `apptainer build ${plan.name}.sif ${plan.name}.def`, `apptainer run${flag} ${plan.name}.sif`];
  }
  if (wanted.includes('cloud-init')) return ['give cloud-init.yaml to the instance as its user data'];
  return [...cd, 'python verify.py'];
}

function listProfiles(
  plan: EnvPlan,
  flags: EnvFlags,
  warnings: readonly string[],
  style: Style,
  output: Output,
): number {
  if (flags.json) {
    output.write(
      `${JSON.stringify({ schema: ENV_SCHEMA, choice: plan.choice, profiles: plan.scores, warnings }, null, 2)}\n`,
    );
    return EXIT.done;
  }
  output.write(`for ${plan.choice.gpus.join(', ') || 'the CPU'}, ${nameOf(plan.choice)}\n\n`);
  const rows = plan.scores.map((row) => [
    row.profile,
    row.score === null ? 'unknown' : String(row.score),
    row.parts.map((part) => `${part.name} ${part.points}/${part.most}`).join('  '),
  ]);
  output.write(columns([['profile', 'score', 'parts'].map(style.dim), ...rows], 2, 2));
  // Where the memory is not known, it is not for any of them.
  const unscored = plan.scores.find(({ score }) => score === null)?.warnings[0];
  if (unscored !== undefined) {
    const hint = flags.for || flags.gpu ? '. Give the size with the name: --for "RTX 3060 12GB"' : '';
    output.write(`\n${unscored}${hint}\n`);
  }
  if (flags.verbose) {
    for (const row of plan.scores) {
      output.write(`\n${style.bold(row.profile)}\n`);
      output.write(
        columns(
          row.parts.map((part) => [part.name, `${part.points}`, part.why]),
          2,
          2,
        ),
      );
    }
  }
  warnAll(warnings, output);
  return EXIT.done;
}
