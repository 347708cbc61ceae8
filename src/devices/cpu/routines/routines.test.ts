import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asType, elementsOf, elementwise, random, runOn, sameBytes, sample } from '../../../../test/support/cpu.ts';
import { byteSize, type DType, dtypes, isFloat, type TypedArray } from '../../../base/dtype.ts';
import { bf16ToNumber, f16ToNumber } from '../../../base/half.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Matmul, Routine, Scan, Scatter, Sort } from '../../../kernel/kernel.ts';
import type { DeviceBuffer } from '../../device.ts';
import { createReferenceDevice } from '../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../device.ts';

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
const reference = createReferenceDevice();
let device: CpuDevice;
beforeAll(async () => {
  device = await createCpuDevice({ threads: 1, blas: false });
});
afterAll(() => device.close());

const numbers = (type: DType, bytes: Uint8Array): number[] => {
  const a = asType(type, bytes);
  if (type === 'f16') return Array.from(a as Uint16Array, f16ToNumber);
  if (type === 'bf16') return Array.from(a as Uint16Array, bf16ToNumber);
  return Array.from(a as Float64Array, Number);
};

/** Bytes of the CPU device and of the reference for the same work. */
function both(work: Routine, inputs: readonly TypedArray[], outputs: readonly number[]): [Uint8Array, Uint8Array][] {
  const got = runOn(device, work, inputs, outputs);
  const want = runOn(reference, work, inputs, outputs);
  return got.map((g, i) => [g, want[i]!]);
}

const matmul = (type: DType, m: number, n: number, k: number, more: Partial<Matmul> = {}): Matmul => ({
  kind: 'routine',
  op: 'matmul',
  name: `matmul_${type}_${m}x${k}x${n}`,
  type,
  batch: 1,
  batchA: 1,
  batchB: 1,
  m,
  n,
  k,
  transposeA: false,
  transposeB: false,
  precision: 'exact',
  epilogue: null,
  estimate,
  ...more,
});

function checkMatmul(r: Matmul): void {
  const a = sample(r.type, r.batchA * r.m * r.k, 11);
  const b = sample(r.type, r.batchB * r.k * r.n, 12);
  const [[got, want]] = both(r, [a, b], [r.batch * r.m * r.n * byteSize(r.type)]) as [[Uint8Array, Uint8Array]];
  if (!isFloat(r.type)) {
    expect(sameBytes(got, want)).toBe(true);
    return;
  }
  const [g, w] = [numbers(r.type, got), numbers(r.type, want)];
  // Rounding of the result, and of k sums of products up to 16 in the type that accumulates.
  const stored = { f64: 2 ** -52, f32: 2 ** -23, f16: 2 ** -10, bf16: 2 ** -7 }[r.type as 'f32']!;
  const summed = (r.type === 'f64' ? 2 ** -51 : 2 ** -22) * 4 * r.k;
  g.forEach((v, i) => {
    if (!(Math.abs(v - w[i]!) <= stored * Math.abs(w[i]!) + summed)) expect(v, `element ${i}`).toBe(w[i]);
  });
}

