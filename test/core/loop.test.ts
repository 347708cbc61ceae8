// rt.loop: the result of a plain while loop, with few looks at the condition.

import { describe, expect, it } from 'vitest';
import { ArgumentError, ShapeError, type Tensor } from '../../src/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();

describe('loop', () => {
  it('ends where a plain while loop ends, however seldom the host looks', async () => {
    const rt = await runtime();
    for (const every of [1, 2, 3, 7, 64]) {
      const { state, rounds, ended } = await rt.loop(
        (x: Tensor) => x.max().less(100),
        (x: Tensor) => x.mul(2),
        rt.tensor([1, 3]),
        { every },
      );
      expect([...(await state.data())]).toEqual([64, 192]);
      expect([rounds, ended]).toEqual([6, true]);
    }
  });

  it('looks at the condition every few rounds', async () => {
    const rt = await runtime();
    const waits = rt.stats().waits;
    const go = (x: Tensor) => x.less(1000).all();
    const { rounds } = await rt.loop(go, (x: Tensor) => x.add(1), rt.tensor([0]), { every: 100 });
    expect(rounds).toBe(1000);
    expect(rt.stats().waits - waits).toBeLessThanOrEqual(12);
  });

  it('carries nested states', async () => {
    const rt = await runtime();
    const start = { a: rt.tensor([1, 2]), more: [rt.tensor([0])] };
    const { state } = await rt.loop(
      (s: typeof start) => s.more[0]!.less(5),
      (s) => ({ a: s.a.mul(3), more: [s.more[0]!.add(1)] }),
      start,
    );
    expect([...(await state.a.data())]).toEqual([243, 486]);
    expect([...(await state.more[0]!.data())]).toEqual([5]);
    expect([...(await start.a.data())]).toEqual([1, 2]);
  });

  it('gives back what it was given if there is nothing to do', async () => {
    const rt = await runtime();
    const x = rt.tensor([1]);
    const { state, rounds } = await rt.loop(
      (t: Tensor) => t.greater(5),
      (t: Tensor) => t.add(1),
      x,
    );
    expect(state).toBe(x);
    expect(rounds).toBe(0);
  });

  it('stops at the most rounds, and holds nothing but the last state', async () => {
    const rt = await runtime();
    const x = rt.tensor(new Float32Array(10_000));
    const bytes = rt.stats().bytes;
    const { state, rounds, ended } = await rt.loop(
      () => rt.ones([1]),
      (t: Tensor) => t.add(1),
      x,
      {
        every: 8,
        maxRounds: 20,
      },
    );
    expect([rounds, ended]).toEqual([20, false]);
    expect((await state.data())[9]).toBe(20);
    expect(rt.stats().bytes - bytes).toBeLessThanOrEqual(40_000 + 256);
  });

  it('lets go of what its functions captured', async () => {
    const rt = await runtime();
    const bytes = rt.stats().bytes;
    await rt.scope(async () => {
      const [limit, step] = [rt.full([5000], 9).compute(), rt.ones([5000]).compute()];
      const { state } = await rt.loop(
        (t: Tensor) => t.less(limit).all(),
        (t: Tensor) => t.add(step),
        rt.zeros([5000]),
      );
      expect((await state.data())[4999]).toBe(9);
    });
    expect(rt.stats().bytes).toBe(bytes);
    await rt.scope(async () => {
      const step = rt.ones([5000]).compute();
      const refused = rt.loop(
        (t: Tensor) => t.less(9).all(),
        (t: Tensor) => t.add(step).slice([[1]]),
        rt.zeros([5000]),
      );
      await expect(refused).rejects.toThrow(ShapeError);
    });
    expect(rt.stats().bytes).toBe(bytes);
  });

  it('draws new numbers in every round', async () => {
    const rt = await runtime();
    const { state } = await rt.loop(
      (s: readonly Tensor[]) => s[1]!.less(4),
      ([x, n, key]) => [x!.add(rt.random.uniform([3], { key: key! })), n!.add(1), key!.add(1)],
      [rt.zeros([3]), rt.tensor([0]), rt.random.key(9)] as readonly Tensor[],
    );
    let right = rt.zeros([3]) as Tensor;
    for (let k = 0; k < 4; k++) right = right.add(rt.random.uniform([3], { key: rt.random.key(9).add(k) }));
    expect(await state[0]!.array()).toEqual(await right.array());
  });

  it('is ended by a signal', async () => {
    const rt = await runtime();
    const control = new AbortController();
    const endless = rt.loop(
      () => rt.ones([1]),
      (t: Tensor) => t.add(1),
      rt.tensor([0]),
      { signal: control.signal },
    );
    setTimeout(() => control.abort(), 20);
    await expect(endless).rejects.toThrow(/abort/i);
  });

  it('refuses conditions and states that will not do', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2]);
    await expect(
      rt.loop(
        (t: Tensor) => t,
        (t: Tensor) => t,
        x,
      ),
    ).rejects.toThrow(ArgumentError);
    await expect(
      rt.loop(
        (t: Tensor) => t.all(),
        (t: Tensor) => t.sum(),
        x,
      ),
    ).rejects.toThrow(ShapeError);
    await expect(
      rt.loop(
        (t: Tensor) => t.all(),
        (t: Tensor) => t,
        x,
        { every: 0 },
      ),
    ).rejects.toThrow(/every is 0/);
  });
});
