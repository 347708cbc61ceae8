// Small work, where the host's time is all there is: on the CPU device, and on a device that does nothing.

import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { floats, fractions } from '../lib/data.mjs';
import type { Job } from '../lib/side.mjs';
import { noopDevice } from './noop-device.ts';

const chain = (x: Tensor): Tensor => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();

/** 200 ops, each on the result of the one before. */
const dependent = (x: Tensor): Tensor => {
  let y = x;
  for (let i = 0; i < 100; i++) y = y.mul(0.99).add(x);
  return y;
};

/** Computed, and kept until the next one is. */
function computed(make: () => Tensor): Job {
  let last: Tensor | null = null;
  return {
    run: () => {
      last?.dispose();
      last = make().compute();
    },
    result: () => last!.dataSync() as Float32Array,
  };
}

/** Computed and read. */
function read(make: () => Tensor): Job {
  let last: Float32Array | null = null;
  return {
    run: () => {
      last = make().dataSync() as Float32Array;
    },
    result: () => last!,
  };
}

const square = (rt: Runtime, n: number, seed: number): Tensor => rt.tensor(floats(n * n, seed), [n, n]);

function cpuWorks(rt: Runtime): Record<string, () => Job> {
  const of = (n: number): Tensor => rt.tensor(floats(n));
  const chains = [100, 1000, 4096, 16_384].map((n): [string, () => Job] => [
    `chain${n}`,
    () => {
      const x = of(n);
      return computed(() => chain(x));
    },
  ]);
  return {
    ...Object.fromEntries(chains),
    add5: () => {
      const [a, b] = [of(5), rt.tensor(floats(5, 7))];
      return read(() => a.add(b));
    },
    sum1000: () => {
      const x = rt.tensor(fractions(1000));
      return computed(() => x.sum());
    },
    matmul64: () => {
      const [a, b] = [square(rt, 64, 0), square(rt, 64, 1)];
      return computed(() => a.matmul(b));
    },
    ops200: () => {
      const x = of(64);
      return computed(() => dependent(x));
    },
  };
}

/** Works whose names begin with that of a device. */
function deviceWorks(name: string, rt: Runtime): Record<string, () => Job> {
  const x = rt.tensor(floats(64));
  const works: Record<string, () => Job> = {
    eager: () => computed(() => x.add(0.5)),
    chain: () => computed(() => chain(x)),
    ops200: () => computed(() => dependent(x)),
    'ops200-done': () => {
      const { run, result } = computed(() => dependent(x));
      const toEnd = (): Promise<void> => {
        run();
        return rt.flush();
      };
      return { run: toEnd, result };
    },
    compiled: () => {
      const f = rt.compile((t: Tensor) => t.mul(0.99).add(0.5));
      return computed(() => f(x));
    },
    steps: () => {
      const f = rt.compile((t: Tensor) => t.mul(0.99).sum().add(t).tanh().sum().add(t));
      return computed(() => f(x));
    },
    recurrence: () => {
      const f = rt.compile((t: Tensor) => t.mul(0.99).add(0.5));
      let y: Tensor = x;
      return {
        run: () => {
          y = f(y);
        },
        result: () => y.dataSync() as Float32Array,
      };
    },
  };
  return Object.fromEntries(Object.entries(works).map(([key, make]) => [`${name}-${key}`, make]));
}

/** `gpu`: a kind of device to measure too; null for none. */
export async function smallWorks(gpu: 'cuda' | 'webgpu' | null): Promise<Record<string, () => Job>> {
  const routing = { mode: 'off' } as const;
  const cpu = await createRuntime({ devices: ['cpu'], routing });
  const nothing = await createRuntime({ devices: ['cpu'], wrap: noopDevice, routing });
  const works = { ...cpuWorks(cpu), ...deviceWorks('noop', nothing) };
  if (gpu) Object.assign(works, deviceWorks(gpu, await createRuntime({ devices: [gpu], routing })));
  return works;
}
