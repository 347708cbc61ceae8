import { describe, expect, it } from 'vitest';
import { decomposed, evaluator, expressions, kernelOf, plain } from '../../../test/support/decompose.ts';
import { dtypeInfo, dtypes } from '../../base/dtype.ts';
import { DeviceUnavailable } from '../../errors.ts';
import { type Expr, Exprs } from '../expr.ts';
import type { Kernel } from '../kernel.ts';
import { type AluOp, aluOps } from '../ops.ts';
import { meaning, roundTo } from '../semantics.ts';
import { accuracy } from './accuracy.ts';
import { decompose, decomposeEpilogue } from './index.ts';
import type { Native } from './lowering.ts';

const safe = new Set<AluOp>(['shl', 'shr', 'idiv', 'imod']);

/** Ops in an expression that the device did not list (the four that every device has for safe operands aside). */
const foreign = (e: Expr, native: Native): string[] =>
  expressions(e).flatMap((x) => {
    if (x.kind !== 'alu' || safe.has(x.op)) return [];
    const type = x.src[x.src.length - 1]!.type;
    return type === 'index' || native[type]?.has(x.op) ? [] : [`${x.op} ${type}`];
  });

const x32 = (b: Exprs): Expr => b.load('f32', 0, b.axis(0, 8));

describe('decompose', () => {
  it('leaves only native ops, for every op of every type', () => {
    for (const type of dtypes) {
      for (const [op, info] of Object.entries(aluOps) as [AluOp, (typeof aluOps)[AluOp]][]) {
        if (!info.classes.includes(dtypeInfo[type].class)) continue;
        expect(foreign(decomposed(op, type), plain), `${op} of ${type}`).toEqual([]);
      }
    }
  });

  it('rewrites what a decomposition itself uses: max, min, neg and abs too', () => {
    const few = new Set<AluOp>([...plain.f32!].filter((op) => !['max', 'min', 'neg', 'abs'].includes(op)));
    const native: Native = { ...plain, f32: few };
    for (const op of Object.keys(accuracy) as AluOp[])
      expect(foreign(decomposed(op, 'f32', native), native)).toEqual([]);
    const values = [0, -0, 1, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const op of ['max', 'min'] as const) {
      const run = evaluator(decomposed(op, 'f32', native));
      for (const x of values) for (const y of values) expect(run(x, y)).toBe(meaning(op, 'f32')!(x, y, 0));
    }
    for (const op of ['neg', 'abs'] as const) {
      const run = evaluator(decomposed(op, 'f32', native));
      for (const x of values) expect(run(x)).toBe(meaning(op, 'f32')!(x, 0, 0));
    }
  });

  it('leaves native functions alone', () => {
    const native: Native = { ...plain, f32: new Set([...plain.f32!, 'tanh']) };
    const value = decomposed('tanh', 'f32', native);
    expect(value.kind === 'alu' && value.op).toBe('tanh');
  });

  it('keeps slots, axes, gates, accumulators and everything else of the kernel', () => {
    const b = new Exprs();
    const i = b.axis(0, 6);
    const gate = b.alu('lt', i, b.const('index', 4));
    const value = b.alu('exp', b.load('f32', 2, b.alu('add', i, b.const('index', 1)), gate));
    const kernel: Kernel = {
      ...kernelOf(b.alu('log', b.alu('add', b.acc('f32', 0), b.scalar('f32', 1))), 'f32'),
      space: [6],
      reduced: [4],
      inPlace: [2],
      accumulators: [{ op: 'sum', type: 'f32', value }],
    };
    const made = decompose(kernel, plain);
    expect({ ...made, accumulators: [], outputs: [] }).toEqual({ ...kernel, accumulators: [], outputs: [] });
    const [load] = expressions(made.accumulators[0]!.value).filter((e) => e.kind === 'load');
    expect(load).toMatchObject({ slot: 2, type: 'f32', gate: { op: 'lt' } });
    const leaves = expressions(made.outputs[0]!.value).filter((e) => e.kind === 'acc' || e.kind === 'scalar');
    expect(leaves.map((e) => [e.kind, e.kind === 'acc' || e.kind === 'scalar' ? e.slot : -1])).toEqual([
      ['acc', 0],
      ['scalar', 1],
    ]);
  });

  it('rewrites epilogues in the same way', () => {
    const b = new Exprs();
    const output = { type: 'f32' as const, value: b.alu('tanh', b.acc('f32', 0)) };
    const made = decomposeEpilogue({ inputs: [], scalars: [], output }, plain);
    expect(foreign(made.output.value, plain)).toEqual([]);
    expect(made.output.type).toBe('f32');
  });

  it('takes time in proportion to distinct expressions, and no call stack for deep ones', () => {
    const b = new Exprs();
    let doubling = x32(b);
    for (let i = 0; i < 200; i++) doubling = b.alu('add', b.alu('sin', doubling), doubling);
    let deep = x32(b);
    for (let i = 0; i < 5000; i++) deep = b.alu('mul', b.alu('add', deep, b.const('f32', i)), deep);
    const made = decompose(kernelOf(b.alu('add', doubling, deep), 'f32'), plain);
    expect(made.outputs[0]!.value.kind).toBe('alu');
  });

  it('computes each function of one operand once', () => {
    const b = new Exprs();
    const once = decompose(kernelOf(b.alu('exp', x32(b)), 'f32'), plain).outputs[0]!.value;
    const twice = b.alu('mul', b.alu('exp', x32(b)), b.alu('add', b.alu('exp', x32(b)), x32(b)));
    const both = decompose(kernelOf(twice, 'f32'), plain).outputs[0]!.value;
    expect(expressions(both).length).toBe(expressions(once).length + 2);
  });

  it('refuses what cannot be built, naming the op and the type', () => {
    const native: Native = { f32: new Set<AluOp>(['add']) };
    expect(() => decomposed('sqrt', 'f32', native)).toThrow(DeviceUnavailable);
    expect(() => decomposed('sqrt', 'f32', native)).toThrow(/sqrt.*f32/);
  });

  it('compares bools by logic where a device has nothing else', () => {
    const native: Native = { ...plain, bool: new Set<AluOp>(['and', 'or', 'xor', 'not', 'where']) };
    for (const op of ['eq', 'ne', 'lt', 'le'] as const) {
      const run = evaluator(decomposed(op, 'bool', native));
      for (const x of [0, 1]) for (const y of [0, 1]) expect(run(x, y)).toBe(meaning(op, 'bool')!(x, y, 0));
    }
  });
});

