import { describe, expect, it } from 'vitest';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import { type CudaHost, openCudaDevices, whyNot } from './discover.ts';

const host = (more: Partial<CudaHost> = {}): CudaHost => ({
  env: {},
  home: '/home/user',
  access: () => 'missing',
  ...more,
});

const open = (ffi: MockCuda, more: Partial<CudaHost> = {}) =>
  openCudaDevices({ ffi, host: host(more), cacheDir: false });

describe('finding GPUs', () => {
  it('opens a device and describes it', async () => {
    const { devices, refused } = await open(new MockCuda());
    expect(refused).toEqual([]);
    expect(devices.map((d) => d.id)).toEqual(['cuda:0']);
    expect(devices[0]!.caps.name).toBe('Mock GPU');
    expect(devices[0]!.caps.details).toMatchObject({ architecture: 'sm_90', cuda: '13.0', processors: 132 });
    expect(devices[0]!.caps.native.f32!.has('add')).toBe(true);
    expect(devices[0]!.caps.native.f32!.has('tanh')).toBe(false);
  });

  it('opens several GPUs as several devices, or only those asked for', async () => {
    const ffi = new MockCuda();
    ffi.devices = 3;
    expect((await open(ffi)).devices.map((d) => d.id)).toEqual(['cuda:0', 'cuda:1', 'cuda:2']);
    const some = await openCudaDevices({ ffi, host: host(), cacheDir: false, ordinals: [2] });
    expect(some.devices.map((d) => d.id)).toEqual(['cuda:2']);
  });

  const reasons: readonly [string, (ffi: MockCuda) => void, Partial<CudaHost>, RegExp][] = [
    ['the library is missing', (f) => (f.refusal = 'cannot open'), {}, /no NVIDIA driver is installed/],
    [
      'only the kernel driver is there',
      (f) => (f.refusal = 'cannot open'),
      { access: (p) => (p.startsWith('/proc') ? 'usable' : 'missing') },
      /libcuda could not be opened/,
    ],
    [
      'the driver lacks a function',
      (f) => f.missing.add('cuGraphInstantiateWithFlags'),
      {},
      /too old.*cuGraphInstantiate/,
    ],
    ['the driver is too old', (f) => (f.driverVersion = 10020), {}, /too old: it knows CUDA 10\.2/],
    ['there is no GPU', (f) => f.handlers.set('cuInit', () => 100), {}, /found no NVIDIA GPU/],
    [
      'CUDA_VISIBLE_DEVICES hides it',
      (f) => f.handlers.set('cuInit', () => 100),
      { env: { CUDA_VISIBLE_DEVICES: '-1' } },
      /CUDA_VISIBLE_DEVICES="-1" hides/,
    ],
    [
      'the device node may not be opened',
      (f) => f.handlers.set('cuInit', () => 999),
      { access: (p) => (p === '/dev/nvidia0' ? 'denied' : 'usable') },
      /no permission to open \/dev\/nvidia0/,
    ],
    ['libcuda is a stub', (f) => f.handlers.set('cuInit', () => 34), {}, /stub of the CUDA toolkit/],
    ['versions do not match', (f) => f.handlers.set('cuInit', () => 803), {}, /different versions/],
    ['something else is wrong', (f) => f.handlers.set('cuInit', () => 304), {}, /cuInit failed with CUDA_ERROR_304/],
    ['the GPU is too old', (f) => (f.capability = [6, 1]), {}, /older than compute capability 7\.0/],
    ['the GPU does not answer', (f) => f.handlers.set('cuDevicePrimaryCtxRetain', () => 46), {}, /context on cuda:0/],
  ];

  it.each(reasons)('says so when %s', async (_, prepare, more, reason) => {
    const ffi = new MockCuda();
    prepare(ffi);
    const { devices, refused } = await open(ffi, more);
    expect(devices).toEqual([]);
    expect(refused).toHaveLength(1);
    expect(refused[0]!.reason).toMatch(reason);
    expect(refused[0]!.fix.length).toBeGreaterThan(10);
  });

  it('gives each cause of cuInit a fix of its own', () => {
    const fixes = [34, 35, 100, 803].map((code) => whyNot(code, '', host()).fix);
    expect(new Set(fixes).size).toBe(4);
  });

  it('goes on with the other GPUs when one fails', async () => {
    const ffi = new MockCuda();
    ffi.devices = 2;
    let first = true;
    const retain = ffi.handlers.get('cuDevicePrimaryCtxRetain')!;
    ffi.handlers.set('cuDevicePrimaryCtxRetain', (...args) => {
      const code = first ? 2 : retain(...args);
      first = false;
      return code;
    });
    const { devices, refused } = await open(ffi);
    expect(devices.map((d) => d.id)).toEqual(['cuda:1']);
    expect(refused.map((r) => r.id)).toEqual(['cuda:0']);
  });
});
