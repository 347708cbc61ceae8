// `gpuforge doctor` and `gpuforge report`: options in, text or JSON out, exit status back.
//
// With --json standard output is JSON and nothing else; what a person should know goes to standard error.

import { ForgeError } from '../../errors.ts';
import { warnAll } from '../config/command.ts';
import { guarded } from '../config/failure.ts';
import { type Config, loadConfig, settingOf } from '../config/file.ts';
import { tablesInUse } from '../data/in-use.ts';
import { detect } from '../detect/detect.ts';
import { mirrorsOf } from '../env/mirrors.ts';
import { type Output, styleFor } from '../style.ts';
import { examine } from './doctor.ts';
import { applyFixes, type FixPort, planFixes } from './fix.ts';
import { renderReport } from './render.ts';
import { buildReport, REPORT_SCHEMA, reportMarkdown } from './report.ts';
import {
  type ComputeProbe,
  type Context,
  DOCTOR_SCHEMA,
  type DoctorOptions,
  type DoctorReport,
  type World,
} from './types.ts';

export interface DoctorFlags {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly offline?: boolean;
  readonly python?: string;
  readonly color?: boolean;
  /** Wake sleeping cards and ask them. */
  readonly deep?: boolean;
  readonly fix?: boolean;
  readonly yes?: boolean;
  readonly allowRoot?: boolean;
}

export interface DoctorTools {
  readonly computeProbe?: ComputeProbe;
  readonly fixPort: FixPort;
  /** Asks a yes-or-no question; undefined when nobody can answer. */
  readonly confirm?: (question: string) => Promise<boolean>;
}

export function runDoctor(world: World, flags: DoctorFlags, output: Output, tools: DoctorTools): Promise<number> {
  return guarded(DOCTOR_SCHEMA, flags.json ?? false, output, () => examined(world, flags, output, tools));
}

async function examined(world: World, flags: DoctorFlags, output: Output, tools: DoctorTools): Promise<number> {
  const config = loadConfig(world.ports);
  const color = settingOf<string>(config, 'output.color') === 'never' ? false : flags.color;
  const style = styleFor(output, { color, env: world.ports.env });
  const offline = flags.offline ?? settingOf<boolean>(config, 'network.offline');
  // A doctor looks afresh: what changed since the cache was written is what it is asked about.
  const detection = await detect(world.ports, { cache: false, wake: flags.deep ?? false });
  const options = {
    offline,
    wake: flags.deep ?? false,
    mirrors: mirrorsOf(config),
    ...tablesOf(world, config, output),
    ...(flags.python === undefined ? {} : { python: flags.python }),
    ...(tools.computeProbe === undefined ? {} : { computeProbe: tools.computeProbe }),
  };
  const report = await examine(world, detection, options);
  if (flags.json) output.write(`${JSON.stringify(report, null, 2)}\n`);
  else output.write(renderReport(report, style, flags.verbose ?? settingOf<boolean>(config, 'output.verbose')));
  if (flags.fix)
    await repair({ world, ports: world.ports, machine: detection.machine, options }, report, flags, output, tools);
  if (!flags.json) warnAll(config.problems, output);
  return report.exitStatus;
}

/** What the settings say about the tables. A file that cannot be used is told, and the shipped ones judge in its place. */
function tablesOf(world: World, config: Config, output: Output): Pick<DoctorOptions, 'tables' | 'staleMonths'> {
  const staleMonths = settingOf<number>(config, 'data.maxAgeMonths');
  try {
    return { tables: tablesInUse(world.ports, config), staleMonths };
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    warnAll([`data.file is not used: ${error.message}`], output);
    return { staleMonths };
  }
}

async function repair(
  context: Context,
  report: DoctorReport,
  flags: DoctorFlags,
  output: Output,
  tools: DoctorTools,
): Promise<void> {
  const plan = planFixes(context, report);
  if (plan.length === 0) {
    output.warn('\nNothing that --fix may do; the commands above are for you to run.\n');
    return;
  }
  output.warn('\n--fix would:\n');
  for (const { steps } of plan) for (const step of steps) output.warn(`  ${step}\n`);
  if (context.ports.user?.uid === 0 && !flags.allowRoot) {
    output.warn('Not done: this is root. Run it as yourself, or add --allow-root.\n');
    return;
  }
  const agreed = flags.yes === true || (tools.confirm !== undefined && (await tools.confirm('Do this? [y/N] ')));
  if (!agreed) {
    output.warn('Nothing was changed. Add --yes to do it.\n');
    return;
  }
  for (const { ok, detail } of applyFixes(context, plan, tools.fixPort))
    output.warn(`  ${ok ? 'done' : 'not done'}: ${detail}\n`);
}

export interface ReportFlags {
  readonly json?: boolean;
  readonly computeProbe?: ComputeProbe;
}

export function runReport(world: World, flags: ReportFlags, output: Output, version: string): Promise<number> {
  return guarded(REPORT_SCHEMA, flags.json ?? false, output, () => reported(world, flags, output, version));
}

async function reported(world: World, flags: ReportFlags, output: Output, version: string): Promise<number> {
  const detection = await detect(world.ports, { cache: false });
  const config = loadConfig(world.ports);
  const doctor = await examine(world, detection, {
    offline: true,
    ...tablesOf(world, config, output),
    ...(flags.computeProbe === undefined ? {} : { computeProbe: flags.computeProbe }),
  });
  const block = await buildReport(world, detection, doctor, version);
  output.write(flags.json ? `${JSON.stringify(block, null, 2)}\n` : reportMarkdown(block));
  if (!flags.json) warnAll(config.problems, output);
  return 0;
}
