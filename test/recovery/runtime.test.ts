// A runtime whose device lives in a process of its own, when that process dies.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedDevice } from '../../src/governor/recovery/isolated/device.ts';
import { openIsolated } from '../../src/governor/recovery/isolated/open.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { within } from '../support/time.ts';
import { type BuiltChild, buildChild } from './child.ts';

let child: BuiltChild;
beforeAll(async () => {
  child = await buildChild();
});
afterAll(() => child.remove());

/** A runtime on an isolated CPU; a second device may stand by. */
async function open(second: boolean): Promise<{ rt: Runtime; device: IsolatedDevice; told: string[] }> {
  const { devices } = await openIsolated('cpu', { script: child.script, cpu: { threads: 1 } });
  const device = devices[0]!;
  let given = false;
  const rt = await createRuntime({
    devices: second ? ['cpu', 'reference'] : ['cpu'],
    cpu: { threads: 1 },
    routing: { mode: 'off', cache: false },
    wrap: (opened) => {
      if (given) return opened;
      given = true;
      void opened.close();
      return device;
    },
  });
  const told: string[] = [];
  for (const kind of ['lost', 'reborn', 'fallback', 'return'] as const) rt.on(kind, () => told.push(kind));
  return { rt, device, told };
}

const values = Float32Array.from({ length: 5000 }, (_, i) => i % 97);
const wanted = values.map((v) => 2 * v + 1);

describe('a runtime on an isolated device', () => {
  it('computes as on any other, compiled functions included', async () => {
    const { rt } = await open(false);
    const x = rt.tensor(values);
    expect(await x.mul(2).add(1).data()).toEqual(wanted);
    expect(x.sum().item()).toBe(values.reduce((s, v) => s + v));
    const step = rt.compile((t: Tensor) => t.mul(0.5).add(t.roll(1, 0).mul(0.25)));
    let f: Tensor = x;
    const plain = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    let g = plain.tensor(values);
    for (let i = 0; i < 20; i++) {
      f = step(f);
      g = g.mul(0.5).add(g.roll(1, 0).mul(0.25));
    }
    expect(await f.data()).toEqual(await g.data());
    await plain.close();
    await rt.close();
  });

  it('gives the right result within two seconds of the death of the process, from tensors made before it', async () => {
    const { rt, device, told } = await open(false);
    const x = rt.tensor(values);
    const y = x.mul(2);
    expect((await y.data())[3]).toBe(6);
    const start = performance.now();
    device.kill();
    await device.lost;
    expect(await y.add(1).data()).toEqual(wanted);
    expect(performance.now() - start).toBeLessThan(within(2000));
    expect(told).toEqual(['lost', 'reborn']);
    expect((rt.device('cpu') as IsolatedDevice).pid).not.toBe(device.pid);
    expect(rt.recovery.history('cpu').map((e) => e.kind)).toEqual(expect.arrayContaining(['lost', 'reborn']));
    await rt.close();
  });

  it('goes on at once on a second device, says so once, and says when the first is back', async () => {
    const { rt, device, told } = await open(true);
    const x = rt.tensor(values);
    await x.mul(2).data();
    device.kill();
    for (let i = 0; i < 3; i++) expect(await x.mul(2).add(1).data()).toEqual(wanted);
    const start = performance.now();
    while (!told.includes('reborn') && performance.now() - start < within(5000))
      await new Promise((r) => setTimeout(r, 10));
    for (let i = 0; i < 5; i++) expect(await x.mul(2).add(1).data()).toEqual(wanted);
    expect(told.filter((k) => k === 'fallback').length).toBeLessThanOrEqual(1);
    expect(told.filter((k) => k === 'lost')).toEqual(['lost']);
    expect(told).toContain('reborn');
    await rt.close();
  });

  it('survives repeated deaths up to the limit, and then says that it will not come back', async () => {
    const { rt } = await open(false);
    const x = rt.tensor(values);
    for (let i = 0; i < 3; i++) {
      (rt.device('cpu') as IsolatedDevice).kill();
      await (rt.device('cpu') as IsolatedDevice).lost;
      expect(await x.mul(2).add(1).data()).toEqual(wanted);
    }
    (rt.device('cpu') as IsolatedDevice).kill();
    await (rt.device('cpu') as IsolatedDevice).lost;
    await expect(x.mul(2).add(1).data()).rejects.toThrow(/lost/);
    expect(rt.recovery.of('cpu').state).toBe('quarantined');
    await rt.close();
  });
});
