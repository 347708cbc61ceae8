import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import { registerBackend } from '../../src/tfjs/index.ts';
import { batchOf, labelsOf, lenet, lstm, mlp, mobilenet } from './models.ts';

const [which, steps, on] = [process.argv[2], Number(process.argv[3] ?? 100), process.argv[4] ?? 'forge'];
const backend = await registerBackend(tf as never, { cpu, name: 'forge', runtime: { devices: ['cpu'] } });
await tf.setBackend(on);
const model =
  which === 'mlp'
    ? mlp(tf, [16, 32, 4])
    : which === 'big'
      ? mlp(tf)
      : which === 'lenet'
        ? lenet(tf)
        : which === 'lstm'
          ? lstm(tf)
          : mobilenet(tf, 1, 224);
const train = which === 'mlp' || which === 'big' || which === 'lenet';
const n = which === 'big' ? 128 : train ? 16 : 1;
const x = batchOf(tf, model, n);
const y = labelsOf(tf, n, which === 'mlp' ? 4 : 10);
const optimizer = tf.train.adam(0.001);
const times: number[] = [];
for (let i = 0; i < steps; i++) {
  const t0 = performance.now();
  if (train) {
    const l = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
    await l.data();
    l.dispose();
  } else {
    const o = tf.tidy(() => model.predict(x));
    await o.data();
    o.dispose();
  }
  times.push(performance.now() - t0);
}
const sorted = times.slice(Math.min(5, steps >> 1)).sort((a, b) => a - b);
const r = backend.report();
console.log(
  which,
  on,
  'first',
  times[0]!.toFixed(0),
  'second',
  times[1]?.toFixed(1),
  'median',
  sorted[sorted.length >> 1]!.toFixed(2),
  'min',
  sorted[0]!.toFixed(2),
  'ms; programs',
  r.runtime.programs,
  'launches/step',
  (r.runtime.launches / steps).toFixed(1),
  'cpu',
  (process.cpuUsage().user / 1e6).toFixed(1),
  JSON.stringify(r.routed),
);
process.exit(0);
