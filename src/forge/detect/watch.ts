// `gpuforge detect --watch`: live readings as a table that redraws itself, or as JSON lines.
//
// On a terminal the view is redrawn in place and ends with q or Ctrl-C; elsewhere each reading is printed below the last.

import { waited } from '../../base/timer.ts';
import type { Machine } from '../machine.ts';
import type { NvmlTelemetry, Ports } from '../ports.ts';
import { findChild } from '../ports-node.ts';
import { columns, formatBytes, type Output, type Style, styleFor } from '../style.ts';
import type { DetectFlags } from './command.ts';
import { joinReadings, type Reading, telemetryStream } from './telemetry.ts';

const WATCH_SCHEMA = 'gpuforge.watch/1';
const CLEAR = '\u001b[H\u001b[J';

export async function watch(ports: Ports, machine: Machine, flags: DetectFlags, output: Output): Promise<number> {
  const style = styleFor(output, { color: flags.color, env: ports.env });
  const intervalMs = flags.intervalMs ?? 1000;
  const redraw = output.isTTY && !flags.json;
  const stop = stopper(redraw);
  let left = flags.count ?? Number.POSITIVE_INFINITY;
  try {
    for await (const nvml of ticks(machine, intervalMs, stop.signal)) {
      const readings = joinReadings(ports, machine, nvml);
      if (flags.json) {
        output.write(`${JSON.stringify({ schema: WATCH_SCHEMA, at: ports.now(), readings })}\n`);
      } else {
        output.write(`${redraw ? CLEAR : ''}${renderReadings(readings, style)}`);
        if (redraw) output.write(style.dim(`\nevery ${intervalMs / 1000} s, q ends\n`));
      }
      if (--left <= 0 || stop.signal.aborted) break;
    }
  } finally {
    stop.release();
  }
  return 0;
}

export function renderReadings(readings: readonly Reading[], style: Style): string {
  if (readings.length === 0) return 'no GPU to watch\n';
  const header = ['', 'GPU', 'use', '', 'memory', 'temp', 'power', 'clock', 'fan'].map((cell) => style.dim(cell));
  const rows = readings.map((reading, index) => {
    if (reading.note !== null) return [String(index), reading.name, style.yellow(reading.note)];
    return [
      String(index),
      reading.name,
      unit(reading.utilization, '%'),
      bar(reading.utilization, style),
      memoryText(reading),
      unit(reading.temperature, ' C'),
      powerText(reading),
      unit(reading.clockMhz, ' MHz'),
      unit(reading.fanPercent, '%'),
    ];
  });
  return columns([header, ...rows]);
}

function unit(value: number | null, suffix: string): string {
  return value === null ? '-' : `${Math.round(value)}${suffix}`;
}

function bar(percent: number | null, style: Style): string {
  if (percent === null) return ' '.repeat(12);
  const filled = Math.round(Math.min(100, Math.max(0, percent)) / 10);
  const text = `[${'#'.repeat(filled)}${'.'.repeat(10 - filled)}]`;
  return percent >= 90 ? style.red(text) : percent >= 50 ? style.yellow(text) : style.green(text);
}

function memoryText({ memoryUsed, memoryTotal }: Reading): string {
  if (memoryUsed === null) return memoryTotal === null ? '-' : `- / ${formatBytes(memoryTotal)}`;
  return memoryTotal === null ? formatBytes(memoryUsed) : `${formatBytes(memoryUsed)} / ${formatBytes(memoryTotal)}`;
}

function powerText({ powerWatts, powerLimitWatts }: Reading): string {
  if (powerWatts === null) return '-';
  const limit = powerLimitWatts === null ? '' : ` / ${Math.round(powerLimitWatts)}`;
  return `${Math.round(powerWatts)}${limit} W`;
}

/** One NVML answer each interval where the driver can be asked, else an empty one. */
async function* ticks(
  machine: Machine,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<readonly NvmlTelemetry[]> {
  const library = machine.drivers.nvidia?.libraries.find(({ soname }) => /nvidia-ml|nvml/.test(soname))?.path;
  const child = findChild();
  const awake = machine.gpus.some((gpu) => gpu.vendor === 'nvidia' && gpu.usable && gpu.pci?.power !== 'suspended');
  if (library && child && awake) {
    yield* telemetryStream({ library, child, intervalMs, signal });
    if (signal.aborted) return;
  }
  for (;;) {
    yield [];
    if (!(await waited(intervalMs, signal))) return;
  }
}

/** Ends the watch on Ctrl-C, and on q where keys can be read; gives the terminal back as it was. */
function stopper(keys: boolean): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const end = () => controller.abort();
  const onKey = (key: Buffer) => {
    if (key[0] === 3 || key.toString() === 'q') end();
  };
  process.once('SIGINT', end);
  const raw = keys && process.stdin.isTTY;
  if (raw) process.stdin.setRawMode(true).on('data', onKey).resume();
  return {
    signal: controller.signal,
    release() {
      process.removeListener('SIGINT', end);
      if (raw) process.stdin.setRawMode(false).removeListener('data', onKey).pause();
    },
  };
}
