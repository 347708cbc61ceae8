import { expect, it } from 'vitest';
import { makeKernel, sameBytes } from '../../../test/support/cpu.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { CpuBuffer } from './buffer.ts';
import { createCpuDevice } from './device.ts';
import { summed } from './summands.ts';
import { compileTiny } from './tiny/compile.ts';
import { Views } from './views.ts';

/** Sums of the rows of a matrix after some operations on each element, times a scalar, and the largest element of each row. */
function rowSums(rows: number, columns: number, operations: number, type: 'f32' | 'f64'): Kernel {
  const b = new Exprs();
  const at = b.alu('add', b.alu('mul', b.axis(0, rows), b.const('index', columns)), b.axis(1, columns));
  const x = b.load(type, 0, at);
  let value: Expr = x;
  for (let i = 0; i < operations; i++) value = b.alu(i % 2 ? 'mul' : 'add', value, i % 3 ? x : b.scalar(type, 0));
  return makeKernel({
    space: [rows],
    reduced: [columns],
    inputs: [{ type, elements: rows * columns }],
    scalars: [type],
    accumulators: [
      { op: 'sum', type, value },
      { op: 'max', type, value: x },
    ],
    outputs: [
      { type, value: b.alu('mul', b.acc(type, 0), b.scalar(type, 0)) },
      { type, value: b.acc(type, 1) },
    ],
  });
}

it.each([
  ['f32', 1, 100],
  ['f32', 10, 10],
  ['f32', 7, 63],
  ['f32', 3, 200],
  ['f64', 5, 17],
] as const)('gives sums of %s over %i rows of %i the bits that they have as a whole', async (type, rows, columns) => {
  const kernel = rowSums(rows, columns, 10, type);
  expect(summed(kernel)?.summands.outputs).toHaveLength(1);
  const numbers = Array.from({ length: rows * columns }, (_, i) => Math.sin(i) * 1.3);
  const values = type === 'f32' ? new Float32Array(numbers) : new Float64Array(numbers);
  const [scalar, bytes] = [[0.7], values.byteLength / columns];
  const own = (n: number): CpuBuffer => new CpuBuffer(n, new Views(new ArrayBuffer(n)), 0, null);
  const whole = [own(values.byteLength), own(bytes), own(bytes)];
  whole[0]!.small!.u8.set(new Uint8Array(values.buffer));
  compileTiny(kernel).run(whole, scalar, new Views(new ArrayBuffer(0)), null);
  const device = await createCpuDevice({ threads: 1, tinyElements: 1 << 20 });
  const program = device.prepare(kernel);
  const buffers = [device.allocate(values.byteLength), device.allocate(bytes), device.allocate(bytes)];
  device.write(buffers[0]!, new Uint8Array(values.buffer));
  // Interpreted at first, and compiled in the end.
  for (let i = 0; i < 1000; i++) {
    device.launch(program, buffers, scalar);
    if (i > 0 && i < 999) continue;
    for (const k of [1, 2]) expect(sameBytes(device.readSync(buffers[k]!), whole[k]!.small!.u8)).toBe(true);
  }
  expect(program.source).toContain('interpreted');
  expect(program.source).toContain('v128');
  await device.close();
});

it('leaves alone what is added as it is, after little work, or in many values', () => {
  expect(summed(rowSums(10, 10, 0, 'f32'))).toBe(null);
  expect(summed(rowSums(10, 10, 3, 'f32'))).toBe(null);
  expect(summed(rowSums(10, 200, 10, 'f32'))).toBe(null);
});
