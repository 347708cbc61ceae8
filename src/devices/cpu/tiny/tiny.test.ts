import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asType, elementsOf, elementwise, makeKernel, random, runOn, sameBytes } from '../../../../test/support/cpu.ts';
import { byteSize, type DType, dtypes, isFloat, type TypedArray } from '../../../base/dtype.ts';
import { bf16ToNumber, f16ToNumber } from '../../../base/half.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type AluOp, aluOps, type ReduceOp } from '../../../kernel/ops.ts';
import { createReferenceDevice } from '../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../device.ts';
import { cpuNative } from '../render/native.ts';

let interpreted: CpuDevice;
let compiled: CpuDevice;
const reference = createReferenceDevice();
beforeAll(async () => {
  interpreted = await createCpuDevice({ threads: 1, tinyElements: 1 << 24, blas: false });
  compiled = await createCpuDevice({ threads: 1, tinyElements: 0, blas: false });
});
afterAll(async () => {
  await interpreted.close();
  await compiled.close();
});

it('a large constant is no tiny kernel: storing it is work', async () => {
  const device = await createCpuDevice({ threads: 1, blas: false });
  const b = new Exprs();
  const fill = (n: number): Kernel =>
    makeKernel({ space: [n], inputs: [], outputs: [{ type: 'f32', value: b.const('f32', 1) }] });
  expect(device.prepare(fill(16)).source).toContain('interpreted');
  expect(device.prepare(fill(100_000)).source).not.toContain('interpreted');
  await device.close();
});

it('is compiled once it was launched often, if its loops are many or long', async () => {
  const device = await createCpuDevice({ threads: 1, blas: false });
  const chain = (n: number, ops: number): Kernel =>
    elementwise(n, ['f32'], 'f32', (b, [x]) => {
      let y = x!;
      for (let i = 0; i < ops; i++) y = b.alu(i % 2 ? 'mul' : 'add', y, x!);
      return y;
    });
  for (const [n, ops, code] of [
    [5, 1, false],
    [5, 40, true],
    [600, 1, true],
  ] as const) {
    const program = device.prepare(chain(n, ops));
    const [x, y] = [device.allocate(4 * n), device.allocate(4 * n)];
    device.write(x, new Uint8Array(Float32Array.from({ length: n }, (_, i) => i / 7).buffer));
    device.launch(program, [x, y], []);
    const first = (await device.read(y)).slice();
    for (let i = 0; i < 150; i++) device.launch(program, [x, y], []);
    expect(program.source.includes('interpreted'), `${ops} ops on ${n}`).toBe(!code);
    expect(sameBytes(await device.read(y), first)).toBe(true);
    for (const buffer of [x, y]) device.release(buffer);
  }
  await device.close();
});

describe('parts of arrays', () => {
  // [sizes, distances along each, first position]: columns, backwards, repeated, apart, of three axes, and none that rows of one length tell.
  const views: readonly (readonly [readonly number[], readonly number[], number])[] = [
    [[3, 4], [1, 3], 0],
    [[4, 3], [-5, 2], 20],
    [[3, 5], [0, 1], 2],
    [[5, 3], [2, 0], 1],
    [[2, 3, 4], [12, 4, 1], 0],
    [[2, 3, 4], [1, 2, 6], 0],
    [[3, 2, 4], [4, 13, 1], 1],
    [[1, 6], [9, -4], 21],
    [[6, 1], [4, 7], 0],
    [[7, 2], [3, 1], 4],
  ];
  it.each(dtypes)('of %s are those of the reference, copied or reduced', (type) => {
    for (const [sizes, distances, first] of views) {
      for (const over of [0, 1]) {
        const b = new Exprs();
        const at = sizes.reduce<Expr>(
          (sum, size, k) => b.alu('add', sum, b.alu('mul', b.axis(k, size), b.const('index', distances[k]!))),
          b.const('index', first),
        );
        const value = b.load(type, 0, at);
        const kernel = makeKernel({
          space: over ? sizes.slice(0, -1) : sizes,
          reduced: over ? sizes.slice(-1) : [],
          inputs: [{ type, elements: 27 }],
          accumulators: over ? [{ op: 'max', type, value }] : [],
          outputs: [{ type, value: over ? b.acc(type, 0) : value }],
        });
        const input = elementsOf(type, 27, (i) => (i * 7) % 27);
        const bytes = [kernel.space.reduce((n, d) => n * d, byteSize(type))];
        const [want] = runOn(reference, kernel, [input], bytes);
        for (const device of [interpreted, compiled])
          expect(sameBytes(runOn(device, kernel, [input], bytes)[0]!, want!), `${sizes} ${distances} ${over}`).toBe(
            true,
          );
      }
    }
  });
});

