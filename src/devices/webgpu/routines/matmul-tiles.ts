// The tiled product: a workgroup computes a tile of C, its threads keep blocks of it in registers.
//
// Tiles of A and B pass through workgroup memory as vectors of four along m and along n, whatever their layout: where
// memory runs along k, a thread takes a block of 4×4 and turns it in registers. Rows and columns beyond the edge repeat
// the last one and are not stored; beyond the depth zeros are multiplied.

import { accumulatorFor } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Pass, Traits } from '../plan.ts';
import { bindBuffers } from '../wgsl/buffers.ts';
import { ExpressionWriter, WgslScope } from '../wgsl/expressions.ts';
import { gridOf } from '../wgsl/grid.ts';
import { Lanes } from '../wgsl/lanes.ts';
import { type BoundBuffer, Module } from '../wgsl/module.ts';
import { heldAs } from '../wgsl/types.ts';
import type { Tiles } from './matmul-config.ts';

type Sink = 'outputs' | 'scratch';

/** With several `cuts` the sums over parts of the depth go to scratch one after the other, each like C. */
export function renderTiles(w: Matmul, t: Tiles, traits: Traits, sink: Sink, cuts = 1): Pass {
  const module = new Module(traits, w.epilogue?.scalars ?? []);
  const a = module.buffer('a', w.type, { from: 'buffer', index: 0, access: 'read' }, false, w.batchA * w.m * w.k);
  const b = module.buffer('b', w.type, { from: 'buffer', index: 1, access: 'read' }, false, w.batchB * w.k * w.n);
  const held = heldAs(accumulatorFor(w.type)).value;
  const value = held === 'bool' ? 'u32' : held;
  const ragged = w.k % t.depth !== 0;
  const convert = w.type === 'f16' || w.type === 'bool' ? value : null;
  module.global(
    operand(
      'A',
      a,
      { along: w.transposeA ? 'major' : 'depth', major: w.m, depth: w.k, batched: w.batchA > 1, ragged },
      value,
      convert,
    ),
  );
  module.global(
    operand(
      'B',
      b,
      { along: w.transposeB ? 'depth' : 'major', major: w.n, depth: w.k, batched: w.batchB > 1, ragged },
      value,
      convert,
    ),
  );
  module.global(finish(module, w, value, sink));
  const rowGroups = t.threadRows / 4;
  const columnGroups = t.threadColumns / 4;
  const across = t.columns / t.threadColumns;
  const threads = (t.rows / t.threadRows) * across;
  const [tilesM, tilesN] = [Math.ceil(w.m / t.rows), Math.ceil(w.n / t.columns)];
  const groups = cuts * w.batch * tilesM * tilesN;
  const cut = Math.ceil(w.k / cuts / t.depth) * t.depth;
  const grid = gridOf(groups, traits);
  const each = <T>(n: number, f: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => f(i));
  const step = (k: string): string[] => [
    ...each(
      rowGroups,
      (r) =>
        `let a${r} = ${t.shared ? `tileA[(${k}) * ${t.rows / 4}u + ty * ${rowGroups}u + ${r}u]` : `av${r}[${k}]`};`,
    ),
    ...each(
      columnGroups,
      (c) =>
        `let b${c} = ${t.shared ? `tileB[(${k}) * ${t.columns / 4}u + tx * ${columnGroups}u + ${c}u]` : `bv${c}[${k}]`};`,
    ),
    ...each(t.threadRows, (r) =>
      each(columnGroups, (c) => `c${r}_${c} += a${r >> 2}.${'xyzw'[r & 3]} * b${c};`),
    ).flat(),
  ];
  const V = `vec4<${value}>`;
  const load = (side: 'A' | 'B', size: number): string[] => {
    const blocks = (size / 4) * (t.depth / 4);
    return [
      `for (var block = lid; block < ${blocks}u; block += ${threads}u) {`,
      `let group = block % ${size / 4}u;`,
      `let deep = (block / ${size / 4}u) * 4u;`,
      `let v = load${side}(batch, i32(${side === 'A' ? 'firstRow' : 'firstColumn'} + group * 4u), i32(k0 + deep));`,
      ...each(4, (j) => `tile${side}[(deep + ${j}u) * ${size / 4}u + group] = v[${j}];`),
      '}',
    ];
  };
  if (t.shared) {
    module.global(`var<workgroup> tileA: array<${V}, ${(t.depth * t.rows) / 4}>;`);
    module.global(`var<workgroup> tileB: array<${V}, ${(t.depth * t.columns) / 4}>;`);
  }
  const loop = t.shared
    ? [
        `for (var k0 = begin; k0 < end; k0 += ${t.depth}u) {`,
        ...load('A', t.rows),
        ...load('B', t.columns),
        'workgroupBarrier();',
        `for (var k = 0u; k < ${t.depth}u; k++) {`,
        ...step('k'),
        '}',
        'workgroupBarrier();',
        '}',
      ]
    : [
        'for (var k0 = begin; k0 < end; k0 += 4u) {',
        ...each(rowGroups, (r) => `let av${r} = loadA(batch, i32(row + ${4 * r}u), i32(k0));`),
        ...each(columnGroups, (c) => `let bv${c} = loadB(batch, i32(column + ${4 * c}u), i32(k0));`),
        ...each(4, (k) => ['{', ...step(`${k}`), '}']).flat(),
        '}',
      ];
  const body = [
    `let group = min(${grid.group}, ${groups - 1}u);`,
    `let whole = i32(group / ${tilesM * tilesN}u);`,
    `let batch = ${cuts > 1 ? `whole % ${w.batch}` : 'whole'};`,
    `let begin = ${cuts > 1 ? `u32(whole / ${w.batch}) * ${cut}u` : '0u'};`,
    `let end = ${cuts > 1 ? `min(begin + ${cut}u, ${w.k}u)` : `${w.k}u`};`,
    `let firstRow = ((group / ${tilesN}u) % ${tilesM}u) * ${t.rows}u;`,
    `let firstColumn = (group % ${tilesN}u) * ${t.columns}u;`,
    `let tx = lid % ${across}u;`,
    `let ty = lid / ${across}u;`,
    `let row = firstRow + ty * ${t.threadRows}u;`,
    `let column = firstColumn + tx * ${t.threadColumns}u;`,
    ...each(t.threadRows, (r) => each(columnGroups, (c) => `var c${r}_${c} = ${V}();`)).flat(),
    ...loop,
    ...each(t.threadRows, (r) =>
      each(columnGroups, (c) => `finish(whole, i32(row + ${r}u), i32(column + ${4 * c}u), c${r}_${c});`),
    ).flat(),
  ].join('\n');
  return module.pass(w.name, [threads, 1, 1], grid.workgroups, body);
}

