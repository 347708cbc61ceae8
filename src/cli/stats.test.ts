import { describe, expect, it } from 'vitest';
import type { Output } from '../forge/style.ts';
import { page, type StatsReport, stats } from './stats-show.ts';

function recorder(onWrite: () => void = () => {}): Output & { readonly out: string[]; readonly err: string[] } {
  const [out, err]: [string[], string[]] = [[], []];
  return {
    out,
    err,
    write: (t) => {
      out.push(t);
      onWrite();
    },
    warn: (t) => void err.push(t),
    isTTY: false,
    columns: 100,
  };
}

describe('gpuforge stats', () => {
  it('shows the CPU with its memory', async () => {
    const output = recorder();
    expect(await stats({ device: ['cpu'] }, output, new AbortController().signal)).toBe(0);
    const [head, cpu] = output.out.join('').split('\n');
    expect(head).toMatch(/^device +used +pressure +total +available +ours +reserved/);
    expect(cpu).toMatch(/^cpu +0 % +low +\d[\d.]* GiB/);
  });

  it('gives the same as data', async () => {
    const output = recorder();
    await stats({ device: ['cpu'], json: true }, output, new AbortController().signal);
    const report = JSON.parse(output.out.join('')) as StatsReport;
    expect(report).toMatchObject({ schema: 'gpuforge.stats/1', closed: [] });
    expect(report.devices[0]).toMatchObject({
      id: 'cpu',
      memory: { deviceId: 'cpu', pressure: 'low' },
      telemetry: null,
    });
  });

  it('watches until it is stopped, a line of JSON each time', async () => {
    const stop = new AbortController();
    const output = recorder(() => {
      if (output.out.length === 3) stop.abort();
    });
    expect(await stats({ device: ['cpu'], json: true, watch: '0.01' }, output, stop.signal)).toBe(0);
    expect(output.out.length).toBe(3);
    for (const line of output.out) expect((JSON.parse(line) as StatsReport).devices.length).toBe(1);
  });

  it('refuses an interval that is none', async () => {
    const output = recorder();
    expect(await stats({ watch: 'often' }, output, new AbortController().signal)).toBe(2);
    expect(output.err.join('')).toMatch(/--watch is 'often'/);
  });

  it('leaves out columns that nobody has, and says why a device is not open', () => {
    const memory = {
      timestamp: 0,
      deviceId: 'cuda:0',
      backend: 'cuda',
      allocatedMb: 0,
      reservedMb: 2,
      totalMb: 142_000,
      availableMb: 120_000,
      otherProcessesMb: 22_000,
      utilization: 15.5,
      pressure: 'low' as const,
      source: 'device' as const,
      spilledMb: 0,
    };
    const report: StatsReport = {
      schema: 'gpuforge.stats/1',
      timestamp: 10 * 3_600_000,
      devices: [{ id: 'cuda:0', name: 'A GPU', memory, telemetry: { temperature: 41, power: 76.4 }, calibratedAt: 0 }],
      closed: [{ id: 'webgpu', reason: 'no adapter', fix: 'Install a driver.' }],
    };
    const lines = page(report).split('\n');
    expect(lines[0]).not.toMatch(/busy/);
    expect(lines[1]).toMatch(
      /^cuda:0 +16 % +low +139 GiB +117 GiB +0 B +2.00 MiB +21.5 GiB +41 °C +76 W +10 h ago +A GPU$/,
    );
    expect(lines.slice(3, 5)).toEqual(['webgpu is not open: no adapter', '  Install a driver.']);
    const [first] = report.devices;
    const busy = page({ ...report, devices: [{ ...first!, telemetry: { utilization: 0.37 } }] });
    expect(busy).toMatch(/busy/);
    expect(busy).toMatch(/ 37 % /);
  });
});
