// Turns of calls that come again: computed by one program without a graph being built, and right whatever differs from the time before.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { withFaults } from '../../src/index.ts';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { batchOf, labelsOf, lenet, lstm, mlp, mobilenet } from './models.ts';
import { difference, forge, tf } from './support.ts';

let backend: TfjsBackend;
beforeEach(async () => {
  backend = await forge({ name: 'forge' });
});
afterEach(() => backend.close());

const repeated = (): number => backend.report().repeated;
const bytes = (): number => backend.report().runtime.bytes;

/** One turn of the event loop: results are read, what the function made is disposed of. */
async function turn(f: () => tf.Tensor): Promise<number[]> {
  const y = tf.tidy(f);
  const values = Array.from(await y.data());
  y.dispose();
  return values;
}

describe('a turn that comes again', () => {
  it('is one program from the second time on, with the inputs of the day', async () => {
    for (const k of [1, 2, 3, 4, 5]) {
      const x = tf.tensor1d([k, 2 * k, 3 * k]);
      expect(await turn(() => x.mul(2).add(1).sum())).toEqual([12 * k + 3]);
      x.dispose();
    }
    expect(repeated()).toBe(4);
  });

  it('keeps what is still held, and nothing else', async () => {
    const x = tf.tensor1d([1, 2, 3]);
    const kept: tf.Tensor[] = [];
    for (let i = 0; i < 4; i++) {
      const [a, b] = tf.tidy(() => {
        const twice = x.mul(2);
        return [twice, twice.add(1).square()];
      }) as [tf.Tensor, tf.Tensor];
      expect(Array.from(await b.data())).toEqual([9, 25, 49]);
      kept.push(a);
      b.dispose();
    }
    for (const a of kept) expect(Array.from(a.dataSync())).toEqual([2, 4, 6]);
    expect(repeated()).toBeGreaterThan(0);
    tf.dispose([x, ...kept]);
    expect(backend.report().numDataIds).toBe(0);
  });

  it('goes call by call from where it differs: another op, number, shape, attribute, input', async () => {
    const [x, other] = [tf.tensor2d([1, 2, 3, 4], [2, 2]), tf.tensor2d([5, 6, 7, 8], [2, 2])];
    const base = () => x.mul(2).add(1);
    const variants: [() => tf.Tensor, number[]][] = [
      [() => base().sum(0), [10, 14]],
      [() => base().sum(1), [8, 16]],
      [() => base().max(0), [7, 9]],
      [() => x.mul(2).add(3).sum(0), [14, 18]],
      [() => base().reshape([4]).sum(0), [24]],
      [() => base().add(other).sum(0), [22, 28]],
      [() => base().add(x).sum(0), [14, 20]],
      [() => other.mul(2).add(1).sum(0), [26, 30]],
    ];
    for (let round = 0; round < 5; round++) {
      for (const [f, want] of variants) expect(await turn(f)).toEqual(want);
    }
    expect(repeated()).toBeGreaterThan(variants.length * 3);
    tf.dispose([x, other]);
  });

  it('can be read at any point, and goes on from there', async () => {
    const x = tf.tensor1d([1, 2, 3, 4]);
    for (const readAt of [-1, -1, -1, 0, 2, 5, 1, -1, 3, 3, 3]) {
      const got = await turn(() => {
        let y: tf.Tensor = x;
        for (let i = 0; i < 6; i++) {
          y = y.mul(2).add(i);
          if (i === readAt) expect(y.dataSync()[0]).toBe([2, 5, 12, 27, 58, 121][i]);
        }
        return y.sum();
      });
      expect(got).toEqual([868]);
    }
    x.dispose();
  });

  it('holds inputs that are disposed of before it ends, and frees them then', async () => {
    const run = async () => {
      const x = tf.tensor1d(new Float32Array(4096).fill(3));
      const y = tf.tidy(() => x.mul(2).add(x).sum());
      x.dispose();
      const [value] = await y.data();
      y.dispose();
      return value;
    };
    expect(await run()).toBe(9 * 4096);
    const before = bytes();
    for (let i = 0; i < 5; i++) expect(await run()).toBe(9 * 4096);
    expect(bytes()).toBe(before);
  });

  it('takes values as they were when the op was called', async () => {
    for (let i = 0; i < 5; i++) {
      const data = new Float32Array([1, 2, 3]);
      const y = tf.tidy(() => {
        const sum = tf.tensor1d(data).mul(2).add(1);
        data[0] = 100;
        return sum;
      });
      expect(Array.from(await y.data())).toEqual([3, 5, 7]);
      y.dispose();
    }
  });

  it('gives a read what it asked for though the tensor is disposed of right after', async () => {
    const x = tf.tensor1d([1, 2, 3]);
    for (let i = 0; i < 5; i++) {
      const y = tf.tidy(() => x.mul(3).add(1));
      const values = y.data();
      y.dispose();
      expect(Array.from(await values)).toEqual([4, 7, 10]);
    }
    x.dispose();
  });

  it('sees the values of variables, however they are assigned', async () => {
    const v = tf.variable(tf.tensor1d([1, 2]));
    const want = [1, 2];
    for (let i = 0; i < 8; i++) {
      tf.tidy(() => v.assign(v.mul(2).add(1) as tf.Tensor1D));
      want.forEach((w, k) => {
        want[k] = 2 * w + 1;
      });
      if (i % 3 === 2) expect(Array.from(await v.data())).toEqual(want);
    }
    expect(Array.from(v.dataSync())).toEqual(want);
    v.dispose();
  });

  it('gives tensors of ours at any time', async () => {
    const x = tf.tensor1d([1, 2]);
    for (let i = 0; i < 5; i++) {
      const y = tf.tidy(() => x.mul(2).add(1));
      const t = backend.toTensor(y);
      const z = y.mul(10);
      expect(await t.data()).toEqual(new Float32Array([3, 5]));
      expect(Array.from(await z.data())).toEqual([30, 50]);
      t.dispose();
      tf.dispose([y, z]);
    }
    x.dispose();
  });

  it('shares data, splits and joins as the first time', async () => {
    const x = tf.tensor2d([1, 2, 3, 4, 5, 6], [2, 3]);
    for (let i = 0; i < 5; i++) {
      const got = await turn(() => {
        const [a, b] = tf.unstack(x.add(1)) as [tf.Tensor, tf.Tensor];
        const same = tf.cast(a, 'float32');
        return tf.concat([same, b.reshape([3]), tf.cast(tf.greater(a, 2), 'float32')]);
      });
      expect(got).toEqual([2, 3, 4, 5, 6, 7, 0, 1, 1]);
    }
    expect(repeated()).toBeGreaterThan(0);
    x.dispose();
    expect(backend.report().numDataIds).toBe(0);
  });

  it('looks at values in host memory every time', async () => {
    const x = tf.tensor1d([10, 20, 30]);
    for (const at of [0, 1, 2, 0, 1, 2]) {
      expect(await turn(() => tf.gather(x.mul(1), tf.tensor1d([at], 'int32')))).toEqual([10 * (at + 1)]);
      expect(() => tf.tidy(() => tf.gather(x.mul(1), tf.tensor1d([at + 3], 'int32')))).toThrow();
    }
    x.dispose();
  });

  it('has complex values as the first time', async () => {
    const x = tf.tensor1d([1, 2, 3, 4]);
    for (let i = 0; i < 4; i++) {
      expect(await turn(() => tf.real(tf.spectral.fft(tf.complex(x.mul(1), x.mul(0)))))).toEqual([10, -2, -2, -2]);
      expect(await turn(() => tf.imag(tf.complex(x, x.mul(2))))).toEqual([2, 4, 6, 8]);
    }
    x.dispose();
    expect(backend.report().numDataIds).toBe(0);
  });

  it('reads a loss at once, and computes the rest of the step with it', async () => {
    const w = tf.variable(tf.tensor1d([4, 8]));
    const optimizer = tf.train.momentum(0.25, 0.5);
    const losses: number[] = [];
    for (let i = 0; i < 6; i++) {
      const loss = optimizer.minimize(() => w.mul(w).add(1).sub(1).mul(0.5).sum() as tf.Scalar, true)!;
      losses.push(loss.dataSync()[0]!);
      loss.dispose();
      await null;
      await null;
    }
    expect(losses).toEqual([40, 22.5, 7.65625, 1.181640625, 0.0006103515625, 0.32993316650390625]);
    expect(repeated()).toBeGreaterThan(2);
    optimizer.dispose();
    w.dispose();
  });

  it('is stored in half floats where that was asked for', async () => {
    const half = await forge({ name: 'half', precision: 'f16' });
    const x = tf.tensor1d([1, 2, 3]);
    for (let i = 0; i < 4; i++) {
      const y = tf.tidy(() => x.mul(0.1).add(1000));
      // Three digits: the tenths are lost.
      expect(Array.from(await y.data())).toEqual([1000, 1000, 1000.5]);
      expect(half.toTensor(y).dtype).toBe('f16');
      y.dispose();
    }
    expect(half.report().repeated).toBe(3);
    x.dispose();
    await half.close();
    await tf.setBackend('forge');
  });

  it('of whole numbers and bools comes again too', async () => {
    const [n, b] = [tf.tensor1d([7, -7, 2], 'int32'), tf.tensor1d([true, false, true], 'bool')];
    for (let i = 0; i < 4; i++) {
      const [q, both] = tf.tidy(() => [
        tf.floorDiv(n, tf.scalar(2, 'int32')).add(tf.scalar(1, 'int32')),
        tf.logicalAnd(b, tf.less(n, 3)),
      ]) as [tf.Tensor, tf.Tensor];
      expect([q.dtype, both.dtype]).toEqual(['int32', 'bool']);
      expect(Array.from(await q.data())).toEqual([4, -3, 2]);
      expect(Array.from(await both.data())).toEqual([0, 0, 1]);
      tf.dispose([q, both]);
    }
    expect(repeated()).toBeGreaterThan(0);
    tf.dispose([n, b]);
  });

  it('that fails tells whoever reads, and works again when the cause is gone', async () => {
    const faults: { fail: boolean } = { fail: false };
    const failing = (d: Device): Device => {
      const { launch } = d;
      return Object.assign(d, {
        launch: (...args: Parameters<typeof launch>) => {
          if (faults.fail) throw new Error('no launch today');
          launch.apply(d, args);
        },
      });
    };
    const broken = await forge({ name: 'broken', runtime: { devices: ['cpu'], wrap: failing } });
    const x = tf.tensor1d(new Float32Array(5000).fill(2));
    const f = () => tf.tidy(() => x.mul(3).add(1).sum());
    for (let i = 0; i < 3; i++) expect(await turn(f)).toEqual([35000]);
    faults.fail = true;
    const y = f();
    await expect(y.data()).rejects.toThrow();
    faults.fail = false;
    expect(Array.from(await y.data())).toEqual([35000]);
    y.dispose();
    expect(await turn(f)).toEqual([35000]);
    x.dispose();
    expect(broken.report().numDataIds).toBe(0);
    await broken.close();
    await tf.setBackend('forge');
  });

  it('is computed in host memory if it is a few numbers that are there, and read at once every time', async () => {
    const [a, b] = [tf.tensor1d([1, -2, 3, 0]), tf.tensor1d([0.1, 7, 0, 0])];
    const launches = () => backend.report().runtime.launches;
    const each = { Add: tf.add, Sub: tf.sub, Multiply: tf.mul, RealDiv: tf.div };
    for (const f of Object.values(each)) {
      const want = await turn(() => f(a, b));
      for (let i = 0; i < 3; i++) expect(Array.from(tf.tidy(() => f(a, b).dataSync()))).toEqual(want);
      await null;
      const before = launches();
      for (let i = 0; i < 3; i++) expect(Array.from(tf.tidy(() => f(a, b).dataSync()))).toEqual(want);
      expect(launches()).toBe(before);
      await null;
    }
    expect(backend.report().ran).toEqual({ Add: 7, Sub: 7, Multiply: 7, RealDiv: 7 });
    // Broadcasting and other dtypes go their usual way.
    expect(Array.from(tf.add(a, tf.tensor2d([[1], [2]])).dataSync())).toEqual([2, -1, 4, 1, 3, 0, 5, 2]);
    expect(Array.from(tf.add(tf.tensor1d([1, 2], 'int32'), tf.tensor1d([3, 4], 'int32')).dataSync())).toEqual([4, 6]);
  });

  it('takes numbers that are others every time as inputs', async () => {
    const x = tf.tensor1d([1, 2]);
    const v = tf.variable(tf.scalar(0));
    for (let i = 0; i < 12; i++) {
      expect(
        await turn(() =>
          x
            .mul(i + 0.5)
            .add(1)
            .mul(i + 0.5),
        ),
      ).toEqual([i + 1.5, 2 * i + 2].map((y) => y * (i + 0.5)));
      v.assign(tf.scalar(i));
      expect(await turn(() => x.add(v).mul(2))).toEqual([2 * i + 2, 2 * i + 4]);
      expect(await turn(() => x.toInt().mul(tf.scalar(i, 'int32')))).toEqual([i, 2 * i]);
    }
    expect(repeated()).toBeGreaterThan(15);
    tf.dispose([x, v]);
  });

  it('takes arrays of one number as that number, and of another number, or of several, as what they are', async () => {
    const x = tf.tensor1d([1]);
    const grown = (list: number[]) => turn(() => x.mul(2).add(tf.tensor1d(list)).add(1));
    for (const k of [1, 1, 1, 1, 2, 3, 4, 5, 1]) expect(await grown([k, k, k])).toEqual([k + 3, k + 3, k + 3]);
    for (let i = 0; i < 4; i++) expect(await grown([1, 2, 1])).toEqual([4, 5, 4]);
    expect(await grown([1, 1, 1])).toEqual([4, 4, 4]);
    const nothing = tf.tidy(() => x.mul(2).add(tf.tensor1d([])));
    expect(nothing.shape).toEqual([0]);
    const ones = tf.tidy(() => tf.variable(tf.ones([3])));
    for (let i = 0; i < 5; i++) {
      expect(await turn(() => ones.mul(2).add(x))).toEqual([1, 1, 1].map(() => 2 * 2 ** i + 1));
      tf.tidy(() => ones.assign(ones.mul(2) as tf.Tensor1D));
    }
    tf.dispose([x, ones, nothing]);
    expect(backend.report().numDataIds).toBe(0);
  });

  it('is found again after many that were new every time', async () => {
    const x = tf.tensor1d([1, 2]);
    const known = () => turn(() => x.add(3).mul(2));
    for (let i = 1; i < 200; i++) expect(await turn(() => tf.tile(x, [i]).max())).toEqual([2]);
    expect(repeated()).toBe(0);
    for (let i = 0; i < 40; i++) expect(await known()).toEqual([8, 10]);
    expect(repeated()).toBeGreaterThan(20);
    x.dispose();
  });
});

