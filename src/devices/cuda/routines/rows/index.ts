// Stacks of rows: a block, or a warp, holds a row in registers and passes over it stage by stage.
//
// Every thread has the same few places of the row, as vectors where rows allow it. What stages read element by element is loaded
// once, all of it at the start, and what several of them compute of an element is computed once; what they made of the row is a
// register in every thread. Places beyond the end of the row read the row's last elements instead, count as the neutral value, and
// are not stored. A block that stays (`resident`) loads its next row before it computes the one it has.

import { dtypeInfo } from '../../../../base/dtype.ts';
import type { Load } from '../../../../kernel/expr.ts';
import type { Rows } from '../../../../kernel/kernel.ts';
import { elementLoads, inOneLanguage, type Stage, sharedLoads } from '../../../../kernel/row-stages.ts';
import { EntryPoint, entryName, moduleText } from '../../ptx/code.ts';
import { cacheBytes } from '../../ptx/elementwise.ts';
import { moveSuffix } from '../../ptx/reduce/builder.ts';
import { PtxScope } from '../../ptx/scope.ts';
import { indexBitsFor, rootsOf, unravel } from '../../ptx/shape.ts';
import type { Target } from '../../ptx/target.ts';
import { type IndexBits, kindOf } from '../../ptx/types.ts';
import { reachable, type Values } from '../../ptx/values.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import type { Argument } from '../../step.ts';
import { type Layout, layoutOf } from './layout.ts';
import { foldRow, type Here, storeElements } from './passes.ts';

export function rowsRecipe(stack: Rows, target: Target): ModuleRecipe {
  const layout = layoutOf(stack, target);
  const args: Argument[] = [
    ...[...stack.inputs, ...stack.outputs].map((_, index): Argument => ({ kind: 'buffer', index })),
    ...stack.scalars.map((type, index): Argument => ({ kind: 'scalar', index, type })),
  ];
  const all = Math.ceil(stack.rows / (layout.threads / layout.group));
  const blocks = layout.resident > 0 ? Math.min(all, target.processors * layout.resident) : all;
  const entry = new RowsEntry(stack, layout, target, blocks).render();
  return {
    name: stack.name,
    ptx: moduleText(target, [entry.render(layout.threads, layout.resident)]),
    launches: [{ entry: entry.name, grid: [blocks, 1, 1], block: [layout.threads, 1, 1], shared: 0, args }],
    keptBytes: 0,
    borrowedBytes: 0,
  };
}

/** The kernel under construction. */
class RowsEntry {
  readonly #stack: Rows;
  readonly #layout: Layout;
  readonly #entry: EntryPoint;
  readonly #bits: IndexBits;
  readonly #s: 's32' | 's64';
  readonly #stages: readonly Stage[];
  readonly #blocks: number;
  readonly #pointers: readonly string[];
  readonly #tid: string;
  /** Which member of its row this thread is, and which row of its block's it has ('' if there is one). */
  readonly #member: string;
  readonly #own: string;
  /** What is known of each place, whatever the row. */
  readonly #columns: readonly PtxScope[];
  readonly #root: PtxScope;
  readonly #places: Pick<Here, 'at' | 'inside'>;

