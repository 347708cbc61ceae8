import { expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../index.ts';

/** Not a number in ways that arithmetic would change: signalling, with a payload, negative. */
const odd = [0x7fa00001, 0xffa12345, 0x7fc00007, 0x80000000, 0x00000001];

const moves: Readonly<Record<string, (rt: Runtime, x: Tensor) => Tensor>> = {
  slice: (_, x) => x.slice([[1, 4]]),
  stack: (rt, x) => rt.stack([x, x]),
  concat: (rt, x) => rt.concat([x, x]),
  roll: (_, x) => x.roll(2, 0),
  pad: (_, x) => x.pad([[2, 1]]),
  flip: (_, x) => x.flip(0),
  repeat: (_, x) => x.repeat(3, 0),
  gather: (rt, x) => x.gather(rt.tensor(new Int32Array([4, 0, 2])), 0),
  // Floats in words, and back.
  xor: (_, x) =>
    x
      .bitcast('u32')
      .bitwiseXor(0x5bd1e995)
      .bitwiseXor(0x5bd1e995)
      .bitcast(x.dtype as 'f32')
      .slice([[0, 5]]),
  transpose: (_, x) => x.reshape([5, x.size / 5]).transpose(),
};

it.each(Object.keys(moves).flatMap((name) => [5, 500, 9000].map((n) => [name, n] as const)))(
  '%s of %i floats changes no bit',
  async (name, n) => {
    const rt = await createRuntime({ devices: ['cpu'] });
    try {
      const words = rt.tensor(
        Uint32Array.from({ length: n }, (_, i) => odd[i % odd.length]!),
        [n],
        { dtype: 'u32' },
      );
      const moved = await moves[name]!(rt, words.bitcast('f32').compute()).bytes();
      expect(moved).toEqual(await moves[name]!(rt, words).bytes());
    } finally {
      await rt.close();
    }
  },
);
