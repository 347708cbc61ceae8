// Attention without a matrix of scores: a workgroup has some queries and goes through the keys in steps.
//
// Scores stay in registers. What is known of each query so far (its largest score, the sum of its weights, its results) is relative
// to the largest score; a larger one scales it down. Weights pass through workgroup memory to the threads that multiply them with
// values. Queries without a finite score, and those with one that is infinite or NaN, become NaN, as the softmax of such rows is.
//
// Where queries see no key behind their own, steps that none of the workgroup's sees are passed over, unless a value is not finite:
// 0 times that is NaN. A pass before looks for those.

import { bandOf } from '../../../kernel/band.ts';
import type { Attention } from '../../../kernel/kernel.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { bindBuffers } from '../wgsl/buffers.ts';
import { ExpressionWriter, WgslScope } from '../wgsl/expressions.ts';
import { gridOf } from '../wgsl/grid.ts';
import { literal, veiledConstant } from '../wgsl/literals.ts';
import { type BoundBuffer, Module } from '../wgsl/module.ts';
import {
  type AttentionTiles,
  attentionTiles,
  columnGroups,
  keysOf,
  pitchOf,
  queriesOf,
  regionsOf,
  shuffles,
  attentionThreads as threads,
} from './attention-tiles.ts';

export function renderAttention(r: Attention, traits: Traits, tiles = attentionTiles(r, traits)!): PassPlan {
  const pass = new AttentionPass(r, traits, tiles);
  const main = pass.render();
  const extra = r.scores.inputs.length;
  return {
    name: r.name,
    passes: pass.skips ? [finitePass(r, traits), main] : [main],
    scratch: pass.skips ? [r.batchV * parts * 4] : [],
    scalars: r.scores.scalars,
    buffers: extra + 4,
    firstOutput: extra + 3,
  };
}

/** Workgroups, and flags, of each matrix of values. */
const parts = 8;

/** Sets a flag for each part of the values with something in it that is not finite. */
function finitePass(r: Attention, traits: Traits): Pass {
  const module = new Module(traits);
  const values = module.buffer(
    'v',
    r.type,
    { from: 'buffer', index: 2, access: 'read' },
    true,
    r.batchV * r.keys * r.width,
  );
  module.words('flags', { from: 'scratch', index: 0, access: 'write' });
  module.global('var<workgroup> found: atomic<u32>;');
  const groups = r.batchV * parts;
  const grid = gridOf(groups, traits);
  const vectors = (r.keys * r.width) / 4;
  const body = [
    `let group = ${grid.group};`,
    `if (group >= ${groups}u) { return; }`,
    'var bad = vec4<bool>(false);',
    `for (var i = (group % ${parts}u) * ${threads}u + lid; i < ${vectors}u; i += ${parts * threads}u) {`,
    `let bits = bitcast<vec4<u32>>(vec4<f32>(${values.four(`i32((group / ${parts}u * ${vectors}u + i) * 4u)`)}));`,
    'bad = bad | ((bits & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u));',
    '}',
    'if (any(bad)) { atomicStore(&found, 1u); }',
    'workgroupBarrier();',
    'if (lid == 0u) { flags[group] = atomicLoad(&found); }',
  ].join('\n');
  return module.pass(`${r.name}_finite`, [threads, 1, 1], grid.workgroups, body);
}

