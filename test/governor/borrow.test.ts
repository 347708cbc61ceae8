// Lending the memory of live tensors through the runtime.

import { expect, it } from 'vitest';
import { type Borrowed, BorrowViolation, type ReversibleStep } from '../../src/index.ts';
import { fixture } from '../core/support.ts';

const runtime = fixture();

const xor = (key: number): ReversibleStep => {
  const flip = ([m]: readonly Borrowed[]): void => {
    const bytes = m!.device.readSync!(m!.buffer, 0, m!.bytes).map((b) => b ^ key);
    m!.device.write(m!.buffer, bytes);
  };
  return { do: flip, undo: flip };
};

it('gives tensors back bit for bit, and refuses them to readers meanwhile', async () => {
  const rt = await runtime();
  const x = rt.tensor(Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i)));
  const before = x.dataSync();
  let refused: unknown;
  const { report } = await rt.memory.borrow([x], function* () {
    yield xor(0x5a);
    try {
      x.dataSync();
    } catch (e) {
      refused = e;
    }
    yield xor(0x5a);
  });
  expect(String(refused)).toMatch(/lent to a program/);
  expect(report).toMatchObject({ buffers: 1, bytes: 20_000, steps: 2 });
  expect(x.dataSync()).toEqual(before);
});

it('undoes what was done when the program throws, even if the tensor was disposed meanwhile', async () => {
  const rt = await runtime();
  const x = rt.tensor(new Float32Array(2000).fill(3));
  const y = x.reshape([40, 50]).compute();
  const loan = rt.memory.borrow([x], function* () {
    yield xor(1);
    yield xor(2);
    x.dispose();
    throw new Error('stop');
  });
  await expect(loan).rejects.toThrow('stop');
  expect((await y.data()).every((v) => v === 3)).toBe(true);
});

it('finds out what was not given back as it was, and never hands it out', async () => {
  const rt = await runtime();
  const x = rt.tensor(new Float32Array(2000).fill(3));
  await expect(rt.memory.borrow([x], [xor(7)])).rejects.toThrow(BorrowViolation);
  expect(() => x.dataSync()).toThrow(/changed/);
  await expect(x.add(1).data()).rejects.toThrow(/changed/);
});
