// Scatter with a result that does not depend on timing.
//
// `set`: the last update of a place wins, found by an atomic maximum of update numbers. The others: updates are sorted by
// place (stably), every output element finds its own run of updates by binary search and takes them in, in order.

import { accumulatorFor } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Scatter } from '../../../kernel/kernel.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import { AccumulatorText } from '../wgsl/accumulators.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderElementwise } from '../wgsl/elementwise.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Module } from '../wgsl/module.ts';
import { isPacked } from '../wgsl/types.ts';
import { packPass } from './pack.ts';
import { pairBytes, type Rows, sortPairs } from './sort-core.ts';

const threads = 64;

export function renderScatter(w: Scatter, traits: Traits): PassPlan {
  const { passes, scratch } = w.combine === 'set' ? renderSet(w, traits) : renderCombine(w, w.combine, traits);
  return { name: w.name, passes, scratch, scalars: [], buffers: 4, firstOutput: 3 };
}

/** A given position, on the axis. */
const placeOf = (w: Scatter, given: string): string => {
  const counted = w.clips ? given : `select(${given}, ${given} + ${w.length}, ${given} < 0)`;
  return `u32(clamp(${counted}, 0, ${w.length - 1}))`;
};

type Work = Pick<PassPlan, 'passes' | 'scratch'>;

function itemPass(module: Module, name: string, items: number, traits: Traits, body: readonly string[]): Pass {
  const grid = gridOf(Math.ceil(items / threads), traits);
  const text = [`let item = ${grid.group} * ${threads}u + lid;`, `if (item >= ${items}u) { return; }`, ...body].join(
    '\n',
  );
  return module.pass(name, [threads, 1, 1], grid.workgroups, text);
}

// ---- set ----

function renderSet(w: Scatter, traits: Traits): Work {
  const places = w.perElement ? w.outer * w.length * w.inner : w.length;
  const updates = w.perElement ? w.outer * w.count * w.inner : w.count;
  const winners = { from: 'scratch', index: 0, access: 'write' } as const;
  const clear = new Module(traits);
  clear.words('winners', winners, 'i32');
  const vote = new Module(traits);
  vote.words('places', { from: 'buffer', index: 1, access: 'read' }, 'i32');
  vote.words('winners', winners, 'atomic<i32>');
  const where = w.perElement
    ? [
        `let n = item % ${w.inner}u;`,
        `let j = (item / ${w.inner}u) % ${w.count}u;`,
        `let o = item / ${w.inner * w.count}u;`,
        `let place = (o * ${w.length}u + ${placeOf(w, 'places[item]')}) * ${w.inner}u + n;`,
      ]
    : ['let j = item;', `let place = ${placeOf(w, 'places[item]')};`];
  return {
    passes: [
      itemPass(clear, `${w.name}_clear`, places, traits, ['winners[item] = -1;']),
      itemPass(vote, `${w.name}_vote`, updates, traits, [...where, 'atomicMax(&winners[place], i32(j));']),
      choosePass(w, places, traits),
    ],
    scratch: [places * 4],
  };
}

/** Each element from the update that won its place, or from the base: an elementwise kernel over (base, winners, updates). */
function choosePass(w: Scatter, places: number, traits: Traits): Pass {
  const b = new Exprs();
  const axes = [b.axis(0, w.outer), b.axis(1, w.length), b.axis(2, w.inner)] as const;
  const row = (parts: readonly (readonly [Expr, number])[]): Expr =>
    parts.reduce<Expr>((s, [e, n]) => b.alu('add', b.alu('mul', s, b.const('index', n)), e), b.const('index', 0));
  const [o, l, n] = axes;
  const own = row([
    [o, w.outer],
    [l, w.length],
    [n, w.inner],
  ]);
  const winner = b.load('i32', 1, w.perElement ? own : l);
  const won = b.alu('le', b.const('i32', 0), winner);
  const place = row([
    [o, w.outer],
    [b.cast('index', winner), w.count],
    [n, w.inner],
  ]);
  const update = b.load(w.type, 2, w.uniform ? b.const('index', 0) : place, won);
  const pass = renderElementwise(
    {
      kind: 'kernel',
      name: `${w.name}_choose`,
      space: [w.outer, w.length, w.inner],
      reduced: [],
      accumulators: [],
      outputs: [{ type: w.type, value: b.alu('where', won, update, b.load(w.type, 0, own)) }],
      inputs: [
        { type: w.type, elements: w.outer * w.length * w.inner },
        { type: 'i32', elements: places },
        { type: w.type, elements: w.uniform ? 1 : w.outer * w.count * w.inner },
      ],
      scalars: [],
      inPlace: [],
      estimate: w.estimate,
    },
    traits,
    nothingInPlace,
  );
  // Launch buffers are base, at, updates, output: the winners stand where `at` is.
  const bindings = pass.bindings.map((p) =>
    p.index === 1 ? ({ from: 'scratch', index: 0, access: 'read' } as const) : p,
  );
  return { ...pass, bindings };
}

