// The tour on a terminal: devices, a progress line, a table.

import type { DeviceKind, DeviceReport } from '../../index.ts';
import { type Row, runTour, type TourReport } from './tour.ts';

/** Exit status: 0 if every result was right, 1 if not, 130 if interrupted. */
export async function tour(flags: { readonly json?: boolean; readonly device?: readonly string[] }): Promise<number> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort(new DOMException('interrupted', 'AbortError'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const live = !flags.json && process.stdout.isTTY;
  try {
    const report = await runTour({
      devices: flags.device as DeviceKind[] | undefined,
      signal: stop.signal,
      onProgress: (done, total, what) => {
        if (live) process.stdout.write(`\r\x1b[2K${bar(done / total)} ${done}/${total}  ${what}`);
        else if (!flags.json) process.stdout.write(`[${done + 1}/${total}] ${what}\n`);
      },
    });
    if (live) process.stdout.write('\r\x1b[2K');
    process.stdout.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : page(report));
    return report.ok ? 0 : 1;
  } catch (error) {
    if (live) process.stdout.write('\r\x1b[2K');
    if (error instanceof DOMException && error.name === 'AbortError') {
      process.stderr.write('interrupted\n');
      return 130;
    }
    throw error;
  } finally {
    process.removeListener('SIGINT', interrupt);
    process.removeListener('SIGTERM', interrupt);
  }
}

function bar(fraction: number): string {
  const width = 20;
  const full = Math.round(fraction * width);
  return `[${'#'.repeat(full)}${'.'.repeat(width - full)}]`;
}

function page(report: TourReport): string {
  const wrong = report.rows.filter((r) => r.error !== null);
  return [
    'Devices',
    ...report.devices.map(deviceLine),
    '',
    ...table(report.rows),
    '',
    wrong.length === 0
      ? `All ${report.rows.length} results are right.`
      : `${wrong.length} of ${report.rows.length} results are wrong:\n${wrong.map((r) => `  ${r.work} on ${r.device}: ${r.error}`).join('\n')}`,
    '',
  ].join('\n');
}

function deviceLine(d: DeviceReport): string {
  if (d.open) return `  ${d.id.padEnd(10)} ${d.name}`;
  return `  ${d.id.padEnd(10)} not opened: ${d.reason}\n${' '.repeat(13)}${d.fix}`;
}

function table(rows: readonly Row[]): string[] {
  const head = ['work', 'device', 'time', 'GB/s', 'GFLOP/s'];
  const cells = rows.map((r) => [
    r.work,
    r.device,
    r.error ? 'wrong' : time(r.ms),
    rate(r.gbPerSecond),
    rate(r.gflopPerSecond),
  ]);
  const widths = head.map((h, i) => Math.max(h.length, ...cells.map((c) => c[i]!.length)));
  const line = (c: readonly string[]) =>
    c.map((s, i) => (i < 2 ? s.padEnd(widths[i]!) : s.padStart(widths[i]!))).join('  ');
  return [line(head), widths.map((w) => '-'.repeat(w)).join('  '), ...cells.map(line)];
}

function time(ms: number): string {
  return ms < 1 ? `${(ms * 1000).toFixed(1)} us` : `${ms.toFixed(2)} ms`;
}

const rate = (v: number): string => (Number.isNaN(v) ? '-' : v < 0.1 ? '<0.1' : v.toFixed(1));