  constructor(stack: Rows, layout: Layout, target: Target, blocks: number) {
    this.#stack = stack;
    this.#layout = layout;
    this.#blocks = blocks;
    this.#entry = new EntryPoint(entryName(stack.name), target);
    this.#stages = inOneLanguage(stack);
    this.#entry.writesPast = stack.outputs.some((o) => o.elements * dtypeInfo[o.type].bytes >= cacheBytes);
    const wide = stack.stages.some(({ kernel }) => indexBitsFor(kernel, reachable(rootsOf(kernel))) === 64);
    this.#bits = wide ? 64 : 32;
    this.#s = wide ? 's64' : 's32';
    const { body } = this.#entry;
    this.#pointers = [...stack.inputs, ...stack.outputs].map(() =>
      body.def('d', 'cvta.to.global.u64', body.def('d', 'ld.param.u64', `[${this.#entry.param()}]`)),
    );
    const scalars = stack.scalars.map(() => this.#entry.param());
    this.#tid = body.def('r', 'mov.u32', '%tid.x');
    [this.#member, this.#own] = this.#split();
    this.#places = this.#placesOf();
    const readOnly = this.#pointers.map((_, i) => i < stack.inputs.length);
    this.#root = PtxScope.root(this.#entry, { inputs: this.#pointers, scalars, readOnly, bits: this.#bits });
    this.#columns = this.#columnScopes();
  }

  render(): EntryPoint {
    if (this.#layout.resident > 0) this.#loop();
    else this.#once();
    this.#entry.body.emit('ret');
    return this.#entry;
  }

  /** Every block has rows of its own. */
  #once(): void {
    const { body } = this.#entry;
    const { rows } = this.#stack;
    const first = this.#firstRow();
    const ragged = rows % this.#perBlock !== 0;
    const row = ragged ? body.def(this.#kind, `min.${this.#s}`, first, rows - 1) : first;
    const real = ragged ? body.def('p', `setp.lt.${this.#s}`, first, rows) : null;
    const elements = this.#elementsOf(row);
    this.#loadAll(elements);
    this.#pass(row, real, elements);
  }

  /** Blocks stay: while a row is computed, the next one is loaded. */
  #loop(): void {
    const { body, entry } = { body: this.#entry.body, entry: this.#entry };
    const { rows } = this.#stack;
    const row = this.#variable(this.#firstRow());
    const [again, done] = [entry.label('row'), entry.label('done')];
    if (rows % this.#perBlock !== 0) {
      const beyond = body.def('p', `setp.ge.${this.#s}`, row, rows);
      body.emit(`@${beyond} bra ${done}`);
    }
    for (const scope of this.#columns) {
      for (const load of sharedLoads(this.#stages, this.#axes)) scope.values(load);
    }
    const held = this.#loadAll(this.#elementsOf(row)).map((loads) =>
      loads.map(([load, values]) => [load, values.map((v) => this.#variable(v))] as const),
    );
    body.label(again);
    const next = body.def(this.#kind, `add.${this.#s}`, row, this.#blocks * this.#perBlock);
    const ahead = body.def(this.#kind, `min.${this.#s}`, next, rows - 1);
    const coming = this.#loadAll(this.#elementsOf(ahead));
    this.#pass(
      row,
      null,
      this.#elementsOf(row, (place) => new Map(held[place])),
    );
    held.forEach((loads, place) => {
      loads.forEach(([, registers], k) => {
        registers.forEach((r, l) => {
          body.set(r, `mov.${moveSuffix(r)}`, coming[place]![k]![1][l]!);
        });
      });
    });
    // One barrier a row: a thread could write what it folded of the next row while another still reads this row's.
    const barriers = this.#stages.filter((s) => s.accumulators.length > 0).length;
    if (this.#layout.group > 32 && barriers === 1) body.emit('bar.sync 0');
    body.set(row, `mov.b${this.#bits}`, next);
    const more = body.def('p', `setp.lt.${this.#s}`, row, rows);
    body.emit(`@${more} bra ${again}`);
    body.label(done);
  }

  /** All stages of one row, whose operands are there. */
  #pass(row: string, real: string | null, first: readonly PtxScope[]): void {
    const { body } = this.#entry;
    const leads = body.def('p', 'setp.eq.u32', this.#member, 0);
    const here: Here = {
      ...this.#places,
      entry: this.#entry,
      bits: this.#bits,
      tid: this.#tid,
      row,
      real,
      leads,
    };
    const { columns } = this.#stack;
    let ofRow = this.#root.extend({ axes: this.#rowAxes(row) });
    let elements = first;
    const results: string[] = [];
    for (const stage of this.#stages) {
      if (stage.accumulators.length === 0) {
        storeElements(stage, elements, here, columns, this.#layout.vector, this.#pointers);
        continue;
      }
      results.push(...foldRow(stage, ofRow, elements, here, this.#layout, this.#pointers, results));
      const accumulators = results.map((r) => [r]);
      ofRow = ofRow.extend({ accumulators });
      elements = elements.map((e) => e.extend({ accumulators }));
    }
  }

  get #kind(): 'r' | 'd' {
    return kindOf('index', this.#bits) as 'r' | 'd';
  }

  get #perBlock(): number {
    return this.#layout.threads / this.#layout.group;
  }

  /** Axes of the rows; those of elements come after them. */
  get #axes(): number {
    return this.#stack.stages[0]!.kernel.space.length;
  }

  #index(r: string): string {
    return this.#bits === 32 ? r : this.#entry.body.def('d', 'cvt.u64.u32', r);
  }

  #variable(value: string): string {
    return this.#entry.body.def(value[1] as 'r', `mov.${moveSuffix(value)}`, value);
  }

  #split(): [member: string, own: string] {
    const { body } = this.#entry;
    const { group, threads, turned } = this.#layout;
    if (group === threads) return [this.#tid, ''];
    const by = turned ? this.#perBlock : group;
    const low = body.def('r', 'and.b32', this.#tid, by - 1);
    const high = body.def('r', 'shr.u32', this.#tid, Math.log2(by));
    return turned ? [high, low] : [low, high];
  }

  #firstRow(): string {
    const { body } = this.#entry;
    const cta = body.def('r', 'mov.u32', '%ctaid.x');
    return this.#index(this.#own === '' ? cta : body.def('r', 'mad.lo.s32', cta, this.#perBlock, this.#own));
  }

  #placesOf(): Pick<Here, 'at' | 'inside'> {
    const { body } = this.#entry;
    const { group, vector, places } = this.#layout;
    const { columns } = this.#stack;
    const at: string[] = [];
    const inside: (string | null)[] = [];
    for (let p = 0; p < places; p++) {
      const first = this.#index(body.def('r', 'mad.lo.s32', this.#member, vector, p * group * vector));
      const whole = (p + 1) * group * vector <= columns;
      at.push(whole ? first : body.def(this.#kind, `min.${this.#s}`, first, columns - vector));
      inside.push(whole ? null : body.def('p', `setp.lt.${this.#s}`, first, columns));
    }
    return { at, inside };
  }

  #columnScopes(): PtxScope[] {
    const { space, reduced } = this.#stack.stages[0]!.kernel;
    const { vector } = this.#layout;
    const last = [...space, ...reduced].reduce((found, d, i) => (d === 1 ? found : i), 0);
    return this.#places.at.map((at) =>
      this.#root.extend({
        axes: unravel(this.#entry.body, at, reduced, space.length, this.#bits),
        width: vector,
        laneAxis: vector > 1 ? last : -1,
      }),
    );
  }

  #rowAxes(row: string): Map<number, string> {
    return unravel(this.#entry.body, row, this.#stack.stages[0]!.kernel.space, 0, this.#bits);
  }

  #elementsOf(row: string, known?: (place: number) => ReadonlyMap<Load, Values>): PtxScope[] {
    const axes = this.#rowAxes(row);
    return this.#columns.map((c, place) => c.extend({ axes, ...(known ? { known: known(place) } : {}) }));
  }

  /** All at once, before anything waits. */
  #loadAll(elements: readonly PtxScope[]): (readonly [Load, Values])[][] {
    const { kernel } = this.#stack.stages[0]!;
    const loads = elementLoads(this.#stages, [...kernel.space, ...kernel.reduced], this.#layout.turned ? kernel : null);
    return elements.map((scope) => loads.map((load) => [load, scope.values(load)] as const));
  }
}
