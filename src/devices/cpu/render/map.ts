// Kernels without a reduction: each element of the output from its own position.

import { inBlocks } from '../../../kernel/blocks.ts';
import type { Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import {
  alone,
  countAlong,
  fewestLoads,
  lessWork,
  outerFirst,
  strideOf,
  type Together,
} from '../../../kernel/together.ts';
import { Code } from '../wasm/code.ts';
import type { WasmModule } from '../wasm/module.ts';
import { Emitter } from './emitter.ts';
import { storedWidth } from './lanes.ts';
import { argsLayout, type RenderOptions } from './module.ts';
import { type Counted, countedLoop, emitCase, itemLoops } from './nest.ts';
import {
  type AxisLoop,
  bodiesFor,
  bodiesNeeded,
  chunksOf,
  grainOf,
  outputAxis,
  survey,
  tileAxis,
  tileLength,
} from './plan.ts';
import { WasmScope } from './scope.ts';
import { casesOf, loopsOf } from './segments.ts';
import { inSquares, type Squared } from './squares.ts';
import { emitCopied, emitStores, isCopied, type Target } from './store.ts';
import { bodiesLoop } from './usual.ts';

export interface Rendered {
  readonly items: number;
  readonly grain: number;
  readonly parts: number;
  readonly scratchBytes: number;
  readonly lanes: number;
}

/** Number of a pseudo axis: the chunks of the vector axis. */
export const chunkAxis = -2;

export function renderMap(given: Kernel, exprs: Exprs, module: WasmModule, options: RenderOptions): Rendered {
  const blocks = besideVectors(inBlocks(given, exprs));
  // A stencil reads at one position most of what it reads at the next: neighbours are computed together.
  const stencil = stencilOf(given, exprs);
  const near = (blocks && stencil ? lessWork(stencil, blocks) : (blocks ?? stencil)) ?? alone(given);
  const v = outputAxis(near === blocks ? near.kernel : given);
  const squared = near.count === 1 && v.size > 2 * tileLength ? squaresAlong(given, v.axis, exprs) : null;
  const { kernel } = squared ?? near;
  const roots = kernel.outputs.map((o) => o.value);
  const found = survey(roots);
  const widths = kernel.outputs.map((o) => storedWidth(o.type));
  // Squares have as many results as registers hold in two vectors of each.
  const bodies = bodiesFor(found, widths).filter((lanes) => !squared || lanes <= 2 * squared.count);
  const func = module.func(['i32', 'i32', 'i32'], [], 'run');
  let axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1 && a.axis !== v.axis);
  const beside = squared ? axes.find((a) => a.axis === squared.beside.axis) : tileAxis(found, v.axis, axes);
  const tiled = beside !== undefined && v.size > 2 * tileLength;
  const chunks = tiled
    ? { size: Math.max(tileLength, bodies[0]!), count: Math.ceil(v.size / Math.max(tileLength, bodies[0]!)) }
    : chunksOf(v.size, found.cost, bodies[0]!);
  // A tile is one item: it goes along the vector axis a chunk at a time, so that the output is written in few long streams.
  const tile = tiled ? tileOf(beside, chunks.count, squared?.count ?? 1) : null;
  if (tile) axes = [...axes.filter((a) => a !== beside), ...tile.axes];
  else if (chunks.count > 1) axes.push({ axis: chunkAxis, size: chunks.count });
  const itemAxes = tile ? axes.length - 2 : axes.length;
  const depths = new Map(axes.map((a, k) => [a.axis, k + 1]));
  depths.set(v.axis, axes.length + 1);
  const em = new Emitter({
    func,
    exprs,
    layout: argsLayout(given),
    depths,
    vectorAxis: v.axis,
    accVaries: false,
    relaxed: options.relaxed ?? false,
    inSquares: squared !== null,
  });
  const loops: Counted[] = axes.map((a) => {
    const position = em.local('i32');
    em.positions.set(a.axis, position);
    return { position, size: a.size };
  });
  const scopes = [new WasmScope(0, null)];
  for (let k = 0; k < axes.length; k++) scopes.push(new WasmScope(k + 1, scopes[k]!));
  const row = scopes[scopes.length - 1]!;
  const indices = squared ? squarePositions(given, squared, exprs) : positionsOf(near, exprs);
  const cases = casesOf(roots, {
    exprs,
    axis: v.axis,
    size: v.size,
    uniform: (e) => !em.info(e).varying,
    pin: (load) => em.pin(load),
  });
  for (const loop of loopsOf(cases)) em.count(loop.roots);

  const inner = new Code();
  const range = chunkRange(em, v.size, chunks, inner);
  const position = em.local('i32');
  em.positions.set(v.axis, position);
  const whole = cases.kind === 'loop';
  emitCase(em, cases, range, v.size, row, inner, (loop, { lo, hi }, out) => {
    const targets: Target[] = kernel.outputs.map((o, k) => ({
      output: { type: o.type, value: loop.roots[k]! },
      buffer: kernel.inputs.length + (k % given.outputs.length),
      index: indices[Math.floor(k / given.outputs.length)]!,
    }));
    const fixed = whole ? v.size : chunks.count === 1 && isFixed(cases) ? loop.to - loop.from : null;
    out.get(lo).set(position);
    if (given.inPlace.length === 0 && targets.every((t) => isCopied(t, v))) {
      const s = new WasmScope(axes.length + 1, row);
      for (const t of targets) emitCopied(em, t, { lo, hi }, s);
      out.append(s.code);
      return;
    }
    for (const lanes of bodiesNeeded(bodies, fixed)) {
      const scope = (rare: Set<Expr> | null): WasmScope => new WasmScope(axes.length + 1, row, lanes, rare);
      const emit = (s: WasmScope, between: () => void): void => emitStores(em, targets, s, between);
      bodiesLoop(em, { position, hi, lanes, scope, emit }, out);
    }
  });
  const [chunkLoop, besideLoop] = loops.slice(itemAxes);
  const body = tile
    ? countedLoop(chunkLoop!, scopes[itemAxes + 1]!, tileRows(em, tile, besideLoop!, scopes[itemAxes + 2]!, inner))
    : inner;
  func.code.append(itemLoops(em, loops.slice(0, itemAxes), scopes, body));
  return {
    items: axes.slice(0, itemAxes).reduce((n, a) => n * a.size, 1),
    grain: grainOf(tile ? tile.rows * v.size : chunks.size, found.cost),
    parts: 0,
    scratchBytes: 0,
    lanes: bodiesNeeded(bodies, v.size)[0]!,
  };
}