const each = <T>(count: number, f: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => f(i));
const lanes = ['x', 'y', 'z', 'w'] as const;

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
  /** Queries see keys up to their own number plus this, and others count as one value; null if there is no such rule. */
  readonly #reach: number | null;

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
    const band = bandOf(value);
    this.#reach = band?.reach ?? null;
    if (band) {
      const fixed = new WgslScope();
      const hidden = new ExpressionWriter(module, null, names, [band.hidden]).value(band.hidden, fixed);
      module.words('flags', { from: 'scratch', index: 0, access: 'read' });
      module.global(
        ['fn hides() -> bool {', ...fixed.lines, `return bitcast<u32>(${hidden}) == 0xff800000u;`, '}'].join('\n'),
      );
      module.global('var<workgroup> last: u32;');
    }
    const regions = regionsOf(r, t);
    for (const [name, count] of Object.entries(regions))
      if (count > 0) module.global(`var<workgroup> ${name}: array<vec4<f32>, ${count}>;`);
    if (!shuffles(t, traits)) module.global(`var<workgroup> peers: array<f32, ${threads * t.rows}>;`);
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
    return this.#reach !== null;
  }

  render(): Pass {
    const { batch, queries, name, depth } = this.#r;
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
      ...(this.#t.queriesShared
        ? this.#copy('q', 'queries', this.#queries, this.#r.batchQ, queries, depth, pitchOf(depth), 'top', (row) => row)
        : []),
      ...each(rows, (i) => [
        `let row${i} = top + i32(ty + ${i * (threads / across)}u);`,
        `let query${i} = min(row${i}, ${queries - 1});`,
        // The lowest finite number: scores of −∞ do not change it.
        `var most${i} = -3.4028234663852886e38f;`,
        `var sum${i} = 0.0f;`,
        ...each(this.#groups, (g) => `var o${i}_${g} = vec4<f32>();`),
      ]).flat(),
      ...this.#end(all),
      `for (var first = 0; first < ${this.skips ? 'end' : all}; first += ${this.#keys}) {`,
      ...this.#step(),
      '}',
      ...this.#finish(),
    ].join('\n');
    return this.#module.pass(name, [threads, 1, 1], grid.workgroups, body);
  }

  /** The key, a multiple of a step's, at which the workgroup ends. */
  #end(all: number): string[] {
    if (this.#reach === null) return [];
    const { batchV } = this.#r;
    const matrix = batchV === 1 ? '0u' : 'u32(batch)';
    const farthest = `max(top + ${this.#queries - 1 + this.#reach}, 0)`;
    return [
      'if (lid == 0u) {',
      `var finite = hides();`,
      `for (var i = 0u; i < ${parts}u; i++) { finite = finite && flags[${matrix} * ${parts}u + i] == 0u; }`,
      `last = select(${all}u, u32(min(${farthest} / ${this.#keys} * ${this.#keys} + ${this.#keys}, ${all})), finite);`,
      '}',
      'let end = i32(workgroupUniformLoad(&last));',
    ];
  }

  /** Copies rows of an operand into workgroup memory; those beyond the last are zeros. */
  #copy(
    name: 'q' | 'k' | 'v',
    to: string,
    count: number,
    matrices: number,
    extent: number,
    width: number,
    pitch: number,
    first: string,
    place: (row: string) => string,
  ): string[] {
    const vectors = width / 4;
    const base = matrices === 1 ? '' : `batch * ${extent * width} + `;
    const held = this.#operands[name].four(`${base}source * ${width} + i32(i % ${vectors}u) * 4`);
    return [
      `for (var i = lid; i < ${count * vectors}u; i += ${threads}u) {`,
      `let row = i / ${vectors}u;`,
      `let source = ${first} + i32(row);`,
      'var held = vec4<f32>();',
      `if (source < ${extent}) { held = vec4<f32>(${held}); }`,
      `${to}[(${place('row')}) * ${pitch}u + i % ${vectors}u] = held;`,
      '}',
    ];
  }

  #step(): string[] {
    const { keys, depth, width, batchK, batchV } = this.#r;
    const { rows, across } = this.#t;
    const columns = this.#groups * across;
    // Keys that one thread has are not neighbours in memory: threads side by side read rows side by side.
    const dealt = (row: string): string => `(${row} & 3u) * ${across}u + (${row} >> 2u)`;
    return [
      ...this.#copy('k', 'operand', this.#keys, batchK, keys, depth, pitchOf(depth), 'first', dealt),
      'workgroupBarrier();',
      ...each(rows, (i) => `var s${i} = vec4<f32>();`),
      ...this.#products(depth),
      'let key = first + i32(tx * 4u);',
      ...each(4, (j) => `let p2_${j} = min(key + ${j}, ${keys - 1});`),
      `let inside = vec4<i32>(key) + vec4<i32>(0, 1, 2, 3) < vec4<i32>(${keys});`,
      ...each(rows, (i) => this.#scores(i)).flat(),
      ...this.#largest(),
      ...each(rows, (i) => this.#weights(i)).flat(),
      // Keys have been read.
      'workgroupBarrier();',
      ...each(rows, (i) => `weights[${this.#rowOf(i)} * ${pitchOf(this.#keys)}u + tx] = w${i};`),
      ...this.#copy('v', 'operand', this.#keys, batchV, keys, width, columns, 'first', (row) => row),
      'workgroupBarrier();',
      `for (var k = 0u; k < ${this.#keys / 4}u; k++) {`,
      ...each(rows, (i) => `let weight${i} = weights[${this.#rowOf(i)} * ${pitchOf(this.#keys)}u + k];`),
      ...each(4, (j) =>
        each(this.#groups, (g) => [
          `let v${j}_${g} = operand[(k * 4u + ${j}u) * ${columns}u + tx + ${g * across}u];`,
          ...each(rows, (i) => `o${i}_${g} = fma(vec4<f32>(weight${i}.${lanes[j]}), v${j}_${g}, o${i}_${g});`),
        ]).flat(),
      ).flat(),
      '}',
      // Values and weights have been read.
      'workgroupBarrier();',
    ];
  }

  #rowOf(i: number): string {
    return `(ty + ${i * (threads / this.#t.across)}u)`;
  }

  /** Scores of this thread's queries and keys. */
  #products(depth: number): string[] {
    const { rows, across, queriesShared } = this.#t;
    const { batchQ, queries } = this.#r;
    const base = batchQ === 1 ? '' : `batch * ${queries * depth} + `;
    const query = (i: number): string =>
      queriesShared
        ? `queries[${this.#rowOf(i)} * ${pitchOf(depth)}u + d]`
        : `vec4<f32>(${this.#operands.q.four(`${base}query${i} * ${depth} + i32(d) * 4`)})`;
    return [
      `for (var d = 0u; d < ${depth / 4}u; d++) {`,
      ...each(rows, (i) => `let q${i} = ${query(i)};`),
      ...each(4, (j) => [
        `let k${j} = operand[(${j * across}u + tx) * ${pitchOf(depth)}u + d];`,
        ...each(rows, (i) => {
          const sum = lanes.reduce((text, l) => `fma(q${i}.${l}, k${j}.${l}, ${text})`, `s${i}.${lanes[j]}`);
          return `s${i}.${lanes[j]} = ${sum};`;
        }),
      ]).flat(),
      '}',
    ];
  }

  /** What happens to a query's scores, in units of log₂, and the largest of them. */
  #scores(i: number): string[] {
    const changed = each(4, (j) => `score(batch, query${i}, p2_${j}, s${i}.${lanes[j]})`);
    return [
      `s${i} = vec4<f32>(${changed.join(', ')}) * ${literal('f32', Math.fround(Math.LOG2E))};`,
      `let seen${i} = select(vec4<f32>(-3.4028234663852886e38f), s${i}, inside);`,
      `var top${i} = max(max(seen${i}.x, seen${i}.y), max(seen${i}.z, seen${i}.w));`,
    ];
  }

  /** The largest scores of a step over all threads of a query. */
  #largest(): string[] {
    return this.#across('top', (a, b) => `max(${a}, ${b})`);
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
      ...each(rows, (i) => `peers[${i * threads}u + lid] = ${name}${i};`),
      'workgroupBarrier();',
      ...each(
        rows,
        (i) => `${name}${i} = ${tree(each(across, (n) => `peers[${i * threads}u + ty * ${across}u + ${n}u]`))};`,
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
