import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime, type Device, type FaultyDevice, type Runtime, withFaults } from '../../index.ts';
import { WorkWatch } from './work.ts';

let rt: Runtime;
let faulty: FaultyDevice;

async function watched(): Promise<WorkWatch> {
  rt = await createRuntime({
    devices: ['cpu', 'reference'],
    cpu: { threads: 1 },
    routing: { mode: 'off' },
    wrap: (device: Device) => {
      if (device.id !== 'cpu') return device;
      faulty = withFaults(device, { faults: [], strict: false, rebirth: { faults: [], strict: false } });
      return faulty;
    },
  });
  const work = new WorkWatch(rt);
  work.start();
  await work.profile(true);
  return work;
}

const launchOn = (device: string): void => rt.scope({ device }, () => void rt.tensor([1, 2]).add(1).compute());

describe('launches that are not finished', () => {
  afterEach(() => rt.close());

  it('are those of devices that tell when they are done', async () => {
    const work = await watched();
    launchOn('cpu');
    expect(work.queue).toBe(1);
    await rt.flush();
    expect(work.queue).toBe(0);
    // It has no clock: nobody would ever hear of its end.
    launchOn('reference');
    expect(work.queue).toBe(0);
    work.stop();
  });

  it('end with their device', async () => {
    const work = await watched();
    launchOn('cpu');
    const lost = new Promise((resolve) => rt.on('lost', resolve));
    faulty.lose('reset');
    await lost;
    expect(work.queue).toBe(0);
    work.stop();
  });

  it('are unknown while nothing tells of them', async () => {
    const work = await watched();
    launchOn('cpu');
    await work.profile(false);
    expect(work.queue).toBeNull();
    work.stop();
  });
});
