// Where the time of a work goes: making its graph, planning and launching, the device, the read; and which kernels keep the device busy.

import type * as core from '@tensorflow/tfjs-core';
import type { ForgeBackend } from '../../src/tfjs/backend.ts';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { batchOf, labelsOf, lstm, mlp, mobilenet } from '../../test/tfjs/models.ts';

type Tf = typeof core;

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

function worksOf(tf: Tf): Record<string, () => core.Tensor> {
  const predicting = (make: () => ReturnType<typeof mobilenet>, count: number) => {
    const model = make();
    const x = batchOf(tf, model, count);
    return () => model.predict(x);
  };
  const x = batchOf(tf, { input: [1024] }, 1024);
  return {
    'MobileNetV1, batch 1': predicting(() => mobilenet(tf), 1),
    'MobileNetV1, batch 32': predicting(() => mobilenet(tf), 32),
    'MLP, training step': trainingStep(tf),
    'LSTM, 100 steps': predicting(() => lstm(tf), 1),
    '30 elementwise ops': () => {
      let h: core.Tensor = x;
      for (let i = 0; i < 10; i++) h = tf.tanh(tf.add(tf.mul(h, 0.99), 0.01 * i)) as core.Tensor;
      return h;
    },
    'matMul 1024²': () => tf.matMul(x as core.Tensor2D, x as core.Tensor2D),
  };
}

function trainingStep(tf: Tf): () => core.Tensor {
  const model = mlp(tf);
  const [x, y] = [batchOf(tf, model, 128), labelsOf(tf, 128, 10)];
  const optimizer = tf.train.adam(0.001);
  const loss = () => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as core.Scalar;
  return () => optimizer.minimize(loss, true)!;
}

/** Prints it for each work. */
export async function where(tf: Tf, backend: TfjsBackend, only: RegExp, rounds: number): Promise<void> {
  await tf.setBackend(backend.name);
  const rt = backend.runtime;
  for (const [name, predict] of Object.entries(worksOf(tf))) {
    if (!only.test(name)) continue;
    const parts: number[][] = [[], [], [], []];
    for (let i = -rounds; i < rounds; i++) {
      const at = [performance.now()];
      const y = tf.tidy(predict);
      at.push(performance.now());
      (tf.backend() as unknown as ForgeBackend).pending.flush();
      at.push(performance.now());
      await rt.flush();
      at.push(performance.now());
      await y.data();
      at.push(performance.now());
      y.dispose();
      for (const [k, list] of parts.entries()) if (i >= 0) list.push(at[k + 1]! - at[k]!);
    }
    const shown = ['graph', 'launch', 'device', 'read'].map((p, k) => `${p} ${median(parts[k]!).toFixed(3)}`);
    console.log(`${name}: ${shown.join(', ')} ms`);
    const names = new Map<number, string>();
    const spans = new Map<string, { count: number; ms: number }>();
    await rt.spans('detailed');
    const stops = [
      rt.on('launch', (l) => names.set(l.id, l.name)),
      rt.on('span', ({ ids, start, end }) => {
        const key = ids.map((id) => names.get(id) ?? '?').join(' + ');
        const known = spans.get(key) ?? { count: 0, ms: 0 };
        spans.set(key, { count: known.count + 1, ms: known.ms + end - start });
      }),
    ];
    for (let i = 0; i < 3; i++) {
      const y = tf.tidy(predict);
      await y.data();
      y.dispose();
      await rt.flush();
    }
    for (const stop of stops) stop();
    await rt.spans(false);
    const list = [...spans].sort((a, b) => b[1].ms - a[1].ms);
    const total = list.reduce((n, [, s]) => n + s.ms, 0);
    const count = list.reduce((n, [, s]) => n + s.count, 0);
    console.log(`  device busy ${(total / 3).toFixed(3)} ms in ${count / 3} launches`);
    for (const [key, s] of list.slice(0, 40)) {
      console.log(`  ${((1000 * s.ms) / s.count).toFixed(1).padStart(8)} µs × ${s.count / 3}  ${key.slice(0, 140)}`);
    }
  }
}
