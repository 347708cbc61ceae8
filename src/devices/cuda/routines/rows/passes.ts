// What a thread does with its places of a row: folds them with the other threads of the row, or stores one value for each element.

import { dtypeInfo } from '../../../../base/dtype.ts';
import { identityOf } from '../../../../kernel/identity.ts';
import type { Accumulator } from '../../../../kernel/kernel.ts';
import type { Stage } from '../../../../kernel/row-stages.ts';
import { emitAlu } from '../../ptx/alu.ts';
import type { EntryPoint } from '../../ptx/code.ts';
import { fold, resultOf } from '../../ptx/combine.ts';
import { emitStore, throughMemory } from '../../ptx/memory.ts';
import { foldTree, start } from '../../ptx/reduce/builder.ts';
import { combineColumns, combineGroup } from '../../ptx/reduce/rows.ts';
import type { PtxScope } from '../../ptx/scope.ts';
import { bitsSuffix, type IndexBits, kindOf, literal } from '../../ptx/types.ts';
import { lane, type Values } from '../../ptx/values.ts';
import type { Layout } from './layout.ts';

/** Where a thread is: its row, and its places in it. */
export interface Here {
  readonly entry: EntryPoint;
  readonly bits: IndexBits;
  readonly tid: string;
  /** The row, within the rows; the same for threads beyond the last. */
  readonly row: string;
  /** The first position of each place, held within the row. */
  readonly at: readonly string[];
  /** Per place whether it lies in the row; null if all do. */
  readonly inside: readonly (string | null)[];
  /** Whether this thread's row exists; null if all do. */
  readonly real: string | null;
  /** Whether this thread speaks for its row. */
  readonly leads: string;
}

/** Folds each row; the values that the stage makes of it, in every thread. */
export function foldRow(
  { accumulators: folded, outputs, stored, own }: Stage,
  row: PtxScope,
  elements: readonly PtxScope[],
  here: Here,
  { group, turned, threads }: Layout,
  pointers: readonly string[],
  before: readonly string[],
): string[] {
  const { entry, bits, tid } = here;
  const { body } = entry;
  const kernel = { accumulators: folded };
  const combining = { kernel, entry, bits, kind: kindOf('index', bits), s: bits === 32 ? 's32' : 's64', tid };
  const lanes = Array.from({ length: elements[0]!.width }, () => start(combining));
  elements.forEach((scope, place) => {
    folded.forEach((a, i) => {
      const values = scope.values(a.value);
      lanes.forEach((states, l) => {
        const value = neutralOutside(scope, a, lane(values, l), here.inside[place]!);
        const at = l === 0 ? here.at[place]! : body.def(combining.kind, `add.${combining.s}`, here.at[place]!, l);
        fold(scope.context, a, states[i]!, [value, at]);
      });
    });
  });
  foldTree(combining, row, lanes);
  if (turned) combineColumns(combining, row, lanes[0]!, threads / group);
  else combineGroup(combining, row, lanes[0]!, group);
  const accumulators: Values[] = Array.from({ length: own }, (_, n) => before.slice(n, n + 1));
  accumulators.push(...folded.map((a, i) => [resultOf(body, a, lanes[0]![i]!, bits)]));
  const finished = row.extend({ accumulators });
  const values = outputs.map((o) => throughMemory(row.context, o.type, finished.value(o.value)));
  if (stored.some((b) => b >= 0)) {
    const skip = entry.label('skip');
    body.emit(`@!${here.leads} bra ${skip}`);
    if (here.real) body.emit(`@!${here.real} bra ${skip}`);
    outputs.forEach((o, k) => {
      if (stored[k]! < 0) return;
      const to = address(here, here.row, dtypeInfo[o.type].bytes, pointers[stored[k]!]!);
      emitStore(row, o.type, [values[k]!], 1, to, 0);
    });
    body.label(skip);
  }
  return values;
}

/** A value that does not change the result, where the place is beyond the row. */
function neutralOutside(scope: PtxScope, a: Accumulator, value: string, inside: string | null): string {
  if (!inside) return value;
  const { block } = scope;
  const kind = kindOf(a.type, scope.bindings.bits);
  const neutral = literal(block, a.type, identityOf(a.op, a.type));
  if (kind === 'p') return emitAlu(scope.context, 'where', 'bool', [inside, value, neutral]);
  return block.def(kind, `selp.${bitsSuffix[kind]}`, value, neutral, inside);
}

/** Stores the last stage's values of the row's elements. */
export function storeElements(
  { outputs, stored }: Stage,
  scopes: readonly PtxScope[],
  here: Here,
  columns: number,
  vector: number,
  pointers: readonly string[],
): void {
  const { entry, bits } = here;
  const { body } = entry;
  const all = scopes.map((scope) => outputs.map((o) => scope.values(o.value)));
  const end = entry.label('end');
  if (here.real) body.emit(`@!${here.real} bra ${end}`);
  const kind = kindOf('index', bits);
  const s = bits === 32 ? 's32' : 's64';
  scopes.forEach((scope, place) => {
    const inside = here.inside[place];
    if (inside) body.emit(`@!${inside} bra ${end}`);
    const element = body.def(kind, `mad.lo.${s}`, here.row, columns, here.at[place]!);
    outputs.forEach((o, k) => {
      const to = address(here, element, dtypeInfo[o.type].bytes, pointers[stored[k]!]!);
      emitStore(scope, o.type, all[place]![k]!, vector, to, 0);
    });
  });
  body.label(end);
}

function address({ entry, bits }: Here, element: string, bytes: number, pointer: string): string {
  return bits === 32
    ? entry.body.def('d', 'mad.wide.s32', element, bytes, pointer)
    : entry.body.def('d', 'mad.lo.s64', element, bytes, pointer);
}