describe('sums of f32 side by side', () => {
  const total = (values: readonly number[]): number => {
    const n = values.length;
    const b = new Exprs();
    const kernel = makeKernel({
      space: [1],
      reduced: [n],
      inputs: [{ type: 'f32', elements: n }],
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(1, n)) }],
      outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
    });
    return asType('f32', runOn(interpreted, kernel, [Float32Array.from(values)], [4])[0]!)[0] as number;
  };
  it.each([1, 7, 8, 63, 64, 65, 71, 1000, 1003])('are within a rounding of the true sum, %i of them', (n) => {
    const next = random(n);
    const values = Array.from({ length: n }, () => Math.fround(next()));
    const exact = values.reduce((a, b) => a + b, 0);
    expect(Math.abs(total(values) - exact)).toBeLessThanOrEqual(exact * 2 ** (n < 64 ? -22 : -24));
  });
  it.each([10, 100])('overflow, and keep infinities and NaN, %i of them', (n) => {
    const with2 = (a: number, b: number): number => total(Array.from({ length: n }, (_, i) => [a, b][i] ?? 0));
    expect(with2(3e38, 3e38)).toBe(Infinity);
    expect(with2(-3e38, -3e38)).toBe(-Infinity);
    expect(with2(Infinity, -1)).toBe(Infinity);
    expect(with2(Infinity, -Infinity)).toBeNaN();
    expect(with2(Number.NaN, 1)).toBeNaN();
  });

  // Two rows, the second operand one element further on.
  const products = (v: readonly number[], w: readonly number[]): ArrayLike<number | bigint> => {
    const n = v.length / 2;
    const b = new Exprs();
    const at = (from: number) =>
      b.alu('add', b.alu('add', b.alu('mul', b.axis(0, 2), b.const('index', n)), b.axis(1, n)), b.const('index', from));
    const kernel = makeKernel({
      space: [2],
      reduced: [n],
      inputs: [
        { type: 'f32', elements: 2 * n },
        { type: 'f32', elements: 2 * n + 1 },
      ],
      accumulators: [{ op: 'sum', type: 'f32', value: b.alu('mul', b.load('f32', 0, at(0)), b.load('f32', 1, at(1))) }],
      outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
    });
    const inputs = [Float32Array.from(v), Float32Array.from([7, ...w])];
    return asType('f32', runOn(interpreted, kernel, inputs, [8])[0]!);
  };

  it.each([5, 64, 300])('of squares do not ask for signs, %i of them', (n) => {
    const next = random(n);
    const values = Array.from({ length: n }, () => Math.fround(next() - 0.5));
    const b = new Exprs();
    const size = b.alu('abs', b.load('f32', 0, b.axis(0, n)));
    const kernel = makeKernel({
      space: [],
      reduced: [n],
      inputs: [{ type: 'f32', elements: n }],
      accumulators: [{ op: 'sum', type: 'f32', value: b.alu('mul', size, size) }],
      outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
    });
    const run = (v: readonly number[]): number =>
      asType('f32', runOn(interpreted, kernel, [Float32Array.from(v)], [4])[0]!)[0] as number;
    expect(run(values)).toBe(total(values.map((v) => Math.fround(v * v))));
    expect(run(values.map(() => -0))).toBe(0);
    expect(run([-Infinity, ...values.slice(1)])).toBe(Infinity);
    expect(run([Number.NaN, ...values.slice(1)])).toBeNaN();
  });

  it.each([1, 63, 64, 65, 71, 1000])('of products are those of the products as stored, to the bit, %i of them', (n) => {
    const next = random(n);
    const [v, w] = [0, 1].map(() => Array.from({ length: 2 * n }, () => Math.fround(next() - 0.5))) as [
      number[],
      number[],
    ];
    const stored = v.map((x, i) => Math.fround(x * w[i]!));
    const expected = [total(stored.slice(0, n)), total(stored.slice(n))];
    // Often enough that WebAssembly takes over.
    const often = Math.ceil(2 ** 17 / n);
    for (let i = 0; i < (n < 64 ? 1 : often); i++) {
      expect(Array.from(products(v, w))).toEqual(expected);
      expect(total(stored.slice(n))).toBe(expected[1]);
    }
    const all = (value: number): number[] => v.map(() => value);
    const zeros = all(-0);
    expect(Array.from(products(zeros, all(1)))).toEqual([0, 0]);
    const large = v.map((_, i) => (i < 2 ? 3e38 : 1e-3));
    expect(products(large, all(1))[0]).toBe(n === 1 ? Math.fround(3e38) : Infinity);
    expect(products(large, all(2))[0]).toBe(Infinity);
    expect(products([Number.NaN, ...zeros.slice(1)], zeros)[0]).toBeNaN();
  });
});

