// Background probes by themselves: whom they count for, and when there are any.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Device } from '../../devices/device.ts';
import { Place } from '../../devices/place.ts';
import { createReferenceDevice } from '../../devices/reference/device.ts';
import { Health } from './health.ts';
import { resolveRecovery } from './options.ts';
import { Prober } from './prober.ts';

function bench(probe: (device: Device) => Promise<string | null>) {
  const clock = new ManualClock();
  const options = resolveRecovery({ failures: 1, coolDownMs: 100, probes: 2 });
  const health = new Health(options, clock);
  const place = new Place({ ...createReferenceDevice(), id: 'd0' }, 0);
  let good = 0;
  const succeeded = ({ id }: Place): void => {
    good++;
    health.succeeded(id);
  };
  const prober = new Prober({ places: [place], health, everyMs: 1000, probe, succeeded, clock });
  return { clock, health, place, prober, good: () => good };
}

describe('a device that gets no work', () => {
  it('is tried until it is trusted, and never again', async () => {
    const { clock, health, prober } = bench(async () => null);
    prober.watch();
    // Nothing to do.
    expect(clock.pending).toBe(0);
    health.failed('d0', new Error('x'));
    prober.watch();
    expect(health.usable('d0')).toBe(false);
    await clock.advance(1000);
    expect(health.of('d0')).toMatchObject({ state: 'half-open', probes: 1 });
    await clock.advance(1000);
    expect(health.of('d0').state).toBe('closed');
    prober.close();
  });

  it('rests again after a bad probe, and after one that throws', async () => {
    const answers = [async () => 'wrong', async () => Promise.reject(new Error('gone'))];
    const { clock, health, prober, good } = bench(() => answers.shift()!());
    health.failed('d0', new Error('x'));
    prober.watch();
    for (const error of ['wrong', 'Error: gone']) {
      await clock.advance(1000);
      expect(health.of('d0')).toMatchObject({ state: 'open', lastError: error });
    }
    expect(good()).toBe(0);
    prober.close();
  });

  it('gains nothing from a probe of the device that was there before', async () => {
    const { clock, health, place, prober, good } = bench(async () => {
      place.vacate();
      place.settle({ ...createReferenceDevice(), id: 'd0' });
      return null;
    });
    health.failed('d0', new Error('x'));
    prober.watch();
    await clock.advance(1000);
    expect(good()).toBe(0);
    prober.close();
  });
});
