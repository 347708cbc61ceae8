// Functions that become hundreds of operations on a device without an instruction for them: many of them in one program, and at many
// places of one kernel, stay as easy to compile as others.

import { afterAll, expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';

const rt = await createRuntime({ devices: ['cpu'] });
afterAll(() => rt.close());

/** A power, in as many bits. */
function power(base: bigint, exponent: bigint, bits: number): bigint {
  let p = 1n;
  for (let k = 0n; k < exponent; k++) p = BigInt.asUintN(bits, p * base);
  return p;
}

it('sixty remainders of f64, one of the other, take a moment', async () => {
  const values = Array.from({ length: 100 }, (_, i) => i / 7);
  let x = rt.tensor(Float64Array.from(values));
  let expected = values;
  for (let k = 1; k <= 60; k++) {
    x = x.mul(1.5).mod(k + 0.25);
    expected = expected.map((v) => (v * 1.5) % (k + 0.25));
  }
  expect([...(await x.data())]).toEqual(expected);
}, 20_000);

it.each(['i64', 'i32', 'u8'] as const)(
  'forty powers of %s, one of the other, do not exhaust the stack',
  async (dtype) => {
    const x = rt.tensor([0, 1, 2, 3, 200], { dtype });
    let y = x;
    for (let k = 0; k < 40; k++) y = y.pow(x).add(1);
    const bits = { i64: 64, i32: 32, u8: 8 }[dtype];
    const wrap = (v: bigint): bigint => (dtype === 'u8' ? BigInt.asUintN(bits, v) : BigInt.asIntN(bits, v));
    const expected = [0n, 1n, 2n, 3n, 200n].map((v) => {
      let p = v;
      for (let k = 0; k < 40; k++) p = wrap(wrap(power(p, v, bits)) + 1n);
      return p;
    });
    expect([...(await y.data())].map(BigInt)).toEqual(expected);
  },
);

it('a remainder behind a padded convolution, with every side of it another case, fits a module', async () => {
  const x = rt.random.normal([2, 2, 5, 3, 2], { dtype: 'f64', seed: 1 }).compute().permute([0, 2, 3, 4, 1]);
  const w = rt.random.normal([2, 1, 2, 3, 1], { dtype: 'f64', seed: 2 }).compute().permute([2, 3, 4, 1, 0]);
  const y = x.conv3d(w, {
    groups: 2,
    stride: [3, 2, 2],
    dilation: [3, 2, 1],
    padding: [
      [3, 3],
      [2, 2],
      [1, 2],
    ],
    layout: 'channelsLast',
  });
  const together = await y.logSoftmax(0).mod(1).all({ axis: -2 }).data();
  const steps = y.compute().logSoftmax(0).compute().mod(1).compute().all({ axis: -2 });
  expect(together).toEqual(await steps.data());
});