describe('reductions down columns', () => {
  /** One fold over the first axis of a matrix, whose columns are every `apart`th element of a row. */
  const down = (op: ReduceOp, type: DType, length: number, columns: number, apart = 1): Kernel => {
    const b = new Exprs();
    const row = b.alu('mul', b.axis(1, length), b.const('index', columns * apart));
    const column = b.alu('mul', b.axis(0, columns), b.const('index', apart));
    const to = op === 'argmax' || op === 'argmin' ? 'i32' : type;
    return makeKernel({
      space: [columns],
      reduced: [length],
      inputs: [{ type, elements: length * columns * apart }],
      accumulators: [{ op, type, value: b.load(type, 0, b.alu('add', row, column)) }],
      outputs: [{ type: to, value: b.acc(to, 0) }],
    });
  };
  const sums = (device: CpuDevice, values: Float32Array, length: number, columns: number, apart = 1) =>
    Array.from(
      asType('f32', runOn(device, down('sum', 'f32', length, columns, apart), [values], [4 * columns])[0]!),
      Number,
    );

  // Four columns are added up at a time.
  it.each([2, 3, 4, 5, 7, 8, 9, 30])(
    'are the sums of each column in double precision, rounded once: %i columns',
    (columns) => {
      for (const length of [2, 9, 64, 130])
        for (const apart of [1, 3]) {
          const next = random(length * columns);
          const values = Float32Array.from({ length: length * columns * apart }, () => (next() - 0.5) * 1e3);
          const exact = Array.from({ length: columns }, (_, c) => {
            let sum = 0;
            for (let r = 0; r < length; r++) sum += values[(r * columns + c) * apart]!;
            return Math.fround(sum);
          });
          expect(sums(interpreted, values, length, columns, apart), `${length} rows, ${apart} apart`).toEqual(exact);
        }
    },
  );

  it('overflow, and keep infinities, NaN and zeros without a sign', () => {
    const rows = [
      [3e38, -3e38, Infinity, Infinity, Number.NaN, -0],
      [3e38, -3e38, -1, -Infinity, 1, -0],
    ];
    expect(sums(interpreted, Float32Array.from(rows.flat()), 2, 6)).toEqual([
      Infinity,
      -Infinity,
      Infinity,
      Number.NaN,
      Number.NaN,
      0,
    ]);
  });

  it.each(['max', 'min', 'argmax', 'argmin', 'prod'] as const)('of any dtype are those of the reference: %s', (op) => {
    for (const type of dtypes.filter((t) => t !== 'bool' && t !== 'f16' && t !== 'bf16'))
      for (const columns of [2, 5]) {
        const kernel = down(op, type, 7, columns);
        const input = elementsOf(type, 7 * columns, (i) => ((i * 5) % 11) - (isFloat(type) ? 5 : 0));
        const bytes = [columns * byteSize(kernel.outputs[0]!.type)];
        const [want] = runOn(reference, kernel, [input], bytes);
        expect(sameBytes(runOn(interpreted, kernel, [input], bytes)[0]!, want!), type).toBe(true);
      }
  });

  it('may be stored where their values were', () => {
    const values = Float32Array.from({ length: 12 }, (_, i) => i + 1);
    const b = new Exprs();
    // Both axes backwards: the first result lies where a value of the last one did.
    const at = b.alu(
      'sub',
      b.alu('sub', b.const('index', 11), b.alu('mul', b.axis(1, 2), b.const('index', 6))),
      b.axis(0, 6),
    );
    const kernel: Kernel = {
      ...makeKernel({
        space: [6],
        reduced: [2],
        inputs: [{ type: 'f32', elements: 12 }],
        accumulators: [{ op: 'min', type: 'f32', value: b.load('f32', 0, at) }],
        outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
      }),
      inPlace: [0],
    };
    const x = interpreted.allocate(48);
    interpreted.write(x, new Uint8Array(values.buffer));
    interpreted.launch(interpreted.prepare(kernel), [x, x], []);
    expect(Array.from(asType('f32', interpreted.readSync(x, 0, 24)), Number)).toEqual([6, 5, 4, 3, 2, 1]);
    interpreted.release(x);
  });
});

