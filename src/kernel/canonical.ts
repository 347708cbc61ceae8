// A kernel or routine as text that is equal exactly when the work is equal: the key of the program cache.
//
// Expressions are numbered in the order in which they are met, so builders and their ids play no part. Names and
// estimates are left out: they do not change what is computed.

import type { Expr } from './expr.ts';
import type { Accumulator, BufferParam, Epilogue, Kernel, Output, Routine } from './kernel.ts';
import { operands } from './walk.ts';

class Writer {
  readonly #numbers = new Map<Expr, number>();
  readonly #parts: string[] = [];

  expr(e: Expr): number {
    const known = this.#numbers.get(e);
    if (known !== undefined) return known;
    const src = operands(e).map((s) => this.expr(s));
    const n = this.#numbers.size;
    this.#numbers.set(e, n);
    this.#parts.push(`${headOf(e)}(${src})`);
    return n;
  }

  output = (o: Output): string => `${o.type}=${this.expr(o.value)}`;
  accumulator = (a: Accumulator): string => `${a.op}:${a.type}=${this.expr(a.value)}`;

  text(rest: string): string {
    return `${this.#parts.join(';')}|${rest}`;
  }
}

function headOf(e: Expr): string {
  switch (e.kind) {
    case 'const':
      return `${e.type} ${Object.is(e.value, -0) ? '-0' : e.value}`;
    case 'scalar':
      return `s${e.slot}:${e.type}`;
    case 'axis':
      return `x${e.axis}/${e.size}`;
    case 'load':
      return `l${e.slot}:${e.type}${e.gate ? '?' : ''}`;
    case 'acc':
      return `a${e.slot}:${e.type}`;
    case 'alu':
      return `${e.op}:${e.type}`;
    case 'cast':
      return `${e.bits ? 'bits' : 'cast'}:${e.type}`;
    default:
      return e satisfies never;
  }
}

const buffers = (list: readonly BufferParam[]): string => list.map((b) => `${b.type}*${b.elements}`).join();

export function canonical(work: Kernel | Routine): string {
  if (work.kind === 'kernel') {
    const w = new Writer();
    const accumulators = work.accumulators.map(w.accumulator);
    const outputs = work.outputs.map(w.output);
    const rest = [work.space, work.reduced, accumulators, outputs, buffers(work.inputs), work.scalars, work.inPlace];
    return w.text(`kernel|${rest.join('|')}`);
  }
  const { name, estimate, ...rest } = work;
  if (rest.op === 'rows') {
    const { stages, ...shape } = rest;
    const parts = stages.map(({ kernel, ...links }) => `${JSON.stringify(links)} ${canonical(kernel)}`);
    return [JSON.stringify(shape), ...parts].join('\n');
  }
  if (rest.op === 'attention') {
    const { scores, ...shape } = rest;
    return epilogueText(scores, JSON.stringify(shape));
  }
  if (rest.op === 'products') return `${rest.count} × ${canonical(rest.product)}`;
  if (rest.op !== 'matmul' || !rest.epilogue) return JSON.stringify(rest);
  const { epilogue, ...product } = rest;
  return epilogueText(epilogue, JSON.stringify(product));
}

function epilogueText(epilogue: Epilogue, rest: string): string {
  const w = new Writer();
  const output = w.output(epilogue.output);
  return w.text(`${rest}|${output}|${buffers(epilogue.inputs)}|${epilogue.scalars}`);
}
