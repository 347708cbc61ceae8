// Tensors of another runtime: every call of a runtime that takes tensors refuses them by name, computed or not, and goes on working.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

let rt: Runtime;
let other: Runtime;
beforeAll(async () => {
  const options = { devices: ['cpu'], cpu: { threads: 1 } } as const;
  [rt, other] = [await createRuntime(options), await createRuntime(options)];
});
afterAll(() => Promise.all([rt.close(), other.close()]));

const plus = (x: Tensor) => x.add(1);
const own = () => rt.tensor([3, 4]);
const goesOn = (x: Tensor) => x.max().less(100);
const twice = (x: Tensor) => x.mul(2);

/** What takes a tensor `x` of another runtime. Those that were called before with one of their own take another way inside. */
const calls: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a compiled function': (x) => rt.compile(plus)(x),
  'a compiled function that was called before': (x) => {
    const f = rt.compile(plus);
    f(own());
    return f(x);
  },
  'a compiled function, nested in an object': (x) =>
    rt.compile((all: { list: Tensor[] }) => all.list[0]!.add(1))({ list: [x] }),
  'a compiled function that returns it': (x) => rt.compile(() => x)(),
  'a kernel': (x) => rt.kernel((v) => v.at(1))(x),
  'a kernel that was called before': (x) => {
    const f = rt.kernel((v) => v.at(1));
    f(own());
    return f(x);
  },
  'a kernel that works in place': (x) => rt.kernel((v) => v.add(1), { inPlace: 0 })(x),
  'a kernel that returns it': (x) => rt.kernel(() => x)(own()),
  'the state of a loop': (x) => rt.loop(goesOn, twice, x),
  'the condition of a loop': (x) => rt.loop(() => goesOn(x), twice, own()),
  'the next state of a loop': (x) => rt.loop(goesOn, () => x, own()),
  flush: (x) => rt.flush(own(), x),
  compute: (x) => rt.compute(x),
  explain: (x) => rt.explain(x),
  'a raw kernel': (x) =>
    rt.rawKernel({ entry: 'main', sources: { wgsl: 'x' }, outputs: () => [], grid: () => [1] })([x]),
};

describe.each([
  ['computed', () => other.tensor([1, 2])],
  ['not computed', () => other.tensor([1, 2]).add(1)],
] as const)('a tensor of another runtime, %s, is refused by', (_, make) => {
  it.each(Object.keys(calls))('%s', async (name) => {
    const x = make() as Tensor;
    await expect((async () => calls[name]!(x))()).rejects.toMatchObject({ code: 'FOREIGN_TENSOR' });
    expect(x.disposed).toBe(false);
    expect(await x.sum().data()).toHaveLength(1);
    expect(await rt.compile(plus)(own()).data()).toEqual(Float32Array.of(4, 5));
  });
});
