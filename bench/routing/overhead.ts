// What a decision costs: a new one in the router itself, a remembered one as what a second device adds to a tiny call.

import { operationTypes, type RouteRequest, Router, typicalWork } from '../../src/governor/routing/index.ts';
import type { Runtime, Tensor } from '../../src/index.ts';

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

function quantiles(samples: number[]): Quantiles {
  samples.sort((a, b) => a - b);
  const at = (q: number): number => samples[Math.floor(q * (samples.length - 1))]!;
  return { p50: at(0.5), p99: at(0.99) };
}

/** µs of a decision about work never seen before: sizes differ from call to call. */
export function newDecisions(from: Router): Quantiles {
  const devices = from.devices;
  const router = new Router({ mode: 'measured' }, new Map(devices.map((id) => [id, from.profile(id)!])));
  const samples: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    const op = operationTypes[i % operationTypes.length]!;
    const elements = 1 + Math.floor(2 ** ((i * 0.6180339) % 26));
    const work = [typicalWork(op, elements), typicalWork('element_wise', elements)];
    const request: RouteRequest = {
      op,
      candidates: devices.map((device) => ({ device, work, penalty: 1 })),
      inputs: [
        { bytes: 4 * elements, at: [devices[i % devices.length]!] },
        { bytes: 4 * elements, at: [] },
      ],
      outputBytes: 4 * elements,
      wanted: i % 2 === 0 ? 'host' : null,
    };
    const start = performance.now();
    router.decide(request);
    if (i >= 2000) samples.push((performance.now() - start) * 1000);
  }
  return quantiles(samples);
}

type TinyCall = (x: Tensor) => Tensor;

/** One op runs by the program of the last one like it, a chain by that of its graph: both have a placement to remember. */
const tinyCalls: Readonly<Record<string, TinyCall>> = {
  'one op': (x) => x.add(x),
  chain: (x) => x.add(x).mul(x).sub(x),
};

export interface Tiny {
  readonly name: string;
  readonly choice: Quantiles;
  readonly single: Quantiles;
}

/** µs of tiny computed calls with a choice of devices and without one, per call of many; the two take turns. */
export function tinyTimes(choice: Runtime, single: Runtime, batches = 300, each = 200): Tiny[] {
  return Object.entries(tinyCalls).map(([name, call]) => {
    const sides = [choice, single].map((rt) => ({
      x: rt.scope({ device: 'cpu' }, () => rt.tensor([1, 2, 3, 4])),
      samples: [] as number[],
    }));
    for (let b = 0; b < batches; b++) {
      for (const { x, samples } of b % 2 === 0 ? sides : [...sides].reverse()) {
        const start = performance.now();
        for (let i = 0; i < each; i++) {
          const y = call(x);
          y.dataSync();
          y.dispose();
        }
        if (b >= batches / 3) samples.push(((performance.now() - start) * 1000) / each);
      }
    }
    for (const { x } of sides) x.dispose();
    return { name, choice: quantiles(sides[0]!.samples), single: quantiles(sides[1]!.samples) };
  });
}
