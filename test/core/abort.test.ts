// Whatever can take long ends when its signal is triggered, and leaves tensors as they were.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { Aborted } from '../../src/governor/recovery/errors.ts';
import { createRuntime, type Tensor, type WaitOptions } from '../../src/index.ts';
import { readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors } from '../../src/io/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();

/** A device whose reads and marks never come to an end once `stuck` is set. */
function sticking(device: Device, state: { stuck: boolean }): Device {
  const never = new Promise<never>(() => {});
  return new Proxy(device, {
    get(target, key) {
      if (state.stuck && key === 'read') return () => never;
      if (state.stuck && key === 'mark')
        return (timed?: boolean) => Object.assign(target.mark(timed), { whenDone: () => never });
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const waits: Record<string, (t: Tensor, options: WaitOptions) => Promise<unknown>> = {
  data: (t, o) => t.data(o),
  bytes: (t, o) => t.bytes(o),
  array: (t, o) => t.array(o),
};

describe('a signal', () => {
  it.each(Object.keys(waits))('ends `%s` while the device is stuck; the tensor can be read later', async (name) => {
    const state = { stuck: false };
    await using rt = await createRuntime({ devices: ['cpu'], wrap: (d) => sticking(d, state) });
    const t = rt.tensor([1, 2]).add(1).compute();
    state.stuck = true;
    const stop = new AbortController();
    const waiting = waits[name]!(t, { signal: stop.signal });
    setTimeout(() => stop.abort(), 5);
    await expect(waiting).rejects.toThrow(Aborted);
    state.stuck = false;
    expect(await t.array()).toEqual([2, 3]);
  });

  it('ends a flush while the device is stuck', async () => {
    const state = { stuck: false };
    await using rt = await createRuntime({ devices: ['cpu'], wrap: (d) => sticking(d, state) });
    const t = rt.tensor([1, 2]).add(1);
    state.stuck = true;
    await expect(rt.flush({ signal: AbortSignal.timeout(5) }, t)).rejects.toThrow(Aborted);
    state.stuck = false;
    await rt.flush({ signal: new AbortController().signal }, t);
    expect(await t.array()).toEqual([2, 3]);
  });

  it('that was triggered before ends everything at once', async () => {
    const rt = await runtime();
    const signal = AbortSignal.abort();
    const t = rt.tensor([1, 2]).add(1);
    for (const wait of Object.values(waits)) await expect(wait(t, { signal })).rejects.toThrow(Aborted);
    await expect(t.to('cpu', { signal })).rejects.toThrow(Aborted);
    await expect(rt.flush({ signal }, t)).rejects.toThrow(Aborted);
    expect(await t.array()).toEqual([2, 3]);
  });

  it('ends an attempt at work that never answers, and disposes of what comes too late', async () => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    for (const options of [{}, { device: 'cpu' }]) {
      const stop = new AbortController();
      let answer!: () => void;
      let tries = 0;
      let late: Tensor | undefined;
      const waiting = rt.attempt({ ...options, signal: stop.signal }, async () => {
        tries++;
        late = rt.ones([4]).add(1).compute();
        await new Promise<void>((resolve) => (answer = resolve));
        return late;
      });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      try {
        stop.abort(new Error('enough'));
        const ended = expect(waiting).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
        await vi.advanceTimersByTimeAsync(5000);
        await ended;
      } finally {
        vi.useRealTimers();
      }
      answer();
      await expect.poll(() => late!.disposed).toBe(true);
      expect([tries, rt.stats().tensors]).toEqual([1, 0]);
    }
    const { signal } = new AbortController();
    const kept = await rt.attempt({ signal }, async () => rt.ones([2]).add(1));
    expect(await kept.array()).toEqual([2, 2]);
  });

  it('ends an attempt once its work has stopped: nothing of it is left', async () => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    for (const options of [{}, { device: 'cpu' }]) {
      const stop = new AbortController();
      const waiting = rt.attempt({ ...options, signal: stop.signal }, async () => {
        const made = rt.ones([4]).add(1).compute();
        stop.abort();
        await new Promise((resolve) => setTimeout(resolve, 20));
        return made;
      });
      await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
      expect(rt.stats().tensors).toBe(0);
    }
  });

  it('ends reading and writing files, and leaves none half written', async () => {
    const rt = await runtime();
    const folder = await mkdtemp(join(tmpdir(), 'gpuforge-abort-'));
    const path = join(folder, 'x.npy');
    const signal = AbortSignal.abort();
    const t = rt.ones([4]);
    await writeNpy(t, path);
    const stopped = [
      () => readNpy(rt, path, { signal }),
      () => readNpz(rt, path, { signal }),
      () => readSafetensors(rt, path, { signal }),
      () => writeNpy(t, join(folder, 'y.npy'), { signal }),
      () => writeNpz({ t }, { path: join(folder, 'y.npz'), signal }),
      () => writeSafetensors({ t }, { path: join(folder, 'y.safetensors'), signal }),
    ];
    for (const work of stopped) await expect(work()).rejects.toThrow(Aborted);
    expect(await readdir(folder)).toEqual(['x.npy']);
    await rm(folder, { recursive: true });
  });
});
