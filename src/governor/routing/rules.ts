// The rule table: deterministic routing by operation type and number of elements.
//
// This is mode `rules`, and what is done before the machine was measured. The decision is a list of named rules; the first
// that applies decides. "Elements" of a matrix product are those of one operand.

import type { OperationType, Outcome } from './types.ts';

export interface TypeRule {
  /** null: the general threshold of the options. */
  readonly threshold: number | null;
  readonly speedup: number;
  readonly overheadMs: number;
}

export const ruleTable: Readonly<Record<OperationType, TypeRule>> = {
  matrix_multiply: { threshold: 1024, speedup: 21.22, overheadMs: 10 },
  random_generation: { threshold: 10_000, speedup: 21.88, overheadMs: 5 },
  element_wise: { threshold: 5000, speedup: 15, overheadMs: 5 },
  reduction: { threshold: 10_000, speedup: 10, overheadMs: 8 },
  graph_algorithm: { threshold: 0, speedup: 0.01, overheadMs: 0 },
  path_finding: { threshold: 0, speedup: 0.01, overheadMs: 0 },
  transform: { threshold: 1000, speedup: 0.01, overheadMs: 35 },
  lattice_creation: { threshold: 10_000, speedup: 1.19, overheadMs: 2 },
  matrix_add: { threshold: null, speedup: 1, overheadMs: 0 },
  unknown: { threshold: null, speedup: 1, overheadMs: 0 },
};

export interface RuleInput {
  readonly op: OperationType;
  readonly elements: number;
  readonly gpuPresent: boolean;
  /** Bytes the work needs on the GPU. */
  readonly needBytes: number;
  /** Free bytes on the GPU; null if not known. */
  readonly freeBytes: number | null;
  readonly gpuThresholdElements: number;
  readonly gpuOptimalThreshold: number;
  readonly overheadToleranceMs: number;
}

export interface RuleOutcome {
  readonly outcome: Outcome;
  readonly rule: string;
  readonly why: () => string;
}

interface Rule {
  readonly name: string;
  readonly when: (i: RuleInput, r: TypeRule, threshold: number) => boolean;
  readonly outcome: (i: RuleInput, r: TypeRule, threshold: number) => Outcome;
  readonly why: (i: RuleInput, r: TypeRule, threshold: number) => string;
}

const count = (n: number): string => n.toLocaleString('en-US');

const rules: readonly Rule[] = [
  {
    name: 'no-gpu',
    when: (i) => !i.gpuPresent,
    outcome: () => 'cpu_optimal',
    why: () => 'there is no GPU to choose',
  },
  {
    name: 'memory',
    when: (i) => i.freeBytes !== null && i.needBytes > 0.8 * i.freeBytes,
    outcome: () => 'cpu_optimal',
    why: (i) => `${count(i.needBytes)} bytes are more than 80 % of the ${count(i.freeBytes!)} free on the GPU`,
  },
  {
    name: 'graph',
    when: (i) => i.op === 'graph_algorithm' || i.op === 'path_finding',
    outcome: () => 'cpu_optimal',
    why: (i) => `the rule table keeps ${i.op} on the CPU`,
  },
  {
    name: 'below-threshold',
    when: (i, _, threshold) => i.elements < threshold,
    outcome: (i, r) => (r.overheadMs > i.overheadToleranceMs ? 'cpu_optimal' : 'cpu_acceptable'),
    why: (i, r, threshold) =>
      `${count(i.elements)} elements are below the threshold of ${count(threshold)} for ${i.op} (overhead ${r.overheadMs} ms)`,
  },
  {
    name: 'large-and-fast',
    when: (i, r) => i.elements >= i.gpuOptimalThreshold && r.speedup > 10,
    outcome: () => 'gpu_optimal',
    why: (i, r) => `${count(i.elements)} elements, and ${i.op} runs ${r.speedup} times faster on a GPU`,
  },
  {
    name: 'fast',
    when: (_, r) => r.speedup > 5,
    outcome: () => 'gpu_acceptable',
    why: (i, r) => `${i.op} runs ${r.speedup} times faster on a GPU`,
  },
  {
    name: 'somewhat-faster',
    when: (_, r) => r.speedup > 1.5,
    outcome: (i, _, threshold) => (i.elements >= 2 * threshold ? 'gpu_acceptable' : 'cpu_acceptable'),
    why: (i, r, threshold) =>
      `${i.op} runs ${r.speedup} times faster on a GPU, which pays from ${count(2 * threshold)} elements`,
  },
  {
    name: 'no-gain',
    when: () => true,
    outcome: () => 'cpu_optimal',
    why: (i, r) => `a GPU does not speed up ${i.op} enough (${r.speedup} times)`,
  },
];

export function applyRules(
  input: RuleInput,
  table: Readonly<Record<OperationType, TypeRule>> = ruleTable,
): RuleOutcome {
  const type = table[input.op];
  const threshold = type.threshold ?? input.gpuThresholdElements;
  for (const rule of rules) {
    if (!rule.when(input, type, threshold)) continue;
    return {
      outcome: rule.outcome(input, type, threshold),
      rule: rule.name,
      why: () => rule.why(input, type, threshold),
    };
  }
  throw new Error('the last rule always applies');
}

export const wantsGpu = (outcome: Outcome): boolean => outcome === 'gpu_optimal' || outcome === 'gpu_acceptable';
