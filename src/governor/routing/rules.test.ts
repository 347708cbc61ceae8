import { describe, expect, it } from 'vitest';
import { operationTypes } from '../../base/operations.ts';
import { Router } from './router.ts';
import { applyRules, ruleTable } from './rules.ts';

const withGpu = new Router({ mode: 'rules' }, new Map(), { devices: ['cpu', 'cuda:0'], hosts: ['cpu'] });
const withoutGpu = new Router({ mode: 'rules' }, new Map(), { devices: ['cpu'], hosts: ['cpu'] });

describe('acceptance cases of the rule table', () => {
  it.each([
    ['graph_algorithm', 10_000, false, 'cpu_optimal'],
    ['path_finding', 10_000, false, 'cpu_optimal'],
    ['transform', 5, false, 'cpu_optimal'],
    ['transform', 10_000, false, 'cpu_optimal'],
    ['matrix_multiply', 100, false, 'cpu_acceptable'],
    ['lattice_creation', 1000, false, 'cpu_acceptable'],
    ['lattice_creation', 100_000, false, 'cpu_optimal'],
    ['matrix_multiply', 2 ** 20, true, 'gpu_optimal'],
    ['random_generation', 1e8, true, 'gpu_optimal'],
  ] as const)('%s of %d elements: GPU %s, %s', (op, elements, useGPU, preference) => {
    expect(withGpu.shouldUseGPU(op, elements)).toMatchObject({ useGPU, preference });
    // 1.1 GB free are enough for all of them.
    expect(withGpu.shouldUseGPU(op, elements, { freeBytes: 1.1e9 })).toMatchObject({ useGPU, preference });
    expect(withGpu.route(op, elements).device).toBe(useGPU ? 'cuda:0' : 'cpu');
  });
});

describe('both sides of every threshold', () => {
  it.each([
    ['matrix_multiply', 1023, 'cpu_acceptable'],
    ['matrix_multiply', 1024, 'gpu_acceptable'],
    ['matrix_multiply', 9999, 'gpu_acceptable'],
    ['matrix_multiply', 10_000, 'gpu_optimal'],
    ['random_generation', 9999, 'cpu_acceptable'],
    ['random_generation', 10_000, 'gpu_optimal'],
    ['element_wise', 4999, 'cpu_acceptable'],
    ['element_wise', 5000, 'gpu_acceptable'],
    ['element_wise', 9999, 'gpu_acceptable'],
    ['element_wise', 10_000, 'gpu_optimal'],
    ['reduction', 9999, 'cpu_acceptable'],
    ['reduction', 10_000, 'gpu_acceptable'],
    ['reduction', 1e9, 'gpu_acceptable'],
    ['graph_algorithm', 0, 'cpu_optimal'],
    ['graph_algorithm', 1e9, 'cpu_optimal'],
    ['path_finding', 0, 'cpu_optimal'],
    ['transform', 999, 'cpu_optimal'],
    ['transform', 1000, 'cpu_optimal'],
    ['lattice_creation', 9999, 'cpu_acceptable'],
    ['lattice_creation', 10_000, 'cpu_optimal'],
    ['matrix_add', 999, 'cpu_acceptable'],
    ['matrix_add', 1000, 'cpu_optimal'],
    ['unknown', 999, 'cpu_acceptable'],
    ['unknown', 1000, 'cpu_optimal'],
    ['a name nobody knows', 1000, 'cpu_optimal'],
  ] as const)('%s of %d elements is %s', (op, elements, preference) => {
    expect(withGpu.shouldUseGPU(op, elements).preference).toBe(preference);
  });

  it('asks for twice the threshold where the gain is small', () => {
    // No type of the documented table has such a gain.
    const table = { ...ruleTable, transform: { threshold: 1000, gain: 'some' as const, overheadMs: 1 } };
    const outcome = (elements: number) =>
      applyRules(
        {
          op: 'transform',
          elements,
          gpuPresent: true,
          needBytes: 0,
          freeBytes: null,
          gpuThresholdElements: 1000,
          gpuOptimalThreshold: 10_000,
          overheadToleranceMs: 10,
        },
        table,
      ).outcome;
    expect([999, 1000, 1999, 2000].map(outcome)).toEqual([
      'cpu_acceptable',
      'cpu_acceptable',
      'cpu_acceptable',
      'gpu_acceptable',
    ]);
  });
});

describe('presence and memory', () => {
  it('keeps everything on the CPU where there is no GPU', () => {
    for (const op of operationTypes) {
      expect(withoutGpu.shouldUseGPU(op, 1e9)).toMatchObject({ useGPU: false, preference: 'cpu_optimal' });
    }
  });

  it('sends work to the GPU at exactly 80 % of its free memory and not one byte above', () => {
    const elements = 2 ** 20;
    const freeBytes = (8 * elements) / 0.8;
    expect(withGpu.shouldUseGPU('matrix_multiply', elements, { freeBytes }).useGPU).toBe(true);
    expect(withGpu.shouldUseGPU('matrix_multiply', elements, { freeBytes, bytes: 8 * elements + 1 })).toMatchObject({
      useGPU: false,
      preference: 'cpu_optimal',
    });
    expect(withGpu.shouldUseGPU('matrix_multiply', elements, { freeBytes, bytes: 8 * elements }).useGPU).toBe(true);
  });

  it('lets an explicit device win, and refuses one that is not there', () => {
    expect(withGpu.route('graph_algorithm', 10, { device: 'cuda' }).device).toBe('cuda:0');
    expect(withGpu.route('matrix_multiply', 1e7, { device: 'cpu' }).device).toBe('cpu');
    expect(() => withoutGpu.route('matrix_multiply', 1e7, { device: 'cuda:0' })).toThrow(/cuda:0 was asked for/);
    const lenient = new Router({ mode: 'rules', allowFallback: true }, new Map(), { devices: ['cpu'], hosts: ['cpu'] });
    const { device, reason } = lenient.route('matrix_multiply', 1e7, { device: 'cuda:0' });
    expect(device).toBe('cpu');
    expect(reason).toContain('cuda:0 was asked for and is not there');
  });

  it('counts the explicit elements, else those of the data, else none', () => {
    expect(withGpu.analyze('reduction', new Float32Array(7)).elements).toBe(7);
    expect(withGpu.analyze('reduction', { size: 8 }).elements).toBe(8);
    expect(withGpu.analyze('reduction', new Float32Array(7), { elements: 9 }).elements).toBe(9);
    expect(withGpu.analyze('reduction').elements).toBe(0);
    expect(withGpu.analyze('path_finding', 5)).toEqual({
      type: 'path_finding',
      elements: 5,
      parallelizable: false,
      hasDependencies: true,
      memoryBytes: 40,
      preference: null,
    });
  });

  it('says why in words', () => {
    expect(withGpu.shouldUseGPU('matrix_multiply', 100).reason).toBe(
      '100 elements are below the threshold of 1,024 for matrix_multiply (overhead 10 ms)',
    );
  });
});
