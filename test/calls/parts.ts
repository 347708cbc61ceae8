// The parts of the package whose functions are called wrongly, with something of each class to call methods of.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import * as batch from '../../src/batch/index.ts';
import * as compute from '../../src/compute/index.ts';
import * as devices from '../../src/devices.ts';
import * as field from '../../src/field/index.ts';
import * as wire from '../../src/field/wire/index.ts';
import * as forge from '../../src/forge/index.ts';
import * as routing from '../../src/governor/routing/index.ts';
import * as gpuforge from '../../src/index.ts';
import * as io from '../../src/io/index.ts';
import * as lattice from '../../src/lattice/index.ts';
import * as profile from '../../src/profile/index.ts';
import * as studio from '../../src/studio/index.ts';
import * as tfjs from '../../src/tfjs/index.ts';
import type { Names, Part } from './check.ts';

/** The entries of the package: what they are called in package.json, and where they are. */
export const entries = {
  gpuforge: { name: '', file: 'index.ts', module: gpuforge },
  io: { name: 'io', file: 'io/index.ts', module: io },
  devices: { name: 'devices', file: 'devices.ts', module: devices },
  routing: { name: 'routing', file: 'governor/routing/index.ts', module: routing },
  lattice: { name: 'lattice', file: 'lattice/index.ts', module: lattice },
  field: { name: 'field', file: 'field/index.ts', module: field },
  wire: { name: 'field/wire', file: 'field/wire/index.ts', module: wire },
  batch: { name: 'batch', file: 'batch/index.ts', module: batch },
  profile: { name: 'profile', file: 'profile/index.ts', module: profile },
  studio: { name: 'studio', file: 'studio/index.ts', module: studio },
  tfjs: { name: 'tfjs', file: 'tfjs/index.ts', module: tfjs },
  forge: { name: 'forge', file: 'forge/index.ts', module: forge },
  compute: { name: 'compute', file: 'compute/index.ts', module: compute },
};
type Entry = keyof typeof entries;

const contract = 'a contract that others fulfil too: the library calls it';
const own = "takes what the user's own function takes";

/** What is not called, and why. Errors, which the library makes, need no mention. */
export const notCalled: Readonly<Record<string, string>> = {
  'devices.Exprs': 'exported as a type',
  Exprs: contract,
  Device: contract,
  CpuDevice: contract,
  FaultyDevice: 'what it has beyond a device is called',
  Recording: contract,
  Mark: contract,
  World: contract,
  Ports: contract,
  FilePort: contract,
  ProcessPort: contract,
  NvmlPort: contract,
  CachePort: contract,
  Schema: contract,
  AlertRule: contract,
  ChunkHandler: contract,
  InPlaceKernel: own,
  ProfileDecorator: own,
  AnyFunction: own,
  BatchResult: 'an array with a report',
  'profile.Profiler.profileFunction()()': own,
  'gpuforge.whenRuntimeOpens → told(runtime).memory.borrow() → program(clean)': 'called as `clean`',
};

/** The functions and classes of an entry. */
function functionsOf(entry: Entry): string[] {
  return Object.entries(entries[entry].module as Readonly<Record<string, unknown>>)
    .filter(([key, value]) => typeof value === 'function' && !(`${entry}.${key}` in notCalled) && !isError(value))
    .map(([key]) => `${entry}.${key}`);
}

const isError = (value: { prototype?: unknown }): boolean => value.prototype instanceof Error;

