// Stacks of rows: a block, or a warp, holds a row in registers and passes over it stage by stage.
//
// Every thread has the same few places of the row, as vectors where rows allow it. What stages read element by element is loaded
// once, all of it at the start, and what several of them compute of an element is computed once; what they made of the row is a
// register in every thread. Places beyond the end of the row read
// the row's last elements instead, count as the neutral value, and are not stored.

import { dtypeInfo } from '../../../base/dtype.ts';
import { type Expr, Exprs, type Load } from '../../../kernel/expr.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Accumulator, Kernel, Output, Rows } from '../../../kernel/kernel.ts';
import { rewriter } from '../../../kernel/rewrite.ts';
import { isColumnLoad, isElementLoad, isFlat, loadsOf } from '../../../kernel/rows.ts';
import { below } from '../../../kernel/walk.ts';
import { emitAlu } from '../ptx/alu.ts';
import { EntryPoint, entryName, moduleText } from '../ptx/code.ts';
import { fold, resultOf } from '../ptx/combine.ts';
import { emitStore, throughMemory } from '../ptx/memory.ts';
import { foldTree, start } from '../ptx/reduce/builder.ts';
import { combineColumns, combineGroup } from '../ptx/reduce/rows.ts';
import { PtxScope } from '../ptx/scope.ts';
import { indexBitsFor, rootsOf, unravel } from '../ptx/shape.ts';
import type { Target } from '../ptx/target.ts';
import { bitsSuffix, type IndexBits, kindOf, literal } from '../ptx/types.ts';
import { lane, reachable, type Values } from '../ptx/values.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';

interface Layout {
  /** Threads of one row: a warp, or a whole block. */
  readonly group: number;
  readonly threads: number;
  readonly vector: number;
  /** Vectors that each thread has of a row. */
  readonly places: number;
  /** Neighbouring threads have neighbouring rows: those lie side by side. */
  readonly turned: boolean;
}

/** Threads of a row; fewer, with more places each, where little is done with an element. */
const mostThreads = { heavy: 1024, light: 512 } as const;
/** Operations on an element from which it is much: a softmax has more, a layer norm fewer. */
const heavyFrom = 100;

/**
 * One vector for each thread where rows are not too long for it: what a thread does with its places is written out one after the
 * other, and long code does not stay in the instruction cache.
 */
function layoutOf(stack: Rows): Layout {
  const { columns } = stack;
  if (isTurned(stack)) return { group: 32, threads: 512, vector: 1, places: Math.ceil(columns / 32), turned: true };
  const widest = Math.max(...[...stack.inputs, ...stack.outputs].map((b) => dtypeInfo[b.type].bytes));
  let vector = Math.min(16 / widest, 8);
  // A vector must not run over the end of a row, nor of its innermost axis.
  while (vector > 1 && stack.stages.some(({ kernel }) => innermost(kernel) % vector !== 0)) vector /= 2;
  let group = 32;
  const most = mostThreads[isHeavy(stack) ? 'heavy' : 'light'];
  while (group < most && group * vector < columns) group *= 2;
  const threads = group === 32 ? 256 : group;
  return { group, threads, vector, places: Math.ceil(columns / (group * vector)), turned: false };
}

const isHeavy = ({ stages }: Rows): boolean =>
  stages.reduce((n, { kernel }) => n + reachable(rootsOf(kernel)).length, 0) >= heavyFrom;

/** Whether what is held of rows lies in columns. */
function isTurned({ stages }: Rows): boolean {
  const all = stages.flatMap(({ kernel }) => loadsOf(kernel).map((load) => ({ load, kernel })));
  return !all.some((l) => isElementLoad(l.load, l.kernel)) && all.some((l) => isColumnLoad(l.load, l.kernel));
}

/** The size of the axis whose elements lie side by side. */
const innermost = ({ space, reduced }: Kernel): number => [...space, ...reduced].reduce((n, d) => (d === 1 ? n : d), 1);

export function rowsRecipe(stack: Rows, target: Target): ModuleRecipe {
  const layout = layoutOf(stack);
  const args: Argument[] = [
    ...[...stack.inputs, ...stack.outputs].map((_, index): Argument => ({ kind: 'buffer', index })),
    ...stack.scalars.map((type, index): Argument => ({ kind: 'scalar', index, type })),
  ];
  const entry = render(stack, layout, target);
  const blocks = Math.ceil(stack.rows / (layout.threads / layout.group));
  return {
    name: stack.name,
    ptx: moduleText(target, [entry.render(layout.threads)]),
    launches: [{ entry: entry.name, grid: [blocks, 1, 1], block: [layout.threads, 1, 1], shared: 0, args }],
    keptBytes: 0,
    borrowedBytes: 0,
  };
}

