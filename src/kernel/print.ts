// Kernels as text: one line per accumulator and output, shared parts named.

import type { Expr } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { operands } from './walk.ts';

const infix: Readonly<Record<string, string>> = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  and: '&',
  or: '|',
  xor: '^',
  shl: '<<',
  shr: '>>',
  eq: '==',
  ne: '!=',
  lt: '<',
  le: '<=',
};

/** A kernel as a few lines of pseudo-code. */
export function printKernel(k: Kernel): string {
  const uses = new Map<Expr, number>();
  const countUses = (e: Expr): void => {
    const n = (uses.get(e) ?? 0) + 1;
    uses.set(e, n);
    if (n === 1) for (const s of operands(e)) countUses(s);
  };
  const roots = [...k.accumulators.map((a) => a.value), ...k.outputs.map((o) => o.value)];
  for (const r of roots) countUses(r);
  const lines: string[] = [];
  const names = new Map<Expr, string>();
  const text = (e: Expr): string => {
    const known = names.get(e);
    if (known) return known;
    const body = plain(e, text);
    if (uses.get(e)! < 2 || operands(e).length === 0 || e.type === 'index') return body;
    const name = `t${names.size}`;
    names.set(e, name);
    lines.push(`${name} = ${body}`);
    return name;
  };
  const axes = (sizes: readonly number[], first: number) => sizes.map((n, i) => `i${first + i} < ${n}`).join(', ');
  lines.push(`for ${axes(k.space, 0)}`);
  k.accumulators.forEach((a, i) => {
    const value = text(a.value);
    lines.push(`a${i} = ${a.op} over ${axes(k.reduced, k.space.length)} of ${value}`);
  });
  k.outputs.forEach((o, i) => {
    const value = text(o.value);
    lines.push(`out${i}: ${o.type} = ${value}`);
  });
  return lines.join('\n');
}

function plain(e: Expr, text: (e: Expr) => string): string {
  switch (e.kind) {
    case 'const':
      return `${e.value}`;
    case 'scalar':
      return `s${e.slot}`;
    case 'axis':
      return `i${e.axis}`;
    case 'acc':
      return `a${e.slot}`;
    case 'load':
      return e.gate ? `in${e.slot}[${text(e.index)} if ${text(e.gate)}]` : `in${e.slot}[${text(e.index)}]`;
    case 'cast':
      return `${e.bits ? 'bits_' : ''}${e.type}(${text(e.src[0])})`;
    case 'alu': {
      const sign = infix[e.op];
      const parts = e.src.map(text);
      return sign ? `(${parts.join(` ${sign} `)})` : `${e.op}(${parts.join(', ')})`;
    }
    default:
      return e satisfies never;
  }
}