describe('halves', () => {
  it.each(['f16', 'bf16'] as const)('%s is rounded after every op, as NumPy does', (type) => {
    const b = new Exprs();
    const at = b.const('index', 0);
    const [x, y, z] = [0, 1, 2].map((slot) => b.load(type, slot, at)) as [Expr, Expr, Expr];
    const value = decompose(kernelOf(b.alu('add', b.alu('mul', x, y), z), type), plain).outputs[0]!.value;
    const run = evaluator(value);
    const r = roundTo[type];
    const inputs = [1.0009765625, 3.14, -2.7, 1e-3, 250].map((v) => r(v) as number);
    for (const p of inputs) {
      for (const q of inputs) {
        for (const s of inputs) expect(run(p, q, s)).toBe(r((r(p * q) as number) + s));
      }
    }
  });

  it('does not go back to the half after ops that are exact in it', () => {
    const b = new Exprs();
    const x = b.load('f16', 0, b.const('index', 0));
    const value = decompose(kernelOf(b.alu('max', b.alu('neg', x), b.alu('abs', x)), 'f16'), plain).outputs[0]!.value;
    const casts = expressions(value).filter((e) => e.kind === 'cast');
    expect(casts.filter((e) => e.type === 'f32')).toHaveLength(1);
    expect(value.kind === 'cast' && value.type).toBe('f16');
    expect(evaluator(value)(-2.5)).toBe(2.5);
  });

  it('computes functions and comparisons of halves in f32', () => {
    expect(evaluator(decomposed('exp', 'f16'))(1)).toBe(roundTo.f16(Math.E));
    expect(evaluator(decomposed('lt', 'bf16'))(1, 2)).toBe(1);
    expect(decomposed('lt', 'bf16').type).toBe('bool');
    expect(evaluator(decomposed('where', 'f16'))(0, 1, 2)).toBe(2);
  });
});

describe('erf of bf16', () => {
  it('is that of f32, rounded, for every bf16', () => {
    const [short, long] = [evaluator(decomposed('erf', 'bf16')), evaluator(decomposed('erf', 'f32'))];
    const word = new Uint32Array(1);
    const value = new Float32Array(word.buffer);
    const different: number[] = [];
    for (let bits = 0; bits < 65_536; bits++) {
      word[0] = bits * 65_536;
      const x = value[0]!;
      if (!Object.is(short(x), roundTo.bf16(long(x) as number))) different.push(x);
    }
    expect(different).toEqual([]);
    const operations = (type: 'f32' | 'bf16'): number => expressions(decomposed('erf', type)).length;
    expect(operations('bf16')).toBeLessThan(operations('f32') / 2);
  });
});

describe('accuracy', () => {
  it('is documented in docs/accuracy.md', async () => {
    const rows = Object.entries(accuracy).map(([op, { f32, f64 }]) => `| \`${op}\` | ${f32} | ${f64} |`);
    const text = `# How accurate the functions are

\`\`\`ts
await rt.tensor([1, 710], { dtype: 'f64' }).exp().data(); // → [2.718281828459045, Infinity]
\`\`\`

The table bounds the distance of a result from the true value, in units in the last place of the result. It holds for the
whole range of arguments: subnormal numbers, large angles, overflow and underflow included. 0.5 is a correctly rounded
result. Signed zeros, infinities and NaN follow C and NumPy.

The bounds are measured, with some room, not proven: in f32 over every 17th of all numbers (20 million pairs for
functions of two arguments), in f64 over a million arguments each.

| function | f32 | f64 |
|---|---|---|
${rows.join('\n')}

\`add\`, \`sub\`, \`mul\`, \`div\`, \`sqrt\` and conversions round correctly. The remainder of \`mod\` is exact for every pair of
operands. \`sin\`, \`cos\` and \`tan\` reduce every finite argument exactly, up to the largest f64. f16 and bf16 are computed
in f32 and rounded after each operation, as NumPy does.

## The same bits on every device

Where a device has no accurate instruction for a function, the kernel computes it from plain arithmetic
(\`src/kernel/decompose\`). The steps are the same on every GPU and on the reference, so devices that round each operation
give the same bits.

CUDA passes by the remainder of huge angles where no element of a warp is huge; that changes no bit. The CPU skips steps
that no element needs, and shortens some functions. There \`exp\`, \`exp2\`, \`log\`, \`log2\`, \`log10\`, \`sin\` and \`cos\` of f32,
and \`log\` and \`cos\` of f64, still have the bits of the other devices; the rest may differ in the last bits.

The tests beside the code check this table; run them with \`npx vitest run src/kernel/decompose\`. They also write this page.
`;
    await expect(text).toMatchFileSnapshot('../../../docs/accuracy.md');
  });
});
