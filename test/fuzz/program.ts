// A random graph as data: inputs, steps over values by number, outputs. It can be run on any runtime and printed as code.

import type { DType, HostArrays } from '../../src/base/dtype.ts';
import { isFloat } from '../../src/base/dtype.ts';
import type { Runtime, Tensor } from '../../src/index.ts';
import { call } from '../cases/ops.ts';
import { type Bounded, undecided } from './value.ts';

export interface Step {
  readonly op: string;
  /** Numbers of the values the op takes. */
  readonly inputs: readonly number[];
  readonly args: readonly unknown[];
  /** What the evaluator says; the op's results get the next numbers. */
  readonly results: readonly Bounded[];
  /** Compute the results at this point instead of when they are read: cuts the graph. */
  readonly compute: boolean;
}

export interface Program {
  /** Values of rank 0 and up that are given; they come between the steps, where they are first needed. */
  readonly items: readonly ({ readonly kind: 'input'; readonly value: Bounded } | ({ readonly kind: 'step' } & Step))[];
  readonly outputs: readonly number[];
}

type HostArray = HostArrays[DType];

const arrays: Readonly<Record<DType, new (values: readonly never[]) => HostArray>> = {
  bool: Uint8Array,
  u8: Uint8Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f16: Float32Array,
  bf16: Float32Array,
  f32: Float32Array,
  f64: Float64Array,
};

const hostArray = (x: Bounded): HostArray => new arrays[x.dtype](x.values as readonly never[]);

export const inputsOf = (p: Program): Bounded[] => p.items.flatMap((i) => (i.kind === 'input' ? [i.value] : []));

export function valuesOf(p: Program): Bounded[] {
  return p.items.flatMap((i) => (i.kind === 'input' ? [i.value] : i.results));
}

/** What happens beside the graph while it is built: after each item, with the values so far. */
export type Between = (values: readonly Tensor[], item: number) => void;

/** Builds the graph from tensors for the inputs and gives its outputs. */
export function build(rt: Runtime, p: Program, inputs: readonly Tensor[], between: Between = () => {}): Tensor[] {
  const values: Tensor[] = [];
  let next = 0;
  p.items.forEach((item, at) => {
    if (item.kind === 'input') values.push(inputs[next++]!);
    else {
      const made = call(
        rt,
        item.op,
        item.inputs.map((i) => values[i]!),
        item.args,
      );
      if (item.compute) for (const t of made) t.compute();
      values.push(...made);
    }
    between(values, at);
  });
  return p.outputs.map((i) => values[i]!);
}

/** Per value, the last item that needs it; infinite for outputs. */
export function lastUses(p: Program): number[] {
  const uses: number[] = [];
  p.items.forEach((item, at) => {
    if (item.kind === 'input') uses.push(at);
    else {
      for (const i of item.inputs) uses[i] = at;
      for (const _ of item.results) uses.push(at);
    }
  });
  for (const o of p.outputs) uses[o] = Number.POSITIVE_INFINITY;
  return uses;
}

export const uploads = (rt: Runtime, p: Program): Tensor[] =>
  inputsOf(p).map((x) => rt.tensor(hostArray(x), x.shape, { dtype: x.dtype }) as Tensor);

export interface Difference {
  readonly output: number;
  readonly text: string;
}

/** The first element that no rounding explains, or null; counts what was compared. */
export function check(
  want: Bounded,
  got: { dtype: DType; shape: readonly number[]; data: HostArray },
  tally: Tally,
): string | null {
  if (got.dtype !== want.dtype) return `dtype ${got.dtype}, expected ${want.dtype}`;
  if (`${got.shape}` !== `${want.shape}`) return `shape [${got.shape}], expected [${want.shape}]`;
  const float = isFloat(want.dtype);
  for (let i = 0; i < want.values.length; i++) {
    const bound = want.errors[i]!;
    if (bound === undecided) {
      tally.undecided++;
      continue;
    }
    tally.compared++;
    const [g, w] = [got.data[i]!, want.values[i]!];
    if (float ? near(g as number, w as number, bound) : g === w) continue;
    return `element ${i} is ${g}, expected ${w}${float ? ` ± ${bound.toExponential(2)}` : ''}`;
  }
  return null;
}

export interface Tally {
  compared: number;
  undecided: number;
}

function near(got: number, want: number, bound: number): boolean {
  if (Number.isNaN(want)) return Number.isNaN(got);
  return got === want || Math.abs(got - want) <= bound;
}

/** The graph as code that runs: paste it behind `const rt = await createRuntime(…)`. */
export function print(p: Program): string {
  const lines: string[] = [];
  let next = 0;
  for (const item of p.items) {
    if (item.kind === 'input') {
      lines.push(`const v${next++} = ${printInput(item.value)};`);
      continue;
    }
    const names = item.results.map(() => `v${next++}`);
    lines.push(`const ${bind(item.op, names)} = ${printCall(item)}${item.compute ? '.compute()' : ''};`);
  }
  for (const o of p.outputs) lines.push(`console.log(await v${o}.data());`);
  return lines.join('\n');
}

const bind = (op: string, names: readonly string[]): string =>
  names.length === 1
    ? names[0]!
    : op === 'topk'
      ? `{ values: ${names[0]}, indices: ${names[1]} }`
      : `[${names.join(', ')}]`;

function printInput(x: Bounded): string {
  const text = (v: number | bigint): string => (typeof v === 'bigint' ? `${v}n` : Object.is(v, -0) ? '-0' : `${v}`);
  const array = arrays[x.dtype].name;
  return `rt.tensor(new ${array}([${x.values.map(text).join(', ')}]), [${x.shape.join(', ')}], { dtype: '${x.dtype}' })`;
}

function printCall(s: Step): string {
  const args = s.args.map(printArg);
  const names = s.inputs.map((i) => `v${i}`);
  if (s.op === 'einsum') return `rt.einsum(${[...args, ...names].join(', ')})`;
  if (s.op === 'attention')
    return `${names[0]}.matmul(${names[1]}.swapaxes(-1, -2)).mul(${args[0]}).softmax(-1).matmul(${names[2]})`;
  if (s.op === 'whereScalar') return `rt.where(${[...names, ...args].join(', ')})`;
  if (s.op === 'whereScalarFirst') return `rt.where(${[names[0], ...args, names[1]].join(', ')})`;
  if (s.inputs.length === 0) return `rt.${s.op}(${args.join(', ')})`;
  if (s.op === 'where') return `rt.where(${[...names, ...args].join(', ')})`;
  if (s.op === 'concat' || s.op === 'stack') return `rt.${s.op}([${names.join(', ')}], ${args.join(', ')})`;
  return `${names[0]}.${s.op}(${[...names.slice(1), ...args].join(', ')})`;
}

function printArg(a: unknown): string {
  if (typeof a === 'number') return Object.is(a, -0) ? '-0' : `${a}`;
  if (typeof a === 'string') return `'${a}'`;
  if (Array.isArray(a)) return `[${a.map(printArg).join(', ')}]`;
  if (a && typeof a === 'object') {
    return `{ ${Object.entries(a)
      .map(([k, v]) => `${k}: ${printArg(v)}`)
      .join(', ')} }`;
  }
  return `${a}`;
}