it.each(dtypes.filter(isFloat))('a sum of negative zeros is 0, as in NumPy: %s', (type) => {
  const machine = type === 'f64' ? 'f64' : 'f32';
  // Side by side, and three apart.
  for (const apart of [1, 3])
    for (const n of [1, 2, 8, 9, 64, 200]) {
      const b = new Exprs();
      const at = b.alu('mul', b.axis(1, n), b.const('index', apart));
      const value = b.cast(machine, b.load(type, 0, at));
      const kernel = makeKernel({
        space: [1],
        reduced: [n],
        inputs: [{ type, elements: n * apart }],
        accumulators: [{ op: 'sum', type: machine, value }],
        outputs: [{ type: machine, value: b.acc(machine, 0) }],
      });
      const zeros = elementsOf(type, n * apart, () => -0);
      for (const device of [interpreted, compiled, reference]) {
        const [sum] = runOn(device, kernel, [zeros], [byteSize(machine)]);
        expect([device.id, n, apart, asType(machine, sum!)[0]]).toEqual([device.id, n, apart, 0]);
      }
    }
});

it('bits of a signalling NaN survive a bitcast, as floats and back', async () => {
  const bits = Uint32Array.of(0x7f812345, 0xff800001, 0x7fc00000, 1);
  for (const [from, to] of [
    ['f32', 'u32'],
    ['u32', 'f32'],
  ] as const) {
    const b = new Exprs();
    const kernel = makeKernel({
      space: [4],
      inputs: [{ type: from, elements: 4 }],
      outputs: [{ type: to, value: b.bitcast(to, b.load(from, 0, b.axis(0, 4))) }],
    });
    const [x, y] = [interpreted.allocate(16), interpreted.allocate(16)];
    interpreted.write(x, new Uint8Array(bits.buffer));
    interpreted.launch(interpreted.prepare(kernel), [x, y], []);
    expect(new Uint32Array((await interpreted.read(y)).slice().buffer)).toEqual(bits);
    for (const buffer of [x, y]) interpreted.release(buffer);
  }
});

const special = [0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, 1e-40, 3e38, -3e38, 65504, Infinity, -Infinity, Number.NaN, 33, -7];
/** Values of a type that reach its edges. */
function values(type: DType, n: number, seed: number): TypedArray {
  const next = random(seed);
  if (type === 'i64' || type === 'u64') {
    const a = new BigInt64Array(n).map(() => BigInt(Math.floor((next() - 0.5) * 2 ** (1 + next() * 62))));
    return type === 'i64' ? a : new BigUint64Array(a.buffer);
  }
  return elementsOf(type, n, (i) => {
    if (isFloat(type))
      return i < special.length
        ? special[(i * (seed + 1)) % special.length]!
        : (next() - 0.5) * 2 ** (next() * 40 - 20);
    return Math.floor((next() - 0.5) * 2 ** (next() * 33));
  });
}

/** NaN is one value: its bits are the engine's choice. */
function clean(type: DType, bytes: Uint8Array): (number | bigint)[] {
  const a = asType(type, bytes);
  if (type === 'f16') return Array.from(a as Uint16Array, f16ToNumber);
  if (type === 'bf16') return Array.from(a as Uint16Array, bf16ToNumber);
  return Array.from(a as Float64Array);
}

function same(kernel: Kernel, inputs: readonly TypedArray[], scalars: readonly number[] = []): void {
  const count = kernel.space.reduce((a, b) => a * b, 1);
  const sizes = kernel.outputs.map((o) => count * byteSize(o.type));
  const a = runOn(interpreted, kernel, inputs, sizes, scalars);
  const b = runOn(compiled, kernel, inputs, sizes, scalars);
  kernel.outputs.forEach((o, i) => {
    expect(clean(o.type, a[i]!)).toEqual(clean(o.type, b[i]!));
  });
}

