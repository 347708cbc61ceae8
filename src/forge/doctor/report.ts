// `gpuforge report`: a Markdown block to paste into an issue. Short, anonymised, and nothing is imported or installed for it.

import type { Detection } from '../detect/detect.ts';
import { formatBytes } from '../style.ts';
import { describeGpu } from './checks-gpu.ts';
import { findPackage, findProgram } from './programs.ts';
import { inspectPython } from './python.ts';
import type { Context, DoctorReport, World } from './types.ts';

export const REPORT_SCHEMA = 'gpuforge.report/1';

export interface ReportRow {
  readonly name: string;
  readonly value: string;
}

export interface ReportBlock {
  readonly schema: typeof REPORT_SCHEMA;
  readonly rows: readonly ReportRow[];
  readonly findings: readonly { readonly code: string; readonly summary: string }[];
}

export async function buildReport(
  world: World,
  detection: Detection,
  doctor: DoctorReport,
  version: string,
): Promise<ReportBlock> {
  const { ports } = world;
  const { machine } = detection;
  const { host, drivers } = machine;
  const context: Context = { world, ports, machine, options: {} };
  const clean = anonymiser(context);
  const rows: ReportRow[] = [];
  const add = (name: string, value: string | undefined) => {
    if (value) rows.push({ name, value: clean(value) });
  };
  add('gpuforge', version);
  add('Node', ports.node);
  add('system', `${'source' in host.name ? host.name.value : host.platform}, ${host.arch}, kernel ${host.kernel}`);
  add('place', placeOf(machine));
  add('glibc', 'source' in host.glibc ? host.glibc.value : undefined);
  add('processor', `${'source' in host.cpu ? host.cpu.value : 'unknown'}, ${host.cores} cores`);
  add('memory', 'source' in host.memoryBytes ? formatBytes(host.memoryBytes.value) : undefined);
  machine.gpus.forEach((gpu, index) => {
    const state = gpu.usable ? '' : `, not usable: ${gpu.blockers.join('; ')}`;
    const ids = gpu.pci ? ` [${gpu.pci.vendorId}:${gpu.pci.deviceId}]` : '';
    add(`GPU ${index}`, `${describeGpu(gpu)}${ids}${state}`);
  });
  if (machine.gpus.length === 0) add('GPU', 'none');
  if (drivers.nvidia) {
    const { version: own, cuda, module } = drivers.nvidia;
    const parts = [
      'source' in own ? own.value : own.reason,
      'source' in cuda ? `CUDA ${cuda.value}` : '',
      'source' in module ? `${module.value} module` : '',
    ];
    add('NVIDIA driver', parts.filter((part) => part !== '').join(', '));
  }
  if (drivers.amd) add('ROCm', 'source' in drivers.amd.rocm ? drivers.amd.rocm.value : 'not installed');
  for (const { name, value } of machine.visibility) add(name, value === '' ? '(empty)' : value);
  for (const text of machine.overrides) add('given', text);
  add('packages', packagesOf(world));
  add('Python', await pythonOf(context));
  add('tools', ['uv', 'pixi', 'conda', 'docker', 'podman'].filter((name) => findProgram(ports, name)).join(', '));
  add('compute', verdictOf(doctor));
  const findings = doctor.areas
    .flatMap((area) => area.findings)
    .filter(({ status }) => status === 'warning' || status === 'error')
    .map(({ code, summary }) => ({ code, summary: clean(summary) }));
  return { schema: REPORT_SCHEMA, rows, findings };
}

function placeOf({ host }: Detection['machine']): string | undefined {
  const places = [
    host.wsl > 0 ? `WSL${host.wsl}` : '',
    'source' in host.container ? `${host.container.value} container` : '',
    'source' in host.cloud ? host.cloud.value : '',
    'source' in host.board ? host.board.value.model : '',
  ].filter((place) => place !== '');
  return places.length === 0 ? undefined : places.join(', ');
}

function packagesOf({ ports, packageRoots }: World): string {
  return ['koffi', 'webgpu']
    .map((name) => `${name} ${findPackage(ports, packageRoots, name)?.version ?? 'not installed'}`)
    .join(', ');
}

async function pythonOf(context: Context): Promise<string | undefined> {
  const answer = await inspectPython(context);
  if (answer.outcome !== 'ok') return undefined;
  const { version, environment, frameworks } = answer.target;
  const names = frameworks.map((entry) => `${entry.name} ${entry.version}${entry.variant ? `+${entry.variant}` : ''}`);
  return [`${version} (${environment})`, ...names].join(', ');
}

function verdictOf({ verdict }: DoctorReport): string {
  if (verdict.compute === 'unverified') return 'not verified';
  const devices = verdict.devices.map(
    ({ device, ok, detail }) => `${device} ${ok ? 'ok' : `failed (${sentence(detail)})`}`,
  );
  return devices.join('; ') || verdict.compute;
}

function sentence(text: string): string {
  return text.split(/\.\s|\n/)[0] ?? '';
}

/** Takes out what names a person or a device: the home folder, the user, the host, UUIDs, serial-like ids. */
function anonymiser({ ports, world }: Context): (text: string) => string {
  const user = ports.home.split(/[\\/]/).at(-1) ?? '';
  const replacements: [RegExp, string][] = [
    [/\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4,12})*\b/gi, '$1-…'],
    [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…'],
  ];
  if (world.cwd.length > 1) replacements.unshift([new RegExp(literal(world.cwd), 'g'), '.']);
  if (ports.home.length > 1) replacements.unshift([new RegExp(literal(ports.home), 'g'), '~']);
  if (user.length > 2 && user !== 'root') replacements.push([new RegExp(`\\b${literal(user)}\\b`, 'g'), 'user']);
  return (text) => replacements.reduce((current, [pattern, by]) => current.replace(pattern, by), text);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function reportMarkdown(block: ReportBlock): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = [
    '### gpuforge report',
    '',
    '| | |',
    '|---|---|',
    ...block.rows.map(({ name, value }) => `| ${cell(name)} | ${cell(value)} |`),
  ];
  if (block.findings.length > 0) {
    lines.push('', 'Findings:', '', ...block.findings.map(({ code, summary }) => `- \`${code}\` ${summary}`));
  }
  return `${lines.join('\n')}\n`;
}
