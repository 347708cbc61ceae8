// Fabricated devices for the tests of routing: profiles with round figures, requests in one line.

import type { Device, DeviceId } from '../../src/devices/device.ts';
import { curveOf } from '../../src/governor/routing/curve.ts';
import type { Profile } from '../../src/governor/routing/profile.ts';
import type { Candidate, Operation, RouteRequest, WorkItem } from '../../src/governor/routing/types.ts';

/** µs for n units at a fixed cost and a rate per µs. */
const linear = (fixed: number, perUs: number) =>
  curveOf([1, 1e4, 1e6, 1e8].map((n) => [n, fixed + n / perUs] as const));

/** A CPU: no launch to speak of, 10 GB/s, 20 GFLOP/s. */
export const cpuProfile: Profile = {
  device: 'cpu',
  name: 'a CPU',
  host: true,
  launchUs: 1,
  waitUs: 0.5,
  compileUs: 1000,
  upload: linear(0.1, 10_000),
  download: linear(0.5, 10_000),
  classes: {
    map: linear(1, 10_000),
    heavy: linear(1, 20_000),
    reduce: linear(1, 10_000),
    matmul: linear(1, 50_000),
    sort: linear(1, 200),
    scan: linear(1, 2000),
    scatter: linear(1, 1000),
  },
  tookMs: 100,
  missed: 0,
};

/** A GPU: launches of 5 µs, 15 µs to wait, 10 GB/s over the bus, 1 TB/s and 10 TFLOP/s on the card. */
export const gpuProfile: Profile = {
  device: 'cuda:0',
  name: 'a GPU',
  host: false,
  launchUs: 5,
  waitUs: 15,
  compileUs: 5000,
  upload: linear(10, 10_000),
  download: linear(15, 10_000),
  classes: {
    map: linear(5, 1_000_000),
    heavy: linear(5, 10_000_000),
    reduce: linear(8, 1_000_000),
    matmul: linear(5, 10_000_000),
    sort: linear(30, 100_000),
    scan: linear(10, 500_000),
    scatter: linear(10, 100_000),
  },
  tookMs: 200,
  missed: 0,
};

export const bothProfiles: ReadonlyMap<DeviceId, Profile> = new Map([
  ['cpu', cpuProfile],
  ['cuda:0', gpuProfile],
]);

export const mapWork = (elements: number): WorkItem => ({
  class: 'map',
  flops: elements,
  bytes: 8 * elements,
  elements,
});

export function request(
  elements: number,
  more: {
    readonly op?: Operation;
    readonly at?: readonly DeviceId[];
    readonly wanted?: RouteRequest['wanted'];
    readonly work?: readonly WorkItem[];
    readonly penalties?: Readonly<Record<DeviceId, number>>;
    readonly devices?: readonly DeviceId[];
  } = {},
): RouteRequest {
  const work = more.work ?? [mapWork(elements)];
  const devices = more.devices ?? ['cpu', 'cuda:0'];
  return {
    op: more.op ?? 'element_wise',
    candidates: devices.map((device): Candidate => ({ device, work, penalty: more.penalties?.[device] ?? 1 })),
    inputs: [{ bytes: 4 * elements, at: more.at ?? [] }],
    outputBytes: 4 * elements,
    wanted: more.wanted ?? null,
  };
}

/** The same device under another name. */
export function renamed<D extends Device>(device: D, id: DeviceId): D {
  return new Proxy(device, {
    get(target, key) {
      const value: unknown = key === 'id' ? id : Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
