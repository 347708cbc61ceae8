// Attention without a matrix of scores: a workgroup has some queries and goes through the keys in steps.
//
// Scores stay in registers. What is known of each query so far (its largest score, the sum of its weights, its results) is relative
// to the largest score; a larger one scales it down. Weights pass through workgroup memory to the threads that multiply them with
// values. Queries without a finite score, and those with one that is infinite or NaN, become NaN, as the softmax of such rows is.
//
// Which keys a workgroup passes over: attention-range.ts.

import type { Attention } from '../../../kernel/kernel.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { bindBuffers } from '../wgsl/buffers.ts';
import { ExpressionWriter, WgslScope } from '../wgsl/expressions.ts';
import { gridOf } from '../wgsl/grid.ts';
import { literal, veiledConstant } from '../wgsl/literals.ts';
import { type BoundBuffer, Module } from '../wgsl/module.ts';
import { finitePass, flagBytes, type KeyRange, keyRange } from './attention-range.ts';
import {
  type AttentionTiles,
  attentionTiles,
  columnGroups,
  keysOf,
  queriesOf,
  regionsOf,
  shuffles,
} from './attention-tiles.ts';

export function renderAttention(r: Attention, traits: Traits, tiles = attentionTiles(r, traits)!): PassPlan {
  const pass = new AttentionPass(r, traits, tiles);
  const main = pass.render();
  const extra = r.scores.inputs.length;
  return {
    name: r.name,
    passes: pass.skips ? [finitePass(r, traits), main] : [main],
    scratch: pass.skips ? [flagBytes(r)] : [],
    scalars: r.scores.scalars,
    buffers: extra + 4,
    firstOutput: extra + 3,
  };
}

const each = <T>(count: number, f: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => f(i));
const lanes = ['x', 'y', 'z', 'w'] as const;
/** The lowest finite number: scores of −∞ do not change it. */
const lowest = '-3.4028234663852886e38f';

class AttentionPass {
  readonly #r: Attention;
  readonly #traits: Traits;
  readonly #t: AttentionTiles;
  readonly #module: Module;
  readonly #operands: { readonly q: BoundBuffer; readonly k: BoundBuffer; readonly v: BoundBuffer };
  readonly #out: BoundBuffer;
  readonly #queries: number;
  readonly #keys: number;
  readonly #groups: number;
  readonly #regions: ReturnType<typeof regionsOf>;
  readonly #range: KeyRange | null;

