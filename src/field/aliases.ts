// The names of document 003 for what this package calls otherwise. docs/field.md has the table.

import { checked, checkMethods } from '../base/signatures.ts';
import type { MemoryPool, Runtime } from '../index.ts';
import { quickTest } from './bench.ts';
import { checkField } from './check.ts';
import { createField, type Field, type FieldInput } from './field.ts';
import { extractGradient, fusedEvolution } from './ops.ts';
import type { FieldOptions } from './options.ts';
import { type Found, PatternLibrary } from './patterns.ts';
import { brainOptions, factoryOptions, fieldKinds } from './signatures.ts';
import type { FieldState } from './state.ts';

/** A field with the method name of document 003. */
export interface Brain {
  readonly field: Field;
  processRobotCycle(input: FieldInput): Promise<[number[], FieldState]>;
  dispose(): Promise<void>;
}

type BrainOptions = Omit<FieldOptions, 'sensorDim' | 'device'> & {
  readonly sensoryDim?: number | undefined;
  /** Default true. */
  readonly preferGpu?: boolean | undefined;
};

function brainOf(field: Field): Brain {
  const brain: Brain = {
    field,
    processRobotCycle: async (input) => {
      const { motors, state } = await field.step(input);
      return [[...motors], state];
    },
    dispose: () => field.dispose(),
  };
  checkMethods(brain, { processRobotCycle: 'async input:own', dispose: 'async' });
  return brain;
}

/** createField with device 'auto', or 'cpu' where no GPU is preferred. */
export const createBrain = checked(
  'createBrain',
  brainOptions,
  async ({ sensoryDim, preferGpu = true, ...options }: BrainOptions = {}): Promise<Brain> =>
    brainOf(await createField({ ...options, sensorDim: sensoryDim, device: preferGpu ? 'auto' : 'cpu' })),
  fieldKinds,
);

export const GPUBrainFactory = {
  createOptimizedBrain: checked(
    'createOptimizedBrain',
    factoryOptions,
    async ({
      forceGpu = false,
      sensoryDim,
      ...options
    }: Omit<BrainOptions, 'preferGpu'> & { readonly forceGpu?: boolean } = {}): Promise<Brain> =>
      brainOf(await createField({ ...options, sensorDim: sensoryDim, forceGPU: forceGpu })),
    fieldKinds,
  ),
};

export const OptimizationChecker = { verifyOptimizations: checkField };
export const quickPerformanceTest = quickTest;
export const fusedFieldEvolution = fusedEvolution;
export const batchedGradientExtraction = extractGradient;

/** The runtime's own pool. */
export const TensorMemoryPool = {
  of: checked(
    'TensorMemoryPool.of',
    'rt:runtime device:text?',
    (rt: Runtime, device?: string): MemoryPool => rt.memory.pool(device),
    fieldKinds,
  ),
};

export class GPUPatternLibrary extends PatternLibrary {
  findBestPattern(context: ArrayLike<number>, fieldState?: ArrayLike<number>): Found {
    return this.find(context, { k: 1, fieldState });
  }
}

checkMethods(GPUPatternLibrary.prototype, { findBestPattern: 'context:arrayLike fieldState:arrayLike?' }, fieldKinds);
