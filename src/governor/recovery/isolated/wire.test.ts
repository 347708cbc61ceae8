import { describe, expect, it } from 'vitest';
import { attentionCases } from '../../../../test/gpu/attention.ts';
import { routineCases } from '../../../../test/gpu/routines.ts';
import { makeKernel } from '../../../../test/support/cpu.ts';
import fc from '../../../../test/support/properties.ts';
import { dtypes } from '../../../base/dtype.ts';
import { createCpuDevice } from '../../../devices/cpu/device.ts';
import type { Device } from '../../../devices/device.ts';
import { createReferenceDevice } from '../../../devices/reference/device.ts';
import { DeviceLost, ForgeError, KernelError, OutOfMemory } from '../../../errors.ts';
import { createRuntime } from '../../../index.ts';
import { canonical } from '../../../kernel/canonical.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel, Matmul, Routine } from '../../../kernel/kernel.ts';
import { DeadlineExceeded } from '../errors.ts';
import {
  buffersOf,
  inputsOf,
  packCaps,
  packError,
  packWork,
  scalarsOf,
  unpackCaps,
  unpackError,
  unpackWork,
} from './wire.ts';

/** As it arrives on the other side. */
const sent = <T extends Kernel | Routine>(work: T): T => unpackWork(packWork(work)) as T;

/** Random expressions over two loads, a scalar and constants, with what they share shared. */
const expressions = fc.array(
  fc.record({
    op: fc.constantFrom('add', 'mul', 'sub', 'max', 'where', 'cast', 'gated', 'const', 'bits'),
    a: fc.nat(1000),
    b: fc.nat(1000),
    value: fc.double(),
  }),
  { minLength: 1, maxLength: 40 },
);

function build(plan: readonly { op: string; a: number; b: number; value: number }[]): Kernel {
  const e = new Exprs();
  const i = e.axis(0, 64);
  const made: Expr[] = [e.load('f32', 0, i), e.load('f32', 1, i), e.scalar('f32', 0)];
  const at = (k: number): Expr => made[k % made.length]!;
  const steps: Readonly<Record<string, (a: Expr, b: Expr, v: number) => Expr>> = {
    add: (a, b) => e.alu('add', a, b),
    mul: (a, b) => e.alu('mul', a, b),
    sub: (a, b) => e.alu('sub', a, b),
    max: (a, b) => e.alu('max', a, b),
    where: (a, b) => e.alu('where', e.alu('lt', a, b), a, b),
    cast: (a) => e.cast('f32', e.cast('i32', a)),
    gated: (a, b) => e.load('f32', 0, e.alu('imod', i, e.const('index', 7)), e.alu('le', a, b)),
    const: (_, __, v) => e.const('f32', v),
    bits: (a) => e.bitcast('f32', e.alu('xor', e.bitcast('u32', a), e.const('u32', 1))),
  };
  for (const { op, a, b, value } of plan) made.push(steps[op]!(at(a), at(b), value));
  return makeKernel({
    space: [64],
    inputs: [
      { type: 'f32', elements: 64 },
      { type: 'f32', elements: 64 },
    ],
    outputs: [
      { type: 'f32', value: made.at(-1)! },
      { type: 'f32', value: made[made.length >> 1]! },
    ],
    scalars: ['f32'],
  });
}

const exprsOf = (k: Kernel): Set<Expr> => {
  const seen = new Set<Expr>();
  const visit = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    if ('src' in e) e.src.forEach(visit);
    if (e.kind === 'load') [e.index, ...(e.gate ? [e.gate] : [])].forEach(visit);
  };
  for (const o of [...k.outputs, ...k.accumulators]) visit(o.value);
  return seen;
};

