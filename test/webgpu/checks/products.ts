// Products of matrices against plain loops in double precision.

import { byteSize, type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import { isPacked } from '../../../src/devices/webgpu/wgsl/types.ts';
import type { Epilogue, Matmul } from '../../../src/kernel/kernel.ts';
import { roundTo } from '../../../src/kernel/semantics.ts';
import {
  assert,
  bytesOf,
  type Check,
  check,
  compare,
  Exprs,
  noEstimate,
  plain,
  type Tolerance,
  valuesOf,
} from '../support.ts';
import { run } from './routine.ts';

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

/** Whether several workgroups share the depth of a product: as it should be on this device. */
function isCut(device: Device, w: Matmul): void {
  const cut = device.prepare(w).source.includes(`${w.name}_finish`);
  // Words that hold bytes of two rows are written at the end, by one thread each.
  const owned = isPacked(w.epilogue?.output.type ?? w.type) && w.n % 4 !== 0;
  assert(cut === (owned || device.caps.routines.has('rows')), `${w.name} is ${cut ? '' : 'not '}cut`);
}

export const matmuls: Check[] = (['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const).map((type) =>
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
        const shapes = [
          [17, 70, 1030, { transposeA: true }],
          [64, 64, 544, { transposeB: true }],
          [65, 9, 515, { batch: 2, batchB: 1 }],
        ] as const;
        // Of f32 the last one has an epilogue.
        for (const [m, n, k, more] of type === 'f32' ? shapes.slice(0, 2) : shapes) {
          const w = matmulOf(type, m, n, k, more);
          isCut(device, w);
          await matmulAgrees(device, w);
        }
        if (type !== 'f32') return;
        const e = new Exprs();
        const [n, bias] = [9, e.load('f32', 0, e.axis(2, 9))];
        const biases = small('f32', n, 5);
        const above: Epilogue = {
          inputs: [{ type: 'f32', elements: n }],
          scalars: ['f32'],
          output: { type: 'bool', value: e.alu('lt', e.scalar('f32', 0), e.alu('add', e.acc('f32', 0), bias)) },
        };
        const w = matmulOf('f32', 65, n, 515, { batch: 2, batchB: 1, epilogue: above });
        isCut(device, w);
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
