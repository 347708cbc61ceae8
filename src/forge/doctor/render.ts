// The doctor's report as a person reads it: one line an area, what is wrong below it with the command that mends it.

import type { Style } from '../style.ts';
import type { Area, DoctorReport, Finding, Status } from './types.ts';

const titles: Readonly<Record<Area, string>> = {
  gpu: 'GPU',
  driver: 'driver',
  access: 'device access',
  place: 'place',
  libraries: 'libraries',
  node: 'Node',
  vulkan: 'Vulkan',
  python: 'Python',
  tools: 'tools',
  disk: 'disk',
  network: 'network',
  data: 'data',
  compute: 'compute',
};

const marks: Readonly<Record<Status, string>> = {
  ok: '[✓]',
  info: '[i]',
  unverified: '[?]',
  skipped: '[-]',
  warning: '[!]',
  error: '[✗]',
};

export function renderReport(report: DoctorReport, style: Style, verbose: boolean): string {
  const width = Math.max(...Object.values(titles).map((title) => title.length));
  const lines: string[] = [];
  const code = (entry: Finding) => (verbose ? style.dim(`  ${entry.code}`) : '');
  for (const { area, status, findings } of report.areas) {
    if (findings.length === 0) continue;
    const lead = findings.find((entry) => entry.status === status) ?? findings[0]!;
    lines.push(`${mark(status, style)} ${titles[area].padEnd(width)}  ${lead.summary}${code(lead)}`);
    const rest = findings.filter((entry) => entry !== lead && (verbose || isTrouble(entry) || entry.status === 'info'));
    lines.push(...details(lead, style, verbose));
    for (const entry of rest) {
      lines.push(
        `${' '.repeat(4)}${mark(entry.status, style)} ${entry.summary}${code(entry)}`,
        ...details(entry, style, verbose),
      );
    }
  }
  lines.push('', conclusion(report, style));
  return `${lines.join('\n')}\n`;
}

function isTrouble({ status }: Finding): boolean {
  return status === 'warning' || status === 'error';
}

function details(entry: Finding, style: Style, verbose: boolean): readonly string[] {
  const pad = ' '.repeat(8);
  const lines: string[] = [];
  if (verbose) lines.push(...entry.evidence.map((text) => `${pad}${style.dim(text)}`));
  if (entry.fix && (isTrouble(entry) || verbose)) {
    lines.push(`${pad}${style.bold('fix')}  ${entry.fix.text}`);
    lines.push(...entry.fix.commands.map((command) => `${pad}     ${command}`));
  }
  return lines;
}

function mark(status: Status, style: Style): string {
  switch (status) {
    case 'ok':
      return style.green(marks.ok);
    case 'error':
      return style.red(marks.error);
    case 'warning':
    case 'unverified':
      return style.yellow(marks[status]);
    case 'info':
    case 'skipped':
      return style.dim(marks[status]);
    default:
      return status satisfies never;
  }
}

function working({ verdict }: DoctorReport): string {
  return verdict.devices.flatMap(({ device, ok }) => (ok ? [device] : [])).join(', ');
}

function conclusion(report: DoctorReport, style: Style): string {
  const bad = report.areas.filter(({ status }) => status === 'warning' || status === 'error').length;
  const compute = {
    verified: `GPUForge computes here: on ${working(report)}.`,
    failed: 'GPUForge does not compute here.',
    unverified: 'Whether GPUForge computes here was not verified.',
  }[report.verdict.compute];
  const issues =
    bad === 0
      ? style.green('Doctor found no issues.')
      : style.bold(`Doctor found issues in ${bad} area${bad === 1 ? '' : 's'}.`);
  return `${issues} ${compute}`;
}