const n = 67;
const ops = (Object.keys(aluOps) as AluOp[]).flatMap((op) =>
  dtypes.filter((t) => cpuNative[t].has(op)).map((t) => [op, t] as const),
);

describe('interpreted and compiled kernels', () => {
  it.each(ops)('agree on the bits of %s of %s', (op, type) => {
    const { arity, compares } = aluOps[op];
    const types: DType[] = op === 'where' ? ['bool', type, type] : new Array<DType>(arity).fill(type);
    const kernel = elementwise(n, types, compares ? 'bool' : type, (b, src) => b.raw(op, src));
    // Shift counts within and just beyond the width, and anything else for the rest.
    const shift = op === 'shl' || op === 'shr';
    const inputs = types.map((t, i) => (shift && i === 1 ? elementsOf(t, n, (j) => j) : values(t, n, i + 1)));
    same(kernel, inputs);
  });

  it.each(dtypes.flatMap((from) => dtypes.map((to) => [from, to] as const)))(
    'agree on casts from %s to %s',
    (from, to) => {
      same(
        elementwise(n, [from], to, (b, [x]) => b.cast(to, x!)),
        [values(from, n, 3)],
      );
    },
  );

  it.each([
    ['f32', 'i32'],
    ['i32', 'f32'],
    ['f32', 'u32'],
    ['u32', 'f32'],
    ['f64', 'i64'],
    ['i64', 'f64'],
    ['u64', 'f64'],
  ] as const)('agree on the bits of %s as %s', (from, to) => {
    same(
      elementwise(n, [from], to, (b, [x]) => b.bitcast(to, x!)),
      [values(from, n, 3)],
    );
  });

  it('agree on chains in every float type', () => {
    for (const t of ['f32', 'f64', 'f16', 'bf16'] as const) {
      const kernel = elementwise(n, [t, t], t, (b, [x, y]) =>
        b.alu(
          'add',
          b.alu('mul', b.alu('sub', x!, y!), b.const(t, 0.3)),
          b.alu('div', x!, b.alu('max', y!, b.const(t, 1))),
        ),
      );
      same(kernel, [values(t, n, 1), values(t, n, 2)]);
    }
  });
});

