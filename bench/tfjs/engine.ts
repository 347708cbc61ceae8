// TF.js's engine alone: a backend whose kernels give ids and shapes at once, and compute nothing. What a work takes on it, it takes on every
// backend.
//
// Which shapes come in which order is noted while the work runs on another backend once.

import type * as core from '@tensorflow/tfjs-core';
import type { Work } from './works.ts';

type Tf = typeof core;

/** What kernels gave, call by call: lists as lists. */
type Given = core.TensorInfo | core.TensorInfo[];

const name = 'engine';

/** The time of one run in ms, of those after the first; the work must call the same kernels every time. */
export async function engineAlone(tf: Tf, work: Work, other: string, runs: number): Promise<number[]> {
  const noted: Given[] = [];
  let [noting, at] = [true, 0];
  class Nothing extends tf.KernelBackend {
    override write = (): object => ({});
    override incRef = (): void => {};
    override refCount = (): number => 1;
    override disposeData = (): boolean => true;
    override numDataIds = (): number => 0;
    override read = async (): Promise<Float32Array> => new Float32Array(0);
    override epsilon = (): number => 1e-7;
    override floatPrecision = (): 32 => 32;
    override dispose = (): void => {};
  }
  tf.registerBackend(name, () => new Nothing());
  const again = (x: core.TensorInfo): core.TensorInfo => ({ dataId: {}, shape: x.shape, dtype: x.dtype });
  for (const kernel of tf.getKernelsForBackend(other)) {
    const { kernelName, kernelFunc } = kernel;
    tf.unregisterKernel(kernelName, other);
    tf.registerKernel({
      ...kernel,
      kernelFunc: (params) => {
        const out = kernelFunc(params);
        if (noting) noted.push(Array.isArray(out) ? out.map(again) : again(out));
        return out;
      },
    });
    tf.registerKernel({
      kernelName,
      backendName: name,
      kernelFunc: () => {
        const out = noted[at++]!;
        return Array.isArray(out) ? out.map(again) : again(out);
      },
    });
  }
  try {
    await tf.setBackend(other);
    const first = work.start(tf);
    noted.length = 0;
    await first.run();
    noting = false;
    first.end();
    await tf.setBackend(name);
    const job = work.start(tf);
    const times: number[] = [];
    for (let i = -runs; i < runs; i++) {
      at = 0;
      const start = performance.now();
      await job.run();
      if (i >= 0) times.push(performance.now() - start);
    }
    return times;
  } finally {
    await tf.setBackend(other);
    tf.removeBackend(name);
  }
}
