import { describe, expect, it } from 'vitest';
import { values } from '../../bench/compute/setup.ts';
import { openMock, passing } from '../../test/support/cuda-device.ts';
import { createRuntime, type Runtime, type Tensor } from '../index.ts';

type Step = (state: readonly Tensor[], x: Tensor) => readonly Tensor[];

const steps = 30;
const one = (rt: Runtime): Tensor => rt.tensor(values(64, 1), [8, 8]).abs().add(0.5) as Tensor;
const begin = (x: Tensor, width: number): Tensor[] =>
  Array.from({ length: width }, (_, i) => (i === 0 ? x : (x.add(i) as Tensor)));

/** Many steps before anything is computed. */
function lazily(x: Tensor, step: Step, width: number): readonly Tensor[] {
  let state: readonly Tensor[] = begin(x, width);
  for (let i = 0; i < steps; i++) state = step(state, x);
  return state;
}

/** Expects of many steps what they give one by one. */
async function expectSame(step: Step, width = 1): Promise<void> {
  await using rt = await createRuntime({ devices: ['reference'] });
  const x = one(rt);
  const together = await Promise.all(lazily(x, step, width).map((t) => t.data()));
  let state: readonly Tensor[] = begin(x, width);
  for (let i = 0; i < steps; i++) {
    state = step(state, x);
    await Promise.all(state.map((t) => t.compute()));
  }
  expect(together).toEqual(await Promise.all(state.map((t) => t.data())));
}

/** Programs that a GPU's driver has to compile for many steps. */
async function programsOf(step: Step): Promise<number> {
  const { ffi, device } = await openMock();
  await using rt = await createRuntime({ devices: [passing(device)] });
  const x = await one(rt).compute();
  ffi.calls.length = 0;
  await Promise.all(lazily(x, step, 1).map((t) => t.compute()));
  return ffi.calls.filter((c) => c.name === 'cuLinkAddData_v2').length;
}

describe('a loop that was written out', () => {
  const division: Step = ([t], x) => [t!.floorDivide(x).add(1) as Tensor];

  it('is cut where one value goes on, so that its steps become few programs', async () => {
    await expectSame(division);
    // Three divisions fit a kernel; the first and the last kernels are programs of their own.
    expect(await programsOf(division)).toBeLessThanOrEqual(4);
  });

  it.each<[string, Step, number]>([
    ['its steps move elements', ([t], x) => [t!.roll([1], [0]).mod(x).add(t!.mod(3)).add(x) as Tensor], 1],
    ['no value goes on alone', ([a, b], x) => [a!.mod(b!.abs().add(x)), b!.mod(a!.abs().add(2))] as Tensor[], 2],
    ['each step needs a sum of the one before', ([t], x) => [t!.mod(x).add(t!.sum()).mod(7) as Tensor], 1],
  ])('computes what its steps do one by one where %s', (_, step, width) => expectSame(step, width));
});
