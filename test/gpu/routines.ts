// Routines over all types and the shapes that choose each path, for ptxas and for the GPU.

import { type DType, dtypes, isFloat } from '../../src/base/dtype.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { BufferParam, Epilogue, Matmul, Routine, Scan, Scatter, Sort, TopK } from '../../src/kernel/kernel.ts';

export interface RoutineCase {
  readonly routine: Routine;
  /** Buffers that hold positions: how many there are to choose from. */
  readonly positions?: ReadonlyMap<number, number>;
  /** By how much those positions are moved. */
  readonly moved?: ReadonlyMap<number, number>;
  readonly buffers: readonly { readonly type: DType; readonly elements: number }[];
  /** How many of the buffers, from the end, are outputs. */
  readonly outputs: number;
  readonly tolerance: number;
  readonly mild: boolean;
  readonly scalars?: readonly number[];
  /** Elements that are infinite: buffer and place. */
  readonly infinite?: readonly (readonly [buffer: number, element: number])[];
}

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };

export function matmul(type: DType, m: number, k: number, n: number, more: Partial<Matmul> = {}): RoutineCase {
  const r: Matmul = {
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
  };
  const bytes = `${r.batch}${r.batchA}${r.batchB}${r.transposeA ? 't' : 'n'}${r.transposeB ? 't' : 'n'}_${r.precision}`;
  const coarse = r.precision !== 'exact' || type === 'f16' || type === 'bf16';
  return {
    routine: { ...r, name: `${r.name}_${bytes}` },
    buffers: [
      { type, elements: r.batchA * m * k },
      { type, elements: r.batchB * k * n },
      { type, elements: r.batch * m * n },
    ],
    outputs: 1,
    tolerance: !isFloat(type) ? 0 : coarse ? 2e-2 : type === 'f64' ? 1e-12 : 2e-5,
    mild: true,
  };
}

/** As many products of one shape, each with buffers of its own. */
export function listed(c: RoutineCase, count: number): RoutineCase {
  const product = c.routine as Matmul;
  const name = `${product.name}_list_of_${count}`;
  return {
    ...c,
    routine: { kind: 'routine', op: 'products', name, count, product, estimate },
    buffers: c.buffers.flatMap((b) => new Array<(typeof c.buffers)[number]>(count).fill(b)),
    outputs: count,
  };
}

/** What may follow a product: by name, from the product's element and what is read beside it. */
const behind: Readonly<Record<string, (b: Exprs, r: Matmul) => { epilogue: Epilogue; scalars: number[] }>> = {
  bias: (b, r) => {
    const value = b.alu('add', b.acc(r.type, 0), b.load(r.type, 0, b.axis(2, r.n)));
    return make(r, [{ type: r.type, elements: r.n }], value);
  },
  // A bias per row, scaled by a launch scalar, limited from below, with a residual.
  residual: (b, r) => {
    const product = b.acc(r.type, 0);
    const row = b.load(r.type, 0, b.axis(1, r.m));
    const sum = b.alu('add', b.alu('mul', row, b.scalar(r.type, 0)), product);
    const value = b.alu('add', b.alu('max', sum, product), b.load(r.type, 1, ownPlace(b, r)));
    const inputs = [
      { type: r.type, elements: r.m },
      { type: r.type, elements: r.batch * r.m * r.n },
    ];
    return make(r, inputs, value, [3]);
  },
  // The result is wider, and lies where the product cannot.
  wide: (b, r) => make(r, [], b.cast('f64', b.alu('add', b.acc(r.type, 0), b.const(r.type, one(r.type))))),
  // Longer than is repeated for each result. Nothing is summed up on the way, so narrow types round as little as wide ones.
  long: (b, r) => {
    const whole = (v: number): Expr => b.const(r.type, r.type === 'i64' || r.type === 'u64' ? BigInt(v) : v);
    const residual = b.load(r.type, 0, ownPlace(b, r));
    const slopes = Array.from({ length: 40 }, (_, i) => b.alu('mul', residual, whole(i + 1)));
    let value: Expr = b.acc(r.type, 0);
    for (let i = 0; i < 1600; i++) {
      const line = b.alu('add', slopes[i % 40]!, whole(Math.floor(i / 40)));
      value = b.alu(i % 2 === 0 ? 'max' : 'min', value, line);
    }
    const inputs = [{ type: r.type, elements: r.batch * r.m * r.n }];
    return make(r, inputs, b.alu('add', value, b.acc(r.type, 0)));
  },
};

const one = (type: DType): number | bigint => (type === 'i64' || type === 'u64' ? 1n : 1);

