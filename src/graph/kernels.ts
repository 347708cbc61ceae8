// From a lowered group to the kernel a device gets: merged axes, a telling name, an estimate.

import type { DType } from '../base/dtype.ts';
import { byteSize } from '../base/dtype.ts';
import { collapse } from '../kernel/collapse.ts';
import { estimateKernel } from '../kernel/estimate.ts';
import { below, type Expr, Exprs, operands } from '../kernel/expr.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Vertex } from './canonical.ts';
import type { Group } from './fuse.ts';
import { Lowering, PositionConflict } from './lower.ts';
import { args } from './node.ts';

export interface LoweredGroup {
  readonly group: Group;
  readonly kernel: Kernel;
  readonly inputs: readonly Vertex[];
  /** Which of the program's launch scalars each kernel scalar is. */
  readonly scalars: readonly number[];
  /** Per vertex computed inside: the expressions it became, one for each position it was needed at. */
  readonly evaluations: ReadonlyMap<Vertex, ReadonlySet<Expr>>;
}

/** Throws PositionConflict if the group's roots cannot be written in one pass. */
export function lowerGroup(group: Group, stored: ReadonlySet<Vertex>): LoweredGroup {
  const lowering = new Lowering({
    stored,
    roots: new Set(group.roots),
    reduces: new Set(group.reduces),
    space: group.space,
  });
  const values = group.roots.map((r) => lowering.root(r));
  const first = group.reduces[0];
  const reduced = first ? args.reduceOf(first).axes.map((a) => first.sources[0]!.shape[a]!) : [];
  const accumulators = lowering.accumulators;
  // A reduction of a reduction takes a pass of its own, even over an axis of one element.
  if (accumulators.some((a) => readsAccumulator(a.value))) throw new PositionConflict();
  const nest = collapse({ space: group.space, reduced }, [...values, ...accumulators.map((a) => a.value)]);
  const body = {
    space: nest.space,
    reduced: nest.reduced,
    accumulators: accumulators.map((a) => ({ ...a, value: nest.rewrite(a.value) })),
    outputs: group.roots.map((r, i) => ({ type: r.dtype, value: nest.rewrite(values[i]!) })),
    inputs: lowering.params,
    scalars: lowering.scalarTypes.map((v) => v.dtype),
  };
  const inPlace = overwritable(body);
  return {
    group,
    kernel: {
      kind: 'kernel',
      name: nameOf(
        group,
        body.outputs[0]!.type,
        body.outputs.map((o) => o.value),
        body.accumulators,
      ),
      ...body,
      inPlace,
      estimate: estimateKernel({ ...body, inPlace }),
    },
    inputs: lowering.inputs,
    scalars: lowering.scalars,
    evaluations: lowering.evaluations,
  };
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
    if (e.kind === 'load' && (e.gate || !isOwnPosition(e.index, k.space))) safe[e.slot] = false;
  return safe.flatMap((ok, slot) => (ok ? [slot] : []));
}

function isOwnPosition(index: Expr, space: readonly number[]): boolean {
  const b = new Exprs();
  let sum: Expr = b.const('index', 0);
  space.forEach((size, i) => {
    sum = b.alu('add', b.alu('mul', sum, b.const('index', size)), b.axis(i, size));
  });
  return sameIndex(index, sum);
}

/** Equal index expressions from different builders. */
function sameIndex(a: Expr, b: Expr): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === 'const') return a.value === (b as typeof a).value;
  if (a.kind === 'axis') return a.axis === (b as typeof a).axis;
  if (a.kind !== 'alu' || a.op !== (b as typeof a).op) return false;
  return a.src.every((s, i) => sameIndex(s, (b as typeof a).src[i]!));
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
