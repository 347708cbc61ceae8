// From a lowered group to the kernel a device gets: merged axes, a telling name, an estimate.

import type { DType } from '../base/dtype.ts';
import { byteSize } from '../base/dtype.ts';
import { collapse } from '../kernel/collapse.ts';
import { estimateKernel } from '../kernel/estimate.ts';
import type { Expr } from '../kernel/expr.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { isFlat } from '../kernel/rows.ts';
import { below, operands } from '../kernel/walk.ts';
import { args } from './args.ts';
import type { Vertex } from './canonical.ts';
import type { Group } from './fuse.ts';
import { Lowering, PositionConflict } from './lower.ts';

export interface LoweredGroup {
  readonly group: Group;
  /** Made when it is first asked for: most groups are merged into others before. */
  readonly kernel: Kernel;
  readonly inputs: readonly Vertex[];
  /** Which of the program's launch scalars each kernel scalar is. */
  readonly scalars: readonly number[];
  /** Per vertex computed inside: the expressions it became, one for each position it was needed at. */
  readonly evaluations: ReadonlyMap<Vertex, ReadonlySet<Expr>>;
}

/** The sizes that the loop of a group's reductions runs over. */
export function reducedSizes(group: Group): number[] {
  const first = group.reduces[0];
  return first ? args.reduceOf(first).axes.map((a) => first.sources[0]!.shape[a]!) : [];
}

/** Undefined if the group's roots cannot be written in one pass. */
export function tryLower(group: Group, stored: ReadonlySet<Vertex>): LoweredGroup | undefined {
  try {
    return lowerGroup(group, stored);
  } catch (e) {
    if (e instanceof PositionConflict) return undefined;
    throw e;
  }
}

/** Lowers groups, and remembers them as long as what they read and compute stays what it was. */
export class LoweredGroups {
  readonly #known = new Map<Vertex, LoweredGroup>();

  lower(group: Group, stored: ReadonlySet<Vertex>): LoweredGroup | undefined {
    const known = this.#known.get(group.roots[0]!);
    if (known && sameWork(known, group, stored)) return known;
    const lowered = tryLower(group, stored);
    if (lowered) this.#known.set(group.roots[0]!, lowered);
    return lowered;
  }
}

function sameWork(
  { group: old, inputs, evaluations }: LoweredGroup,
  group: Group,
  stored: ReadonlySet<Vertex>,
): boolean {
  const same = (p: readonly Vertex[], q: readonly Vertex[]) => p.length === q.length && p.every((v, i) => v === q[i]);
  if (!same(old.roots, group.roots) || !same(old.reduces, group.reduces)) return false;
  for (const v of inputs) if (v.op !== 'leaf' && !stored.has(v)) return false;
  const roots = new Set(group.roots);
  for (const v of evaluations.keys()) if (stored.has(v) && !roots.has(v)) return false;
  return true;
}

/** Throws PositionConflict if the group's roots cannot be written in one pass. */
function lowerGroup(group: Group, stored: ReadonlySet<Vertex>): LoweredGroup {
  const lowering = new Lowering({
    stored,
    roots: new Set(group.roots),
    reduces: new Set(group.reduces),
    space: group.space,
  });
  const values = group.roots.map((r) => lowering.root(r));
  // A reduction of a reduction takes a pass of its own, even over an axis of one element.
  if (lowering.accumulators.some((a) => readsAccumulator(a.value))) throw new PositionConflict();
  let kernel: Kernel | undefined;
  return {
    group,
    get kernel(): Kernel {
      kernel ??= kernelOf(group, lowering, values);
      return kernel;
    },
    inputs: lowering.inputs,
    scalars: lowering.scalars,
    evaluations: lowering.evaluations,
  };
}

function kernelOf(group: Group, lowering: Lowering, values: readonly Expr[]): Kernel {
  const { accumulators } = lowering;
  const nest = collapse({ space: group.space, reduced: reducedSizes(group) }, [
    ...values,
    ...accumulators.map((a) => a.value),
  ]);
  const body = {
    space: nest.space,
    reduced: nest.reduced,
    accumulators: accumulators.map((a) => ({ ...a, value: nest.rewrite(a.value) })),
    outputs: group.roots.map((r, i) => ({ type: r.dtype, value: nest.rewrite(values[i]!) })),
    inputs: lowering.params,
    scalars: lowering.scalarTypes,
  };
  const inPlace = overwritable(body);
  const name = nameOf(
    group,
    body.outputs[0]!.type,
    body.outputs.map((o) => o.value),
    body.accumulators,
  );
  return { kind: 'kernel', name, ...body, inPlace, estimate: estimateKernel({ ...body, inPlace }) };
}

function readsAccumulator(value: Expr): boolean {
  for (const e of below([value])) if (e.kind === 'acc') return true;
  return false;
}

/** Inputs that every element reads only at its own position, as wide as the output written there. */
function overwritable(k: Omit<Kernel, 'kind' | 'name' | 'estimate' | 'inPlace'>): number[] {
  if (k.accumulators.length > 0) return [];
  const safe = k.inputs.map(
    (i) => byteSize(i.type) === byteSize(k.outputs[0]!.type) && i.elements === k.space.reduce((a, d) => a * d, 1),
  );
  for (const e of below(k.outputs.map((o) => o.value)))
    if (e.kind === 'load' && (e.gate || !isFlat(e.index, k.space))) safe[e.slot] = false;
  return safe.flatMap((ok, slot) => (ok ? [slot] : []));
}

function nameOf(group: Group, type: DType, values: readonly Expr[], accumulators: Kernel['accumulators']): string {
  const names: string[] = [];
  const seen = new Set<Expr>();
  const visit = (e: Expr): void => {
    if (seen.has(e) || e.type === 'index') return;
    seen.add(e);
    for (const s of operands(e)) visit(s);
    if (e.kind === 'alu' && names[names.length - 1] !== e.op) names.push(e.op);
    if (e.kind === 'cast' && e.type !== 'bool') names.push('cast');
  };
  for (const a of accumulators) {
    visit(a.value);
    names.push(a.op);
  }
  for (const v of values) visit(v);
  const shown =
    names.length === 0
      ? ['copy']
      : names.length <= 6
        ? names
        : [...names.slice(0, 3), `${names.length - 5}more`, ...names.slice(-2)];
  const source = group.reduces[0]?.sources[0];
  const size = (source ?? group.roots[0]!).shape.join('x') || 'scalar';
  return `${shown.join('_')}_${type}_${size}`;
}
