// Stacks of rows: a workgroup holds a row, or several, in registers and passes over it stage by stage.
//
// What stages read element by element is loaded once, all of it at the start, and what several of them compute of an element is
// computed once; what they made of the row is a variable in every thread. Places beyond the end of a row read its last elements
// instead, are not folded and not stored; threads of rows beyond the last have that one, and store nothing.

import { axesOf } from '../../../kernel/bounds.ts';
import type { Axis } from '../../../kernel/expr.ts';
import type { Rows } from '../../../kernel/kernel.ts';
import { elementLoads, inOneLanguage, type Stage } from '../../../kernel/row-stages.ts';
import { below } from '../../../kernel/walk.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { packPass } from '../routines/pack.ts';
import { AccumulatorText } from '../wgsl/accumulators.ts';
import { bindBuffers } from '../wgsl/buffers.ts';
import { ExpressionWriter, WgslScope } from '../wgsl/expressions.ts';
import { gridOf, unravel } from '../wgsl/grid.ts';
import { Lanes } from '../wgsl/lanes.ts';
import { type BoundBuffer, Module } from '../wgsl/module.ts';
import { lastMoving } from '../wgsl/reduce-plan.ts';
import { heldAs, isPacked, scratchWords, type Width } from '../wgsl/types.ts';
import { RowJoin } from './join.ts';
import { type RowLayout, rowLayout } from './row-layout.ts';

export function renderRows(stack: Rows, traits: Traits): PassPlan {
  const layout = rowLayout(stack, traits);
  const sinks = new Sinks(stack, layout);
  const passes: Pass[] = [new RowsPass(stack, layout, traits, sinks).render()];
  for (const { output, first } of sinks.packed) {
    const { type, elements } = stack.outputs[output]!;
    passes.push(packPass(stack.name, type, elements, 0, stack.inputs.length + output, traits, first));
  }
  return {
    name: stack.name,
    passes,
    scratch: sinks.words > 0 ? [4 * sinks.words] : [],
    scalars: stack.scalars,
    buffers: stack.inputs.length + stack.outputs.length,
    firstOutput: stack.inputs.length,
  };
}

/** Where outputs go: to their buffers, or, where threads would share words of bytes, to scratch words first. */
class Sinks {
  readonly packed: { readonly output: number; readonly first: number }[] = [];
  words = 0;

  constructor({ outputs, rows, columns }: Rows, { vector }: RowLayout) {
    outputs.forEach(({ type, elements }, output) => {
      if (!isPacked(type) || (vector === 4 && elements === rows * columns)) return;
      this.packed.push({ output, first: this.words });
      this.words += 4 * Math.ceil(elements / 4);
    });
  }

  /** The first word of an output that goes to scratch. */
  wordOf(output: number): number | undefined {
    return this.packed.find((p) => p.output === output)?.first;
  }
}

class RowsPass {
  readonly #stack: Rows;
  readonly #layout: RowLayout;
  readonly #traits: Traits;
  readonly #stages: readonly Stage[];
  readonly #module: Module;
  readonly #writer: ExpressionWriter;
  readonly #stores: readonly ((at: string, value: string, width: Width) => string)[];
  readonly #input: (slot: number) => BoundBuffer;
  /** What depends on the row alone, and what depends on a place in it. */
  readonly #row = new WgslScope();
  readonly #places: readonly WgslScope[];
  readonly #lines: string[] = [];
  /** Axes of rows; those of elements come after them. */
  readonly #rank: number;
  readonly #reduced: readonly number[];
  /** The accumulators of the stage being written. */
  #accs: readonly AccumulatorText[] = [];
  #made = 0;
  #accumulators = 0;

