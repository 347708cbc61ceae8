// The routines against plain loops in double precision.

import { accumulatorFor, byteSize, type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { Epilogue, Matmul, Routine, Scan, Scatter, Sort } from '../../../src/kernel/kernel.ts';
import { castValue, meaning, roundTo } from '../../../src/kernel/semantics.ts';
import {
  assert,
  bytesOf,
  type Check,
  check,
  compare,
  Exprs,
  mixed,
  noEstimate,
  plain,
  type Tolerance,
  upload,
  valuesOf,
} from '../support.ts';

/** Runs a routine; outputs start poisoned. */
async function run(
  device: Device,
  routine: Routine,
  inputs: readonly Uint8Array[],
  outputs: readonly number[],
  scalars: readonly number[] = [],
): Promise<Uint8Array[]> {
  const ins = inputs.map((i) => upload(device, i));
  const outs = outputs.map((bytes) => upload(device, new Uint8Array(bytes).fill(0xa5)));
  device.launch(device.prepare(routine), [...ins, ...outs], scalars);
  const result = await Promise.all(outs.map((o) => device.read(o)));
  for (const b of [...ins, ...outs]) device.release(b);
  return result;
}

// ---- matmul ----

type Sizes = Partial<Pick<Matmul, 'batch' | 'batchA' | 'batchB' | 'transposeA' | 'transposeB' | 'epilogue'>>;

export function matmulOf(type: DType, m: number, n: number, k: number, more: Sizes = {}): Matmul {
  const batch = more.batch ?? 1;
  return {
    kind: 'routine',
    op: 'matmul',
    name: `matmul_${type}_${m}x${n}x${k}`,
    type,
    m,
    n,
    k,
    batch,
    batchA: more.batchA ?? batch,
    batchB: more.batchB ?? batch,
    transposeA: more.transposeA ?? false,
    transposeB: more.transposeB ?? false,
    precision: 'exact',
    epilogue: more.epilogue ?? null,
    estimate: noEstimate,
  };
}

function product(w: Matmul, a: readonly number[], b: readonly number[]): number[] {
  const out: number[] = [];
  for (let q = 0; q < w.batch; q++) {
    const [oa, ob] = [w.batchA > 1 ? q * w.m * w.k : 0, w.batchB > 1 ? q * w.k * w.n : 0];
    for (let i = 0; i < w.m; i++) {
      for (let j = 0; j < w.n; j++) {
        let s = 0;
        for (let l = 0; l < w.k; l++) {
          const x = a[oa + (w.transposeA ? l * w.m + i : i * w.k + l)]!;
          const y = b[ob + (w.transposeB ? j * w.k + l : l * w.n + j)]!;
          s = isFloat(w.type) ? s + x * y : w.type === 'bool' ? s | (x & y) : (s + Math.imul(x, y)) | 0;
        }
        out.push(roundTo[w.type](s) as number);
      }
    }
  }
  return out;
}

const small = (type: DType, n: number, seed: number): number[] =>
  valuesOf(
    type,
    bytesOf(type, type === 'f32' || type === 'f16' ? plain(type, n, seed) : plain(type, n, seed).map((v) => v % 11)),
  );

async function matmulAgrees(
  device: Device,
  w: Matmul,
  apply?: (v: number, i: number) => number,
  extra: readonly Uint8Array[] = [],
  scalars: readonly number[] = [],
): Promise<void> {
  const a = small(w.type, w.batchA * w.m * w.k, 1);
  const b = small(w.type, w.batchB * w.k * w.n, 2);
  const out = w.epilogue?.output.type ?? w.type;
  const want = product(w, a, b).map((v, i) => (apply ? apply(v, i) : v));
  const [got] = await run(
    device,
    w,
    [bytesOf(w.type, a), bytesOf(w.type, b), ...extra],
    [want.length * byteSize(out)],
    scalars,
  );
  const tolerance: Tolerance = out === 'f32' ? { relative: 2e-6 } : out === 'f16' ? { relative: 2e-3 } : {};
  const label = `${w.name}${w.transposeA ? ' At' : ''}${w.transposeB ? ' Bt' : ''} batch ${w.batchA}/${w.batchB}`;
  compare(out, got!, bytesOf(out, want), tolerance, label);
}

const sizes: readonly (readonly [number, number, number])[] = [
  [1, 1, 1],
  [1, 7, 5],
  [9, 1, 33],
  [2, 3, 4],
  [16, 16, 16],
  [17, 19, 23],
  [64, 64, 64],
  [33, 65, 130],
  [100, 36, 40],
  [130, 132, 20],
  [5, 300, 6],
  [4, 4, 2000],
];

const fewSizes = [
  [9, 1, 33],
  [17, 19, 23],
  [64, 64, 64],
] as const;

const matmuls: Check[] = (['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const).map((type) =>
  check(
    `matmul of ${type}, all sizes and layouts`,
    async (device) => {
      for (const [m, n, k] of type === 'f32' ? sizes : fewSizes) {
        for (const transposeA of [false, true]) {
          for (const transposeB of [false, true])
            await matmulAgrees(device, matmulOf(type, m, n, k, { transposeA, transposeB }));
        }
      }
      await matmulAgrees(device, matmulOf(type, 20, 24, 28, { batch: 3 }));
      await matmulAgrees(device, matmulOf(type, 21, 23, 9, { batch: 3, batchA: 1 }));
      await matmulAgrees(device, matmulOf(type, 40, 40, 40, { batch: 2, batchB: 1, transposeB: true }));
    },
    type,
  ),
);

matmuls.push(
  check('matmul with an epilogue: bias, scalar, comparison into bytes', async (device) => {
    for (const [m, n, k] of [
      [20, 24, 28],
      [33, 35, 37],
      [3, 5, 7],
    ] as const) {
      const e = new Exprs();
      const bias = e.load('f32', 0, e.axis(2, n));
      const value = e.alu('add', e.alu('mul', e.acc('f32', 0), e.scalar('f32', 0)), bias);
      const base: Omit<Epilogue, 'output'> = { inputs: [{ type: 'f32', elements: n }], scalars: ['f32'] };
      const biases = small('f32', n, 5);
      const apply = (v: number, i: number): number => v * 0.5 + biases[i % n]!;
      await matmulAgrees(
        device,
        matmulOf('f32', m, n, k, { batch: 2, epilogue: { ...base, output: { type: 'f32', value } } }),
        apply,
        [bytesOf('f32', biases)],
        [0.5],
      );
      const bool: Epilogue = { ...base, output: { type: 'bool', value: e.alu('lt', e.const('f32', 0.25), value) } };
      const w = matmulOf('f32', m, n, k, { epilogue: bool });
      await matmulAgrees(device, w, (v, i) => (apply(v, i) > 0.25 ? 1 : 0), [bytesOf('f32', biases)], [0.5]);
    }
  }),
  ...(['f32', 'f16', 'i32', 'u32', 'u8'] as const).map((type) =>
    check(
      `deep products of ${type}: several workgroups share the depth where the adapter is a GPU`,
      async (device) => {
        for (const [m, n, k, more] of [
          [17, 70, 1030, { transposeA: true }],
          [64, 64, 544, { transposeB: true }],
          [65, 9, 515, { batch: 2, batchB: 1 }],
        ] as const) {
          const w = matmulOf(type, m, n, k, more);
          const cut = device.prepare(w).source.includes(`${w.name}_finish`);
          const owned = type === 'u8' && n % 4 !== 0;
          assert(cut === (owned || device.caps.routines.has('rows')), `${w.name} is ${cut ? '' : 'not '}cut`);
          await matmulAgrees(device, w);
        }
        if (type !== 'f32') return;
        const e = new Exprs();
        const [n, bias] = [33, e.load('f32', 0, e.axis(2, 33))];
        const biases = small('f32', n, 5);
        const above: Epilogue = {
          inputs: [{ type: 'f32', elements: n }],
          scalars: ['f32'],
          output: { type: 'bool', value: e.alu('lt', e.scalar('f32', 0), e.alu('add', e.acc('f32', 0), bias)) },
        };
        const w = matmulOf('f32', 40, n, 700, { epilogue: above });
        await matmulAgrees(device, w, (v, i) => (v + biases[i % n]! > 0.25 ? 1 : 0), [bytesOf('f32', biases)], [0.25]);
      },
      type,
    ),
  ),
  check('matmul passes NaN and infinity on', async (device) => {
    const w = matmulOf('f32', 32, 32, 32);
    const a = small('f32', 1024, 1);
    a[5] = Number.NaN;
    a[40] = Infinity;
    const ones = new Array(1024).fill(1);
    const [got] = await run(device, w, [bytesOf('f32', a), bytesOf('f32', ones)], [4096]);
    const values = valuesOf('f32', got!);
    assert(
      Number.isNaN(values[0]) && values[32] === Infinity && Number.isFinite(values[64]!),
      `${values[0]} ${values[32]} ${values[64]}`,
    );
  }),
);

// ---- sort ----

const sortOf = (type: DType, rows: number, columns: number, descending: boolean): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: `sort_${type}_${rows}x${columns}`,
  type,
  rows,
  columns,
  descending,
  estimate: noEstimate,
});

