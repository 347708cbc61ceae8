// The rule table: deterministic routing by the kind of work and its number of elements.
//
// This is mode `rules`, and what is done before the machine was measured. The decision is a list of named rules; the first
// that applies decides. "Elements" of a matrix product are those of one operand.

import type { OperationType } from '../../base/operations.ts';
import type { KernelClass, Operation, Outcome } from './types.ts';

/** How much faster a GPU is taken to be once the work is large enough. No figure is claimed: measured mode measures. */
export type Gain = 'large' | 'clear' | 'some' | 'none';

export interface TypeRule {
  /** Elements below which the CPU does it; null: the general threshold of the options. */
  readonly threshold: number | null;
  readonly gain: Gain;
  /** What sending it to a GPU is taken to cost. */
  readonly overheadMs: number;
}

const byName: Readonly<Record<OperationType, TypeRule>> = {
  matrix_multiply: { threshold: 1024, gain: 'large', overheadMs: 10 },
  random_generation: { threshold: 10_000, gain: 'large', overheadMs: 5 },
  element_wise: { threshold: 5000, gain: 'large', overheadMs: 5 },
  reduction: { threshold: 10_000, gain: 'clear', overheadMs: 8 },
  graph_algorithm: { threshold: 0, gain: 'none', overheadMs: 0 },
  path_finding: { threshold: 0, gain: 'none', overheadMs: 0 },
  transform: { threshold: 1000, gain: 'none', overheadMs: 35 },
  lattice_creation: { threshold: 10_000, gain: 'none', overheadMs: 2 },
  matrix_add: { threshold: null, gain: 'none', overheadMs: 0 },
  unknown: { threshold: null, gain: 'none', overheadMs: 0 },
};

const byClass: Readonly<Record<KernelClass, TypeRule>> = {
  map: byName.element_wise,
  heavy: byName.element_wise,
  reduce: byName.reduction,
  matmul: byName.matrix_multiply,
  sort: byName.transform,
  scan: byName.transform,
  scatter: byName.transform,
  raw: byName.unknown,
};

export const ruleTable: Readonly<Record<Operation, TypeRule>> = { ...byName, ...byClass };

export interface RuleInput {
  readonly op: Operation;
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
    when: (i, r) => i.elements >= i.gpuOptimalThreshold && r.gain === 'large',
    outcome: () => 'gpu_optimal',
    why: (i) => `${count(i.elements)} elements, and the rule table expects ${i.op} to gain much from a GPU`,
  },
  {
    name: 'fast',
    when: (_, r) => r.gain === 'large' || r.gain === 'clear',
    outcome: () => 'gpu_acceptable',
    why: (i) => `the rule table expects ${i.op} to gain from a GPU`,
  },
  {
    name: 'somewhat-faster',
    when: (_, r) => r.gain === 'some',
    outcome: (i, _, threshold) => (i.elements >= 2 * threshold ? 'gpu_acceptable' : 'cpu_acceptable'),
    why: (i, _, threshold) =>
      `the rule table expects ${i.op} to gain a little from a GPU, from ${count(2 * threshold)} elements`,
  },
  {
    name: 'no-gain',
    when: () => true,
    outcome: () => 'cpu_optimal',
    why: (i) => `the rule table expects ${i.op} to gain nothing from a GPU`,
  },
];

export function applyRules(input: RuleInput, table: Readonly<Record<Operation, TypeRule>> = ruleTable): RuleOutcome {
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
