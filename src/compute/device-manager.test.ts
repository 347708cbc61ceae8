import { afterEach, describe, expect, it } from 'vitest';
import { facade, fakeGpu, TestClock, values } from '../../test/support/facade.ts';
import type { Telemetry } from '../devices/device.ts';
import { createRuntime, type Device } from '../index.ts';
import { DeviceManager, type DeviceManagerDeps, type OpenRuntime } from './device-manager.ts';
import { DeviceUnavailableError, DisposedError, InvalidArgumentError } from './errors.ts';

const open: DeviceManager[] = [];
afterEach(async () => {
  for (const d of open.splice(0)) await d.dispose();
});
const make = (deps: DeviceManagerDeps): DeviceManager => {
  const devices = DeviceManager.create({ clock: new TestClock(), probeElements: 4096, ...deps });
  open.push(devices);
  return devices;
};

/** A GPU with readings of its own: the CPU device under another name. */
const gpuWith = (telemetry: () => Telemetry, details: Record<string, boolean> = {}): OpenRuntime => {
  const asGpu = (device: Device): Device =>
    Object.assign(
      Object.create(device, { id: { value: 'cuda:0' }, caps: { value: { ...device.caps, host: false, details } } }),
      { telemetry, ...bound(device) },
    );
  return (options) => {
    let first = true;
    return createRuntime({
      ...options,
      devices: ['cpu', 'cpu'],
      cpu: { threads: 1 },
      wrap: (device) => {
        const made = first ? asGpu(device) : device;
        first = false;
        return made;
      },
    });
  };
};

/** The methods of a device, bound to it: private fields do not follow a prototype. */
function bound(device: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(device))) {
    const value = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(device), name)!.value;
    if (typeof value === 'function' && name !== 'constructor') out[name] = value.bind(device);
  }
  return out;
}

describe('selecting a device', () => {
  it('takes the GPU, tells why, and lists what was rejected', async () => {
    const devices = make({ open: fakeGpu().open });
    expect(devices.getActiveDevice()).toBeNull();
    const selection = await devices.selectDevice();
    expect(selection).toMatchObject({ device: 'cuda:0', kind: 'gpu', unverified: [] });
    expect(selection.reason).toMatch(/probe kernel takes [\d.]+ ms/);
    expect(selection.rejected).toEqual([{ device: 'webgpu', reason: 'it reported that it could not start' }]);
    expect(devices.getActiveDevice()).toBe('cuda:0');
  });

  it('falls back to the CPU and says so, unless a GPU is required', async () => {
    const fake = fakeGpu();
    fake.broken = true;
    const devices = make({ open: fake.open });
    const told: unknown[] = [];
    devices.on('fallback', (e) => told.push(e));
    const selection = await devices.selectDevice({ preferGPU: true });
    expect(selection).toMatchObject({ device: 'cpu', kind: 'cpu' });
    expect(selection.rejected[0]).toEqual({ device: 'cuda', reason: 'the fake GPU is unplugged' });
    expect(told).toHaveLength(1);
    const error = await devices.selectDevice({ requireGPU: true }).catch((e) => e);
    expect(error).toBeInstanceOf(DeviceUnavailableError);
    expect(error.rejected).toHaveLength(2);
    expect(error.message).toMatch(/unplugged/);
    // The refusal changed nothing.
    expect(devices.getActiveDevice()).toBe('cpu');
  });

  it('rejects a device that computes wrong', async () => {
    const fake = fakeGpu();
    fake.faults = { strict: true, faults: [{ at: 'launch', nth: 2, times: Number.POSITIVE_INFINITY, as: 'kernel' }] };
    const devices = make({ open: fake.open });
    const selection = await devices.selectDevice();
    expect(selection.device).toBe('cpu');
    expect(selection.rejected.find((r) => r.device === 'cuda:0')!.reason).toMatch(/the probe failed/);
  });

  it('compares free memory, not total', async () => {
    const devices = make({ open: gpuWith(() => ({ memoryTotal: 1000, memoryUsed: 900 })) });
    expect((await devices.selectDevice({ minMemory: 100 })).device).toBe('cuda:0');
    const full = await devices.selectDevice({ minMemory: 101 });
    expect(full.device).toBe('cpu');
    expect(full.rejected.find((r) => r.device === 'cuda:0')!.reason).toBe('100 bytes are free, 101 are wanted');
  });

  it('averages the load over at least 200 ms', async () => {
    const clock = new TestClock();
    let samples = 0;
    const loads = [1, 0.5, 0, 0.5, 0];
    const devices = make({ open: gpuWith(() => ({ utilization: loads[samples++ % 5]! })), clock });
    expect((await devices.selectDevice({ maxLoad: 0.4 })).device).toBe('cuda:0');
    expect(clock.time).toBeGreaterThanOrEqual(200);
    const busy = await devices.selectDevice({ maxLoad: 0.39 });
    expect(busy.rejected.find((r) => r.device === 'cuda:0')!.reason).toBe('its load is 40 %, at most 39 % is wanted');
  });

  it('says what it could not verify, and rejects it if told to', async () => {
    const devices = make({ open: gpuWith(() => ({})) });
    expect(await devices.selectDevice({ maxLoad: 0.5 })).toMatchObject({ device: 'cuda:0', unverified: ['maxLoad'] });
    const error = await devices.selectDevice({ maxLoad: 0.5, unknown: 'reject' }).catch((e) => e);
    expect(error.rejected.map((r: { reason: string }) => r.reason)).toContain('it does not tell maxLoad');
  });

  it('does not take a GPU that is emulated on the CPU, unless that is accepted', async () => {
    const devices = make({ open: gpuWith(() => ({}), { software: true }) });
    expect((await devices.selectDevice()).device).toBe('cpu');
    expect((await devices.selectDevice({ software: 'accept' })).device).toBe('cuda:0');
  });

  it('moves living tensors, or refuses with their number', async () => {
    const { gpu, devices } = facade(fakeGpu());
    open.push(devices);
    const a = await gpu.transferToGPU(values(1000));
    const b = await gpu.transferToGPU(values(1000, 2));
    await expect(devices.selectDevice({ preferGPU: false }, 'refuse')).rejects.toThrow(/2 tensors are alive on cuda:0/);
    expect(devices.getActiveDevice()).toBe('cuda:0');
    await devices.selectDevice({ preferGPU: false });
    expect(devices.getActiveDevice()).toBe('cpu');
    expect(await gpu.transferFromGPU(a)).toEqual(values(1000));
    expect(await gpu.transferFromGPU(b)).toEqual(values(1000, 2));
    // The device used before is still there: the old handles go on, and follow where they are used.
    expect(await a.data()).toEqual(values(1000));
    const [r] = await gpu.processBatch([a], 'sum');
    expect(gpu.deviceOf(r!)).toBe('cpu');
    await gpu.dispose();
  });

  it('keeps the device, and what lives on it, if it is chosen again', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = facade(fake);
    open.push(devices);
    const a = await gpu.transferToGPU(values(1000));
    const { runtime } = devices.station!;
    await devices.selectDevice();
    expect(devices.station!.runtime).toBe(runtime);
    expect(await a.data()).toEqual(values(1000));
    await gpu.dispose();
  });

  it.each([
    [{ maxLoad: 2 }, /maxLoad is 2/],
    [{ minMemory: -1 }, /minMemory is -1/],
    [{ preferGpu: true }, /no preference 'preferGpu'/],
    [{ requireGPU: true, preferGPU: false }, /requireGPU together with preferGPU/],
  ])('refuses %o', async (preference, message) => {
    const devices = make({ kinds: ['cpu'] });
    const error = await devices.selectDevice(preference as never).catch((e) => e);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toMatch(message);
  });
});