interface Layout {
  /** Whether memory runs along rows/columns of C, or along the depth. */
  readonly along: 'major' | 'depth';
  readonly major: number;
  readonly depth: number;
  /** The last step goes beyond the depth. */
  readonly ragged: boolean;
  /** Each batch has its own. */
  readonly batched: boolean;
}

/** A function that gives four vectors along the major axis, for four steps of depth. */
function operand(name: 'A' | 'B', s: BoundBuffer, l: Layout, value: string, convert: string | null): string {
  const [V, side] = [`vec4<${value}>`, l.along];
  const stride = side === 'major' ? l.major : l.depth;
  const of = (text: string, width: 1 | 4): string => (convert ? `${width === 4 ? V : value}(${text})` : text);
  const clampMajor = (text: string): string =>
    l.major % 4 === 0 && side === 'major' ? text : `min(${text}, ${l.major - 1})`;
  const whole = l.depth % 4 === 0;
  const lines: string[] = [];
  if (side === 'major') {
    // Four elements along the major axis at each depth.
    const first = l.major % 4 === 0 ? `min(major, ${l.major - 4})` : 'major';
    for (let j = 0; j < 4; j++) {
      const d = whole ? `depth + ${j}` : `min(depth + ${j}, ${l.depth - 1})`;
      const base = `(base + (${d}) * ${stride}`;
      const text =
        l.major % 4 === 0
          ? of(s.four(`${base} + ${first})`), 4)
          : `${V}(${[0, 1, 2, 3].map((i) => of(s.at(`${base} + ${clampMajor(`major + ${i}`)})`), 1)).join(', ')})`;
      lines.push(`let v${j} = ${text};`);
    }
  } else {
    for (let i = 0; i < 4; i++) {
      const row = `(base + ${clampMajor(`major + ${i}`)} * ${stride}`;
      const text = whole
        ? of(s.four(`${row} + min(depth, ${l.depth - 4}))`), 4)
        : `${V}(${[0, 1, 2, 3].map((j) => of(s.at(`${row} + min(depth + ${j}, ${l.depth - 1}))`), 1)).join(', ')})`;
      lines.push(`let r${i} = ${text};`);
    }
    const turn = (l2: string): string => `${V}(r0.${l2}, r1.${l2}, r2.${l2}, r3.${l2})`;
    ['x', 'y', 'z', 'w'].forEach((l2, j) => {
      lines.push(`let v${j} = ${turn(l2)};`);
    });
  }
  const gated = [0, 1, 2, 3].map((j) => (l.ragged ? `select(${V}(), v${j}, depth + ${j} < ${l.depth})` : `v${j}`));
  return [
    `fn load${name}(batch: i32, major: i32, depth: i32) -> array<${V}, 4> {`,
    `let base = ${l.batched ? `batch * ${l.major * l.depth}` : '0'};`,
    ...lines,
    `return array<${V}, 4>(${gated.join(', ')});`,
    '}',
  ].join('\n');
}