describe('interpreted kernels', () => {
  const flat = (b: Exprs, sizes: readonly number[], axes: readonly Expr[]): Expr =>
    axes.reduce(
      (sum, axis, i) => b.alu('add', b.alu('mul', sum, b.const('index', sizes[i]!)), axis),
      b.const('index', 0) as Expr,
    );

  it('follow index expressions: transposed, rolled, padded, gathered, repeated', () => {
    const b = new Exprs();
    const [rows, columns] = [6, 9];
    const [i, j] = [b.axis(0, rows), b.axis(1, columns)];
    const elements = rows * columns;
    const inside = b.alu('lt', j, b.const('index', 7));
    const rolled = b.alu(
      'add',
      j,
      b.alu('where', b.alu('lt', j, b.const('index', 5)), b.const('index', 4), b.const('index', -5)),
    );
    const looked = b.cast('index', b.load('i32', 1, j));
    const value = [
      b.load('f32', 0, b.alu('add', b.alu('mul', j, b.const('index', rows)), i)),
      b.load('f32', 0, b.alu('add', b.alu('mul', i, b.const('index', columns)), rolled)),
      b.load('f32', 0, b.alu('add', b.alu('mul', i, b.const('index', columns)), j), inside),
      b.load('f32', 0, b.alu('add', b.alu('mul', i, b.const('index', columns)), looked)),
      b.load('f32', 0, b.const('index', 11)),
      b.cast('f32', b.cast('i32', j)),
    ].reduce((x, y) => b.alu('add', x, y));
    const kernel = makeKernel({
      space: [rows, columns],
      inputs: [
        { type: 'f32', elements },
        { type: 'i32', elements: columns },
      ],
      outputs: [
        { type: 'f32', value },
        { type: 'f32', value: b.load('f32', 0, flat(b, [rows, columns], [i, j])) },
        { type: 'i32', value: b.const('i32', 4) },
      ],
    });
    const inputs = [elementsOf('f32', elements, (k) => k), Int32Array.of(8, 0, 3, 3, 1, 2, 7, 6, 5)];
    const sizes = [elements * 4, elements * 4, elements * 4];
    const got = runOn(interpreted, kernel, inputs, sizes);
    const want = runOn(reference, kernel, inputs, sizes);
    got.forEach((g, k) => {
      expect(sameBytes(g, want[k]!)).toBe(true);
    });
  });

  const reduceOps: readonly ReduceOp[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];
  it.each(
    reduceOps.flatMap((op) =>
      dtypes
        .filter((t) => (op === 'any' || op === 'all' ? t === 'bool' : t !== 'bool' && t !== 'f16' && t !== 'bf16'))
        .map((t) => [op, t] as const),
    ),
  )('reduce by %s over %s as the reference does', (op, type) => {
    for (const [rows, columns] of [
      [1, 1],
      [1, 50],
      [7, 3],
      [4, 129],
    ] as const) {
      const b = new Exprs();
      const at = flat(b, [rows, columns], [b.axis(0, rows), b.axis(1, columns)]);
      const out: DType = op === 'argmax' || op === 'argmin' ? 'i32' : type;
      const kernel = makeKernel({
        space: [rows],
        reduced: [columns],
        inputs: [{ type, elements: rows * columns }],
        accumulators: [{ op, type, value: b.load(type, 0, at) }],
        outputs: [{ type: out, value: b.acc(out, 0) }],
      });
      const input = elementsOf(type, rows * columns, (i) => (op === 'prod' ? [1, 2, 1, 0.5][i % 4]! : (i * 7919) % 23));
      const sizes = [rows * byteSize(out)];
      expect(clean(out, runOn(interpreted, kernel, [input], sizes)[0]!)).toEqual(
        clean(out, runOn(reference, kernel, [input], sizes)[0]!),
      );
    }
  });

  it('give the position of the first NaN, and keep the sum of many small values', () => {
    const b = new Exprs();
    const kernel = makeKernel({
      space: [],
      reduced: [4096],
      inputs: [{ type: 'f32', elements: 4096 }],
      accumulators: [
        { op: 'argmax', type: 'f32', value: b.load('f32', 0, b.axis(0, 4096)) },
        { op: 'sum', type: 'f32', value: b.const('f32', 0.1) },
      ],
      outputs: [
        { type: 'i32', value: b.acc('i32', 0) },
        { type: 'f32', value: b.acc('f32', 1) },
      ],
    });
    const input = elementsOf('f32', 4096, (i) => (i === 700 || i === 900 ? Number.NaN : i));
    const [position, sum] = runOn(interpreted, kernel, [input], [4, 4]);
    expect(asType('i32', position!)[0]).toBe(700);
    expect(Math.abs(Number(asType('f32', sum!)[0]) - 4096 * Math.fround(0.1))).toBeLessThan(1e-4);
  });

  it('are compiled once they turn out to be used often, with the same result', async () => {
    const device = await createCpuDevice({ threads: 1, blas: false });
    const kernel = elementwise(900, ['f32'], 'f32', (b, [x]) => b.alu('sqrt', b.alu('abs', x!)));
    const input = elementsOf('f32', 900, (i) => i - 450);
    const program = device.prepare(kernel);
    expect(program.source).toContain('interpreted');
    const first = runOn(device, kernel, [input], [3600])[0]!;
    for (let i = 0; i < 40; i++) expect(sameBytes(runOn(device, kernel, [input], [3600])[0]!, first)).toBe(true);
    expect(program.source).toContain('(module');
    await device.close();
  });

  it('read scalars and pass uniform values through', () => {
    const b = new Exprs();
    const kernel = makeKernel({
      space: [10],
      inputs: [],
      scalars: ['f32', 'i64', 'bf16'],
      outputs: [
        { type: 'f32', value: b.alu('mul', b.scalar('f32', 0), b.const('f32', 2)) },
        { type: 'i64', value: b.alu('add', b.scalar('i64', 1), b.cast('i64', b.cast('i32', b.axis(0, 10)))) },
        { type: 'bf16', value: b.scalar('bf16', 2) },
      ],
    });
    const got = runOn(interpreted, kernel, [], [40, 80, 20], [1.5, -3, 1.005]);
    const want = runOn(reference, kernel, [], [40, 80, 20], [1.5, -3, 1.005]);
    expect(got).toEqual(want);
    same(kernel, [], [1.5, -3, 1.005]);
  });
});
