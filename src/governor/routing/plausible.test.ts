import { describe, expect, it } from 'vitest';
import type { Device } from '../../devices/device.ts';
import { disturbed, leastTime, levelled } from './plausible.ts';
import { launchTime, type Profile } from './profile.ts';

const profile = (device: string, launchUs: number, perByte: number): Profile => ({
  device,
  name: device,
  host: device === 'cpu',
  launchUs,
  waitUs: 1,
  compileUs: 1,
  upload: { x: [1], y: [1] },
  download: { x: [1], y: [1] },
  classes: { map: { x: [1000, 1_000_000], y: [launchUs, launchUs + 1_000_000 * perByte] } },
  tookMs: 1,
  missed: 0,
});

const device = (id: string, software: boolean): Device =>
  ({ id, caps: { details: { software } } }) as unknown as Device;

describe('plausible profiles', () => {
  it('hold no bandwidth that no machine has', () => {
    const flat = profile('cpu', 1, 0);
    expect(launchTime(flat, 'map', 0, 8e9)).toBeGreaterThanOrEqual(leastTime(true, 8e9));
    expect(leastTime(true, 8e9)).toBe(100_000);
    expect(leastTime(false, 12e6)).toBe(1);
  });

  it('are not kept when the host was disturbed', () => {
    expect(disturbed(profile('cpu', 122_000, 1))).toBe(true);
    expect(disturbed(profile('cpu', 2, 1))).toBe(false);
    expect(disturbed(profile('webgpu:0', 500, 1))).toBe(false);
  });

  it('never make a software GPU faster than the host', () => {
    const measured = new Map([
      ['cpu', profile('cpu', 122, 0.01)],
      ['webgpu:0', profile('webgpu:0', 17, 0.001)],
    ]);
    const soft = levelled(measured, [device('cpu', false), device('webgpu:0', true)]).get('webgpu:0')!;
    expect(launchTime(soft, 'map', 0, 500_000)).toBeGreaterThanOrEqual(
      launchTime(measured.get('cpu')!, 'map', 0, 500_000),
    );
    const real = levelled(measured, [device('cpu', false), device('webgpu:0', false)]).get('webgpu:0')!;
    expect(real).toBe(measured.get('webgpu:0'));
  });
});