describe('matmul', () => {
  const shapes = [
    [1, 1, 1],
    [3, 5, 7],
    [4, 8, 16],
    [1, 33, 100],
    [17, 1, 100],
    [17, 33, 40],
    [6, 130, 9],
    [70, 20, 300],
    [1, 70, 67],
    [3, 1030, 19],
    [130, 1, 37],
    // B is read where it lies; then B in panels, with rows and columns that fill none, over several stretches of k.
    [9, 16, 16],
    [8, 12, 521],
    [33, 41, 523],
  ] as const;
  it.each(dtypes.flatMap((t) => shapes.map((s) => [t, ...s] as const)))(
    '%s %i×%i over %i, transposed or not',
    (type, m, n, k) => {
      for (const transposeA of [false, true]) {
        for (const transposeB of [false, true]) checkMatmul(matmul(type, m, n, k, { transposeA, transposeB }));
      }
    },
  );

  it.each(['f32', 'f64', 'i64', 'bf16'] as const)('%s repeats an operand that all batches share', (type) => {
    checkMatmul(matmul(type, 9, 12, 20, { batch: 3, batchA: 3, batchB: 3 }));
    checkMatmul(matmul(type, 9, 12, 20, { batch: 3, batchA: 1, batchB: 3 }));
    checkMatmul(matmul(type, 9, 12, 20, { batch: 3, batchA: 3, batchB: 1, transposeB: true }));
  });

  it.each(['f32', 'f64'] as const)(
    '%s gives the same bits before and after WebAssembly takes tiny products over',
    async (type) => {
      const fresh = await createCpuDevice({ threads: 1, blas: false });
      const tiny = [
        [1, 1, 1],
        [1, 1, 100],
        [3, 5, 7],
        [9, 1, 9],
        [2, 8, 3],
        [4, 4, 5],
      ] as const;
      const flips = [false, true];
      const products = tiny.flatMap(([m, n, k]) =>
        flips.flatMap((transposeA) => flips.map((transposeB) => matmul(type, m, n, k, { transposeA, transposeB }))),
      );
      products.push(matmul(type, 3, 4, 5, { batch: 3, batchA: 3, batchB: 1 }), matmul(type, 2, 3, 0));
      const results = (): Uint8Array[] =>
        products.map((r) => {
          const inputs = [sample(type, r.batchA * r.m * r.k, 11), sample(type, r.batchB * r.k * r.n, 12)];
          return runOn(fresh, r, inputs, [r.batch * r.m * r.n * byteSize(type)])[0]!.slice();
        });
      const before = results();
      // 2¹⁶ products of two numbers are enough.
      const much = matmul(type, 12, 12, 12);
      const [a, b, c] = [0, 1, 2].map(() => fresh.allocate(144 * byteSize(type))) as [
        DeviceBuffer,
        DeviceBuffer,
        DeviceBuffer,
      ];
      const program = fresh.prepare(much);
      for (let i = 0; i < 40; i++) fresh.launch(program, [a, b, c], []);
      expect(results()).toEqual(before);
      await fresh.close();
    },
  );

  it('gives zeros for an empty inner dimension and nothing for empty results', () => {
    for (const type of ['f32', 'i64', 'f16'] as const) {
      const [[got]] = both(matmul(type, 3, 4, 0), [sample(type, 0, 1), sample(type, 0, 1)], [12 * byteSize(type)]) as [
        [Uint8Array, Uint8Array],
      ];
      expect(got.every((v) => v === 0)).toBe(true);
    }
    checkMatmul(matmul('f32', 0, 4, 5));
  });

  it('passes NaN and infinities on', () => {
    const a = elementsOf('f32', 40 * 40, (i) => (i === 45 ? Number.NaN : i === 90 ? Infinity : 1));
    const [[got, want]] = both(matmul('f32', 40, 40, 40), [a, elementsOf('f32', 1600, () => 1)], [6400]) as [
      [Uint8Array, Uint8Array],
    ];
    expect(numbers('f32', got)).toEqual(numbers('f32', want));
  });
});

describe('sort', () => {
  const sort = (type: DType, rows: number, columns: number, descending: boolean): Sort => ({
    kind: 'routine',
    op: 'sort',
    name: `sort_${type}`,
    type,
    rows,
    columns,
    descending,
    estimate,
  });
  const shapes = [
    [1, 1],
    [3, 2],
    [5, 31],
    [2, 33],
    [150, 7],
    [70, 100],
    [1, 3000],
  ] as const;
  it.each(dtypes.flatMap((t) => shapes.map((s) => [t, ...s] as const)))(
    '%s, %i rows of %i, both ways',
    (type, rows, columns) => {
      const n = rows * columns;
      const next = random(7);
      const special = [Number.NaN, Infinity, -Infinity, -0, 0, 1e-40, -1e-40];
      const input = elementsOf(type, n, () => {
        const x = next();
        if (isFloat(type))
          return x < 0.2 ? special[Math.floor(next() * special.length)]! : Math.round(next() * 50 - 25) * 1.5;
        return type.startsWith('i')
          ? Math.floor(next() * 2 ** 31 - 2 ** 30) >> (x < 0.5 ? 24 : 0)
          : Math.floor(next() * 250);
      });
      for (const descending of [false, true]) {
        for (const [got, want] of both(sort(type, rows, columns, descending), [input], [input.byteLength, n * 4])) {
          expect(sameBytes(got, want)).toBe(true);
        }
      }
    },
  );

  it.each(dtypes.flatMap((t) => [false, true].map((d) => [t, d] as const)))(
    '%s, long rows, descending %s',
    (type, descending) => {
      const columns = 33_000;
      const next = random(9);
      for (const clean of [true, false]) {
        const input = elementsOf(type, columns, () => {
          if (!isFloat(type)) return Math.floor((next() - (type.startsWith('i') ? 0.5 : 0)) * 2 ** 31);
          const x = next();
          return clean || x < 0.9
            ? Math.round((next() - 0.5) * 1e6) / 7 + 0.01
            : x < 0.93
              ? Number.NaN
              : x < 0.97
                ? -0
                : 0;
        });
        for (const [got, want] of both(sort(type, 1, columns, descending), [input], [input.byteLength, 4 * columns])) {
          expect(sameBytes(got, want)).toBe(true);
        }
      }
    },
  );

  it.each([false, true])('several long rows of bytes, one of equal ones, descending %s', (descending) => {
    const columns = 32_801;
    const input = elementsOf('u8', 3 * columns, (i) => (i < columns ? 255 : (i * 7919) % 251));
    const work = sort('u8', 3, columns, descending);
    for (const [got, want] of both(work, [input], [input.byteLength, 12 * columns]))
      expect(sameBytes(got, want)).toBe(true);
  });

  it('keeps the full range of wide integers in order', () => {
    const big = new BigInt64Array(500).map((_, i) => BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n));
    for (const [got, want] of both(sort('i64', 1, 500, false), [big], [4000, 2000]))
      expect(sameBytes(got, want)).toBe(true);
    const unsigned = new BigUint64Array(big.buffer);
    for (const [got, want] of both(sort('u64', 5, 100, true), [unsigned], [4000, 2000])) {
      expect(sameBytes(got, want)).toBe(true);
    }
  });
});