async function sortAgrees(device: Device, w: Sort, values: readonly number[]): Promise<void> {
  const bytes = bytesOf(w.type, values);
  const data = valuesOf(w.type, bytes);
  const [sorted, at] = await run(device, w, [bytes], [bytes.length, w.rows * w.columns * 4]);
  const wantAt: number[] = [];
  for (let r = 0; r < w.rows; r++) {
    const row = data.slice(r * w.columns, (r + 1) * w.columns);
    const order = row.map((_, i) => i);
    order.sort((p, q) => {
      const [x, y] = [row[p]!, row[q]!];
      if (Number.isNaN(x) || Number.isNaN(y))
        return Number.isNaN(x) === Number.isNaN(y) ? p - q : Number.isNaN(x) ? 1 : -1;
      return (w.descending ? y - x : x - y) || p - q;
    });
    wantAt.push(...order);
  }
  const label = `${w.name}${w.descending ? ' descending' : ''}`;
  compare('i32', at!, bytesOf('i32', wantAt), {}, `${label} positions`);
  const want = wantAt.map((p, i) => data[Math.floor(i / w.columns) * w.columns + p]!);
  compare(w.type, sorted!, bytesOf(w.type, want), {}, label);
}

/** Rows that one workgroup sorts, and rows that take many passes, which a software GPU is slow at. */
const sortSizes: Readonly<Record<'short' | 'long', readonly (readonly [rows: number, columns: number])[]>> = {
  short: [
    [1, 1],
    [1, 2],
    [3, 5],
    [7, 64],
    [2, 1000],
    [1, 1024],
    [2, 1025],
  ],
  long: [
    [3, 3001],
    [1, 20_000],
  ],
};

