// Where work was issued: launches name the scopes, and the pieces of work of a layer above, in which their tensors were made.

import { describe, expect, it } from 'vitest';
import { createRuntime, type Events, type Runtime, type Tensor } from '../../src/index.ts';

const open = (): Promise<Runtime> => createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });

function launchesOf(rt: Runtime): Events['launch'][] {
  const heard: Events['launch'][] = [];
  rt.on('launch', (e) => heard.push(e));
  return heard;
}

describe('issuedIn', () => {
  it('is where a tensor was made, not where it was read', async () => {
    await using rt = await open();
    const launches = launchesOf(rt);
    const x = rt.tensor([1, 2, 3]);
    const y = rt.scope({ name: 'build' }, () => x.add(1).mul(2));
    await rt.scope({ name: 'read' }, () => y.data());
    await x.sub(1).data();
    expect(launches.map((l) => l.issuedIn)).toEqual([['build'], []]);
  });

  it('names every place that one kernel comes from, each once', async () => {
    await using rt = await open();
    const launches = launchesOf(rt);
    let at: string | null = 'first';
    const stop = rt.attribute(() => at);
    const a = rt.tensor([1, 2]).add(1).mul(3);
    at = 'second';
    const b = a.add(2);
    at = null;
    await b.add(5).data();
    stop();
    stop();
    at = 'never';
    await rt.tensor([1, 2]).sub(1).data();
    expect(launches.map((l) => l.issuedIn)).toEqual([['first', 'second'], []]);
  });

  it('follows the eager path, named scopes within others, and several askers', async () => {
    await using rt = await open();
    const launches = launchesOf(rt);
    const [one, two] = [{ span: 1 }, { span: 2 }];
    rt.attribute(() => one);
    rt.attribute(() => two);
    const x = rt.tensor([1, 2]);
    for (let i = 0; i < 3; i++) x.add(i + 10).compute();
    rt.scope({ name: 'outer' }, () =>
      rt
        .scope({ name: 'inner' }, () =>
          rt
            .scope(() => x.add(20).compute())
            .mul(3)
            .compute(),
        )
        .sub(4)
        .compute(),
    );
    expect(launches.map((l) => l.issuedIn)).toEqual([
      [one, two],
      [one, two],
      [one, two],
      ['inner', one, two],
      ['inner', one, two],
      ['outer', one, two],
    ]);
    expect(launches[0]!.issuedIn[0]).toBe(one);
  });

  it('of a compiled function is where it was called; the replay carries its name', async () => {
    await using rt = await open();
    const replays: Events['replay'][] = [];
    rt.on('replay', (e) => replays.push(e));
    const launches = launchesOf(rt);
    const x = rt.tensor([1, 2, 3]).compute();
    const step = rt.compile(function relax(t: Tensor) {
      return t.cumsum(0).mul(2);
    });
    rt.scope({ name: 'first' }, () => step(x));
    rt.scope({ name: 'again' }, () => step(x));
    const twice = rt.kernel((v) => v.mul(2), { name: 'twice' });
    twice(x);
    expect(replays.map((r) => [r.name, r.issuedIn])).toEqual([
      ['relax', ['first']],
      ['relax', ['again']],
      ['twice', []],
    ]);
    for (const r of replays)
      for (const l of launches.filter((e) => e.replay === r.id)) expect(l.issuedIn).toEqual(r.issuedIn);
  });

  it('follows asynchronous work', async () => {
    await using rt = await open();
    const launches = launchesOf(rt);
    const work = (name: string, by: number) =>
      rt.scope({ name }, async () => {
        const x = rt.tensor([by]);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return x.add(by + 100);
      });
    const made = await Promise.all(Array.from({ length: 10 }, (_, i) => work(`work ${i}`, i)));
    for (const t of made) t.compute();
    expect(launches.map((l) => l.issuedIn)).toEqual(made.map((_, i) => [`work ${i}`]));
  });

  it('cannot fail the work: an asker that throws becomes an error event', async () => {
    await using rt = await open();
    const errors: Events['error'][] = [];
    rt.on('error', (e) => errors.push(e));
    const launches = launchesOf(rt);
    const stop = rt.attribute(() => {
      throw new Error('no idea');
    });
    expect(rt.tensor([1]).add(1).dataSync()).toEqual(new Float32Array([2]));
    stop();
    expect(launches[0]!.issuedIn).toEqual([]);
    expect(errors[0]).toMatchObject({ where: 'rt.attribute' });
    expect(() => rt.attribute(3 as never)).toThrow(/attribute: current is 3/);
    expect(() => rt.scope({ name: '' }, () => 1)).toThrow(/no name/);
  });

  it('is let go of once the tensor is computed', async () => {
    await using rt = await open();
    rt.attribute(() => ({ large: true }));
    const t = rt.tensor([1]).add(1);
    expect(t.node.issuedIn).toEqual([{ large: true }]);
    t.compute();
    expect(t.node.issuedIn).toBe(null);
  });
});