/** Number of a pseudo axis: the tiles along the axis beside the vector axis. */
const tilesAxis = -3;

/** Rows of a tile: what is read of each line of memory is then most of it, wherever the line begins. */
const tileRowCount = 32;

interface Tile {
  readonly rows: number;
  readonly beside: AxisLoop;
  /** The tiles, which are items; the chunks and the rows within one. */
  readonly axes: readonly AxisLoop[];
}

/** `together`: rows of the output that are one position of the axis. */
function tileOf(beside: AxisLoop, chunks: number, together: number): Tile {
  const rows = Math.min(tileRowCount / together, beside.size);
  const tiles = { axis: tilesAxis, size: Math.ceil(beside.size / rows) };
  return { rows, beside, axes: [tiles, { axis: chunkAxis, size: chunks }, beside] };
}

/** The rows of the present tile; the last tile ends with the axis. */
function tileRows(em: Emitter, tile: Tile, loop: Counted, scope: WasmScope, inner: Code): Code {
  const out = new Code();
  const end = em.local('i32');
  const tiles = em.positions.get(tilesAxis)!;
  out.get(tiles).i32(tile.rows).op('i32.mul').tee(loop.position).i32(tile.rows).op('i32.add').tee(end);
  out.i32(tile.beside.size).get(end).i32(tile.beside.size).ops('i32.lt_u', 'select').set(end);
  const top = out.loop();
  out.append(scope.code).append(inner);
  out.get(loop.position).i32(1).op('i32.add').tee(loop.position).get(end).op('i32.lt_u').brIf(top);
  return out.end();
}

