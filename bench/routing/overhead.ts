// What a decision costs: a new one in the router itself, a remembered one as what a second device adds to a tiny call.

import type { Runtime } from '../../src/index.ts';
import { operationTypes, type RouteRequest, Router, typicalWork } from '../../src/routing/index.ts';

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

/** µs of a tiny computed call, per call of many: to be compared between a runtime with one device and one with a choice. */
export function tinyCall(rt: Runtime, batches = 200, each = 200): Quantiles {
  const x = rt.scope({ device: 'cpu' }, () => rt.tensor([1, 2, 3, 4]));
  const samples: number[] = [];
  for (let b = 0; b < batches; b++) {
    const start = performance.now();
    for (let i = 0; i < each; i++) {
      const y = x.add(x);
      y.dataSync();
      y.dispose();
    }
    if (b >= 20) samples.push(((performance.now() - start) * 1000) / each);
  }
  x.dispose();
  return quantiles(samples);
}
