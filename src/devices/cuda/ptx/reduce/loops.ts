// Loops over the positions of a reduction, and over its parts.

import type { Scope } from '../scope.ts';
import { unravel } from '../shape.ts';
import type { Builder } from './builder.ts';

export const reducedAxes = (b: Builder, scope: Scope, position: string): Map<number, string> =>
  unravel(scope.block, position, b.kernel.reduced, b.kernel.space.length, b.bits);

/** `while (at + step <= end) { body; at += step }` */
export function loopWhile(
  b: Builder,
  row: Scope,
  at: string,
  step: number,
  end: string,
  render: (inner: Scope) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('loop');
  const out = b.entry.label('out');
  const inner = row.nest();
  const next = inner.block.def(b.kind, `add.${b.s}`, at, step);
  const beyond = inner.block.def('p', `setp.gt.${b.s}`, next, end);
  inner.block.emit(`@${beyond} bra ${out}`);
  render(inner);
  inner.block.set(at, `mov.b${b.bits}`, next);
  inner.block.emit(`bra ${again}`);
  // What the loop hoisted is in `body` by now.
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

/** Positions that do not fill a whole step, one at a time. */
export function tailLoop(
  b: Builder,
  scope: Scope,
  at: string,
  stride: number,
  end: string,
  render: (one: Scope, position: string) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('tail');
  const out = b.entry.label('out');
  const inner = scope.nest();
  const beyond = inner.block.def('p', `setp.ge.${b.s}`, at, end);
  inner.block.emit(`@${beyond} bra ${out}`);
  const one = inner.extend({ axes: reducedAxes(b, inner, at) });
  render(one, at);
  inner.block.set(at, `add.${b.s}`, at, stride);
  inner.block.emit(`bra ${again}`);
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

/** `for (; p < count; p += stride)` over a 32-bit counter. */
export function countedLoop(
  b: Builder,
  scope: Scope,
  p: string,
  stride: number,
  count: number,
  render: (inner: Scope) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('parts');
  const out = b.entry.label('out');
  const inner = scope.nest();
  const beyond = inner.block.def('p', 'setp.ge.u32', p, count);
  inner.block.emit(`@${beyond} bra ${out}`);
  render(inner);
  inner.block.set(p, 'add.u32', p, stride);
  inner.block.emit(`bra ${again}`);
  body.label(again);
  body.append(inner.block);
  body.label(out);
}