const ownPlace = (b: Exprs, r: Matmul): Expr =>
  [r.batch, r.m, r.n].reduce<Expr>(
    (sum, size, axis) => b.alu('add', b.alu('mul', sum, b.const('index', size)), b.axis(axis, size)),
    b.const('index', 0),
  );

function make(r: Matmul, inputs: readonly BufferParam[], value: Expr, scalars: number[] = []) {
  const output = { type: value.type as DType, value };
  return { epilogue: { inputs, scalars: scalars.map(() => r.type), output }, scalars };
}

export function withEpilogue(c: RoutineCase, name: string): RoutineCase {
  const r = c.routine as Matmul;
  const { epilogue, scalars } = behind[name]!(new Exprs(), r);
  const output = { type: epilogue.output.type, elements: r.batch * r.m * r.n };
  return {
    ...c,
    routine: { ...r, name: `${r.name}_${name}`, epilogue },
    buffers: [...c.buffers.slice(0, 2), ...epilogue.inputs, output],
    scalars,
  };
}

/** Products with something behind them: every type, the shapes of each path, every way to place the epilogue. */
export function epilogueCases(): RoutineCase[] {
  const cases: RoutineCase[] = [];
  for (const type of dtypes) {
    if (type === 'bool') continue;
    for (const name of Object.keys(behind)) {
      cases.push(withEpilogue(matmul(type, 37, 29, 45), name));
      cases.push(withEpilogue(matmul(type, 20, 24, 28, { batch: 3, batchA: 3, batchB: 1 }), name));
    }
  }
  for (const name of Object.keys(behind)) {
    for (const type of ['f16', 'bf16'] as const) {
      cases.push(withEpilogue(matmul(type, 70, 40, 67, { batch: 2, batchA: 2, batchB: 2 }), name));
    }
    // A long one stands apart whatever the shape, and the reference would take minutes for these.
    if (name === 'long') continue;
    cases.push(withEpilogue(matmul('f32', 260, 36, 132), name));
    cases.push(withEpilogue(matmul('f32', 132, 68, 140, { precision: 'tf32' }), name));
    for (const type of ['f16', 'bf16'] as const) {
      cases.push(withEpilogue(matmul(type, 256, 64, 128, { transposeB: true }), name));
    }
  }
  return cases;
}

function sort(type: DType, rows: number, columns: number, descending: boolean): RoutineCase {
  const routine: Sort = {
    kind: 'routine',
    op: 'sort',
    name: `sort_${type}_${rows}x${columns}_${descending ? 'down' : 'up'}`,
    type,
    rows,
    columns,
    descending,
    estimate,
  };
  const elements = rows * columns;
  return {
    routine,
    buffers: [
      { type, elements },
      { type, elements },
      { type: 'i32', elements },
    ],
    outputs: 2,
    tolerance: 0,
    mild: false,
  };
}

function topk(type: DType, rows: number, columns: number, count: number, descending: boolean, first = 0): RoutineCase {
  const routine: TopK = {
    kind: 'routine',
    op: 'topk',
    name: `topk${first > 0 ? `${first}to` : ''}${first + count}_${type}_${rows}x${columns}_${descending ? 'down' : 'up'}`,
    type,
    rows,
    columns,
    first,
    count,
    descending,
    estimate,
  };
  return {
    routine,
    buffers: [
      { type, elements: rows * columns },
      { type, elements: rows * count },
      { type: 'i32', elements: rows * count },
    ],
    outputs: 2,
    tolerance: 0,
    mild: false,
  };
}

function scan(
  type: DType,
  combine: Scan['combine'],
  outer: number,
  length: number,
  inner: number,
  reverse = false,
): RoutineCase {
  const routine: Scan = {
    kind: 'routine',
    op: 'scan',
    name: `cum${combine}_${type}_${outer}x${length}x${inner}${reverse ? '_reverse' : ''}`,
    type,
    combine,
    outer,
    length,
    inner,
    reverse,
    estimate,
  };
  const elements = outer * length * inner;
  const rounds = isFloat(type) && (combine === 'sum' || combine === 'prod');
  return {
    routine,
    buffers: [
      { type, elements },
      { type, elements },
    ],
    outputs: 1,
    tolerance: !rounds ? 0 : type === 'f64' ? 1e-11 : type === 'f32' ? 1e-4 : 2e-2,
    mild: rounds,
  };
}

const foldError = { f64: 1e-13, f32: 1e-5, f16: 2e-3, bf16: 1e-2 } as const;

