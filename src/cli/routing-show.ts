// calibrate and explain-route on a terminal.

import { columns, type Output, type Style, styleFor } from '../forge/style.ts';
import {
  amountOf,
  at,
  type KernelClass,
  type OperationType,
  openRouter,
  type Profile,
  type RouteExplanation,
  time,
} from '../governor/routing/index.ts';
import { ArgumentError, createRuntime, type Device, type Runtime } from '../index.ts';
import type { CalibrateFlags } from './calibrate.ts';
import type { ExplainRouteFlags } from './explain-route.ts';
import { tellFailure } from './failure.ts';

/** A runtime that measures nothing by itself: only its devices are used here. */
const openDevices = async (): Promise<{ rt: Runtime; devices: Device[] }> => {
  const rt = await createRuntime({ routing: { mode: 'off' } });
  return { rt, devices: rt.devices().flatMap((d) => (d.open ? [rt.device(d.id)] : [])) };
};

/** Exit status: 0 if all devices are known, 130 if interrupted. */
export async function runCalibrate(flags: CalibrateFlags, out: Output): Promise<number> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort(new DOMException('interrupted', 'AbortError'));
  process.once('SIGINT', interrupt);
  const live = out.isTTY && !flags.json;
  const { rt, devices } = await openDevices();
  try {
    const start = performance.now();
    const { router, measured } = await openRouter(
      devices,
      { mode: 'measured' },
      {
        force: flags.force,
        signal: stop.signal,
        budgetMs: flags.budget,
        always: true,
        onProgress: ({ device, part, what }) => {
          if (live) out.write(`\r\x1b[2K${device.padEnd(10)} ${bar(part)}  ${what}`);
        },
      },
    );
    const tookMs = performance.now() - start;
    if (live) out.write('\r\x1b[2K');
    const profiles = devices.map((d) => router.profile(d.id)).filter((p) => p !== undefined);
    if (flags.json) {
      out.write(`${JSON.stringify({ schema: 'gpuforge.calibrate/1', measured, tookMs, profiles }, null, 2)}\n`);
      return 0;
    }
    const style = styleFor(out, { color: flags.color, env: process.env });
    for (const p of profiles) out.write(`${profileText(p, measured.includes(p.device), style)}\n`);
    out.write(
      measured.length > 0
        ? `${measured.length} of ${devices.length} devices measured in ${tookMs.toFixed(0)} ms, and remembered for the next runs.\n`
        : 'All devices were known; --force measures them again.\n',
    );
    return 0;
  } catch (error) {
    if (live) out.write('\r\x1b[2K');
    if (!stop.signal.aborted) throw error;
    out.warn('interrupted\n');
    return 130;
  } finally {
    process.removeListener('SIGINT', interrupt);
    await rt.close();
  }
}

function bar(part: number): string {
  const width = 24;
  const full = Math.round(part * width);
  return `${'━'.repeat(full)}${'╌'.repeat(width - full)} ${`${Math.round(part * 100)}`.padStart(3)} %`;
}

const shown: readonly (readonly [KernelClass, string, number])[] = [
  ['map', 'elementwise', 12 << 20],
  ['reduce', 'sum', 4 << 20],
  ['heavy', 'functions', 16 << 20],
  ['matmul', 'matrix product', 2 * 512 ** 3],
  ['scan', 'running sum', 8 << 20],
  ['scatter', 'scatter', 16 << 20],
  ['sort', 'sort', 20 << 20],
];

export function profileText(p: Profile, fresh: boolean, style: Style): string {
  const rate = (amount: number, us: number, unit: string): string => `${(amount / us / 1000).toFixed(1)} ${unit}`;
  const rows = shown.flatMap(([cls, name, amount]) => {
    const curve = p.classes[cls];
    if (!curve) return [];
    const us = at(curve, amount);
    return [[name, time(us), style.dim(rate(amount, us, amountOf[cls] === 'bytes' ? 'GB/s' : 'GFLOP/s'))]];
  });
  const large = 16 << 20;
  return [
    `${style.bold(p.device)}  ${p.name}  ${style.dim(fresh ? `measured in ${p.tookMs.toFixed(0)} ms` : 'known')}`,
    columns(
      [
        ['launch', time(p.launchUs), style.dim(`a new kernel takes ${time(p.compileUs)}`)],
        ['wait for a result', time(p.waitUs), ''],
        ['bring 16 MiB', time(at(p.upload, large)), style.dim(rate(large, at(p.upload, large), 'GB/s'))],
        ['fetch 16 MiB', time(at(p.download, large)), style.dim(rate(large, at(p.download, large), 'GB/s'))],
        ...rows.map((r, i) => [i === 0 ? `1M: ${r[0]}` : `    ${r[0]}`, r[1]!, r[2]!]),
      ],
      2,
      2,
    ),
  ].join('\n');
}

/** Exit status: 0, or 2 for a device that is not there. */
export async function runExplainRoute(
  op: OperationType,
  size: number,
  flags: ExplainRouteFlags,
  out: Output,
): Promise<number> {
  const { rt, devices } = await openDevices();
  try {
    const unknown = flags.at !== undefined && flags.at !== 'host' && !devices.some((d) => d.id === flags.at);
    if (unknown) {
      const fix = `Use host or one of ${devices.map((d) => d.id).join(', ')}.`;
      const info = {
        code: 'NO_DEVICE',
        message: `there is no device '${flags.at}'`,
        fix,
        where: 'gpuforge explain-route',
      };
      tellFailure(new ArgumentError(info), out, flags.json);
      return 2;
    }
    const mode = flags.rules ? 'rules' : 'measured';
    const { router } = await openRouter(devices, { mode, explore: false }, { always: mode === 'measured' });
    const e = router.explain(op, size, { at: flags.at, wanted: flags.wanted ?? null });
    if (flags.json) out.write(`${JSON.stringify({ schema: 'gpuforge.route/1', ...e }, null, 2)}\n`);
    else out.write(routeText(e, styleFor(out, { color: flags.color, env: process.env })));
    return 0;
  } finally {
    await rt.close();
  }
}

export function routeText(e: RouteExplanation, style: Style): string {
  const head = `${e.op} of ${e.elements.toLocaleString('en-US')} elements, data in ${e.location.join(', ') || 'no place: it is made'}`;
  const words = e.reason.split(':')[0]!;
  const lines = [`${head}\n  → ${style.bold(style.green(e.device))}  ${e.outcome}: ${words}\n`];
  if (e.predictions.length > 0) {
    const most = Math.max(...e.predictions.map((p) => p.us));
    lines.push(
      columns(
        [
          ['', 'predicted', 'launches', 'kernels', 'transfers', 'measured before', ''],
          ...[...e.predictions]
            .sort((a, b) => a.us - b.us)
            .map((p) => [
              p.device === e.device ? style.bold(p.device) : p.device,
              time(p.us),
              time(p.launch),
              time(p.work),
              time(p.transfer),
              p.samples > 0 ? `${p.samples}×` : 'no',
              style.dim('█'.repeat(Math.max(1, Math.round((24 * p.us) / most)))),
            ]),
        ],
        2,
        2,
      ),
    );
  }
  return lines.join('');
}