describe('a device manager', () => {
  it('frees everything on clean-up, twice without harm, and can go on', async () => {
    const fake = fakeGpu();
    const devices = make({ open: fake.open });
    await devices.selectDevice();
    await devices.cleanup();
    await devices.cleanup();
    expect(devices.getActiveDevice()).toBeNull();
    expect(fake.device().counters().live).toBe(0);
    expect((await devices.ready()).id).toBe('cuda:0');
  });

  it('tells why there is no device at all, also of a backend that only says no', async () => {
    const error = await make({ open: async () => false, kinds: ['cuda'] })
      .selectDevice()
      .catch((e) => e);
    expect(error).toBeInstanceOf(DeviceUnavailableError);
    expect(error.rejected).toEqual([{ device: 'cuda', reason: 'it reported that it could not start' }]);
  });

  it('serves many callers at once with one device', async () => {
    const fake = fakeGpu();
    const devices = make({ open: fake.open });
    const stations = await Promise.all(Array.from({ length: 16 }, () => devices.ready()));
    expect(new Set(stations).size).toBe(1);
    expect(fake.opened()).toBe(1);
  });

  it('is shared, refuses other options, and is fresh after its disposal', async () => {
    // Other files of this process may have left one.
    await DeviceManager.getInstance().dispose();
    const first = DeviceManager.getInstance({ kinds: ['cpu'] });
    expect(DeviceManager.getInstance({ kinds: ['cpu'] })).toBe(first);
    expect(() => DeviceManager.getInstance({ kinds: ['webgpu'] })).toThrow(/another 'kinds'/);
    await first.dispose();
    await expect(first.selectDevice()).rejects.toThrow(DisposedError);
    const second = DeviceManager.getInstance();
    expect(second).not.toBe(first);
    await second.dispose();
  });

  it('tells a listener that throws, and still calls the others', async () => {
    const devices = make({ open: fakeGpu().open });
    const heard: string[] = [];
    devices.on('error', (e) => heard.push(e.where));
    devices.on('device', () => {
      throw new Error('listener');
    });
    devices.on('device', (e) => heard.push(e.device));
    await devices.selectDevice();
    expect(heard.sort()).toEqual(["a listener of 'device'", 'cuda:0']);
  });
});
