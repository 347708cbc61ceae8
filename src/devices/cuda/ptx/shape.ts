// Where a kernel's positions come from: its buffers and scalars as parameters, its axes from a flat element number.

import { type Arms, costlyArms } from '../../../kernel/arms.ts';
import { bounds, cutOf, linear } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Together } from '../../../kernel/together.ts';
import type { Block, EntryPoint } from './code.ts';
import { type Bindings, PtxScope } from './scope.ts';
import { type IndexBits, kindOf } from './types.ts';

export const rootsOf = (kernel: Kernel): Expr[] => [
  ...kernel.accumulators.map((a) => a.value),
  ...kernel.outputs.map((o) => o.value),
];

// Half of what 31 bits hold: partial sums of an address may run past the final position by as much again.
const limit = 2 ** 30;

/** 32 bits where every position, and every partial sum on the way to one, fits. */
export function indexBitsFor(kernel: Pick<Kernel, 'inputs' | 'space' | 'reduced'>, exprs: readonly Expr[]): IndexBits {
  const total = [...kernel.space, ...kernel.reduced].reduce((n, d) => n * d, 1);
  if (total > limit || kernel.inputs.some((i) => i.elements > limit)) return 64;
  for (const e of exprs) {
    if (e.type !== 'index') continue;
    const { min, max } = bounds(e);
    if (e.kind === 'cast' && (cutOf(e.src[0]) ?? 0) > limit) return 64;
    // Unknown bounds come from looked-up positions, which are within what they are cut to.
    if ((Number.isFinite(min) && min < -limit) || (Number.isFinite(max) && max > limit)) return 64;
    if (Math.abs(linear(e).offset) > limit) return 64;
  }
  return 32;
}

export interface Frame {
  readonly root: PtxScope;
  /** Address registers of the outputs. */
  readonly outputs: readonly string[];
  /** Address register of the scratch memory, if asked for. */
  readonly scratch: string | null;
}

/** Declares the parameters (inputs, outputs, scratch, scalars, 8 bytes each) and loads the pointers. */
export function openFrame(entry: EntryPoint, { kernel, count }: Together, bits: IndexBits, scratches = false): Frame {
  const { body } = entry;
  const pointer = (): string => {
    const p = body.def('d', 'ld.param.u64', `[${entry.param()}]`);
    return body.def('d', 'cvta.to.global.u64', p);
  };
  const inputs = kernel.inputs.map(pointer);
  const outputs = Array.from({ length: kernel.outputs.length / count }, pointer);
  const scratch = scratches ? pointer() : null;
  const scalars = kernel.scalars.map(() => entry.param());
  const readOnly = kernel.inputs.map((_, i) => !kernel.inPlace.includes(i));
  const elements = kernel.inputs.map((p) => p.elements);
  const bindings: Bindings = { inputs, scalars, readOnly, elements, bits };
  entry.arms = armsOf(kernel);
  return { root: PtxScope.root(entry, bindings), outputs, scratch };
}

/** What is worth a branch. What would be loaded there is not: its neighbours could not have it in common. */
const armsOf = (kernel: Kernel): ReadonlyMap<Expr, Arms> =>
  new Map([...costlyArms(rootsOf(kernel))].filter(([, { own }]) => own.every(isComputed)));

const isComputed = (e: Expr): boolean => e.kind === 'alu' || e.kind === 'cast' || e.kind === 'const';

/** Splits a flat position into one per axis, row-major; `first` numbers the axes. */
export function unravel(
  block: Block,
  flat: string,
  sizes: readonly number[],
  first: number,
  bits: IndexBits,
): Map<number, string> {
  const unsigned = bits === 32 ? 'u32' : 'u64';
  const signed = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const positions = new Map<number, string>();
  let rest = flat;
  for (let d = sizes.length - 1; d >= 0; d--) {
    const size = sizes[d]!;
    if (size === 1) {
      positions.set(first + d, '0');
      continue;
    }
    if (sizes.slice(0, d).every((s) => s === 1)) {
      positions.set(first + d, rest);
      rest = '0';
      continue;
    }
    const quotient = block.def(kind, `div.${unsigned}`, rest, size);
    const product = block.def(kind, `mul.lo.${signed}`, quotient, size);
    positions.set(first + d, block.def(kind, `sub.${signed}`, rest, product));
    rest = quotient;
  }
  return positions;
}