function scatter(
  type: DType,
  combine: Scatter['combine'],
  [outer, length, inner, count]: readonly [number, number, number, number],
  perElement: boolean,
  uniform = false,
): RoutineCase {
  const routine: Scatter = {
    kind: 'routine',
    op: 'scatter',
    name: `scatter_${combine}_${type}_${outer}x${length}x${inner}_${count}${perElement ? '_each' : ''}${uniform ? '_same' : ''}`,
    type,
    combine,
    outer,
    length,
    inner,
    count,
    perElement,
    clips: uniform,
    uniform,
    estimate,
  };
  const updates = outer * count * inner;
  return {
    routine,
    // Some from the end, some outside.
    positions: new Map([[1, length + 4]]),
    moved: new Map([[1, -2]]),
    buffers: [
      { type, elements: outer * length * inner },
      { type: 'i32', elements: perElement ? updates : count },
      { type, elements: uniform ? 1 : updates },
      { type, elements: outer * length * inner },
    ],
    outputs: 1,
    // In any order whole numbers give the same. Long runs of floats are folded in parts, which the definition does not do.
    tolerance: (combine === 'sum' || combine === 'prod') && isFloat(type) ? foldError[type as 'f32'] : 0,
    mild: true,
  };
}

export function matmulCases(): RoutineCase[] {
  const cases: RoutineCase[] = [];
  for (const type of dtypes) {
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) cases.push(matmul(type, 37, 29, 45, { transposeA, transposeB }));
    }
    cases.push(matmul(type, 64, 32, 64), matmul(type, 1, 100, 5), matmul(type, 70, 1, 3), matmul(type, 5, 0, 7));
    cases.push(matmul(type, 20, 24, 28, { batch: 3, batchA: 3, batchB: 3 }));
    cases.push(matmul(type, 20, 24, 28, { batch: 3, batchA: 1, batchB: 3 }));
    cases.push(matmul(type, 20, 24, 28, { batch: 3, batchA: 3, batchB: 1 }));
  }
  for (const transposeA of [false, true]) {
    for (const transposeB of [false, true]) {
      cases.push(
        matmul('f32', 260, 136, 132, { transposeA, transposeB }),
        matmul('f32', 260, 68, 268, { transposeA, transposeB }),
      );
      for (const type of ['f16', 'bf16'] as const) {
        cases.push(
          matmul(type, 256, 128, 128, { transposeA, transposeB }),
          matmul(type, 264, 200, 136, { transposeA, transposeB }),
        );
        cases.push(matmul(type, 128, 64, 256, { transposeA, transposeB, batch: 2, batchA: 2, batchB: 1 }));
        // Ends of tiles of every width, depths of one step, of some and of many.
        cases.push(
          matmul(type, 40, 24, 56, { transposeA, transposeB }),
          matmul(type, 72, 100, 264, { transposeA, transposeB }),
        );
        cases.push(matmul(type, 136, 328, 72, { transposeA, transposeB, batch: 2, batchA: 1, batchB: 2 }));
      }
      cases.push(matmul('f32', 256, 128, 128, { transposeA, transposeB, precision: 'tf32' }));
      cases.push(matmul('f32', 132, 68, 140, { transposeA, transposeB, precision: 'tf32' }));
    }
  }
  cases.push(matmul('f32', 128, 96, 64, { precision: 'bf16' }));
  for (const type of dtypes) cases.push(listed(matmul(type, 37, 28, 44), 3));
  for (const transposeA of [false, true]) {
    for (const transposeB of [false, true])
      cases.push(listed(matmul('f32', 100, 68, 36, { transposeA, transposeB }), 10));
  }
  cases.push(listed(matmul('f32', 256, 256, 256), 10), listed(matmul('f32', 128, 96, 64, { precision: 'tf32' }), 2));
  return cases;
}

