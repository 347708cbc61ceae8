import { expect, it } from 'vitest';
import { operationTypes } from '../../base/operations.ts';
import { estimateKernel } from '../../kernel/estimate.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { probes } from './probes.ts';
import { kernelClasses } from './types.ts';
import { operationOf, typicalWork, workOf } from './work.ts';

const b = new Exprs();

function kernel(n: number, inputs: Kernel['inputs'], value: (i: Expr) => Expr, type: 'f32' | 'i32' = 'f32'): Kernel {
  const outputs = [{ type, value: value(b.axis(0, n)) }];
  const parts = { space: [n], reduced: [], accumulators: [], outputs, inputs, scalars: [], inPlace: [] };
  return { kind: 'kernel', name: 'k', ...parts, estimate: estimateKernel(parts) };
}

const f32 = (elements: number) => ({ type: 'f32' as const, elements });
const i32 = (elements: number) => ({ type: 'i32' as const, elements });

it('gives every probe its own class', () => {
  for (const [cls, make] of Object.entries(probes)) {
    const [item] = workOf([make(256).work]);
    expect(item!.class).toBe(cls);
    expect(item!.elements).toBe(256);
    expect(kernelClasses).toContain(item!.class);
  }
});

it('sees loads whose place depends on data', () => {
  const gather = kernel(8, [f32(8), i32(8)], (i) => b.load('f32', 0, b.cast('index', b.load('i32', 1, i))));
  expect(workOf([gather])[0]).toMatchObject({ class: 'map', gathers: 1 });
  expect(operationOf(workOf([gather]))).toBe('map');
  const shifted = kernel(8, [f32(8)], (i) => b.load('f32', 0, b.alu('idiv', i, b.const('index', 2))));
  expect(workOf([shifted])[0]!.gathers).toBeUndefined();
});

it('names work by the class of its costliest kernel, unless its caller named it', () => {
  const add = kernel(64, [f32(64), f32(64)], (i) => b.alu('add', b.load('f32', 0, i), b.load('f32', 1, i)));
  expect(operationOf(workOf([add]))).toBe('map');
  const twice = kernel(64, [f32(64)], (i) => b.alu('mul', b.load('f32', 0, i), b.const('f32', 2)));
  expect(operationOf(workOf([twice]))).toBe('map');
  const iota = kernel(64, [], (i) => b.cast('i32', i), 'i32');
  expect(operationOf(workOf([iota]))).toBe('map');
  const noise = kernel(64, [], (i) => b.alu('sin', b.cast('f32', b.cast('i32', i))));
  expect(operationOf(workOf([noise]))).toBe('heavy');
  expect(operationOf(workOf([twice, probes.matmul(4096).work]))).toBe('matmul');
  expect(operationOf(workOf([probes.reduce(64).work]))).toBe('reduce');
  expect(operationOf(workOf([probes.sort(64).work]))).toBe('sort');
  expect(operationOf([])).toBe('unknown');
  expect(operationOf(workOf([iota]), 'lattice_creation')).toBe('lattice_creation');
});

it('counts the elements of one operand for a matrix product', () => {
  expect(workOf([probes.matmul(32 * 32).work])[0]).toMatchObject({ elements: 1024, flops: 2 * 32 ** 3 });
  expect(typicalWork('matrix_multiply', 1024)).toMatchObject({ elements: 1024, flops: 2 * 32 ** 3 });
});

it('knows typical work for every operation type', () => {
  for (const op of operationTypes) {
    const w = typicalWork(op, 1000);
    expect(w.bytes).toBeGreaterThan(0);
    expect(kernelClasses).toContain(w.class);
  }
});
