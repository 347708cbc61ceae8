// The sums of neighbours, combined among the threads of a group and handed out among them on the way.
//
// Every thread has a part of the sums of all neighbours. With each exchange it gives away the half that its partner goes on with, and gets
// the partner's part of the half that it keeps: one exchange for two sums, where combining each by itself takes one for every sum and step.
// In the end each thread has a neighbour of its own, or shares one with a few others, and finishes and stores that.

import { alone } from '../../../../kernel/together.ts';
import type { Block, RegKind } from '../code.ts';
import { fold, shuffle, stateKinds } from '../combine.ts';
import { PtxScope } from '../scope.ts';
import { type Builder, closeSums, moveSuffix, type States, storeOutputs, toIndex } from './builder.ts';

/** Whether a reduction ends this way. */
export const isSpread = ({ near, plan }: Pick<Builder, 'near' | 'plan'>): boolean =>
  near.count > 1 && plan.form === 'row' && plan.splits === 1 && plan.group <= 32;

/** `axes`: where the neighbours of the thread lie. `row` counts them, and may lie behind the last. `open`: see `closeSums`. */
export function finishSpread(
  b: Builder,
  scope: PtxScope,
  states: States,
  axes: ReadonlyMap<number, string>,
  row: string,
  open: boolean,
): void {
  const { entry, tid, near, plan } = b;
  const { body } = entry;
  const each = near.origin.accumulators.length;
  let cells: States[] = Array.from({ length: near.count }, (_, u) => states.slice(u * each, (u + 1) * each));
  /** Which neighbour the first of `cells` is. */
  let number: string | null = null;
  let distance = plan.group / 2;
  for (; distance >= 1 && cells.length > 1; distance /= 2) {
    const half = cells.length / 2;
    const upper = body.def('p', 'setp.ne.u32', body.def('r', 'and.b32', tid, distance), 0);
    cells = Array.from({ length: half }, (_, i) => {
      const [low, high] = [cells[i]!, cells[i + half]!];
      const choose = (yes: States, no: States): States =>
        no.map((state, a) => state.map((r, k) => chosen(body, upper, yes[a]![k]!, r)));
      const [kept, given] = [choose(high, low), choose(low, high)];
      exchange(b, scope, kept, given, distance);
      return kept;
    });
    const first = body.def('r', 'selp.b32', half, 0, upper);
    number = number === null ? first : body.def('r', 'add.s32', number, first);
  }
  /** Threads that share a neighbour differ in these bits of their numbers. */
  const shared = 2 * distance - 1;
  for (; distance >= 1; distance /= 2) for (const cell of cells) exchange(b, scope, cell, cell, distance);
  const finish = entry.label('finish');
  if (shared > 0) {
    const repeats = body.def('p', 'setp.ne.u32', body.def('r', 'and.b32', tid, shared), 0);
    body.emit(`@${repeats} bra ${finish}`);
  }
  if (b.rows % (plan.threads / plan.group) !== 0) {
    const outside = body.def('p', `setp.ge.${b.s}`, row, b.rows);
    body.emit(`@${outside} bra ${finish}`);
  }
  cells.forEach((cell, i) => {
    const at = placeOf(b, axes, number, i);
    const own = { ...b, kernel: near.origin, near: alone(near.origin) };
    if (open) closeSums(own, scope, cell);
    // Expressions of another builder: nothing that is known of ours holds for them.
    const finished = PtxScope.root(entry, scope.bindings).extend({ axes: at });
    storeOutputs(own, finished, [cell], flatOf(b, near.origin.space, at), 1);
  });
  body.label(finish);
  body.emit('ret');
}

/** Folds what the thread at a distance gives into what this one keeps. */
function exchange(
  { entry, near, bits }: Builder,
  scope: PtxScope,
  kept: States,
  given: States,
  distance: number,
): void {
  const { accumulators } = near.origin;
  const got = accumulators.map((a, i) =>
    stateKinds(a, bits).map((kind, k) => shuffle(entry.body, kind, given[i]![k]!, distance)),
  );
  accumulators.forEach((a, i) => {
    fold(scope.context, a, kept[i]!, got[i]!);
  });
}

/** Where a neighbour lies in the kernel's own space: `number` and `i` count it. */
function placeOf(
  b: Builder,
  axes: ReadonlyMap<number, string>,
  number: string | null,
  i: number,
): ReadonlyMap<number, string> {
  const { body } = b.entry;
  const at = new Map(axes);
  let [rest, fixed] = [number, i];
  for (const { axis, count } of b.near.steps) {
    const first = body.def(b.kind, `mul.lo.${b.s}`, axes.get(axis)!, count);
    let place = first;
    if (rest !== null) {
      place = body.def(b.kind, `add.${b.s}`, first, toIndex(b, body.def('r', 'and.b32', rest, count - 1)));
      rest = body.def('r', 'shr.u32', rest, Math.log2(count));
    }
    at.set(axis, fixed % count === 0 ? place : body.def(b.kind, `add.${b.s}`, place, fixed % count));
    fixed = Math.floor(fixed / count);
  }
  return at;
}

function flatOf({ entry, kind, s }: Builder, space: readonly number[], axes: ReadonlyMap<number, string>): string {
  let sum: string | null = null;
  space.forEach((size, axis) => {
    if (size === 1) return;
    sum = sum === null ? axes.get(axis)! : entry.body.def(kind, `mad.lo.${s}`, sum, size, axes.get(axis)!);
  });
  return sum ?? '0';
}

function chosen(body: Block, condition: string, yes: string, no: string): string {
  const kind = yes[1] as RegKind;
  if (kind !== 'p') return body.def(kind, `selp.${moveSuffix(yes)}`, yes, no, condition);
  const both = body.def('p', 'and.pred', yes, condition);
  return body.def('p', 'or.pred', both, body.def('p', 'and.pred', no, body.def('p', 'not.pred', condition)));
}
