// What users read when they print something, or write what other libraries would take.

import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  DeviceManager,
  GPUCompute,
  PerformanceLogger,
  PerformanceMonitor,
  TensorPool,
} from '../../src/compute/index.ts';
import { createField, Field } from '../../src/field/index.ts';
import { FieldClient, SensorSender, serveField } from '../../src/field/wire/index.ts';
import { ArgumentError, createRuntime, type Runtime, Tensor } from '../../src/index.ts';
import { Graph, Lattice } from '../../src/lattice/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { TfjsBackend } from '../../src/tfjs/index.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(() => rt.close());

it('prints what something is, not how it is made', async () => {
  await using field = await createField({ runtime: rt, device: 'cpu', resolution: 4 });
  const edges = [
    [0, 1],
    [1, 2],
  ] as const;
  const shown: readonly (readonly [unknown, string])[] = [
    [rt, 'Runtime(cpu)'],
    [field, 'Field(4 × 4 × 4 cells, model fused, on cpu)'],
    [new Lattice({ dimensions: 2, size: 3, blocked: [4] }), 'Lattice(2 axes of 3, 9 vertices, 1 of them blocked)'],
    [Graph.fromEdges(3, edges), 'Graph(3 vertices, 2 edges)'],
  ];
  for (const [value, text] of shown) expect([String(value), inspect(value)]).toEqual([text, text]);
});

it('refuses new where a function makes it, and names the function', () => {
  const classes: readonly (readonly [unknown, RegExp])[] = [
    [Tensor, /Write rt\.tensor\(data\)/],
    [Field, /createField/],
    [Graph, /Graph\.fromEdges/],
    [GPUCompute, /GPUCompute\.create/],
    [DeviceManager, /DeviceManager\.create/],
    [PerformanceMonitor, /PerformanceMonitor\.create/],
    [PerformanceLogger, /PerformanceLogger\.create/],
    [TensorPool, /TensorPool\.create/],
    [TfjsBackend, /registerBackend/],
  ];
  for (const [made, how] of classes) {
    const make = (): unknown => Reflect.construct(made as () => void, []);
    expect(make).toThrow(ArgumentError);
    expect(make).toThrow(how);
  }
});

it('suggests the option that was meant, and says which one is missing', async () => {
  const refused = (call: () => unknown): string => {
    try {
      call();
    } catch (e) {
      if (e instanceof ArgumentError) return e.message;
      throw e;
    }
    throw new Error('it was accepted');
  };
  expect(refused(() => rt.tensor([1]).sum({ keepdim: true } as never))).toMatch(/Write keepdims instead/);
  expect(refused(() => new Profiler({ run: [rt] } as never))).toMatch(/Write runtimes instead/);
  expect(refused(() => new Profiler(rt as never))).toMatch(/the options are a Runtime, not an object/);
  expect(refused(() => rt.rawKernel({ sources: {} } as never))).toMatch(/the option 'entry' is missing/);
  expect(refused(() => rt.tensor({ length: 3 } as never))).toMatch(/data is an Object/);
  const grid = new Lattice({ dimensions: 2, size: 3 });
  await expect(grid.shortestPath([0, 0] as never, 1)).rejects.toThrow(/lattice\.coordsToIndex\(\[0, 0\]\)/);
});

it('says what helps where a server of fields refuses', async () => {
  const server = await serveField({ port: 0, token: 'right', field: { runtime: rt, device: 'cpu', resolution: 4 } });
  const { port } = server;
  const connect = (more: object): Promise<FieldClient> =>
    FieldClient.connect({ port, sensors: 4, motors: 2, token: 'right', ...more });
  await expect(connect({ token: 'wrong' })).rejects.toThrow(/Give the token that the server was started with/);
  await expect(connect({ field: 'none' })).rejects.toThrow(/name of a field that the server shares/);
  await expect(connect({ port: 70_000 })).rejects.toThrow(/a whole number from 0 to 65535/);
  await server.close();
  await expect(connect({})).rejects.toThrow(/See whether the server runs/);
  expect(() => new SensorSender({ port: -1 })).toThrow(ArgumentError);
});
