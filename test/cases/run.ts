// Runs cases on one runtime and says which came out wrong.
//
// Nothing is skipped in silence: a case whose dtypes the device lacks is counted under the reason.

import type { DType } from '../../src/base/dtype.ts';
import { ForgeError } from '../../src/errors.ts';
import type { Runtime, Tensor } from '../../src/index.ts';
import { difference } from './compare.ts';
import type { Case, HostArray, HostTensor, Input } from './format.ts';
import { call } from './ops.ts';
import { type Allowances, toleranceOf } from './tolerance.ts';

export interface SuiteOptions {
  /** What the device can hold; cases with other dtypes are skipped and counted. */
  readonly dtypes: ReadonlySet<DType>;
  readonly allow?: Allowances;
  /** Also run elementwise cases with the data repeated, so that vector loops, tails and threads see it. */
  readonly wide?: boolean;
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
  for (const c of cases) {
    const missing = [...c.inputs, ...c.outputs].find((t) => !options.dtypes.has(t.dtype))?.dtype;
    if (missing) {
      const reason = `the device has no ${missing}`;
      skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      continue;
    }
    const forms = options.wide ? [c, ...widened(c)] : [c];
    for (const form of forms) {
      const problem = await runCase(rt, form, options.allow ?? {});
      if (problem) failures.push(`${form.at} ${describe(form)}: ${problem}`);
      else passed++;
    }
  }
  return { passed, failures, skipped };
}

/** What is wrong with a case, or null. */
export async function runCase(rt: Runtime, c: Case, allow: Allowances): Promise<string | null> {
  let results: HostTensor[];
  try {
    results = await rt.scope(async () => {
      const inputs = c.inputs.map((i) => build(rt, i));
      return Promise.all(call(rt, c.op, inputs, c.args).map(read));
    });
  } catch (error) {
    if (c.throws === undefined) return `threw ${error instanceof Error ? (error.stack ?? error.message) : error}`;
    if (!(error instanceof ForgeError)) return `threw ${error}, expected a ${c.throws}`;
    return error.name === c.throws ? null : `threw a ${error.name} (${error.message}), expected a ${c.throws}`;
  }
  if (c.throws !== undefined) return `gave a result, expected a ${c.throws}`;
  if (results.length !== c.outputs.length) return `gave ${results.length} tensors, expected ${c.outputs.length}`;
  for (const [i, want] of c.outputs.entries()) {
    const problem = difference(results[i]!, want, toleranceOf(c, want.dtype, allow));
    if (problem) return c.outputs.length > 1 ? `result ${i}: ${problem}` : problem;
  }
  return null;
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