const sortCheck = (type: DType, length: 'short' | 'long'): Check =>
  check(
    `sort of ${type}: stable, NaN last, ${length} rows`,
    async (device) => {
      for (const [rows, columns] of sortSizes[length]) {
        for (const descending of type === 'f32' || columns === 3001 ? [false, true] : [columns % 2 === 0]) {
          const values = mixed(type, rows * columns, columns).map((v, i) =>
            i % 3 === 0 && isFloat(type) ? Math.round(v) : v,
          );
          await sortAgrees(device, sortOf(type, rows, columns, descending), values);
        }
      }
    },
    type,
    type !== 'f32' && !(length === 'long' && type === 'u8'),
  );

const sorts: Check[] = (['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const).flatMap((type) => [
  sortCheck(type, 'short'),
  sortCheck(type, 'long'),
]);

// ---- scan ----

const scanOf = (
  type: DType,
  combine: Scan['combine'],
  outer: number,
  length: number,
  inner: number,
  reverse: boolean,
): Scan => ({
  kind: 'routine',
  op: 'scan',
  name: `scan_${combine}_${type}`,
  type,
  combine,
  outer,
  length,
  inner,
  reverse,
  estimate: noEstimate,
});

const combineOps = { sum: 'add', prod: 'mul', max: 'max', min: 'min' } as const;

function combineValue(type: DType, how: keyof typeof combineOps, x: number, y: number): number {
  const v = meaning(combineOps[how], type)!(x, y, 0) as number;
  return isFloat(type) ? v : (roundTo[type](v) as number);
}

function scanned(w: Scan, data: readonly number[]): number[] {
  const out = [...data];
  for (let o = 0; o < w.outer; o++) {
    for (let n = 0; n < w.inner; n++) {
      let acc = Number.NaN;
      for (let s = 0; s < w.length; s++) {
        const l = w.reverse ? w.length - 1 - s : s;
        const i = (o * w.length + l) * w.inner + n;
        acc = s === 0 ? data[i]! : combineValue(w.type, w.combine, acc, data[i]!);
        out[i] = acc;
      }
    }
  }
  return out;
}