  constructor(stack: Rows, layout: RowLayout, traits: Traits, sinks: Sinks) {
    const { space, reduced } = stack.stages[0]!.kernel;
    this.#stack = stack;
    this.#layout = layout;
    this.#traits = traits;
    this.#rank = space.length;
    this.#reduced = reduced;
    this.#stages = inOneLanguage(stack);
    this.#module = new Module(traits, stack.scalars);
    const inputs = bindBuffers(this.#module, stack.inputs, []);
    this.#input = inputs.input;
    this.#stores = stack.outputs.map(({ type, elements }, k) => this.#store(type, elements, k, sinks));
    const values = this.#stages.flatMap((s) => [...s.accumulators, ...s.outputs].map((o) => o.value));
    const own = this.#stages[0]!.own;
    const axis = lastMoving(reduced, this.#rank);
    const lanes = layout.vector === 4 ? new Lanes({ axis, space, accumulators: false }) : null;
    this.#writer = new ExpressionWriter(
      this.#module,
      lanes,
      {
        axis: (a) => `p${a}`,
        // The result of argmax is the position, the last of its variables.
        acc: (slot) => (slot < own ? `made${slot}` : this.#accs[slot - own]!.names('r').at(-1)!),
        input: this.#input,
      },
      values,
    );
    const axes = [...below(values)].filter((e): e is Axis => e.kind === 'axis' && e.axis >= this.#rank);
    this.#places = Array.from({ length: layout.places }, (_, k) => this.#place(axes, k, lanes && axis));
  }

  render(): Pass {
    const { rows, columns, name } = this.#stack;
    const { group, threads, turned } = this.#layout;
    const perGroup = threads / group;
    const grid = gridOf(Math.ceil(rows / perGroup), this.#traits);
    const { space } = this.#stack.stages[0]!.kernel;
    this.#lines.push(
      turned ? `let member = lid / ${perGroup}u;` : `let member = lid % ${group}u;`,
      `let first = ${grid.group} * ${perGroup}u + ${turned ? `lid % ${perGroup}u` : `lid / ${group}u`};`,
      `let row = min(first, ${rows - 1}u);`,
      ...unravel('row', space, (d) => `p${d}`),
      ...this.#places.flatMap((_, k) => this.#positions(k)),
    );
    this.#loadAll();
    const join = new RowJoin(this.#module, this.#layout, this.#traits);
    for (const stage of this.#stages) {
      if (stage.accumulators.length > 0) this.#fold(stage, join);
      else this.#storeElements(stage, columns);
    }
    return this.#module.pass(name, [threads, 1, 1], grid.workgroups, this.#lines.join('\n'));
  }

  /** A scope in which the axes of elements are at a place; what does not depend on them goes outwards. */
  #place(axes: readonly Axis[], place: number, laneAxis: number | null): WgslScope {
    const scope = new WgslScope(this.#row, (e) => [...axesOf(e)].every((a) => a < this.#rank));
    for (const e of axes) {
      scope.keep(e, true, `p${e.axis}_${place}`);
      scope.keep(e, false, `${e.axis === laneAxis ? 'q' : 'p'}${e.axis}_${place}`);
    }
    return scope;
  }

  #positions(place: number): string[] {
    const { group, vector } = this.#layout;
    const { columns } = this.#stack;
    const whole = this.#isWhole(place);
    const start = `member * ${vector}u + ${place * group * vector}u`;
    const axis = lastMoving(this.#reduced, this.#rank)!;
    return [
      ...(whole ? [] : [`let inside${place} = ${start} < ${columns}u;`]),
      `let column${place} = ${whole ? start : `min(${start}, ${columns - vector}u)`};`,
      ...unravel(`column${place}`, this.#reduced, (d) => `p${this.#rank + d}_${place}`),
      ...(vector === 4 ? [`let q${axis}_${place} = vec4<i32>(p${axis}_${place}) + vec4<i32>(0i, 1i, 2i, 3i);`] : []),
    ];
  }

  /** Whether no thread's place lies beyond the row. */
  #isWhole(place: number): boolean {
    const { group, vector } = this.#layout;
    return (place + 1) * group * vector <= this.#stack.columns;
  }

  /** All at once, before anything waits. */
  #loadAll(): void {
    const { kernel } = this.#stack.stages[0]!;
    const sizes = [...kernel.space, ...kernel.reduced];
    const loads = elementLoads(this.#stages, sizes, this.#layout.turned ? kernel : null);
    for (const scope of this.#places) for (const load of loads) this.#writer.value(load, scope);
    this.#flush();
  }

  /** What was written so far: of the row first, which does not depend on places. */
  #flush(): void {
    for (const { lines } of [this.#row, ...this.#places]) this.#lines.push(...lines.splice(0));
  }

  /** Folds each row; what the stage makes of it is in the variables `made` of every thread. */
  #fold({ accumulators, outputs, stored }: Stage, join: RowJoin): void {
    const { vector } = this.#layout;
    const accs = accumulators.map((a, k) => new AccumulatorText(this.#module, a, this.#accumulators + k));
    this.#accumulators += accs.length;
    this.#lines.push(...accs.flatMap((a) => a.declare('a', vector)));
    this.#places.forEach((scope, place) => {
      const values = accumulators.map((a) => this.#writer.wide(a.value, scope, vector));
      this.#flush();
      const first = `i32(column${place})`;
      const at = vector === 4 ? `(vec4<i32>(${first}) + vec4<i32>(0i, 1i, 2i, 3i))` : first;
      const taken = accs.flatMap((a, k) => a.take('a', [values[k]!, at], vector));
      this.#lines.push(...(this.#isWhole(place) ? taken : [`if (inside${place}) {`, ...taken, '}']));
    });
    for (const a of accs) {
      const from = a.names('a');
      this.#lines.push(...(vector === 4 ? a.gather('g', 'a') : a.names('g').map((n, i) => `let ${n} = ${from[i]};`)));
    }
    this.#lines.push(...join.join(accs));
    this.#accs = accs;
    const end = new WgslScope(this.#row);
    const values = outputs.map((o) => this.#writer.value(o.value, end));
    this.#flush();
    this.#lines.push(...end.lines);
    const stores: string[] = [];
    values.forEach((v, k) => {
      const name = `made${this.#made++}`;
      this.#lines.push(`let ${name} = ${v};`);
      if (stored[k]! >= 0) stores.push(this.#stores[stored[k]! - this.#stack.inputs.length]!('i32(row)', name, 1));
    });
    if (stores.length > 0) this.#lines.push(`if (member == 0u && first < ${this.#stack.rows}u) {`, ...stores, '}');
  }

  /** Stores the last stage's values of the row's elements. */
  #storeElements({ outputs, stored }: Stage, columns: number): void {
    const { vector } = this.#layout;
    this.#places.forEach((scope, place) => {
      const values = outputs.map((o) => this.#writer.wide(o.value, scope, vector));
      this.#flush();
      const inside = this.#isWhole(place) ? '' : ` && inside${place}`;
      const at = `at${place}`;
      this.#lines.push(
        `if (first < ${this.#stack.rows}u${inside}) {`,
        `let ${at} = i32(row * ${columns}u + column${place});`,
        ...values.map((v, k) => this.#stores[stored[k]! - this.#stack.inputs.length]!(at, v, vector)),
        '}',
      );
    });
  }

  #store(
    type: Rows['outputs'][number]['type'],
    elements: number,
    output: number,
    sinks: Sinks,
  ): (at: string, value: string, width: Width) => string {
    const { rows, columns, inputs } = this.#stack;
    const first = sinks.wordOf(output);
    if (first === undefined) {
      const vector = this.#layout.vector === 4 && elements === rows * columns;
      const binding = { from: 'buffer', index: inputs.length + output, access: 'write' } as const;
      const buffer = this.#module.buffer(`out${output}`, type, binding, vector, elements);
      return (at, value, width) => buffer.store(at, value, width);
    }
    if (first === 0) this.#module.words('words', { from: 'scratch', index: 0, access: 'write' });
    const { to } = scratchWords[heldAs(type).value];
    return (at, value, width) => `words[u32(${at}) + ${first}u] = ${to(value, width)};`;
  }
}
