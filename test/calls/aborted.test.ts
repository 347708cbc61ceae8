// Signals: every call that takes one ends in Aborted if it was triggered before, whatever there was to do, and goes on beside one that
// was not.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys, createBatch } from '../../src/batch/index.ts';
import { batchSignatures, processorSignatures } from '../../src/batch/signatures.ts';
import { createRuntime, type Device, type Runtime, type Tensor } from '../../src/index.ts';
import * as io from '../../src/io/index.ts';
import { Graph, Lattice } from '../../src/lattice/index.ts';
import { deviceGraphSignatures, latticeSignatures } from '../../src/lattice/signatures.ts';
import { memorySignatures, runtimeSignatures } from '../../src/runtime/signatures.ts';
import { tensorSignatures } from '../../src/tensor/signatures.ts';

let rt: Runtime;
let plain: Runtime;
let x: Tensor;
beforeAll(async () => {
  const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;
  rt = await createRuntime(cpu);
  plain = await createRuntime({ ...cpu, wrap: withoutDoubles });
  x = rt.tensor([1, 2, 3]);
});
afterAll(() => Promise.all([rt.close(), plain.close()]));

function withoutDoubles(device: Device): Device {
  const dtypes = new Set(device.caps.dtypes);
  dtypes.delete('f64');
  return Object.assign(device, { caps: { ...device.caps, dtypes } });
}

type Calls = Readonly<Record<string, (signal: AbortSignal) => unknown>>;

const field = new Float32Array(9);
const arrays = [Float32Array.of(1, 2)];
const onLattice = (blocked: number[] | undefined): Calls => {
  const own = <T>(call: (l: Lattice, o: { signal: AbortSignal }) => T): ((signal: AbortSignal) => T) => {
    return (signal) =>
      call(new Lattice({ dimensions: 2, size: 3, runtime: rt, ...(blocked && { blocked }) }), { signal });
  };
  return {
    countWalks: own((l, o) => l.countWalks(0, 8, 4, o)),
    distanceWithObstacles: own((l, o) => l.distanceWithObstacles(0, 0, o)),
    diffuse: own((l, o) => l.diffuse(field, 0, o)),
    build: own((l, o) => l.build(o)),
    centrality: own((l, o) => l.centrality('degree', o)),
    shortestPath: own((l, o) => l.shortestPath(0, 8, o)),
    shortestPaths: own((l, o) => l.shortestPaths([], o)),
    distancesFrom: own((l, o) => l.distancesFrom(0, o)),
    reach: own((l, o) => l.reach(0, o)),
  };
};

const onGraph = (on: () => Runtime, edge: number[]): Calls => {
  const graph = (): ReturnType<Graph['on']> => Graph.fromEdges(2, [edge as [number, number]]).on(on());
  return {
    pageRank: (signal) => graph().pageRank({ signal, damping: 0.5 }),
    distancesFrom: (signal) => graph().distancesFrom(0, { signal }),
    betweenness: (signal) => graph().betweenness({ signal, normalized: true }),
  };
};
const bytes = {
  npy: null as Uint8Array | null,
  npz: null as Uint8Array | null,
  safetensors: null as Uint8Array | null,
};
beforeAll(async () => {
  bytes.npy = await io.writeNpy(x);
  bytes.npz = await io.writeNpz({ x });
  bytes.safetensors = await io.writeSafetensors({ x });
});

/** By the table of signatures that a layer has; files have none. */
const layers: Readonly<
  Record<string, { readonly table: Readonly<Record<string, string>> | null; readonly calls: Calls }>