/** Where a thread is: its row, and its places in it. */
interface Here {
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

function render(stack: Rows, layout: Layout, target: Target): EntryPoint {
  const { columns, rows } = stack;
  const { group, threads, vector, places, turned } = layout;
  const entry = new EntryPoint(entryName(stack.name), target);
  const { body } = entry;
  const wide = stack.stages.some(({ kernel }) => indexBitsFor(kernel, reachable(rootsOf(kernel))) === 64);
  const bits: IndexBits = wide ? 64 : 32;
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const pointers = [...stack.inputs, ...stack.outputs].map(() =>
    body.def('d', 'cvta.to.global.u64', body.def('d', 'ld.param.u64', `[${entry.param()}]`)),
  );
  const scalars = stack.scalars.map(() => entry.param());

  const index = (r: string): string => (bits === 32 ? r : body.def('d', 'cvt.u64.u32', r));
  const tid = body.def('r', 'mov.u32', '%tid.x');
  const perBlock = threads / group;
  const split = (by: number): [string, string] => [
    body.def('r', 'and.b32', tid, by - 1),
    body.def('r', 'shr.u32', tid, Math.log2(by)),
  ];
  // Of a block's threads: which member of its row, and which row of the block.
  const [member, own] = turned
    ? (split(perBlock).reverse() as [string, string])
    : group === threads
      ? [tid, '']
      : split(group);
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const number = perBlock === 1 ? cta : body.def('r', 'mad.lo.s32', cta, perBlock, own);
  const raw = index(number);
  const ragged = rows % perBlock !== 0;
  const here: Here = {
    entry,
    bits,
    tid,
    row: ragged ? body.def(kind, `min.${s}`, raw, rows - 1) : raw,
    ...placesOf(),
    real: ragged ? body.def('p', `setp.lt.${s}`, raw, rows) : null,
    leads: body.def('p', 'setp.eq.u32', member, 0),
  };

  function placesOf(): Pick<Here, 'at' | 'inside'> {
    const at: string[] = [];
    const inside: (string | null)[] = [];
    for (let p = 0; p < places; p++) {
      const first = index(body.def('r', 'mad.lo.s32', member, vector, p * group * vector));
      const whole = (p + 1) * group * vector <= columns;
      at.push(whole ? first : body.def(kind, `min.${s}`, first, columns - vector));
      inside.push(whole ? null : body.def('p', `setp.lt.${s}`, first, columns));
    }
    return { at, inside };
  }

  const [first] = stack.stages;
  const { space, reduced } = first!.kernel;
  const sizes = [...space, ...reduced];
  const last = sizes.reduce((found, d, i) => (d === 1 ? found : i), 0);
  const root = PtxScope.root(entry, {
    inputs: pointers,
    scalars,
    readOnly: pointers.map((_, i) => i < stack.inputs.length),
    bits,
  });
  let row = root.extend({ axes: unravel(body, here.row, space, 0, bits) });
  let elements = here.at.map((at) =>
    row.extend({
      axes: unravel(body, at, reduced, space.length, bits),
      width: vector,
      laneAxis: vector > 1 ? last : -1,
    }),
  );
  const stages = inOneLanguage(stack);
  // All at once, before anything waits.
  for (const scope of elements)
    for (const load of elementLoads(stages, sizes, turned ? first!.kernel : null)) scope.values(load);
  const results: string[] = [];
  for (const stage of stages) {
    if (stage.accumulators.length === 0) {
      storeElements(stage, elements, here, columns, vector, pointers);
      continue;
    }
    results.push(...reduce(stage, row, elements, here, layout, pointers, results));
    const accumulators = results.map((r) => [r]);
    row = row.extend({ accumulators });
    elements = elements.map((e) => e.extend({ accumulators }));
  }
  body.emit('ret');
  return entry;
}

/** A stage whose expressions share one builder with those of the others: results of rows are accumulators, buffers the launch's. */
interface Stage {
  readonly accumulators: readonly Accumulator[];
  readonly outputs: readonly Output[];
  readonly stored: readonly number[];
  /** The number of its first own accumulator: those below are results. */
  readonly own: number;
}

/** What two stages have in common is one expression, and is computed once. A stage's own accumulators come after all results. */
function inOneLanguage({ stages }: Rows): Stage[] {
  const b = new Exprs();
  const results = stages.reduce((n, { kernel }) => n + (kernel.accumulators.length > 0 ? kernel.outputs.length : 0), 0);
  return stages.map(({ kernel, sources, stored, scalars }) => {
    const copy = rewriter(b, (e, again) => {
      if (e.kind === 'scalar') return b.scalar(e.type, scalars[e.slot]!);
      if (e.kind === 'acc') return b.acc(e.type, results + e.slot);
      if (e.kind !== 'load') return undefined;
      const source = sources[e.slot]!;
      if ('result' in source) return b.acc(e.type, source.result);
      return b.load(e.type, source.buffer, again(e.index), e.gate && again(e.gate));
    });
    const rewrite = <T extends { readonly value: Expr }>(o: T): T => ({ ...o, value: copy(o.value) });
    return {
      accumulators: kernel.accumulators.map(rewrite),
      outputs: kernel.outputs.map(rewrite),
      stored,
      own: results,
    };
  });
}

/** Operands of whole rows. */
function elementLoads(stages: readonly Stage[], sizes: readonly number[], columns: Kernel | null): Load[] {
  const values = stages.flatMap((s) => [...s.accumulators, ...s.outputs].map((o) => o.value));
  const whole = (e: Load): boolean => (columns ? isColumnLoad(e, columns) : e.gate === null && isFlat(e.index, sizes));
  return [...below(values)].filter((e): e is Load => e.kind === 'load' && whole(e));
}

/** Folds each row; the values that the stage makes of it, in every thread. */
function reduce(
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

function storeElements(
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