describe('scan', () => {
  const combines = ['sum', 'prod', 'max', 'min'] as const;
  it.each(dtypes.flatMap((t) => combines.map((c) => [t, c] as const)))('%s %s over several shapes', (type, combine) => {
    for (const [outer, length, inner] of [
      [1, 1, 1],
      [1, 50, 1],
      [7, 13, 1],
      [2, 71, 1],
      [3, 9, 5],
      [2, 6, 700],
      [1, 4, 1024],
    ] as const) {
      for (const reverse of [false, true]) {
        const n = outer * length * inner;
        // Small whole numbers: sums are exact, products stay in range or wrap.
        const input = elementsOf(type, n, (i) => (isFloat(type) ? ((i * 7) % 5) - 2 : (i * 7) % 11));
        const work: Scan = {
          kind: 'routine',
          op: 'scan',
          name: 'scan',
          type,
          combine,
          outer,
          length,
          inner,
          reverse,
          estimate,
        };
        const [[got, want]] = both(work, [input], [input.byteLength]) as [[Uint8Array, Uint8Array]];
        // -0 and 0 are the same product.
        expect(numbers(type, got).map((v) => v + 0)).toEqual(numbers(type, want).map((v) => v + 0));
      }
    }
  });

  it.each([
    ['u8', 'u64'],
    ['u8', 'i64'],
    ['i32', 'i64'],
    ['i32', 'u64'],
    ['u32', 'i64'],
    ['u32', 'u64'],
  ] as const)('running sums of %s as %s', (from, type) => {
    for (const [outer, length] of [
      [1, 64],
      [3, 71],
      [2, 129],
    ] as const) {
      const input = elementsOf(from, outer * length, (i) => ((i * 2654435761) % 2 ** 32) | (i % 5 === 0 ? -1 : 0));
      const name = `running_${from}`;
      const work: Scan = {
        ...{ kind: 'routine', op: 'scan', name, type, from, combine: 'sum', outer, length, inner: 1, reverse: false },
        estimate,
      };
      const [[got, want]] = both(work, [input], [8 * outer * length]) as [[Uint8Array, Uint8Array]];
      expect(sameBytes(got, want)).toBe(true);
      expect(got.some((v) => v > 0)).toBe(true);
    }
  });

  it('keeps NaN once it is met', () => {
    const input = elementsOf('f32', 6, (i) => (i === 2 ? Number.NaN : i));
    const work: Scan = {
      kind: 'routine',
      op: 'scan',
      name: 'scan',
      type: 'f32',
      combine: 'max',
      outer: 1,
      length: 6,
      inner: 1,
      reverse: false,
      estimate,
    };
    const [[got]] = both(work, [input], [24]) as [[Uint8Array, Uint8Array]];
    expect(numbers('f32', got)).toEqual([0, 1, NaN, NaN, NaN, NaN]);
  });
});