/** Whether `entry.name` is a class of errors: the library makes those. */
export function isErrorClass(name: string): boolean {
  const [entry, key] = name.split('.') as [Entry, string];
  const value = (entries[entry].module as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'function' && isError(value);
}

export const parts: readonly Part[] = [
  {
    part: 'tensors',
    targets: ['rt.tensor([1, 2, 3])', 'rt.tensor([[1, 2], [3, 4]])', 'rt.tensor([true, false])'],
    functions: [],
  },
  {
    part: 'runtime',
    targets: [
      'rt',
      'rt.random',
      'rt.memory',
      'rt.memory.pool()',
      'rt.mark()',
      'rt.recovery',
      'rt.routing',
      'gpuforge.Router',
      'stepper',
      'compiled',
      'kernel',
      'kernelValue',
      'attempt',
      'faulty',
      'rt.explain(rt.tensor([1]))',
    ],
    functions: [...functionsOf('gpuforge'), 'raw', 'clean'],
    // Protocols of the language: a promise, a text.
    leftOut: ['rt.mark().then', 'toString'],
  },
  { part: 'io', targets: [], functions: functionsOf('io') },
  { part: 'devices', targets: [], functions: functionsOf('devices') },
  { part: 'routing', targets: ['store', 'opened'], functions: functionsOf('routing') },
  {
    part: 'lattice',
    targets: ['grid', 'unified', 'graph', 'onDevice', 'program', 'automaton', 'lattice.Graph', 'grid.allPaths(0, 1)'],
    functions: functionsOf('lattice'),
    // The protocol of iterators.
    leftOut: ['grid.allPaths(0, 1).next', 'grid.allPaths(0, 1).return'],
  },
  {
    part: 'field',
    targets: [
      'brain',
      'robot',
      'patterns',
      'oldPatterns',
      'field.Field',
      'field.GPUBrainFactory',
      'field.OptimizationChecker',
      'field.TensorMemoryPool',
    ],
    functions: functionsOf('field'),
  },
  {
    part: 'field/wire',
    targets: ['server', 'telemetry', 'client', 'stream', 'sender', 'watched', 'wire.FieldClient'],
    functions: functionsOf('wire'),
  },
  {
    part: 'batch',
    targets: ['processor', 'transport', 'job', 'worker', 'statistics'],
    functions: functionsOf('batch'),
  },
  { part: 'profile', targets: ['profiler', 'span', 'entryStream'], functions: functionsOf('profile') },
  { part: 'studio', targets: ['page', 'lines'], functions: functionsOf('studio') },
  { part: 'tfjs', targets: ['backend'], functions: functionsOf('tfjs') },
  { part: 'forge', targets: [], functions: functionsOf('forge') },
  {
    part: 'compute',
    targets: [
      'gpu',
      'gpu.devices',
      'gpu.monitor',
      'gpu.monitor.logger',
      'gpu.monitor.reading()',
      'gpu.pool',
      'compute.GPUCompute',
      'compute.DeviceManager',
      'compute.PerformanceLogger',
      'compute.PerformanceMonitor',
      'compute.TensorPool',
    ],
    functions: functionsOf('compute'),
  },
];

export interface Opened {
  readonly names: Names;
  readonly rt: gpuforge.Runtime;
  close(): Promise<void>;
}

/** One of everything that is called: its value, and its type as the compiler is told. */
export async function openParts(): Promise<Opened> {
  const closing: (() => unknown)[] = [];
  const ends = <T>(value: T, end: (value: T) => unknown): T => {
    closing.unshift(() => end(value));
    return value;
  };
  const folder = ends(mkdtempSync(join(tmpdir(), 'gpuforge-calls-')), (f) => rmSync(f, { recursive: true }));
  const rt = ends(await gpuforge.createRuntime({ devices: ['cpu'], cpu: { threads: 1 } }), (r) => r.close());
  const grid = ends(new lattice.Lattice({ dimensions: 2, size: 4, runtime: rt }), (l) => l.dispose());
  const graph = lattice.Graph.fromEdges(3, [
    [0, 1],
    [1, 2],
  ]);
  const brain = ends(await field.createField({ runtime: rt, device: 'cpu', resolution: 4, sensorDim: 4 }), (f) =>
    f.dispose(),
  );
  const ports = forge.nodePorts({ cacheFolder: folder });
  const detection = await forge.detect(ports, { tier: 0, cache: false });
  const gpu = ends(compute.GPUCompute.create(), (g) => g.dispose());
  const profiler = new profile.Profiler();
  const transport = ends(batch.localTransport(), (t) => t.close());
  const caps = { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} } as const;
  const worker = await transport.worker(batch.handlerOf({ ops: {} }), caps);
  const server = ends(
    await wire.serveField({ port: 0, shared: { main: brain }, field: { runtime: rt, device: 'cpu', resolution: 4 } }),
    (s) => s.close(),
  );
  let inside: { attempt?: gpuforge.Attempt; value?: gpuforge.KernelValue; clean?: (bytes: number) => void } = {};
  rt.attempt({ device: 'cpu' }, (attempt) => {
    inside = { ...inside, attempt };
  });
  const kernel = rt.kernel((x) => {
    inside = { ...inside, value: x as gpuforge.KernelValue };
    return (x as gpuforge.KernelValue).at(1);
  });
  kernel(rt.tensor([1, 2, 3]));
  await rt.memory.borrow([rt.tensor([1])], (_, clean) => {
    inside = { ...inside, clean };
    return [];
  });
  const raw = rt.rawKernel({ entry: 'main', sources: { wgsl: '' }, outputs: () => [], grid: () => [1] });
  const step = rt.compile((s: gpuforge.StepperState, x: gpuforge.Tensor) => ({ a: s.a!.add(x) }));
  const state = { a: rt.zeros([2]) };
  const instances: Readonly<Record<string, readonly [value: unknown, type: string]>> = {
    rt: [rt, type('gpuforge', 'Runtime')],
    stepper: [
      gpuforge.createStepper(rt, step, { state, input: { shape: [2] }, reads: 'a', device: 'cpu' }),
      type('gpuforge', 'Stepper'),
    ],
    compiled: [step, type('gpuforge', 'Compiled<[Tensor], Tensor>')],
    kernel: [kernel, type('gpuforge', 'UserKernel<[import("../../src/index.ts").KernelValue], Tensor>')],
    kernelValue: [inside.value, type('gpuforge', 'KernelValue')],
    raw: [raw, `ReturnType<${type('gpuforge', 'Runtime')}['rawKernel']>`],
    clean: [inside.clean, '(bytes: number) => void'],
    attempt: [inside.attempt, type('gpuforge', 'Attempt')],
    faulty: [
      gpuforge.withFaults(rt.device('cpu')),
      `Pick<${type('gpuforge', 'FaultyDevice')}, 'counters' | 'lose' | 'plan'>`,
    ],
    store: [await routing.openProfileStore(false), type('routing', 'ProfileStore')],
    opened: [await routing.openRouter([rt.device('cpu')], { cache: false }), type('routing', 'OpenRouter')],
    grid: [grid, type('lattice', 'Lattice')],
    unified: [
      ends(new lattice.UnifiedCatalyticLattice(2, 4), (l) => l.dispose()),
      type('lattice', 'UnifiedCatalyticLattice'),
    ],
    graph: [graph, type('lattice', 'Graph')],
    onDevice: [ends(graph.on(rt), (g) => g.dispose()), type('lattice', 'DeviceGraph')],
    program: [lattice.registerProgram({ registers: 3 }), type('lattice', 'RegisterProgram')],
    automaton: [
      ends(
        lattice.secondOrder((x) => x.at(1), { runtime: rt, shape: [4] }),
        (a) => a.dispose(),
      ),
      type('lattice', 'SecondOrder'),
    ],
    brain: [brain, type('field', 'Field')],
    robot: [
      ends(await field.createBrain({ runtime: rt, preferGpu: false, resolution: 4 }), (b) => b.dispose()),
      type('field', 'Brain'),
    ],
    patterns: [new field.PatternLibrary({ runtime: rt, device: 'cpu' }), type('field', 'PatternLibrary')],
    oldPatterns: [new field.GPUPatternLibrary({ runtime: rt, device: 'cpu' }), type('field', 'GPUPatternLibrary')],
    server: [server, type('wire', 'FieldServer')],
    watched: [server.view().fields[0], type('wire', 'WatchedField')],
    telemetry: [
      ends(await wire.serveTelemetry(server, { port: 0 }), (t) => t.close()),
      type('wire', 'TelemetryServer'),
    ],
    client: [
      ends(await wire.FieldClient.connect({ port: server.port, sensors: 4, motors: 5, field: 'main' }), (c) =>
        c.close(),
      ),
      type('wire', 'FieldClient'),
    ],
    stream: [ends(await wire.receiveSensors({ port: 0, sensors: 2 }), (s) => s.close()), type('wire', 'SensorStream')],
    sender: [ends(new wire.SensorSender({ port: 9 }), (s) => s.close()), type('wire', 'SensorSender')],
    processor: [batch.createBatch([1, 2, 3], { runtime: rt }), type('batch', 'BatchProcessor<number>')],
    transport: [transport, type('batch', 'Transport')],
    worker: [worker, type('batch', 'WorkerHandle')],
    job: [await transport.submit({ op: 'none' }, []), type('batch', 'JobHandle')],
    statistics: [new batch.BatchStatistics(), type('batch', 'BatchStatistics')],
    profiler: [profiler, type('profile', 'Profiler')],
    span: [profiler.span('calls'), type('profile', 'OpenSpan')],
    entryStream: [
      ends(await profiler.stream(join(folder, 'scopes.jsonl')), (s) => s.close()),
      type('profile', 'EntryStream'),
    ],
    page: [ends(await studio.serveStudio({ runtimes: [rt] }), (s) => s.close()), type('studio', 'Studio')],
    lines: [studio.jsonLines({ write: () => true }), type('studio', 'JsonLinesLogger')],
    backend: [
      ends(await tfjs.registerBackend(tf, { cpu, runtime: rt, name: 'wrong-calls' }), (b) => b.close()),
      type('tfjs', 'TfjsBackend'),
    ],
    gpu: [gpu, type('compute', 'GPUCompute')],
    tf: [tf, "typeof import('@tensorflow/tfjs-core')"],
    tfCpu: [cpu, "typeof import('@tensorflow/tfjs-backend-cpu')"],
    ports: [ports, type('forge', 'Ports')],
    world: [forge.nodeWorld(ports), type('forge', 'World')],
    detection: [detection, type('forge', 'Detection')],
    machine: [detection.machine, type('forge', 'Machine')],
    tables: [forge.loadTables().tables, type('forge', 'Tables')],
    profiles: [forge.allProfiles(forge.loadTables().tables), `ReturnType<typeof forge.allProfiles>`],
    profileFile: [profiler.toProfile(), type('profile', 'ProfileFile')],
    cpuDevice: [rt.device('cpu'), type('gpuforge', 'Device')],
  };
  const modules = Object.entries(entries).map(
    ([name, { module, file }]) => [name, [module, `typeof import('../../src/${file}')`]] as const,
  );
  const all = [...Object.entries(instances), ...modules];
  return {
    names: {
      values: Object.fromEntries(all.map(([name, [value]]) => [name, value])),
      types: Object.fromEntries(all.map(([name, [, text]]) => [name, text])),
    },
    rt,
    close: async () => {
      for (const close of closing) await close();
    },
  };
}

/** A type of an entry, with those of the main entry as its arguments. */
const type = (entry: Entry, name: string): string =>
  `import('../../src/${entries[entry].file}').${name.replace(/\bTensor\b/g, "import('../../src/index.ts').Tensor")}`;
