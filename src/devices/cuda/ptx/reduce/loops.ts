// Loops over the positions of a reduction, and over its parts.

import type { PtxScope } from '../scope.ts';
import { unravel } from '../shape.ts';
import type { Builder } from './builder.ts';

export const reducedAxes = (b: Builder, scope: PtxScope, position: string): Map<number, string> =>
  unravel(scope.block, position, b.kernel.reduced, b.kernel.space.length, b.bits);

/** A loop around what `render` puts into the inner scope, which leaves it by a branch to `out`. */
function loop(b: Builder, scope: PtxScope, name: string, render: (inner: PtxScope, out: string) => void): void {
  const { body } = b.entry;
  const again = b.entry.label(name);
  const out = b.entry.label('out');
  const inner = scope.nest();
  render(inner, out);
  inner.block.emit(`bra ${again}`);
  // What the loop hoisted is in `body` by now.
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

/** `while (at + step <= end) { body; at += step }` */
export function loopWhile(
  b: Builder,
  row: PtxScope,
  at: string,
  step: number,
  end: string,
  render: (inner: PtxScope) => void,
): void {
  loop(b, row, 'loop', (inner, out) => {
    const next = inner.block.def(b.kind, `add.${b.s}`, at, step);
    const beyond = inner.block.def('p', `setp.gt.${b.s}`, next, end);
    inner.block.emit(`@${beyond} bra ${out}`);
    render(inner);
    inner.block.set(at, `mov.b${b.bits}`, next);
  });
}

/** Positions that do not fill a whole step, one at a time. */
export function tailLoop(
  b: Builder,
  scope: PtxScope,
  at: string,
  stride: number,
  end: string,
  render: (one: PtxScope, position: string) => void,
): void {
  loop(b, scope, 'tail', (inner, out) => {
    const beyond = inner.block.def('p', `setp.ge.${b.s}`, at, end);
    inner.block.emit(`@${beyond} bra ${out}`);
    render(inner.extend({ axes: reducedAxes(b, inner, at) }), at);
    inner.block.set(at, `add.${b.s}`, at, stride);
  });
}

/** `for (; p < count; p += stride)` over a 32-bit counter. */
export function countedLoop(
  b: Builder,
  scope: PtxScope,
  p: string,
  stride: number,
  count: number,
  render: (inner: PtxScope) => void,
): void {
  loop(b, scope, 'parts', (inner, out) => {
    const beyond = inner.block.def('p', 'setp.ge.u32', p, count);
    inner.block.emit(`@${beyond} bra ${out}`);
    render(inner);
    inner.block.set(p, 'add.u32', p, stride);
  });
}