  constructor(r: Attention, traits: Traits, t: AttentionTiles) {
    this.#r = r;
    this.#traits = traits;
    this.#t = t;
    this.#queries = queriesOf(t);
    this.#keys = keysOf(t);
    this.#groups = columnGroups(r, t);
    const module = new Module(traits, r.scores.scalars);
    this.#module = module;
    const operand = (name: string, index: number, elements: number): BoundBuffer =>
      module.buffer(name, r.type, { from: 'buffer', index, access: 'read' }, true, elements);
    this.#operands = {
      q: operand('q', 0, r.batchQ * r.queries * r.depth),
      k: operand('k', 1, r.batchK * r.keys * r.depth),
      v: operand('v', 2, r.batchV * r.keys * r.width),
    };
    const { inputs } = r.scores;
    const binding = { from: 'buffer', index: 3 + inputs.length, access: 'write' } as const;
    this.#out = module.buffer('out', r.type, binding, true, r.batch * r.queries * r.width);
    const { input } = bindBuffers(module, inputs, [], undefined, 3);
    const { value } = r.scores.output;
    const names = { axis: (axis: number) => `p${axis}`, acc: () => 'own', input };
    const writer = new ExpressionWriter(module, null, names, [value]);
    const scope = new WgslScope();
    const score = writer.value(value, scope);
    module.global(
      ['fn score(p0: i32, p1: i32, p2: i32, own: f32) -> f32 {', ...scope.lines, `return ${score};`, '}'].join('\n'),
    );
    this.#range = keyRange(module, r, names);
    this.#regions = regionsOf(r, t);
    for (const [name, { count, vectors }] of Object.entries(this.#regions))
      module.global(`var<workgroup> ${name}: array<array<vec4<f32>, ${vectors}>, ${count}>;`);
    if (!shuffles(t, traits)) module.global(`var<workgroup> peers: array<f32, ${t.threads * t.rows}>;`);
    // 2^x of scores in units of log₂: 0 for what is far below, and NaN stays.
    module.global(
      [
        'fn power(x: vec4<f32>) -> vec4<f32> {',
        `return select(exp2(max(x, vec4<f32>(-200.0f))), x, ${module.use('is_nan', 4)}(x));`,
        '}',
      ].join('\n'),
    );
  }

  /** Whether steps may be passed over. */
  get skips(): boolean {
    return this.#range !== null;
  }

  render(): Pass {
    const { batch, queries, name } = this.#r;
    const { rows, across } = this.#t;
    const tiles = Math.ceil(queries / this.#queries);
    const grid = gridOf(batch * tiles, this.#traits);
    const all = Math.ceil(this.#r.keys / this.#keys) * this.#keys;
    const tile = `group % ${tiles}u`;
    const body = [
      `let group = ${grid.group};`,
      `if (group >= ${batch * tiles}u) { return; }`,
      `let batch = i32(group / ${tiles}u);`,
      // Those that see most keys come first, so that none ends long after the others.
      `let top = i32((${this.skips ? `${tiles - 1}u - ${tile}` : tile}) * ${this.#queries}u);`,
      `let tx = lid % ${across}u;`,
      `let ty = lid / ${across}u;`,
      ...each(rows, (i) => [
        `let row${i} = top + i32(ty + ${i * (this.#t.threads / across)}u);`,
        `let query${i} = min(row${i}, ${queries - 1});`,
        `var most${i} = ${lowest};`,
        `var sum${i} = 0.0f;`,
        ...each(this.#groups, (g) => `var o${i}_${g} = vec4<f32>();`),
      ]).flat(),
      ...(this.#range?.end('top', this.#queries, this.#keys) ?? []),
      `for (var first = 0; first < ${this.skips ? 'end' : all}; first += ${this.#keys}) {`,
      ...this.#step(),
      '}',
      ...this.#finish(),
    ].join('\n');
    return this.#module.pass(name, [this.#t.threads, 1, 1], grid.workgroups, body);
  }

  /** Copies a step of keys or values, from key `first` on, into workgroup memory; those beyond the last are zeros. */
  #copy(name: 'k' | 'v', matrices: number, width: number, place: string): string[] {
    const { keys } = this.#r;
    const vectors = width / 4;
    const base = matrices === 1 ? '' : `batch * ${keys * width} + `;
    const held = this.#operands[name].four(`${base}source * ${width} + i32(column) * 4`);
    return [
      `for (var i = lid; i < ${this.#keys * vectors}u; i += ${this.#t.threads}u) {`,
      `let row = i / ${vectors}u;`,
      `let column = i % ${vectors}u;`,
      'let source = first + i32(row);',
      'var held = vec4<f32>();',
      `if (source < ${keys}) { held = vec4<f32>(${held}); }`,
      `${place} = held;`,
      '}',
    ];
  }

  #step(): string[] {
    const { keys, depth, width, batchK, batchV } = this.#r;
    const { rows, across } = this.#t;
    const regions = this.#regions;
    const groups = this.#groups;
    const column = groups === 1 ? '' : ` + column / ${across}u`;
    const valueAt = `values[row / 4u * ${regions.values.pitch}u + column % ${across}u][row % 4u * ${groups}u${column}]`;
    return [
      ...this.#copy('k', batchK, depth, `keys[column * ${regions.keys.pitch}u + row / 4u][row % 4u]`),
      ...this.#copy('v', batchV, width, valueAt),
      'workgroupBarrier();',
      ...each(rows, (i) => `var s${i} = vec4<f32>();`),
      ...this.#products(depth),
      'let key = first + i32(tx) * 4;',
      `let inside = vec4<i32>(key) + vec4<i32>(0, 1, 2, 3) < vec4<i32>(${keys});`,
      ...each(rows, (i) => this.#scores(i)).flat(),
      ...this.#across('top', (a, b) => `max(${a}, ${b})`),
      ...each(rows, (i) => this.#weights(i)).flat(),
      ...each(rows, (i) => `weights[tx * ${regions.weights.pitch}u + ty][${i}] = w${i};`),
      'workgroupBarrier();',
      `for (var k = 0u; k < ${this.#keys / 4}u; k++) {`,
      `let weightCell = k * ${regions.weights.pitch}u + ty;`,
      `let valueCell = k * ${regions.values.pitch}u + tx;`,
      ...each(rows, (i) => `let weight${i} = weights[weightCell][${i}];`),
      ...each(4, (j) =>
        each(groups, (g) => [
          `let v${j}_${g} = values[valueCell][${j * groups + g}];`,
          ...each(rows, (i) => `o${i}_${g} = fma(vec4<f32>(weight${i}.${lanes[j]}), v${j}_${g}, o${i}_${g});`),
        ]).flat(),
      ).flat(),
      '}',
      // Everything of this step has been read.
      'workgroupBarrier();',
    ];
  }

  /** Scores of this thread's queries and keys. */
  #products(depth: number): string[] {
    const { rows } = this.#t;
    const { batchQ, queries } = this.#r;
    const base = batchQ === 1 ? '' : `batch * ${queries * depth} + `;
    const starts = each(rows, (i) => {
      // Four times of this is the index: nothing is left to be divided in the loop.
      this.#module.quarters.set(`query_at${i}`, `query_start${i} + d`);
      return `let query_start${i} = u32(${base}query${i} * ${depth}) >> 2u;`;
    });
    const taken = (j: number): string[] => [
      `let k${j} = keys[keyCell][${j}];`,
      ...each(rows, (i) => {
        const own = `s${i}.${lanes[j]}`;
        return `${own} = ${lanes.reduce((sum, l) => `fma(q${i}.${l}, k${j}.${l}, ${sum})`, own)};`;
      }),
    ];
    return [
      ...starts,
      `for (var d = 0u; d < ${depth / 4}u; d++) {`,
      `let keyCell = d * ${this.#regions.keys.pitch}u + tx;`,
      ...each(rows, (i) => `let q${i} = vec4<f32>(${this.#operands.q.four(`query_at${i}`)});`),
      ...each(4, taken).flat(),
      '}',
    ];
  }

  /** What happens to a query's scores, in units of log₂, and the largest of them. */
  #scores(i: number): string[] {
    const last = this.#r.keys - 1;
    const changed = each(4, (j) => `score(batch, query${i}, min(key + ${j}, ${last}), s${i}.${lanes[j]})`);
    return [
      `s${i} = vec4<f32>(${changed.join(', ')}) * ${literal('f32', Math.fround(Math.LOG2E))};`,
      `let seen${i} = select(vec4<f32>(${lowest}), s${i}, inside);`,
      `var top${i} = max(max(seen${i}.x, seen${i}.y), max(seen${i}.z, seen${i}.w));`,
    ];
  }

  /** Joins the variables of a name over all threads of a query: pairs of neighbours first, either way. */
  #across(name: string, join: (a: string, b: string) => string): string[] {
    const { rows, across } = this.#t;
    if (shuffles(this.#t, this.#traits)) {
      const halves = each(Math.log2(across), (n) => 2 ** n);
      return halves.flatMap((half) =>
        each(rows, (i) => `${name}${i} = ${join(`${name}${i}`, `subgroupShuffleXor(${name}${i}, ${half}u)`)};`),
      );
    }
    const tree = (texts: readonly string[]): string =>
      texts.length === 1 ? texts[0]! : tree(each(texts.length / 2, (n) => join(texts[2 * n]!, texts[2 * n + 1]!)));
    return [
      ...each(rows, (i) => `peers[${i * this.#t.threads}u + lid] = ${name}${i};`),
      'workgroupBarrier();',
      ...each(
        rows,
        (i) =>
          `${name}${i} = ${tree(each(across, (n) => `peers[${i * this.#t.threads}u + ty * ${across}u + ${n}u]`))};`,
      ),
    ];
  }

  /** Weights of a query's scores, and what was known of it scaled down to them. */
  #weights(i: number): string[] {
    return [
      `let next${i} = max(most${i}, top${i});`,
      // Differences of infinite ones would be NaN where the weight is 0.
      `let base${i} = select(next${i}, 0.0f, (bitcast<u32>(next${i}) & 0x7f800000u) == 0x7f800000u);`,
      `let factor${i} = exp2(max(most${i} - base${i}, -200.0f));`,
      `most${i} = next${i};`,
      `let w${i} = select(vec4<f32>(), power(s${i} - vec4<f32>(base${i})), inside);`,
      `sum${i} = fma(sum${i}, factor${i}, (w${i}.x + w${i}.y) + (w${i}.z + w${i}.w));`,
      ...each(this.#groups, (g) => `o${i}_${g} *= factor${i};`),
    ];
  }

  #finish(): string[] {
    const { width, queries, batch, type } = this.#r;
    const { rows, across } = this.#t;
    const whole = width % (4 * across) === 0;
    return [
      ...this.#across('sum', (a, b) => `(${a} + ${b})`),
      ...each(rows, (i) => [
        `if (row${i} < ${queries}) {`,
        `let bits = bitcast<u32>(sum${i}) & 0x7fffffffu;`,
        `let wrong = bits == 0u || bits >= 0x7f800000u || (bitcast<u32>(most${i}) & 0x7f800000u) == 0x7f800000u;`,
        `let by = select(1.0f / sum${i}, ${veiledConstant(Number.NaN)}, wrong);`,
        `let at = ${batch === 1 ? '' : `batch * ${queries * width} + `}row${i} * ${width} + i32(tx) * 4;`,
        ...each(this.#groups, (g) => {
          const value = type === 'f16' ? `vec4<f16>(o${i}_${g} * by)` : `o${i}_${g} * by`;
          const store = this.#out.store(`(at + ${g * across * 4})`, value, 4);
          return whole || (g + 1) * across * 4 <= width
            ? store
            : `if (tx * 4u + ${g * across * 4}u < ${width}u) { ${store} }`;
        }),
        '}',
      ]).flat(),
    ];
  }
}
