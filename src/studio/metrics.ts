// The state as Prometheus text (version 0.0.4). A value that is not known is absent, never 0.

import type { StudioSnapshot } from './types.ts';
import type { RuntimeWatch } from './watch/runtime.ts';
import { durationBuckets } from './watch/work.ts';

type Labels = Readonly<Record<string, string>>;
type Value = readonly [labels: Labels, value: number, suffix?: string];

interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly values: (s: StudioSnapshot, watches: readonly RuntimeWatch[]) => readonly Value[];
}

const pressureRank = { low: 0, moderate: 1, high: 2, critical: 3 } as const;
type View = StudioSnapshot['runtimes'][number];
type Place = View['snapshot']['memory']['places'][number];

/** One value per device of every open runtime; null is left out. */
const perPlace =
  (of: (place: Place, view: View) => number | null | undefined) =>
  (s: StudioSnapshot): Value[] =>
    s.runtimes
      .filter((r) => r.closedAt === null)
      .flatMap((r) => r.snapshot.memory.places.flatMap((p) => value({ device: p.device, runtime: r.name }, of(p, r))));

const perDevice =
  (of: (device: View['snapshot']['devices'][number]) => number) =>
  (s: StudioSnapshot): Value[] =>
    s.runtimes.flatMap((r) =>
      r.snapshot.devices.filter((d) => d.health !== null).map((d): Value => [{ device: d.id, runtime: r.name }, of(d)]),
    );

/** Totals by a word and a device, as the watches keep them. */
const perWord =
  (word: string, of: (w: RuntimeWatch) => ReadonlyMap<string, number>) =>
  (_: StudioSnapshot, watches: readonly RuntimeWatch[]): Value[] =>
    watches.flatMap((w) =>
      [...of(w)].map(([key, count]): Value => {
        const [name, device] = key.split('\n') as [string, string];
        return [{ device, runtime: w.name, [word]: name }, count];
      }),
    );

const value = (labels: Labels, v: number | null | undefined): Value[] => (v == null ? [] : [[labels, v]]);

/** Pools of the devices, and that of GPUCompute, whose device is the one in use. */
const pools =
  (of: 'hits' | 'misses') =>
  (s: StudioSnapshot): Value[] => [
    ...perPlace((p) => p.pool?.[of])(s),
    ...(s.compute?.device != null ? value({ device: s.compute.device, runtime: 'compute' }, s.compute.pool[of]) : []),
  ];

const families: readonly Family[] = [
  {
    name: 'gpuforge_device_utilization_ratio',
    type: 'gauge',
    help: 'How busy the device is, 0 to 1.',
    values: perPlace((p, r) => r.busy.find((b) => b.device === p.device)?.share),
  },
  {
    name: 'gpuforge_memory_live_bytes',
    type: 'gauge',
    help: 'Bytes in live buffers.',
    values: perPlace((p) => p.live),
  },
  {
    name: 'gpuforge_memory_reserved_bytes',
    type: 'gauge',
    help: 'Bytes held from the system, in use or idle.',
    values: perPlace((p) => p.reserved),
  },
  {
    name: 'gpuforge_memory_pressure_level',
    type: 'gauge',
    help: '0 low, 1 moderate, 2 high, 3 critical.',
    values: perPlace((p) => (p.utilization === null ? null : pressureRank[p.pressure])),
  },
  {
    name: 'gpuforge_pool_hits_total',
    type: 'counter',
    help: 'Requests that found an idle buffer.',
    values: pools('hits'),
  },
  { name: 'gpuforge_pool_misses_total', type: 'counter', help: 'Requests that did not.', values: pools('misses') },
  {
    name: 'gpuforge_launches_total',
    type: 'counter',
    help: 'Kernels enqueued.',
    values: perDevice((d) => d.launches),
  },
  {
    name: 'gpuforge_transfers_bytes_total',
    type: 'counter',
    help: 'Bytes moved while somebody looked.',
    values: (s) =>
      s.runtimes.flatMap((r) =>
        r.work.transfers.map((t): Value => [{ device: t.device, runtime: r.name, direction: t.direction }, t.bytes]),
      ),
  },
  {
    name: 'gpuforge_waits_total',
    type: 'counter',
    help: 'Times the host waited for the device.',
    values: perDevice((d) => d.waits),
  },
  {
    name: 'gpuforge_errors_total',
    type: 'counter',
    help: 'Failures by code.',
    values: perWord('code', (w) => w.totals.errors),
  },
  {
    name: 'gpuforge_recoveries_total',
    type: 'counter',
    help: 'Devices that came back, and fallbacks to another.',
    values: perWord('kind', (w) => w.totals.recoveries),
  },
  {
    name: 'gpuforge_anomalies_total',
    type: 'counter',
    help: 'Changes for the worse that GPUCompute found.',
    values: ({ compute }) =>
      Object.entries(compute?.anomalyTotals ?? {}).map(
        ([kind, n]): Value => [{ device: compute?.device ?? 'host', kind }, n],
      ),
  },
  {
    name: 'gpuforge_batch_items_total',
    type: 'counter',
    help: 'Items of batches that were processed.',
    values: (s) => [
      ...(s.compute?.device != null ? value({ device: s.compute.device }, s.compute.batch.items) : []),
      ...s.batches.flatMap((b) =>
        b.operations.map((o): Value => [{ device: o.device ?? 'host', batch: b.name, op: o.operation }, o.items]),
      ),
    ],
  },
  {
    name: 'gpuforge_op_duration_seconds',
    type: 'histogram',
    help: 'Durations of operations that the router measured, while somebody looked.',
    values: (_, watches) =>
      watches.flatMap((w) =>
        [...w.work.durations.values()].flatMap(({ op, device, counts, count, sum }): Value[] => {
          const labels = { device, runtime: w.name, op };
          return [
            ...durationBuckets.map((le, i): Value => [{ ...labels, le: String(le) }, counts[i]!, '_bucket']),
            [{ ...labels, le: '+Inf' }, count, '_bucket'],
            [labels, sum, '_sum'],
            [labels, count, '_count'],
          ];
        }),
      ),
  },
];

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export function metricsText(snapshot: StudioSnapshot, watches: readonly RuntimeWatch[]): string {
  return families
    .map(({ name, type, help, values }) => {
      const lines = values(snapshot, watches).map(
        ([labels, v, suffix = '']) => `${name}${suffix}${labelText(labels)} ${v}\n`,
      );
      return lines.length > 0 ? `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}` : '';
    })
    .join('');
}

const labelText = (labels: Labels): string =>
  `{${Object.entries(labels)
    .map(([k, v]) => `${k}="${v.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`)
    .join(',')}}`;