// ---- sum, prod, max, min ----

function renderCombine(w: Scatter, combine: Exclude<Scatter['combine'], 'set'>, traits: Traits): Work {
  const lines: Rows = { name: w.name, rows: w.perElement ? w.outer * w.inner : 1, columns: w.count };
  const source = (): Module => {
    const module = new Module(traits);
    module.words('targets', { from: 'buffer', index: 1, access: 'read' }, 'i32');
    const at = w.perElement
      ? `((row / ${w.inner}u) * ${w.count}u + column) * ${w.inner}u + row % ${w.inner}u`
      : 'column';
    module.global(`fn key_at(row: u32, column: u32) -> u32 { return ${placeOf(w, `targets[${at}]`)}; }`);
    return module;
  };
  const sorted = sortPairs(lines, source, 0, traits, () => new Module(traits));
  const total = w.outer * w.length * w.inner;
  const packed = isPacked(w.type);
  const scratch = [pairBytes(lines), pairBytes(lines), ...(packed ? [total * 4] : [])];
  const passes = [...sorted.passes, takePass(w, combine, sorted.result, traits)];
  if (packed) passes.push(packPass(w.name, w.type, total, 2, 3, traits));
  return { passes, scratch };
}

function takePass(w: Scatter, combine: Exclude<Scatter['combine'], 'set'>, result: number, traits: Traits): Pass {
  const module = new Module(traits);
  const type = w.type === 'bool' ? 'u8' : accumulatorFor(w.type);
  const convert = w.type === 'f16' ? 'f32' : w.type === 'bool' ? 'u32' : '';
  const base = module.buffer('base', w.type, { from: 'buffer', index: 0, access: 'read' });
  const updates = module.buffer('updates', w.type, { from: 'buffer', index: 2, access: 'read' });
  module.words('pairs', { from: 'scratch', index: result, access: 'read' }, 'vec2<u32>');
  const acc = new AccumulatorText(module, { op: combine, type }, 0);
  const place = w.uniform ? '0' : `i32((o * ${w.count}u + pair.y) * ${w.inner}u + n)`;
  const packed = isPacked(w.type);
  const store = packed
    ? `${module.words('words', { from: 'scratch', index: 2, access: 'write' })}[item] = acc0;`
    : module
        .buffer('output', w.type, { from: 'buffer', index: 3, access: 'write' })
        .store('i32(item)', w.type === 'f16' ? 'f16(acc0)' : 'acc0', 1);
  const body = [
    `let n = item % ${w.inner}u;`,
    `let l = (item / ${w.inner}u) % ${w.length}u;`,
    `let o = item / ${w.inner * w.length}u;`,
    `let line = ${w.perElement ? `(o * ${w.inner}u + n) * ${w.count}u` : '0u'};`,
    'var first = 0u;',
    `var last = ${w.count}u;`,
    'while (first < last) {',
    'let middle = (first + last) / 2u;',
    'if (pairs[line + middle].x < l) { first = middle + 1u; } else { last = middle; }',
    '}',
    `var acc0 = ${convert}(${base.at('i32(item)')});`,
    `for (var s = first; s < ${w.count}u; s++) {`,
    'let pair = pairs[line + s];',
    'if (pair.x != l) { break; }',
    `let next = ${convert}(${updates.at(place)});`,
    `acc0 = ${acc.combined('acc0', 'next', 1)};`,
    '}',
    store,
  ];
  return itemPass(module, `${w.name}_take`, w.outer * w.length * w.inner, traits, body);
}
