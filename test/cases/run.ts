// Runs cases on one runtime and says which came out wrong.
//
// Nothing is skipped in silence: a case whose dtypes the device lacks is counted under the reason.

import { dtypes as allDTypes, type DType } from '../../src/base/dtype.ts';
import { ForgeError } from '../../src/errors.ts';
import type { Runtime, Tensor } from '../../src/index.ts';
import { difference, hasSubnormal } from './compare.ts';
import type { Case, HostArray, HostTensor, Input } from './format.ts';
import { call, callLater } from './ops.ts';
import { type Allowances, toleranceOf } from './tolerance.ts';

export interface SuiteOptions {
  /** What the device can hold; cases with other dtypes are skipped and counted. */
  readonly dtypes: ReadonlySet<DType>;
  readonly allow?: Allowances;
  /** Run elementwise cases with the data repeated, beside or instead of as they are: vector loops, tails and threads. */
  readonly wide?: 'also' | 'only';
  /** Cases in flight at once, for devices that are slow to answer. Default: 1. */
  readonly together?: number;
}

export interface SuiteResult {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: ReadonlyMap<string, number>;
}

export async function runCases(rt: Runtime, cases: readonly Case[], options: SuiteOptions): Promise<SuiteResult> {
  let passed = 0;
  const failures: string[] = [];
  const skipped = new Map<string, number>();
  const skip = (reason: string): void => {
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  };
  const forms = cases.flatMap((c) => {
    const reason = unfit(c, options);
    if (reason) skip(reason);
    return reason ? [] : formsOf(c, options.wide);
  });
  const together = options.together ?? 1;
  for (let i = 0; i < forms.length; i += together) {
    const batch = forms.slice(i, i + together);
    const problems = await Promise.all(batch.map((form) => runCase(rt, form, options)));
    problems.forEach((problem, k) => {
      if (problem === null) passed++;
      else if ('lacking' in problem) skip(problem.lacking);
      else failures.push(`${batch[k]!.at} ${describe(batch[k]!)}: ${problem.text}`);
    });
  }
  return { passed, failures, skipped };
}

/** Why a case cannot run on a device, or null. */
function unfit(c: Case, { dtypes, allow }: SuiteOptions): string | null {
  const missing = [...c.inputs, ...c.outputs].find((t) => !dtypes.has(t.dtype))?.dtype;
  if (missing) return `the device has no ${missing}`;
  return allow?.flushes && c.inputs.some(hasSubnormal) ? 'the device reads subnormals as zero' : null;
}

function formsOf(c: Case, wide: SuiteOptions['wide']): readonly Case[] {
  if (!wide) return [c];
  const made = widened(c);
  return wide === 'only' && made.length > 0 ? made : [c, ...made];
}

type Problem = { readonly text: string } | { readonly lacking: string };

/** What is wrong with a case, or null. */
async function runCase(rt: Runtime, c: Case, { dtypes, allow = {} }: SuiteOptions): Promise<Problem | null> {
  let results: HostTensor[];
  try {
    results = await rt.scope(async () => {
      const inputs = c.inputs.map((i) => build(rt, i));
      return Promise.all((await callLater(rt, c.op, inputs, c.args)).map(read));
    });
  } catch (error) {
    return judgeError(c, error, dtypes);
  }
  if (c.throws !== undefined) return { text: `gave a result, expected a ${c.throws}` };
  if (results.length !== c.outputs.length)
    return { text: `gave ${results.length} tensors, expected ${c.outputs.length}` };
  for (const [i, want] of c.outputs.entries()) {
    const problem = difference(results[i]!, want, toleranceOf(c, want.dtype, allow));
    if (problem) return { text: c.outputs.length > 1 ? `result ${i}: ${problem}` : problem };
  }
  return null;
}

function judgeError(c: Case, error: unknown, dtypes: ReadonlySet<DType>): Problem | null {
  // A dtype that only occurs on the way (i32 with u32 meets in i64) is refused when the op runs.
  if (
    error instanceof ForgeError &&
    error.code === 'DTYPE_NOT_ON_DEVICE' &&
    c.throws === undefined &&
    dtypes.size < allDTypes.length
  )
    return { lacking: 'the device lacks a dtype on the way' };
  if (c.throws === undefined)
    return { text: `threw ${error instanceof Error ? (error.stack ?? error.message) : error}` };
  if (!(error instanceof ForgeError)) return { text: `threw ${error}, expected a ${c.throws}` };
  return error.name === c.throws ? null : { text: `threw a ${error.name} (${error.message}), expected a ${c.throws}` };
}

function build(rt: Runtime, input: Input): Tensor {
  let t: Tensor = rt.tensor(input.data, input.shape, { dtype: input.dtype });
  for (const [op, ...args] of input.via) t = call(rt, op, [t], args)[0]!;
  return t;
}

async function read(t: Tensor): Promise<HostTensor> {
  return { dtype: t.dtype, shape: t.shape, data: (await t.data()) as HostArray };
}

const elementwise = new Set(['unary', 'binary', 'promotion', 'scalars', 'cast', 'where']);
const wideElements = 200;

/** The case with its data repeated along a new first axis: what holds for one copy holds for each. */
function widened(c: Case): Case[] {
  const size = c.outputs[0]?.data.length ?? 0;
  if (!elementwise.has(c.at.split(':')[0]!) || size === 0 || c.throws || c.inputs.some((i) => i.via.length > 0))
    return [];
  const copies = Math.ceil(wideElements / size) + 1;
  const rank = Math.max(...c.inputs.map((i) => i.shape.length));
  const widen = <T extends HostTensor>(t: T): T => ({
    ...t,
    shape: [copies, ...new Array<number>(Math.max(rank - t.shape.length, 0)).fill(1), ...t.shape],
    data: repeated(t.data, copies),
  });
  return [{ ...c, at: `${c.at} ×${copies}`, inputs: c.inputs.map(widen), outputs: c.outputs.map(widen) }];
}

function repeated(data: HostArray, copies: number): HostArray {
  const out = new (data.constructor as new (n: number) => HostArray)(data.length * copies);
  // The two arrays are of one kind, which the type cannot say.
  for (let i = 0; i < copies; i++) out.set(data as never, i * data.length);
  return out;
}

/** The call as one would write it, with the data left out. */
function describe(c: Case): string {
  const inputs = c.inputs.map(
    (i) => `${i.dtype}[${i.shape}]${i.via.map(([op, ...a]) => `.${op}(${JSON.stringify(a).slice(1, -1)})`).join('')}`,
  );
  const args = c.args.map((a) => (typeof a === 'object' ? JSON.stringify(a) : `${a}`));
  return `${c.op}(${[...inputs, ...args].join(', ')})`;
}
