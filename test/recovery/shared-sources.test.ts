// Values that share what they were made from, results that share bytes, and reads that share a device: all of it survives a loss.

import { describe, expect, it } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import type { Fault } from '../../src/governor/recovery/fault-plan.ts';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

/** A runtime whose CPU can be lost and comes back, with or without another device beside it. */
async function open(devices: readonly ('cpu' | 'reference')[], faults: readonly Fault[] = []) {
  let current: FaultyDevice | undefined;
  const mortal = (device: FaultyDevice): Device => {
    current = device;
    const reopen = async (): Promise<Device> =>
      mortal(withFaults(await createCpuDevice({ threads: 1 }), { faults: [] }));
    return Object.assign(device, { caps: { ...device.caps, immortal: false }, reopen });
  };
  const rt: Runtime = await createRuntime({
    devices,
    cpu: { threads: 1 },
    routing: { mode: 'off' },
    wrap: (d) => (d.id === 'cpu' ? mortal(withFaults(d, { faults })) : d),
  });
  return { rt, lose: () => current!.lose('unplugged'), live: () => current!.counters().live };
}

const repeat = (x: Tensor, step: (t: Tensor) => Tensor, times: number): Tensor => {
  let t = x;
  for (let i = 0; i < times; i++) t = step(t);
  return t;
};

describe.each([[['cpu']], [['cpu', 'reference']]] as const)('on %s', (devices) => {
  it('a value whose steps use one another, disposed of or not, is computed again', async () => {
    const { rt, lose } = await open(devices);
    const x = rt.tensor([3, 1, 2]);
    const a = x.neg();
    const b = a.add(3);
    const c = b.mul(a);
    const r = c.add(b.sort());
    await rt.flush(r);
    const expected = [...(await r.data())];
    a.dispose();
    c.dispose();
    lose();
    expect([...(await r.data())]).toEqual(expected);
    lose();
    expect([...(await r.add(b).data())]).toEqual([...(await b.data())].map((v, i) => Number(v) + Number(expected[i])));
    for (const t of [x, b, r]) t.dispose();
    await rt.close();
  });

  it('a long expression is computed again from its inputs and numbers, bit by bit', async () => {
    const { rt, lose } = await open(devices);
    const [x, y] = [rt.tensor([0.3, -1.5, 2.25, 4]), rt.tensor([3, 1, 2, 7])];
    const whole = rt.tensor(new BigInt64Array([5n, -7n, 2n ** 40n, 1n]));
    let long: Tensor = x;
    for (let i = 0; i < 12; i++)
      long = long
        .mul(0.99 - i / 100)
        .add(y.mul(0.5))
        .sub(-0.75)
        .maximum(Number.NEGATIVE_INFINITY);
    const noise = rt.random.normal([4]);
    const results = [
      long,
      rt.where(long.greater(1.25), long.roll(1, 0), y.div(3)).sub(noise).add(long.sum().mul(0.125)),
      repeat(
        whole,
        (t) =>
          t
            .mul(3n)
            .add(11n)
            .bitwiseXor(2n ** 33n)
            .sub(1n),
        6,
      ),
      repeat(y, (t) => t.mul(2).add(-0).minimum(Number.NaN).equal(Number.NaN).logicalNot().cast('f32').add(t), 5),
    ];
    // One by one: what is computed together remembers its steps.
    const expected: Uint8Array[] = [];
    for (const t of results) expected.push(await t.bytes());
    for (let i = 0; i < 2; i++) {
      lose();
      for (const [k, t] of results.entries()) expect(await t.bytes(), `result ${k}`).toEqual(expected[k]);
    }
    await rt.close();
  });

  it.each([2, 3, 4, 5, 6])('reads side by side are right although allocation %i takes the device', async (nth) => {
    const { rt } = await open(devices, [{ at: 'allocate', nth, as: 'lost' }]);
    const x = rt.tensor([1, 2, 3]);
    const results = [x.add(1), x.mul(2), x.add(1).mul(x)];
    const read = await Promise.all(results.map((t) => t.data()));
    expect(read.map((t) => [...t])).toEqual([
      [2, 3, 4],
      [2, 4, 6],
      [2, 6, 12],
    ]);
    await rt.close();
  });

  it('views of a tensor that was disposed of are computed together', async () => {
    const { rt, live } = await open(devices);
    const x = rt.tensor([1, 2]);
    const a = x.reshape([1, 2]);
    const b = a.reshape([2, 1]);
    x.dispose();
    await rt.flush(a, b);
    expect([...(await a.data()), ...(await b.data())]).toEqual([1, 2, 1, 2]);
    a.dispose();
    expect([...(await b.data())]).toEqual([1, 2]);
    b.dispose();
    expect([rt.stats().bytes, live()]).toEqual([0, 0]);
    await rt.close();
  });

  it('the result of a compiled call is computed again, also one that is its argument', async () => {
    const { rt, lose } = await open(devices);
    const both = rt.compile((t: Tensor) => [t.mul(2), t.reshape([3, 1])]);
    const [y, view] = both(rt.tensor([1, 2, 3])) as Tensor[];
    lose();
    expect([...(await y!.data()), ...(await view!.data())]).toEqual([2, 4, 6, 1, 2, 3]);
    await rt.close();
  });
});

describe('what is asked for twice', () => {
  it('is freed once it is disposed of', async () => {
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = rt.tensor(new Float32Array(1 << 16));
    const a = x.add(1);
    await rt.flush(a, a);
    const b = x.mul(2);
    const same = b.cast('f32');
    await rt.flush(b, same);
    for (const t of new Set([x, a, b, same])) t.dispose();
    expect(rt.stats().bytes).toBe(0);
    await rt.close();
  });
});
