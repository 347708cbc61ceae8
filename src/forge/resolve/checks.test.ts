// Checks by themselves, on wheels and targets made for them.

import { describe, expect, it } from 'vitest';
import type { Tables } from '../data/schemas.ts';
import { checks } from './checks.ts';
import type { Target, Wheel } from './types.ts';

const tables = { architectures: { architectures: [] } } as unknown as Tables;
const wheelOf = (more: object): Wheel =>
  ({
    framework: 'pytorch',
    version: '9.9',
    variant: 'cu999',
    backend: 'cuda',
    source: 's',
    ...more,
  }) as unknown as Wheel;
const targetOf = (more: object): Target =>
  ({ platform: 'linux-x64', platformText: 'linux x64', gpus: [], ...more }) as unknown as Target;
const run = (name: string, wheel: Wheel, target: Target) =>
  checks.find((check) => check.name === name)!.run(wheel, target, tables);

describe('the vendor', () => {
  it('must be that of every GPU, and there must be one', () => {
    const ok = (...vendors: string[]): boolean =>
      run('vendor', wheelOf({}), targetOf({ gpus: vendors.map((vendor) => ({ vendor })) })).ok;
    expect([ok('nvidia'), ok('nvidia', 'nvidia'), ok('nvidia', 'amd'), ok('amd'), ok()]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(run('vendor', wheelOf({ backend: 'cpu' }), targetOf({})).ok).toBe(true);
  });
});

describe('kernels as PTX', () => {
  const gpu = { vendor: 'nvidia', name: 'a GPU', cc: { major: 12, minor: 0 }, tegra: false };
  const wheel = wheelOf({ cuda: { cubins: [], ptx: '9.0', ptxPlatforms: ['linux-x64'], version: '12.8' } });
  const on = (driverCuda: string | undefined, more: object = {}) =>
    run('kernels', wheel, targetOf({ gpus: [{ ...gpu, ...more }], driverCuda }));

  it('run where the driver knows the CUDA that wrote them', () => {
    expect(['12.8', '13.0'].map((cuda) => on(cuda).ok)).toEqual([true, true]);
    expect(on('12.7')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('only PTX of CUDA 12.8 for sm_120'),
    });
    expect(on(undefined).ok).toBe(false);
  });

  it('run on nothing older than they are for', () => {
    expect(on('13.0', { cc: { major: 9, minor: 0 } }).ok).toBe(true);
    expect(on('13.0', { cc: { major: 8, minor: 9 } }).ok).toBe(false);
  });
});