describe('models', () => {
  it('predict the same every time, and leave nothing behind', async () => {
    for (const make of [() => mlp(tf, [16, 32, 4]), () => lenet(tf), () => lstm(tf, 8, 20, 4)]) {
      const model = make();
      const x = batchOf(tf, model, 2);
      const first = await turn(() => model.predict(x));
      await turn(() => model.predict(x));
      const before = { ids: backend.report().numDataIds, bytes: bytes(), repeated: repeated() };
      for (let i = 0; i < 4; i++) expect(difference(await turn(() => model.predict(x)), first)).toBeLessThan(1e-6);
      expect(backend.report().numDataIds).toBe(before.ids);
      expect(bytes()).toBe(before.bytes);
      expect(repeated() - before.repeated).toBeGreaterThanOrEqual(4);
      tf.dispose([x, ...model.weights]);
    }
  });

  it('are computed in parts where the device works beside the host', async () => {
    const asGpu = (d: Device): Device =>
      Object.assign(withFaults(d, { faults: [], strict: true }), { caps: { ...d.caps, host: false } });
    const beside = await forge({ name: 'beside', runtime: { devices: ['cpu'], wrap: asGpu } });
    const model = mobilenet(tf, 0.125, 32, 10);
    const [x, other] = [batchOf(tf, model, 1), batchOf(tf, model, 1, 5)];
    const layers = (h: tf.Tensor) => tf.tidy(() => model.predict(h));
    const want = [await turn(() => layers(x)), await turn(() => layers(other))];
    const start = beside.report().repeated;
    for (let i = 0; i < 4; i++) expect(await turn(() => layers(x))).toEqual(want[0]);
    // Three parts each, from the third time on.
    expect(beside.report().repeated - start).toBeGreaterThan(8);
    expect(await turn(() => layers(other))).toEqual(want[1]);
    // A turn that goes on in another way after some of it was computed.
    expect(
      difference(
        await turn(() => layers(x).add(1)),
        want[0]!.map((v) => v + 1),
      ),
    ).toBeLessThan(1e-6);
    tf.dispose([x, other, ...model.weights]);
    expect(beside.report().numDataIds).toBe(0);
    expect(beside.report().runtime.bytes).toBe(0);
    await beside.close();
    await tf.setBackend('forge');
  });

  it('learn in constant memory: nothing of a step is left to the garbage collector', async () => {
    const model = mlp(tf, [16, 512, 10]);
    const [x, y] = [batchOf(tf, model, 128), labelsOf(tf, 128, 10)];
    const optimizer = tf.train.adam(0.01);
    const held: { readonly tensors: number; readonly bytes: number }[] = [];
    for (let i = 0; i < 12; i++) {
      const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
      await loss.data();
      loss.dispose();
      const { tensors, bytes } = backend.report().runtime;
      held.push({ tensors, bytes });
    }
    // The collector may take what the first steps left, at any time: later ones add nothing.
    for (const [i, now] of held.entries()) {
      if (i < 4) continue;
      expect(now.tensors).toBeLessThanOrEqual(held[i - 1]!.tensors);
      expect(now.bytes).toBeLessThanOrEqual(held[i - 1]!.bytes);
    }
    optimizer.dispose();
    tf.dispose([x, y, ...model.weights]);
  });

  it('learn by one program though the rate of learning is another one in every step', async () => {
    const rates = Array.from({ length: 24 }, (_, i) => 0.01 / (1 + i));
    const curve = async (): Promise<number[]> => {
      const model = mlp(tf, [8, 16, 16, 3]);
      const [x, y] = [batchOf(tf, model, 12), labelsOf(tf, 12, 3)];
      const optimizer = tf.train.adam(0.01);
      const losses: number[] = [];
      for (const rate of rates) {
        Object.assign(optimizer, { learningRate: rate });
        const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
        losses.push((await loss.data())[0]!);
        loss.dispose();
        seen.push([repeated(), backend.report().runtime.programs]);
      }
      optimizer.dispose();
      tf.dispose([x, y, ...model.weights]);
      return losses;
    };
    const seen: (readonly [number, number])[] = [];
    const got = await curve();
    // From the fifth step on.
    expect(seen.at(-1)![0]).toBeGreaterThanOrEqual(rates.length - 5);
    expect(seen.at(-1)![1]).toBe(seen[6]![1]);
    await tf.setBackend('cpu');
    const want = await curve();
    await tf.setBackend('forge');
    expect(difference(got, want)).toBeLessThan(1e-5);
  });

  it('learn as on the TF.js CPU backend', async () => {
    const losses: number[][] = [];
    for (const name of ['forge', 'cpu']) {
      await tf.setBackend(name);
      const model = mlp(tf, [8, 16, 3]);
      const [x, y] = [batchOf(tf, model, 12), labelsOf(tf, 12, 3)];
      const optimizer = tf.train.adam(0.01);
      const list: number[] = [];
      for (let i = 0; i < 20; i++) {
        const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
        list.push((await loss.data())[0]!);
        loss.dispose();
      }
      losses.push(list);
      optimizer.dispose();
      tf.dispose([x, y, ...model.weights]);
    }
    await tf.setBackend('forge');
    expect(difference(losses[0]!, losses[1]!)).toBeLessThan(1e-5);
    expect(repeated()).toBeGreaterThan(15);
  });
});
