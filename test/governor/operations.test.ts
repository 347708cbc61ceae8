// Work that its caller names is booked under that name; other work under the class of its kernel.

import { expect, it } from 'vitest';
import { ArgumentError, createRuntime, type Tensor } from '../../src/index.ts';

const two = { devices: ['cpu', 'reference'], routing: { cache: false, explore: false } } as const;

it('books what runs inside under the name that the scope gives it', async () => {
  await using rt = await createRuntime(two);
  const heard: string[] = [];
  rt.on('route', (e) => heard.push(e.op));
  const x = rt.tensor(new Float32Array(5000).fill(2));
  const work = async (): Promise<void> => void (await x.mul(3).sum().data());
  await work();
  await rt.scope({ op: 'path_finding' }, work);
  await rt.scope({ op: 'path_finding' }, () => rt.scope({ device: 'cpu' }, () => rt.scope({ op: 'transform' }, work)));
  await rt.scope({ op: 'graph_algorithm' }, async () => {
    await Promise.resolve();
    await work();
  });
  await work();
  // What is pinned to a device is not routed. What was decided before is remembered, until the router has learned more.
  expect([...new Set(heard)]).toEqual(['reduce', 'path_finding', 'graph_algorithm']);
  expect(rt.routing.stats().map((s) => s.op)).toEqual(
    expect.arrayContaining(['reduce', 'path_finding', 'graph_algorithm']),
  );
});

it('names the calls of compiled functions, and single ops, by the scope they are called in', async () => {
  await using rt = await createRuntime(two);
  const heard: string[] = [];
  rt.on('route', (e) => heard.push(e.op));
  const x = rt.tensor(new Float32Array(5000).fill(2));
  const f = rt.compile((v: Tensor) => v.mul(3));
  for (let i = 0; i < 3; i++) {
    rt.scope({ op: 'element_wise' }, () => f(x).dataSync());
    rt.scope({ op: 'matrix_add' }, () => f(x).dataSync());
    rt.scope({ op: 'transform' }, () => x.add(1).dataSync());
    x.add(1).dataSync();
  }
  expect([...new Set(heard)]).toEqual(['element_wise', 'matrix_add', 'transform', 'map']);
});

it('refuses names that the router does not know, and options that a scope does not have', async () => {
  await using rt = await createRuntime({ devices: ['cpu'] });
  expect(() => rt.scope({ op: 'pathfinding' as never }, () => 1)).toThrow(ArgumentError);
  expect(() => rt.scope({ op: 'pathfinding' as never }, () => 1)).toThrow(/path_finding/);
  expect(() => rt.scope({ nam: 'x' } as never, () => 1)).toThrow(/name/);
});