/** A function that stores four columns of one row, with the epilogue applied. */
function finish(module: Module, w: Matmul, value: string, sink: Sink): string {
  const fours = w.n % 4 === 0;
  const head = `fn finish(p0: i32, p1: i32, first: i32, product: vec4<${value}>) {`;
  const at = `p0 * ${w.m * w.n} + p1 * ${w.n}`;
  if (sink === 'scratch') {
    const words = module.words('words', { from: 'scratch', index: 0, access: 'write' }, value);
    const each = [0, 1, 2, 3].map(
      (c) => `if (first + ${c} < ${w.n}) { ${words}[u32(${at} + first + ${c})] = product[${c}]; }`,
    );
    return [head, `if (p1 >= ${w.m}) { return; }`, ...each, '}'].join('\n');
  }
  const output = w.epilogue?.output ?? null;
  const type = output?.type ?? w.type;
  const extra = w.epilogue?.inputs ?? [];
  const param = { type, elements: w.batch * w.m * w.n };
  const buffers = bindBuffers(module, extra, [{ param, vector: fours }], undefined, 2);
  const space = [w.batch, w.m, w.n];
  const lanes = fours ? new Lanes({ axis: 2, space, accumulators: true }) : null;
  const width = fours ? 4 : 1;
  const product = fours ? 'product' : 'product[lane]';
  const bool = w.type === 'bool';
  const wide = fours ? 'vec4<u32>' : 'u32';
  const own = bool
    ? `(${product} != ${wide}(0u))`
    : w.type === 'f16'
      ? `${fours ? 'vec4<f16>' : 'f16'}(${product})`
      : w.type === 'u8'
        ? `(${product} & ${wide}(255u))`
        : product;
  const writer = new ExpressionWriter(
    module,
    lanes,
    {
      axis: (axis, wd) => (axis === 2 && wd === 4 ? 'q2' : `p${axis}`),
      acc: () => 'own',
      input: buffers.input,
    },
    output ? [output.value] : [],
  );
  const scope = new WgslScope();
  const text = output ? writer.wide(output.value, scope, width) : 'own';
  const store = buffers.outputs[0]!.store('at', text, width);
  const inside = [`let at = ${at} + p2;`, `let own = ${own};`, ...scope.lines, store];
  if (fours) {
    const edge = `if (p1 >= ${w.m} || first >= ${w.n}) { return; }`;
    return [
      head,
      edge,
      'let p2 = first;',
      'let q2 = vec4<i32>(first) + vec4<i32>(0i, 1i, 2i, 3i);',
      ...inside,
      '}',
    ].join('\n');
  }
  const loop = [
    'for (var lane = 0; lane < 4; lane++) {',
    'let p2 = first + lane;',
    `if (p2 >= ${w.n}) { return; }`,
    ...inside,
    '}',
  ];
  return [head, `if (p1 >= ${w.m}) { return; }`, ...loop, '}'].join('\n');
}
