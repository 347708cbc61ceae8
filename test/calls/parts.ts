// The parts of the package whose functions are called wrongly, with something of each class to call methods of.

import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import * as batch from '../../src/batch/index.ts';
import * as compute from '../../src/compute/index.ts';
import * as field from '../../src/field/index.ts';
import * as gpuforge from '../../src/index.ts';
import * as io from '../../src/io/index.ts';
import * as lattice from '../../src/lattice/index.ts';
import * as profile from '../../src/profile/index.ts';
import * as studio from '../../src/studio/index.ts';
import * as tfjs from '../../src/tfjs/index.ts';
import type { Names, Part } from './check.ts';

const functionsOf = (name: string, module: object, leftOut: readonly string[] = []): string[] =>
  Object.entries(module)
    .filter(([key, value]) => typeof value === 'function' && !leftOut.includes(key) && !isError(value))
    .map(([key]) => `${name}.${key}`);

const isError = (value: { prototype?: unknown }): boolean => value.prototype instanceof Error;

export const parts: readonly Part[] = [
  {
    part: 'tensors',
    targets: ['rt.tensor([1, 2, 3])', 'rt.tensor([[1, 2], [3, 4]])', 'rt.tensor([true, false])'],
    functions: [],
  },
  {
    part: 'runtime',
    targets: ['rt', 'rt.random', 'rt.memory', 'rt.memory.pool()', 'rt.mark()'],
    functions: ['createRuntime', 'createStepper', 'formatBytes', 'whenRuntimeOpens'].map((n) => `gpuforge.${n}`),
    leftOut: ['rt.mark().then'],
  },
  { part: 'io', targets: [], functions: functionsOf('io', io) },
  {
    part: 'lattice',
    targets: ['grid', 'graph', 'program', 'lattice.Graph'],
    functions: functionsOf('lattice', lattice, ['Graph', 'DeviceGraph', 'LatticeBatch', 'PathIterator']),
  },
  {
    part: 'field',
    targets: ['brain', 'patterns', 'field.Field'],
    functions: functionsOf('field', field, ['Field']),
  },
  {
    part: 'batch',
    targets: ['processor'],
    functions: functionsOf('batch', batch, ['BatchStatistics']),
  },
  {
    part: 'profile',
    targets: ['profiler'],
    functions: functionsOf('profile', profile, ['EntryStream']),
  },
  { part: 'studio', targets: [], functions: functionsOf('studio', studio) },
  { part: 'tfjs', targets: ['backend'], functions: ['tfjs.registerBackend'] },
  {
    part: 'compute',
    targets: [
      'gpu',
      'compute.GPUCompute',
      'compute.DeviceManager',
      'compute.PerformanceLogger',
      'compute.PerformanceMonitor',
      'compute.TensorPool',
    ],
    functions: [],
  },
];

export interface Opened {
  readonly names: Names;
  readonly rt: gpuforge.Runtime;
  close(): Promise<void>;
}

/** One of everything that is called. */
export async function openParts(): Promise<Opened> {
  const rt = await gpuforge.createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  const grid = new lattice.Lattice({ dimensions: 2, size: 4, runtime: rt });
  const brain = await field.createField({ runtime: rt, device: 'cpu', resolution: 4, sensorDim: 4 });
  const backend = await tfjs.registerBackend(tf, { cpu, runtime: rt, name: 'wrong-calls' });
  const gpu = compute.GPUCompute.create();
  const values = {
    rt,
    gpuforge,
    io,
    lattice,
    field,
    batch,
    profile,
    studio,
    tfjs,
    compute,
    grid,
    graph: lattice.Graph.fromEdges(3, [
      [0, 1],
      [1, 2],
    ]),
    program: lattice.registerProgram({ registers: 3 }),
    brain,
    patterns: new field.PatternLibrary({ runtime: rt, device: 'cpu' }),
    processor: batch.createBatch([1, 2, 3], { runtime: rt }),
    profiler: new profile.Profiler(),
    backend,
    gpu,
  };
  const module = (folder: string): string => `typeof import('../../src/${folder}/index.ts')`;
  const types = {
    rt: "import('../../src/index.ts').Runtime",
    gpuforge: "typeof import('../../src/index.ts')",
    ...Object.fromEntries('io lattice field batch profile studio tfjs compute'.split(' ').map((n) => [n, module(n)])),
    grid: "import('../../src/lattice/index.ts').Lattice",
    graph: "import('../../src/lattice/index.ts').Graph",
    program: "import('../../src/lattice/index.ts').RegisterProgram",
    brain: "import('../../src/field/index.ts').Field",
    patterns: "import('../../src/field/index.ts').PatternLibrary",
    processor: "import('../../src/batch/index.ts').BatchProcessor<number>",
    profiler: "import('../../src/profile/index.ts').Profiler",
    backend: "import('../../src/tfjs/index.ts').TfjsBackend",
    gpu: "import('../../src/compute/index.ts').GPUCompute",
  };
  return {
    names: { values, types },
    rt,
    close: async () => {
      await backend.close();
      await gpu.dispose();
      await brain.dispose();
      await grid.dispose();
      await rt.close();
    },
  };
}
