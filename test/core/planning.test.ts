// Planning takes about as long as the graph is large, whatever its form, and never computes more again than it saves.
//
// The limits are many times what a quiet machine takes: what they refuse is growth, not noise.

import { describe, expect, it } from 'vitest';
import type { Runtime, Tensor } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { fixture } from './support.ts';

const runtime = fixture();

/** Milliseconds of processor time, so that other work on the machine does not count. */
async function cpu(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const diffuse = (x: Tensor): Tensor => x.roll(1, 0).add(x.roll(-1, 0)).mul(0.5);

function heat(x: Tensor): Tensor {
  const near = [x.roll(1, 0), x.roll(-1, 0), x.roll(1, 1), x.roll(-1, 1)].reduce((a, b) => a.add(b));
  return x.add(near.sub(x.mul(4)).mul(0.1));
}

function repeat(x: Tensor, step: (x: Tensor) => Tensor, times: number): Tensor {
  let y = x;
  for (let i = 0; i < times; i++) y = step(y);
  return y;
}

const ramp = (rt: Runtime, shape: readonly number[]): Tensor =>
  rt.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => (i * 37) % 101),
    shape,
  );

describe('stencils of stencils', () => {
  it('are planned at once, and give what step by step gives', async () => {
    const rt = await runtime();
    for (const [step, shape] of [
      [diffuse, [4096]],
      [diffuse, [7]],
      [heat, [32, 32]],
      [heat, [3, 4]],
    ] as const) {
      const x = ramp(rt, shape);
      let right: Tensor = x;
      for (let i = 0; i < 16; i++) right = step(right).compute();
      let got: Tensor | undefined;
      const ms = await cpu(async () => {
        got = repeat(x, step, 16);
        await rt.flush(got);
      });
      expect(ms).toBeLessThan(within(300));
      const [p, q] = [await got!.data(), await right.data()];
      expect([...p].map(Number)).toEqual([...q].map((v) => expect.closeTo(Number(v), 3)));
    }
  });

  it('take a number of kernels that grows with the steps alone', async () => {
    const rt = await runtime();
    const kernels = (n: number): number => rt.explain(repeat(ramp(rt, [4096]), diffuse, n)).kernels.length;
    const [few, many] = [kernels(16), kernels(64)];
    expect(few).toBeLessThanOrEqual(8);
    expect(many).toBeLessThanOrEqual(4 * few + 2);
  });

  it('take about a second for a thousand steps', async () => {
    const rt = await runtime();
    const lazily = await cpu(() => repeat(ramp(rt, [4096]), diffuse, 1000).data());
    const compiled = await cpu(() =>
      rt
        .compile((x: Tensor) => repeat(x, diffuse, 1000))(ramp(rt, [4096]))
        .data(),
    );
    expect(lazily).toBeLessThan(within(1000));
    expect(compiled).toBeLessThan(within(1500));
  });
});

describe('long loops without reads', () => {
  it('are computed in large pieces from beginning to end', async () => {
    const rt = await runtime();
    let x: Tensor = rt.tensor(new Float32Array(2000).fill(1));
    const launches = rt.stats().launches;
    for (let i = 0; i < 2000; i++) x = x.add(1);
    expect((await x.data())[7]).toBe(2001);
    expect(rt.stats().launches - launches).toBeLessThan(40);
  });
});

describe('large graphs', () => {
  const halve = (level: Tensor[]): Tensor[] =>
    level.flatMap((t, i) => (i % 2 === 1 ? [] : [i + 1 < level.length ? t.add(level[i + 1]!) : t]));

  it('that are wide take time in proportion', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2, 3]);
    const forms: Record<string, (n: number) => Promise<unknown>> = {
      outputs: (n) => rt.flush(...Array.from({ length: n }, (_, i) => x.add(i).mul(2))),
      tree: (n) => {
        let level: Tensor[] = Array.from({ length: n }, (_, i) => x.mul(i + 0.5));
        while (level.length > 1) level = halve(level);
        return level[0]!.data();
      },
      stack: (n) =>
        rt
          .stack(Array.from({ length: n }, (_, i) => x.add(i)))
          .sum()
          .data(),
    };
    for (const [name, form] of Object.entries(forms)) {
      await form(400);
      const small = await cpu(() => form(1000));
      const large = await cpu(() => form(4000));
      expect(large, name).toBeLessThan(10 * small + 500);
    }
  });

  it('with 25,000 results of one input take a launch for every sixty of them', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2, 3]);
    const before = rt.stats().launches;
    const results = Array.from({ length: 25_000 }, (_, i) => x.add(i));
    // The collector works on threads of its own.
    expect(await cpu(() => rt.flush(...results))).toBeLessThan(within(3000));
    expect(rt.stats().launches - before).toBeLessThan(25_000 / 60);
    for (const i of [0, 3, 1234, 24_999]) expect([...(await results[i]!.data())]).toEqual([1 + i, 2 + i, 3 + i]);
  });

  it('that are deep do not overflow the stack', async () => {
    const rt = await runtime();
    const chain = rt.compile((x: Tensor) => repeat(x, (y) => y.add(1), 12_000));
    expect([...(await chain(rt.tensor([1, 2])).data())]).toEqual([12_001, 12_002]);
    const moved = rt.compile((x: Tensor) => repeat(x, (y) => y.roll(1, 0), all ? 12_000 : 6000));
    expect([...(await moved(rt.tensor([1, 2, 3])).data())]).toEqual([1, 2, 3]);
    const reduced = rt.compile((x: Tensor) => repeat(x, (y) => y.sub(y.mean()), all ? 3000 : 1500));
    expect([...(await reduced(rt.tensor([1, 3])).data())]).toEqual([-1, 1]);
  });
});
