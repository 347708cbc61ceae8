// A profile as text of 80 columns, to read in a terminal or to paste.

import { checked } from '../../base/signatures.ts';
import { fileKinds } from '../file/kinds.ts';
import type { DeviceTime, OperationSummary, ProfileFile } from '../file/types.ts';
import { clean, cut } from './cell.ts';

const width = 80;
const nameWidth = 15;

/** A head that fits: what is cut is the list of devices. */
const cutEnd = (head: string): string => (head.length > width ? `${head.slice(0, width - 2)}…)` : head);

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Operations by their own time, most first: what takes the time, not what contains it. */
export function ranked(summary: ProfileFile['summary']): [string, OperationSummary][] {
  return Object.entries(summary).sort((a, b) => b[1].self - a[1].self || b[1].total - a[1].total);
}

/** Operations by their total time, most first. */
export const byTotal = (summary: ProfileFile['summary']): [string, OperationSummary][] =>
  Object.entries(summary).sort((a, b) => b[1].total - a[1].total);

export const textReport = checked(
  'textReport',
  'profile:profile top:number?',
  (profile: ProfileFile, top = 10): string => {
    const { summary, entries, wallMs } = profile;
    const rows = ranked(summary);
    const self = rows.reduce((s, [, r]) => s + r.self, 0);
    const where = [
      profile.node ? `Node ${profile.node.split('.').slice(0, 2).join('.')}` : 'browser',
      ...profile.machine.devices
        .filter((d) => d.time !== null || profile.machine.devices.length === 1)
        .map((d) => `${d.id} ${d.name}`),
    ].join(', ');
    const counts = `${rows.length} operation${rows.length === 1 ? '' : 's'}, ${entries.length} call${entries.length === 1 ? '' : 's'}`;
    const lines = [
      cutEnd(clean(`Profile  ${counts}, ${wallMs.toFixed(1)} ms wall (${where})`)),
      'Operation        Calls  Total (ms)  Avg (ms)  Self (ms)   % Time  Device',
      ...rows.slice(0, top).map(([name, r]) => line(name, r, self)),
    ];
    if (rows.length > top) lines.push(`… and ${rows.length - top} more`);
    if (rows.length === 0) lines.push('Nothing was measured. Put work into profiler.profile(name, () => …).');
    lines.push(...footer(profile));
    return `${lines.join('\n')}\n`;
  },
  fileKinds,
);

function line(name: string, r: OperationSummary, self: number): string {
  const share = self === 0 ? 0 : (100 * r.self) / self;
  return [
    cut(clean(name), nameWidth).padEnd(nameWidth),
    String(r.callCount).padStart(7),
    r.total.toFixed(2).padStart(12),
    r.avg.toFixed(2).padStart(10),
    r.self.toFixed(2).padStart(11),
    share.toFixed(1).padStart(8),
    `   ${cut(clean(r.device ?? '-'), 14)}`,
  ]
    .join('')
    .slice(0, width)
    .trimEnd();
}

function footer(profile: ProfileFile): string[] {
  const { dropped, machine, options, orphans, violations } = profile;
  const lost = dropped.entries + dropped.kernels + dropped.transfers;
  const devices = machine.devices.filter((d) => d.time !== null);
  const lines = devices.map((d) => {
    const label = devices.length > 1 || d.kind === 'cpu' ? d.id : 'GPU';
    return `${label} ${idle(d.time!)} ${lost} dropped.`;
  });
  if (devices.length === 0) lines.push(`Device times were not measured. ${lost} dropped.`);
  if (options.detailed) {
    const slow = options.slowdown === null ? '' : ` Replays took ${options.slowdown.toFixed(2)} times as long for it.`;
    lines.push(`Detailed: kernels were measured one by one.${slow}`);
  }
  if (orphans > 0) lines.push(`${orphans} scopes whose parent is not known.`);
  if (violations > 0) lines.push(`${violations} kernels seem to start before they were enqueued.`);
  return lines;
}

function idle({ busy, idleHost, idleTransfer, idleUnknown }: DeviceTime): string {
  const parts = [
    `${percent(idleHost)} waiting for the host`,
    `${percent(idleTransfer)} for transfers`,
    ...(idleUnknown >= 0.005 ? [`${percent(idleUnknown)} unknown`] : []),
  ];
  return `busy ${percent(busy)}, idle ${percent(1 - busy)}: ${parts.join(', ')}.`;
}

/** The operations that take the most time in all. */
export const bottleneckReport = checked(
  'bottleneckReport',
  'profile:profile top:number?',
  (profile: ProfileFile, top = 5): string => {
    const rows = byTotal(profile.summary).slice(0, top);
    if (rows.length === 0) return 'Nothing was measured.\n';
    return rows
      .map(([name, r], i) => {
        const calls = `${r.callCount} call${r.callCount === 1 ? '' : 's'}`;
        return `${i + 1}. ${cut(clean(name), 40)}: ${r.total.toFixed(2)} ms in ${calls}, ${r.avg.toFixed(2)} ms each (p95 ${r.p95.toFixed(2)} ms)\n`;
      })
      .join('');
  },
  fileKinds,
);

/** Kernels by the time they took, with what they reached. */
export const kernelReport = checked(
  'kernelReport',
  'profile:profile top:number?',
  (profile: ProfileFile, top = 10): string => {
    const list = Object.values(profile.kernelSummary).sort((a, b) => (b.total ?? 0) - (a.total ?? 0));
    if (list.length === 0) return '';
    const figure = (v: number | null, digits: number): string => (v === null ? '-' : v.toFixed(digits));
    const rows = list
      .slice(0, top)
      .map((k) =>
        [
          cut(clean(k.name), 29).padEnd(29),
          String(k.count).padStart(7),
          figure(k.total, 2).padStart(12),
          figure(k.median === null ? null : 1000 * k.median, 1).padStart(13),
          figure(k.gbs, 1).padStart(9),
          (k.roofline === null ? '-' : percent(k.roofline)).padStart(7),
          k.bound === null ? '' : `  ${k.bound}`,
        ].join(''),
      );
    const more = list.length > top ? [`… and ${list.length - top} more`] : [];
    return `\n${['Kernel                         Calls  Total (ms)  Median (µs)     GB/s   Roof  Bound', ...rows, ...more].join('\n')}\n`;
  },
  fileKinds,
);