> = {
  tensors: {
    table: tensorSignatures,
    calls: {
      data: (signal) => x.data({ signal }),
      to: (signal) => x.clone().to('cpu', { signal }),
      bytes: (signal) => x.bytes({ signal }),
      array: (signal) => rt.zeros([0]).array({ signal }),
    },
  },
  runtime: {
    table: { ...runtimeSignatures, borrow: memorySignatures.borrow! },
    calls: {
      loop: (signal) =>
        rt.loop(
          (s) => s.max().less(0),
          (s) => s,
          x,
          { signal },
        ),
      flush: (signal) => rt.flush({ signal }),
      attempt: (signal) => rt.attempt({ signal }, async () => 1),
      borrow: (signal) => rt.memory.borrow([x], [], { signal }),
    },
  },
  lattices: { table: latticeSignatures, calls: onLattice(undefined) },
  'lattices with walls': { table: latticeSignatures, calls: onLattice([4]) },
  graphs: { table: deviceGraphSignatures, calls: onGraph(() => rt, [0, 1]) },
  'graphs with weights': { table: deviceGraphSignatures, calls: onGraph(() => rt, [0, 1, 2]) },
  'graphs on devices without f64': { table: deviceGraphSignatures, calls: onGraph(() => plain, [0, 1]) },
  batches: {
    table: { ...batchSignatures, ...processorSignatures },
    calls: {
      elementwise: (signal) => batchElementwise([] as Float32Array[], 'square', undefined, { runtime: rt, signal }),
      matmul: (signal) => batchMatmul(arrays, arrays, { shapes: [[1, 2, 1]], runtime: rt, signal }),
      xor: (signal) => batchXor([Uint8Array.of(1)], Uint8Array.of(2), { runtime: rt, signal }),
      newKeys: (signal) => batchXorWithNewKeys([Uint8Array.of(1)], { runtime: rt, signal }),
      executeParallel: (signal) => createBatch([1]).executeParallel((n) => n, { signal }),
      batchXorTransform: (signal) =>
        createBatch([1], { runtime: rt }).batchXorTransform([Uint8Array.of(1)], { signal }),
      batchMatrix: (signal) =>
        createBatch([1], { runtime: rt }).batchMatrix(arrays, arrays, { shapes: [[1, 2, 1]], signal }),
      batchElementwise: (signal) =>
        createBatch([1], { runtime: rt }).batchElementwise(arrays, 'exp', undefined, { signal }),
      batchShortestPaths: (signal) =>
        createBatch([new Lattice({ dimensions: 2, size: 3, runtime: rt })]).batchShortestPaths([[0, 8]], { signal }),
    },
  },
  files: {
    table: null,
    calls: {
      readNpy: (signal) => io.readNpy(rt, bytes.npy!, { signal }),
      readNpz: (signal) => io.readNpz(rt, bytes.npz!, { signal, maxBytes: 1000 }),
      readSafetensors: (signal) => io.readSafetensors(rt, bytes.safetensors!, { signal }),
      writeNpy: (signal) => io.writeNpy(x, undefined, { signal }),
      writeNpz: (signal) => io.writeNpz({}, { signal }),
      writeSafetensors: (signal) => io.writeSafetensors({}, { signal }),
    },
  },
};

const takesSignal = (table: Readonly<Record<string, string>>): string[] =>
  Object.entries(table).flatMap(([names, signature]) => (signature.includes('signal:signal') ? names.split(' ') : []));

describe.each(Object.entries(layers))('signals of %s', (layer, { table, calls }) => {
  it('are tried in every call that takes one', () => {
    const names = table ? takesSignal(table) : Object.keys(io).filter((name) => /^(read|write)/.test(name));
    expect(Object.keys(calls).sort()).toEqual([...new Set(names)].sort());
  });

  it.each(Object.keys(calls))('%s', async (name) => {
    const call = async (signal: AbortSignal): Promise<unknown> =>
      rt.scope(async () => void (await calls[name]!(signal)));
    const cause = new Error(`enough of ${layer}`);
    await expect(call(AbortSignal.abort(cause))).rejects.toMatchObject({ code: 'ABORTED', cause });
    await expect(call(new AbortController().signal)).resolves.toBeUndefined();
  });
});
