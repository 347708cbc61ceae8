// Collects and shows what `gpuforge stats` tells. Figures that a device does not give are absent, never made up.

import { waited } from '../base/timer.ts';
import { columns, type Output } from '../forge/style.ts';
import { openProfileStore, type ProfileStore } from '../governor/routing/index.ts';
import {
  ArgumentError,
  createRuntime,
  type DeviceKind,
  formatBytes,
  type MemorySnapshot,
  type Runtime,
  type Telemetry,
} from '../index.ts';
import { tellFailure } from './failure.ts';

export interface StatsFlags {
  readonly json?: boolean;
  /** Seconds between two; true is one. */
  readonly watch?: string | boolean;
  readonly device?: readonly string[];
}

export interface DeviceStats {
  readonly id: string;
  readonly name: string;
  readonly memory: MemorySnapshot;
  readonly telemetry: Telemetry | null;
  /** When the router measured it, ms since 1970; null if it has not. */
  readonly calibratedAt: number | null;
}

export interface StatsReport {
  readonly schema: 'gpuforge.stats/1';
  readonly timestamp: number;
  readonly devices: readonly DeviceStats[];
  readonly closed: readonly { readonly id: string; readonly reason: string; readonly fix: string }[];
}

/** Exit status: 0, or 2 if the flags make no sense. */
export async function stats(flags: StatsFlags, output: Output, signal: AbortSignal): Promise<number> {
  const seconds = flags.watch === undefined || flags.watch === false ? null : Number(flags.watch);
  if (seconds !== null && !(seconds > 0 && seconds <= 86_400)) {
    const fix = 'Give a number of seconds above 0.';
    const info = { code: 'BAD_NUMBER', message: `--watch is '${String(flags.watch)}'`, fix, where: 'gpuforge stats' };
    tellFailure(new ArgumentError(info), output, flags.json);
    return 2;
  }
  const rt = await createRuntime({
    ...(flags.device ? { devices: flags.device as DeviceKind[] } : {}),
    routing: { mode: 'off' },
  });
  try {
    const store = await openProfileStore(null);
    for (;;) {
      const report = collect(rt, store);
      if (flags.json) output.write(`${JSON.stringify(report, null, seconds === null ? 2 : 0)}\n`);
      else output.write(`${seconds !== null && output.isTTY ? '\u001b[2J\u001b[H' : ''}${page(report)}`);
      if (seconds === null || !(await waited(seconds * 1000, signal))) return 0;
    }
  } finally {
    await rt.close();
  }
}

export function collect(rt: Runtime, store: ProfileStore): StatsReport {
  const reports = rt.devices();
  const open = reports.filter((r) => r.open);
  return {
    schema: 'gpuforge.stats/1',
    timestamp: Date.now(),
    devices: open.map(({ id, name }) => {
      const device = rt.device(id);
      return {
        id,
        name,
        memory: rt.memory.snapshot(id),
        telemetry: device.telemetry?.() ?? null,
        calibratedAt: store.load(device)?.measuredAt ?? null,
      };
    }),
    closed: reports
      .filter((r) => !r.open)
      .map((r) => ({ id: r.id, reason: r.reason ?? 'not opened', fix: r.fix ?? '' })),
  };
}

/** Columns of the table; one that no device has anything for is left out. */
const fields: readonly { readonly head: string; readonly of: (d: DeviceStats, now: number) => string | null }[] = [
  { head: 'device', of: (d) => d.id },
  { head: 'used', of: ({ memory: m }) => `${m.utilization.toFixed(0)} %` },
  { head: 'pressure', of: ({ memory: m }) => m.pressure },
  { head: 'total', of: ({ memory: m }) => mb(m.totalMb) },
  { head: 'available', of: ({ memory: m }) => mb(m.availableMb) },
  { head: 'ours', of: ({ memory: m }) => mb(m.allocatedMb) },
  { head: 'reserved', of: ({ memory: m }) => mb(m.reservedMb) },
  { head: 'others', of: ({ memory: m }) => mb(m.otherProcessesMb) },
  { head: 'busy', of: ({ telemetry: t }) => percent(t?.utilization) },
  { head: 'temperature', of: ({ telemetry: t }) => unit(t?.temperature, '°C') },
  { head: 'power', of: ({ telemetry: t }) => unit(t?.power, 'W') },
  { head: 'calibrated', of: (d, now) => (d.calibratedAt === null ? 'never' : age(now - d.calibratedAt)) },
  { head: 'name', of: (d) => d.name },
];

export function page(report: StatsReport): string {
  const rows = report.devices.map((d) => fields.map((f) => f.of(d, report.timestamp)));
  const shown = fields.map((_, i) => i).filter((i) => rows.some((r) => r[i] !== null));
  const cells = [shown.map((i) => fields[i]!.head), ...rows.map((r) => shown.map((i) => r[i] ?? '-'))];
  const closed = report.closed.map((c) => `${c.id} is not open: ${c.reason}${c.fix ? `\n  ${c.fix}` : ''}\n`);
  return `${columns(cells)}${closed.length > 0 ? `\n${closed.join('')}` : ''}`;
}

const mb = (value: number | null): string | null => (value === null ? null : formatBytes(value * 2 ** 20));

const unit = (value: number | undefined, of: string): string | null =>
  value === undefined ? null : `${Math.round(value)} ${of}`;

/** A share as telemetry gives it, from 0 to 1. */
const percent = (share: number | undefined): string | null => (share === undefined ? null : unit(100 * share, '%'));

function age(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return 'just now';
  if (minutes < 100) return `${Math.round(minutes)} min ago`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours)} h ago` : `${Math.round(hours / 24)} days ago`;
}