export function routineCases(): RoutineCase[] {
  const cases = matmulCases();
  for (const type of dtypes) {
    for (const descending of [false, true]) {
      cases.push(sort(type, 5, 100, descending), sort(type, 3, 1, descending), sort(type, 2, 2048, descending));
      cases.push(sort(type, 2, 9000, descending));
      cases.push(topk(type, 13, 100, 7, descending), topk(type, 5, 100, 40, descending));
      cases.push(topk(type, 9, 8, 2, descending), topk(type, 3, 5000, 1000, descending));
      // A few that are not the first ones, in rows of a warp and of a block.
      cases.push(topk(type, 13, 100, 2, descending, 49), topk(type, 7, 1000, 1, descending, 999));
      cases.push(topk(type, 3, 1500, 4, descending, 3), topk(type, 2, 16_384, 1, descending, 8000));
      // Rows in parts.
      cases.push(topk(type, 2, 70_000, 100, descending));
    }
    if (type === 'bool') continue;
    for (const combine of ['sum', 'prod', 'max', 'min'] as const) {
      cases.push(scan(type, combine, 3, 500, 1), scan(type, combine, 2, 5000, 1), scan(type, combine, 3, 70, 40));
    }
    for (const combine of ['set', 'sum', 'prod', 'max', 'min'] as const) {
      cases.push(scatter(type, combine, [2, 30, 4, 12], false), scatter(type, combine, [2, 30, 4, 100], false));
      cases.push(scatter(type, combine, [2, 30, 4, 90], true), scatter(type, combine, [1, 700, 1, 3000], false));
      cases.push(
        scatter(type, combine, [2, 30, 3, 80], true, true),
        scatter(type, combine, [1, 700, 1, 3000], false, true),
      );
      cases.push(scatter(type, combine, [2, 30, 3, 12], false, true));
    }
  }
  cases.push(
    scan('f32', 'sum', 2, 5000, 1, true),
    scan('i64', 'sum', 2, 300, 7, true),
    scan('f32', 'max', 1, 20_000, 3),
    scan('f32', 'sum', 2, 300_004, 1),
    scan('u8', 'max', 1, 262_147, 1, true),
    scan('i64', 'sum', 1, 2_200_000, 1),
    // Rows of many chunks, whose blocks look back: one group of them, several, the end of one; every type that does so.
    scan('f32', 'sum', 3, 8200, 1),
    scan('f32', 'sum', 1, 1_100_000, 1, true),
    scan('f32', 'min', 2, 64 * 8192, 1),
    scan('f32', 'max', 1, 65 * 8192 + 1, 1),
    scan('i32', 'sum', 3, 600_001, 1),
    scan('i32', 'sum', 2, 4_000_000, 1),
    scan('u32', 'prod', 2, 530_000, 1, true),
    scan('bf16', 'max', 2, 700_003, 1),
    scan('f16', 'sum', 1, 20_000, 1),
  );
  cases.push(
    topk('f32', 600, 300, 64, true),
    topk('f32', 70, 1000, 16, true),
    topk('u8', 70, 500, 32, true),
    topk('f32', 1, 300_000, 1, true),
    topk('u8', 1, 200_000, 1024, false),
  );
  cases.push(sort('f32', 1, 100_000, false), sort('i64', 1, 50_000, true), scan('f32', 'sum', 1, 1_000_000, 1));
  cases.push(scatter('bool', 'set', [1, 50, 1, 20], false), scatter('f32', 'sum', [3, 500, 8, 2000], true));
  // Runs of updates that go on through many chunks: of one element, of several that share a position, of each element by itself.
  for (const type of ['f32', 'bf16', 'f64'] as const) {
    for (const combine of ['set', 'sum', 'max'] as const) {
      cases.push(scatter(type, combine, [1, 3, 1, 5000], false), scatter(type, combine, [2, 3, 8, 3000], false));
      cases.push(scatter(type, combine, [1, 1, 1, 40_000], false), scatter(type, combine, [2, 3, 2, 900], true));
    }
  }
  // Few targets, which every lane has for itself: more columns than lanes, as many as no power of two, one for each element.
  for (const type of ['f32', 'f64', 'bf16', 'i32', 'u8'] as const) {
    cases.push(scatter(type, 'sum', [1, 40, 100, 700], false), scatter(type, 'max', [3, 9, 5, 2000], false));
    cases.push(scatter(type, 'min', [2, 20, 3, 500], true), scatter(type, 'sum', [1, 200, 1, 100_000], false));
  }
  // Sums of floats in any order: many targets, rows of them, each element by itself, halves.
  for (const type of ['f32', 'f16', 'bf16'] as const) {
    cases.push(scatter(type, 'sum', [1, 5000, 1, 40_000], false), scatter(type, 'sum', [2, 1000, 3, 5000], false));
    // Rows that are sorted by their target: runs that end in a chunk, go on through several and through many, and a last chunk that is not full.
    cases.push(scatter(type, 'max', [1, 4000, 32, 30_000], false), scatter(type, 'max', [2, 900, 16, 65], false));
    cases.push(scatter(type, 'prod', [1, 700, 40, 9001], false));
    cases.push(scatter(type, 'sum', [2, 600, 4, 3000], true), scatter(type, 'sum', [1, 2000, 1, 9001], false, true));
  }
  // Few targets of very many whole numbers: every block has targets of its own.
  for (const type of ['i32', 'u64'] as const) {
    for (const combine of ['sum', 'min'] as const) cases.push(scatter(type, combine, [1, 2000, 1, 300_001], false));
  }
  return cases;
}