describe('work that travels', () => {
  it('arrives as it was: random kernels', () => {
    fc.assert(
      fc.property(expressions, (plan) => {
        const kernel = build(plan);
        const back = sent(kernel);
        expect(canonical(back)).toBe(canonical(kernel));
        // What was shared is shared, and numbers are unique: renderers key maps by them.
        expect(exprsOf(back).size).toBe(exprsOf(kernel).size);
        expect(new Set([...exprsOf(back)].map((e) => e.id)).size).toBe(exprsOf(back).size);
      }),
      { numRuns: 300 },
    );
  });

  it('computes the same bits over there', async () => {
    const device = createReferenceDevice();
    const run = async (kernel: Kernel): Promise<Float32Array> => {
      const [x, y, p, q] = [256, 256, 256, 256].map((b) => device.allocate(b));
      device.write(x!, new Uint8Array(Float32Array.from({ length: 64 }, (_, i) => Math.sin(i)).buffer));
      device.write(y!, new Uint8Array(Float32Array.from({ length: 64 }, (_, i) => i - 30.5).buffer));
      device.launch(device.prepare(kernel), [x!, y!, p!, q!], [0.75]);
      // As numbers: which bits a NaN has is not defined, and changes when a function is optimised.
      return new Float32Array((await device.read(p!)).buffer);
    };
    await fc.assert(
      fc.asyncProperty(expressions, async (plan) => {
        const kernel = build(plan);
        expect(await run(sent(kernel))).toEqual(await run(kernel));
      }),
      { numRuns: 50 },
    );
  });

  it('arrives as it was: everything a runtime prepares', async () => {
    const seen: (Kernel | Routine)[] = [];
    const spy = (d: Device): Device =>
      new Proxy(d, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target);
          if (key !== 'prepare') return typeof value === 'function' ? value.bind(target) : value;
          return (work: Kernel | Routine) => {
            seen.push(work);
            return target.prepare(work);
          };
        },
      });
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, wrap: spy });
    const a = rt.tensor([
      [3, 1, 2],
      [Number.NaN, -0, 5],
    ]);
    const big = rt.tensor([1n, 2n ** 62n], [2], { dtype: 'i64' });
    for (const t of [
      a.exp().sum({ axis: 1 }),
      a.matmul(a.transpose()),
      a.sort(1),
      a.cumsum(0),
      a.scatter([1, 0], a),
      a.argmax({ axis: 1 }),
      big.mul(3n).add(2n ** 61n),
      a.roll(1, 1).pad([
        [1, 1],
        [0, 1],
      ]),
      rt.random.normal([4, 4], { seed: 1 }),
      a.softmax(1),
    ])
      await t.data();
    expect(seen.length).toBeGreaterThan(10);
    expect(new Set(seen.map((w) => (w.kind === 'kernel' ? 'kernel' : w.op))).size).toBeGreaterThanOrEqual(5);
    for (const work of seen) {
      const back = sent(work);
      expect(canonical(back)).toBe(canonical(work));
      expect([back.name, back.estimate]).toEqual([work.name, work.estimate]);
    }
  });

  it('keeps epilogues of matmuls, and knows which buffers are written', () => {
    const e = new Exprs();
    const matmul: Matmul = {
      kind: 'routine',
      op: 'matmul',
      name: 'mm',
      type: 'f32',
      batch: 1,
      batchA: 1,
      batchB: 1,
      m: 2,
      n: 2,
      k: 2,
      transposeA: false,
      transposeB: true,
      precision: 'exact',
      epilogue: {
        inputs: [{ type: 'f32', elements: 2 }],
        scalars: [],
        output: { type: 'f32', value: e.alu('add', e.acc('f32', 0), e.load('f32', 0, e.axis(2, 2))) },
      },
      estimate: { flops: 8, bytesRead: 32, bytesWritten: 16 },
    };
    expect(canonical(sent(matmul))).toBe(canonical(matmul));
    expect([inputsOf(matmul), buffersOf(matmul), inputsOf({ ...matmul, epilogue: null })]).toEqual([3, 4, 2]);
  });

  it('keeps what happens to scores of attention, and counts its buffers and those of a selection', () => {
    for (const { routine, buffers, outputs, scalars } of [...attentionCases(), ...routineCases()]) {
      if (routine.op !== 'attention' && routine.op !== 'topk') continue;
      expect(canonical(sent(routine))).toBe(canonical(routine));
      expect([inputsOf(routine), buffersOf(routine)]).toEqual([buffers.length - outputs, buffers.length]);
      expect(scalarsOf(routine)).toBe(scalars?.length ?? 0);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 5e-324, 1 / 3])(
    'keeps the constant %d',
    (v) => {
      const e = new Exprs();
      const kernel = makeKernel({ space: [1], inputs: [], outputs: [{ type: 'f64', value: e.const('f64', v) }] });
      expect((sent(kernel).outputs[0]!.value as { value: number }).value).toBe(v);
    },
  );
});

describe('capabilities that travel', () => {
  it('keep their sets, and find slow details when somebody looks', async () => {
    const device = await createCpuDevice({ threads: 1 });
    const asked: string[] = [];
    const caps = unpackCaps(JSON.parse(JSON.stringify(packCaps(device.caps))), (name) => {
      asked.push(name);
      return 'openblas';
    });
    expect(caps.dtypes).toEqual(new Set(dtypes));
    expect(caps.native.f32).toEqual(device.caps.native.f32);
    expect(caps.routines).toEqual(device.caps.routines);
    expect(caps.maxBufferBytes).toBe(device.caps.maxBufferBytes);
    expect([caps.details.threads, asked, caps.details.blas, asked]).toEqual([1, ['blas'], 'openblas', ['blas']]);
    await device.close();
  });
});

describe('errors that travel', () => {
  const info = { code: 'C', message: 'it broke', fix: 'Mend it.', where: 'op' };
  it.each([
    new OutOfMemory({ ...info, requested: 7, available: 3 }),
    new KernelError({ ...info, source: 'fn main() {}' }),
    new DeviceLost(info),
    new DeadlineExceeded({ ...info, limitMs: 5 }),
    new ForgeError(info),
  ])('keep their class and what they carry: $name', (error) => {
    const back = unpackError(JSON.parse(JSON.stringify(packError(error))));
    expect(back).toBeInstanceOf(error.constructor);
    expect([back.message, back.code, back.fix, back.where]).toEqual([error.message, 'C', 'Mend it.', 'op']);
    expect({ ...back }).toEqual({ ...error });
  });

  it('arrive as ours even if they were not', () => {
    const back = unpackError(packError(new TypeError('x is undefined')));
    expect([back instanceof ForgeError, back.message]).toEqual([
      true,
      expect.stringContaining('TypeError: x is undefined'),
    ]);
  });
});
