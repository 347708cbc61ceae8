// Kernels without a reduction that read an operand across: it is contiguous along another axis than the output.
//
// Read element by element such an operand costs a line of memory for each. So a block covers a square of the two axes: it reads
// the operand along its own lines into shared memory, and then computes and stores along the output's. Lines in shared memory
// are a word longer than the square, so that neither way of reading meets the same bank twice. Which kernels: `kernel/crossing.ts`.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { type Crossing, crossingOf, lineOf, squareBytes } from '../../../kernel/crossing.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone } from '../../../kernel/together.ts';
import { type Block, EntryPoint, entryName } from './code.ts';
import type { Rendered } from './elementwise.ts';
import { emitStore, loadElement, storeElement } from './memory.ts';
import { indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
import { kindOf } from './types.ts';
import { reachable } from './values.ts';

const threads = 256;
/** Three blocks of a multiprocessor and more have their squares at the same time. */
const sharedLimit = 36 * 1024;

/** What a kernel reads across, if that is worth a square; null otherwise. */
export const squaresOf = (kernel: Kernel, target: Target): Crossing | null =>
  crossingOf(kernel, {
    bytes: sharedLimit,
    enough: target.processors * 2,
    held: (type) => dtypeInfo[type].bytes,
  });

export function renderCrossing(kernel: Kernel, { across, along, loads, edge }: Crossing, target: Target): Rendered {
  const bits = indexBitsFor(kernel, reachable(rootsOf(kernel)));
  const entry = new EntryPoint(entryName(kernel.name), target);
  const { root, outputs } = openFrame(entry, alone(kernel), bits);
  const { body } = entry;
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const index = (r: string): string => (bits === 32 ? r : body.def('d', 'cvt.u64.u32', r));
  const [width, depth] = [kernel.space[along]!, kernel.space[across]!];
  const [squaresAlong, squaresAcross] = [Math.ceil(width / edge), Math.ceil(depth / edge)];

  // Which square, and at which positions of the other axes.
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const { quotient: above, remainder: column } = divide(body, cta, squaresAlong);
  const { quotient: rest, remainder: row } = divide(body, above, squaresAcross);
  const others = kernel.space.map((d, axis) => (axis === along || axis === across ? 1 : d));
  const axes = unravel(body, index(rest), others, 0, bits);
  axes.delete(along);
  axes.delete(across);
  const outer = root.extend({ axes });

  const tid = body.def('r', 'mov.u32', '%tid.x');
  const x = body.def('r', 'and.b32', tid, edge - 1);
  const y = body.def('r', 'shr.u32', tid, Math.log2(edge));
  const stepRows = threads / edge;
  const passes = edge / stepRows;

  /** `at` and every `stepRows`-th position behind it, held within the axis. */
  const positions = (square: string, at: string, size: number, count: number): { raw: string; held: string }[] => {
    const first = index(body.def('r', 'mad.lo.s32', square, edge, at));
    return Array.from({ length: count }, (_, r) => {
      const raw = r === 0 ? first : body.def(kind, `add.${s}`, first, r * stepRows);
      return { raw, held: size % edge === 0 ? raw : body.def(kind, `min.${s}`, raw, size - 1) };
    });
  };

  // Along the operands' lines, into shared memory.
  const [acrossHere] = positions(row, x, depth, 1);
  const alongAll = positions(column, y, width, passes);
  const lines = outer.extend({ axes: new Map([[across, acrossHere!.held]]) });
  const read = alongAll.map(({ held }) => lines.extend({ axes: new Map([[along, held]]) }));
  const squares = loads.map((load) => {
    const bytes = dtypeInfo[load.type].bytes;
    return {
      load,
      bytes,
      line: lineOf(edge, bytes) * bytes,
      base: body.def('r', 'mov.u32', entry.sharedArray(squareBytes(edge, bytes))),
    };
  });
  const values = squares.map(({ load }) => read.map((scope) => scope.value(load)));
  const cell = (base: string, major: string, minor: string, line: number, bytes: number): string =>
    body.def('r', 'mad.lo.s32', minor, bytes, body.def('r', 'mad.lo.s32', major, line, base));
  squares.forEach(({ load, base, line, bytes }, k) => {
    const at = cell(base, y, x, line, bytes);
    values[k]!.forEach((v, r) => {
      storeElement(outer.context, load.type, v, at, r * stepRows * line, 'st.shared');
    });
  });
  body.emit('bar.sync 0');

  // Along the output's lines, out of it.
  const done = entry.label('done');
  const [alongHere] = positions(column, x, width, 1);
  const acrossAll = positions(row, y, depth, passes);
  const leaveBeyond = (at: { raw: string }, size: number): void => {
    if (size % edge === 0) return;
    body.emit(`@${body.def('p', `setp.ge.${s}`, at.raw, size)} bra ${done}`);
  };
  leaveBeyond(alongHere!, width);
  const strides = kernel.space.map((_, axis) => sizeOf(kernel.space.slice(axis + 1)));
  let start = alongHere!.held;
  for (const [axis, position] of axes)
    if (kernel.space[axis] !== 1) start = body.def(kind, `mad.lo.${s}`, position, strides[axis]!, start);
  const columns = outer.extend({ axes: new Map([[along, alongHere!.held]]) });
  const cells = squares.map(({ base, line, bytes }) => cell(base, x, y, line, bytes));
  acrossAll.forEach((at, r) => {
    leaveBeyond(at, depth);
    const known = new Map(
      squares.map(({ load, bytes }, k) => [
        load,
        [loadElement(outer.context, 'ld.shared', load.type, cells[k]!, r * stepRows * bytes)],
      ]),
    );
    const scope = columns.extend({ axes: new Map([[across, at.held]]), known });
    const element = body.def(kind, `mad.lo.${s}`, at.held, strides[across]!, start);
    kernel.outputs.forEach((o, k) => {
      const size = dtypeInfo[o.type].bytes;
      const address =
        bits === 32
          ? body.def('d', 'mad.wide.s32', element, size, outputs[k]!)
          : body.def('d', 'mad.lo.s64', element, size, outputs[k]!);
      emitStore(scope, o.type, scope.values(o.value), 1, address, 0);
    });
  });
  body.label(done);
  body.emit('ret');

  return {
    text: entry.render(threads),
    entry: entry.name,
    grid: [squaresAlong * squaresAcross * sizeOf(others), 1, 1],
    block: threads,
    scratchBytes: 0,
    sharedBytes: entry.shared.reduce((n, a) => n + a.bytes, 0),
    vector: 1,
  };
}

function divide(block: Block, value: string, by: number): { quotient: string; remainder: string } {
  if (by === 1) return { quotient: value, remainder: '0' };
  const quotient = block.def('r', 'div.u32', value, by);
  const product = block.def('r', 'mul.lo.s32', quotient, by);
  return { quotient, remainder: block.def('r', 'sub.s32', value, product) };
}