describe('scatter', () => {
  const combines = ['set', 'sum', 'prod', 'max', 'min'] as const;
  const scatter = (
    type: DType,
    combine: Scatter['combine'],
    sizes: readonly [number, number, number, number],
    perElement: boolean,
    uniform = false,
    clips = false,
  ): Scatter => {
    const [outer, length, inner, count] = sizes;
    return {
      kind: 'routine',
      op: 'scatter',
      name: 'scatter',
      type,
      combine,
      outer,
      length,
      inner,
      count,
      perElement,
      clips,
      uniform,
      estimate,
    };
  };
  it.each(dtypes.flatMap((t) => combines.map((c) => [t, c] as const)))(
    '%s %s, with repeated positions, some of them from the end or outside',
    (type, combine) => {
      for (const sizes of [
        [1, 1, 1, 1],
        [1, 5, 1, 20],
        [3, 7, 4, 9],
        [2, 50, 33, 0],
        [4, 300, 1, 100],
      ] as const) {
        for (const [perElement, uniform] of [
          [false, false],
          [true, false],
          [false, true],
          [true, true],
        ] as const) {
          const [outer, length, inner, count] = sizes;
          const next = random(5);
          const small = (i: number): number => (isFloat(type) ? ((i * 7) % 5) - 2 : (i * 5) % 7);
          const base = elementsOf(type, outer * length * inner, small);
          const at = elementsOf('i32', perElement ? outer * count * inner : count, () =>
            Math.floor((next() * 3 - 1) * length),
          );
          const updates = elementsOf(type, uniform ? 1 : outer * count * inner, (i) => small(i + 3));
          const [[got, want]] = both(
            scatter(type, combine, sizes, perElement, uniform, perElement !== uniform),
            [base, at, updates],
            [base.byteLength],
          ) as [[Uint8Array, Uint8Array]];
          expect(numbers(type, got).map((v) => v + 0)).toEqual(numbers(type, want).map((v) => v + 0));
        }
      }
    },
  );

  it('counts positions below 0 from the end, and holds those outside the axis at its ends', () => {
    const run = (clips: boolean, ...positions: number[]): number[] => {
      const work = scatter('f32', 'sum', [1, 4, 1, positions.length], false, true, clips);
      const [got] = runOn(device, work, [new Float32Array(4), Int32Array.from(positions), Float32Array.of(1)], [16]);
      return [...new Float32Array(got!.slice().buffer)];
    };
    expect(run(false, -1, -4, 2)).toEqual([1, 0, 1, 1]);
    expect(run(false, -5, -2147483648, 4, 2147483647)).toEqual([2, 0, 0, 2]);
    expect(run(true, -1, -2147483648, 4, 2147483647, 1)).toEqual([2, 1, 0, 2]);
  });
});

describe('routines on no elements', () => {
  it('do nothing', () => {
    const empty = new Float32Array(0);
    const works: [Routine, number, number][] = [
      [
        { kind: 'routine', op: 'sort', name: 'sort', type: 'f32', rows: 3, columns: 0, descending: false, estimate },
        1,
        2,
      ],
      [
        {
          kind: 'routine',
          op: 'scan',
          name: 'scan',
          type: 'f32',
          combine: 'sum',
          outer: 2,
          length: 0,
          inner: 3,
          reverse: true,
          estimate,
        },
        1,
        1,
      ],
      [
        {
          kind: 'routine',
          op: 'scatter',
          name: 'scatter',
          type: 'f32',
          combine: 'sum',
          outer: 2,
          length: 5,
          inner: 0,
          count: 3,
          perElement: false,
          clips: false,
          uniform: false,
          estimate,
        },
        3,
        1,
      ],
    ];
    for (const [work, inputs, outputs] of works) {
      const got = runOn(device, work, new Array<TypedArray>(inputs).fill(empty), new Array<number>(outputs).fill(0));
      expect(got.every((g) => g.length === 0)).toBe(true);
    }
  });
});

describe('what the device does not take', () => {
  it('is refused: epilogues, and kernels with more buffers than a launch can bind', () => {
    const b = new Exprs();
    const work = matmul('f32', 2, 2, 2, {
      epilogue: { inputs: [], scalars: [], output: { type: 'f32', value: b.acc('f32', 0) } },
    });
    expect(() => device.prepare(work)).toThrow('epilogue');
    const many = elementwise(4, new Array<DType>(64).fill('f32'), 'f32', (e, loads) =>
      loads.reduce((x, y) => e.alu('add', x, y)),
    );
    expect(() => device.prepare(many)).toThrow('65 buffers');
  });
});

describe('raw kernels', () => {
  it('are refused with a reason', () => {
    const raw: Routine = {
      kind: 'routine',
      op: 'raw',
      name: 'mine',
      language: 'ptx',
      source: '',
      entry: 'f',
      inputs: [],
      outputs: [],
      scalars: [],
      grid: [1, 1, 1],
      block: [1, 1, 1],
      estimate,
    };
    expect(() => device.prepare(raw)).toThrow('do not run on the CPU');
  });
});
