// Losses by themselves: when a lost device is used again, and that no device which was opened stays open.

import { describe, expect, it, vi } from 'vitest';
import type { Device } from '../../devices/device.ts';
import { Place } from '../../devices/place.ts';
import type { Storages } from '../../graph/storage.ts';
import { Losses, type Rebirth } from './loss.ts';

interface Fake extends Device {
  readonly closed: () => boolean;
}

function fake(reopen?: () => Promise<Device>): Fake {
  let closed = false;
  const device = {
    id: 'cpu',
    caps: { dtypes: new Set(['f32']), immortal: false },
    lost: new Promise(() => {}),
    reopen,
    close: async () => {
      closed = true;
    },
    closed: () => closed,
  };
  return device as unknown as Fake;
}

interface Setup {
  readonly reopen: () => Promise<Device>;
  readonly rebirth: Partial<Rebirth>;
}

function bench({ reopen, rebirth }: Setup) {
  const seen: string[] = [];
  const old = fake(reopen);
  const place = new Place(old, 0);
  const losses = new Losses(
    [] as unknown as Storages,
    {
      lost: ({ reason }) => seen.push(`lost: ${reason}`),
      reborn: ({ attempts }) => seen.push(`reborn after ${attempts}`),
      abandoned: ({ reason }) => seen.push(`abandoned: ${reason}`),
    },
    {
      delay: (_, attempt) => (attempt === 0 ? 0 : null),
      probe: async () => null,
      sleep: async () => {},
      limitMs: 10_000,
      rest: async () => false,
      probes: 3,
      trusted: (_, probes) => seen.push(`trusted after ${probes}`),
      ...rebirth,
    },
  );
  return { losses, old, place, seen, lose: () => losses.lost(place, old, 'unplugged') };
}

describe('a lost device', () => {
  it('is used again when a new one computed right', async () => {
    const fresh = fake();
    const { losses, lose, old, place, seen } = bench({ reopen: async () => fresh, rebirth: {} });
    lose();
    expect(place.alive).toBe(false);
    expect(await losses.back(place)).toBe(true);
    expect(place.device).toBe(fresh);
    expect(seen).toEqual(['lost: unplugged', 'reborn after 1']);
    await vi.waitFor(() => expect(old.closed()).toBe(true));
  });

  it('is not used while the new one computes wrong, and that one is closed', async () => {
    const opened: Fake[] = [];
    const { losses, lose, place, seen } = bench({
      reopen: async () => {
        opened.push(fake());
        return opened.at(-1)!;
      },
      rebirth: { delay: (_, attempt) => (attempt < 2 ? 0 : null), probe: async () => 'two and two are five' },
    });
    lose();
    expect(await losses.back(place)).toBe(false);
    expect(place.alive).toBe(false);
    expect(opened.map((d) => d.closed())).toEqual([true, true]);
    expect(seen).toEqual(['lost: unplugged', 'abandoned: two and two are five']);
  });

  it('that was given up comes back after good probes in a row; a bad one begins anew, with another device', async () => {
    const opened: Fake[] = [];
    // The first attempt fails; then two good probes, a bad one, and three good ones.
    const answers = ['wrong', null, null, 'wrong again', null, null, null];
    const { lose, place, seen } = bench({
      reopen: async () => {
        opened.push(fake());
        return opened.at(-1)!;
      },
      rebirth: { probe: async () => answers.shift()!, rest: async () => answers.length > 0 },
    });
    lose();
    await vi.waitFor(() => expect(place.alive).toBe(true));
    expect(answers).toEqual([]);
    expect(seen).toEqual(['lost: unplugged', 'abandoned: wrong', 'trusted after 6', 'reborn after 6']);
    expect(opened.map((d) => d.closed())).toEqual([true, true, false]);
    expect(place.device).toBe(opened[2]);
  });

  it('that opens when nobody waits for it any more is closed', async () => {
    const late = fake();
    let open = (_: Device): void => {};
    const opening = new Promise<Device>((resolve) => {
      open = resolve;
    });
    const { losses, lose, place, seen } = bench({ reopen: () => opening, rebirth: { limitMs: 1 } });
    lose();
    expect(await losses.back(place)).toBe(false);
    expect(seen[1]).toMatch(/^abandoned: .*opening cpu again/);
    open(late);
    await vi.waitFor(() => expect(late.closed()).toBe(true));
    expect(place.alive).toBe(false);
  });
});