/** The kernel in squares, if it reads anything across. */
function squaresAlong(kernel: Kernel, vector: number, exprs: Exprs): Squared | null {
  const axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1 && a.axis !== vector);
  const beside = tileAxis(survey(kernel.outputs.map((o) => o.value)), vector, axes);
  return beside ? inSquares(kernel, vector, beside, exprs) : null;
}

/** Where the neighbours of a square lie in the output. */
function squarePositions(kernel: Kernel, { beside, first, count }: Squared, exprs: Exprs): Expr[] {
  return Array.from({ length: count }, (_, u) =>
    kernel.space.reduceRight<Expr>(
      (index, size, axis) => {
        const at = axis === beside.axis ? exprs.alu('add', first, exprs.const('index', u)) : exprs.axis(axis, size);
        const stride = kernel.space.slice(axis + 1).reduce((a, b) => a * b, 1);
        return exprs.alu('add', index, exprs.alu('mul', at, exprs.const('index', stride)));
      },
      exprs.const('index', 0),
    ),
  );
}

/** Longer code than this is not computed for a second row. */
const mostOfTwo = 2000;

/** Neighbours along one axis, or four in each of two rows. */
function stencilOf(given: Kernel, exprs: Exprs): Together | null {
  const { axis: lanes } = outputAxis(given);
  const first = fewestLoads(alone(given), (axis, count) => axis !== lanes && count <= 4, exprs);
  const second = first && fewestLoads(first, (axis, count) => axis !== lanes && count === 2, exprs, mostOfTwo);
  return second ? outerFirst(second, exprs) : first;
}

/** Neighbours that are computed together, unless vectors lie along their axis: the elements of a vector are neighbours themselves. */
const besideVectors = (near: Together | null): Together | null =>
  near && countAlong(near, outputAxis(near.kernel).axis) === 1 ? near : null;

/** Whether all ranges are known when the kernel is made. */
function isFixed(c: ReturnType<typeof casesOf>): boolean {
  switch (c.kind) {
    case 'loop':
      return true;
    case 'sequence':
      return c.cases.every(isFixed);
    case 'branch':
      return isFixed(c.yes) && isFixed(c.no);
    case 'split':
      return false;
    default:
      return c satisfies never;
  }
}

/** The row-major position of an element of the output. */
export const positionOf = (kernel: Kernel, exprs: Exprs): Expr => positionsOf(alone(kernel), exprs)[0]!;

/** Those of all neighbours that are computed together. */
function positionsOf(near: Together, exprs: Exprs): Expr[] {
  const first = near.kernel.space.reduceRight<Expr>(
    (index, size, axis) =>
      exprs.alu('add', index, exprs.alu('mul', exprs.axis(axis, size), exprs.const('index', strideOf(near, axis)))),
    exprs.const('index', 0),
  );
  return near.offsets.map((offset) => exprs.alu('add', first, exprs.const('index', offset)));
}

/** Locals with the part of the vector axis that the present item handles. */
export function chunkRange(
  em: Emitter,
  size: number,
  chunks: { size: number; count: number },
  out: Code,
): { lo: number; hi: number } {
  const [lo, hi] = [em.local('i32'), em.local('i32')];
  if (chunks.count === 1) {
    out.i32(0).set(lo).i32(size).set(hi);
    return { lo, hi };
  }
  out.get(em.positions.get(chunkAxis)!).i32(chunks.size).op('i32.mul').tee(lo).i32(chunks.size).op('i32.add').set(hi);
  // The last chunk ends with the axis; compared by what is left, which cannot wrap around.
  out.i32(size).get(lo).op('i32.sub').i32(chunks.size).op('i32.lt_u').if();
  out.i32(size).set(hi).end();
  return { lo, hi };
}