const scans: Check[] = [];
for (const type of ['f32', 'i32', 'u32', 'u8', 'f16'] as const) {
  for (const combine of ['sum', 'prod', 'max', 'min'] as const) {
    scans.push(
      check(
        `scan ${combine} of ${type}`,
        async (device) => {
          for (const [outer, length, inner] of [
            [1, 1, 1],
            [3, 5, 2],
            [1, 1000, 1],
            [2, 1025, 1],
            [1, 5000, 3],
            [40, 7, 1],
            [1, 70_001, 1],
            [2, 3, 129],
          ] as const) {
            for (const reverse of type === 'f32' ? [false, true] : [length % 2 === 0]) {
              const n = outer * length * inner;
              const values = isFloat(type)
                ? combine === 'prod'
                  ? plain(type, n, 1).map((v, i) => Math.sign(v) * [2, 0.5, 1, 1][i % 4]!)
                  : combine === 'sum'
                    ? plain(type, n, 2)
                    : mixed(type, n, 3, 0.01)
                : mixed(type, n, 4);
              const bytes = bytesOf(type, values);
              const w = scanOf(type, combine, outer, length, inner, reverse);
              const [got] = await run(device, w, [bytes], [bytes.length]);
              const tolerance: Tolerance =
                isFloat(type) && combine === 'sum' ? { relative: type === 'f32' ? 3e-6 : 2e-3 } : {};
              compare(
                type,
                got!,
                bytesOf(type, scanned(w, valuesOf(type, bytes))),
                tolerance,
                `${w.name} [${outer}, ${length}, ${inner}]${reverse ? ' reverse' : ''}`,
              );
            }
          }
        },
        type,
      ),
    );
  }
}

// ---- scatter ----

const scatterOf = (
  type: DType,
  combine: Scatter['combine'],
  s: Pick<Scatter, 'outer' | 'length' | 'inner' | 'count' | 'perElement' | 'clips' | 'uniform'>,
): Scatter => ({
  kind: 'routine',
  op: 'scatter',
  name: `scatter_${combine}_${type}`,
  type,
  combine,
  ...s,
  estimate: noEstimate,
});

/** Halves are combined in f32; the caller rounds them once. */
function scattered(w: Scatter, base: readonly number[], at: readonly number[], updates: readonly number[]): number[] {
  const out = [...base];
  for (let o = 0; o < w.outer; o++) {
    for (let j = 0; j < w.count; j++) {
      for (let n = 0; n < w.inner; n++) {
        const u = (o * w.count + j) * w.inner + n;
        const given = at[w.perElement ? u : j]!;
        const counted = given < 0 && !w.clips ? given + w.length : given;
        const i = (o * w.length + Math.max(0, Math.min(w.length - 1, counted))) * w.inner + n;
        const update = updates[w.uniform ? 0 : u]!;
        const v = w.combine === 'set' ? update : combineValue(w.type, w.combine, out[i]!, update);
        out[i] = isFloat(w.type) ? (castValue(v, 'f64', accumulatorFor(w.type)) as number) : v;
      }
    }
  }
  return out;
}

const scatters: Check[] = [];
for (const type of ['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const) {
  for (const combine of ['set', 'sum', 'prod', 'max', 'min'] as const) {
    if (type === 'bool' && combine !== 'set') continue;
    scatters.push(
      check(
        `scatter ${combine} of ${type}`,
        async (device) => {
          for (const [outer, length, inner, count] of [
            [1, 1, 1, 1],
            [1, 10, 1, 7],
            [2, 5, 3, 9],
            [1, 4, 1, 3000],
            [3, 100, 5, 40],
            [1, 3000, 2, 2500],
          ] as const) {
            const ways = type === 'f32' ? [false, true] : [inner > 1];
            for (const [perElement, uniform] of [
              ...ways.map((each) => [each, false] as const),
              [inner > 1, true] as const,
            ]) {
              const w = scatterOf(type, combine, { outer, length, inner, count, perElement, clips: uniform, uniform });
              const n = uniform ? 1 : outer * count * inner;
              const base = valuesOf(type, bytesOf(type, plain(type, outer * length * inner, 1)));
              const at = plain('u8', perElement ? outer * count * inner : count, 2).map(
                (v, i) => ((v * 7 + i * 13) % (3 * length)) - length,
              );
              const updates = valuesOf(
                type,
                bytesOf(
                  type,
                  isFloat(type) && combine === 'prod'
                    ? plain(type, n, 3).map((v) => Math.sign(v))
                    : isFloat(type) && combine !== 'sum'
                      ? mixed(type, n, 3, 0.05)
                      : plain(type, n, 3),
                ),
              );
              const [got] = await run(
                device,
                w,
                [bytesOf(type, base), bytesOf('i32', at), bytesOf(type, updates)],
                [base.length * byteSize(type)],
              );
              const tolerance: Tolerance = type === 'f32' && combine === 'sum' ? { relative: 1e-6 } : {};
              compare(
                type,
                got!,
                bytesOf(type, scattered(w, base, at, updates)),
                tolerance,
                `${w.name} [${outer}, ${length}, ${inner}] × ${count}${perElement ? ' per element' : ''}${uniform ? ', all the same' : ''}`,
              );
            }
          }
        },
        type,
      ),
    );
  }
}

export const routines: Check[] = [...matmuls, ...sorts, ...scans, ...scatters];
