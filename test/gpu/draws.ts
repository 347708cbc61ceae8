// Kernels that work in blocks, by hand: long arithmetic on the number of a draw, of which two elements that lie a stretch apart take
// a half each.

import { sizeOf } from '../../src/base/shape.ts';
import type { Expr } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from './build.ts';

export interface DrawOptions {
  /** Elements from one half of a block to the other. */
  readonly stretch?: number;
  /** How long the arithmetic is. */
  readonly rounds?: number;
  /** Whether both halves begin from the same number. */
  readonly shared?: boolean;
}

export function drawn(space: readonly number[], options: DrawOptions = {}): Kernel {
  const { stretch = 64, rounds = 24, shared = true } = options;
  const k = new KernelBuilder(space);
  const flat = k.flat();
  const half = k.op('imod', k.op('idiv', flat, k.index(stretch)), k.index(2));
  const block = k.op('idiv', flat, k.index(2 * stretch));
  const draw = k.op('add', k.op('mul', block, k.index(stretch)), k.op('imod', flat, k.index(stretch)));
  let x: Expr = k.b.cast('u32', shared ? draw : flat);
  let y: Expr = k.b.const('u32', 77);
  for (let i = 0; i < rounds; i++) {
    x = k.op('add', x, y);
    y = k.op('xor', k.op('or', k.op('shl', y, word(k, 13)), k.op('shr', y, word(k, 19))), x);
  }
  const first = k.op('eq', k.b.cast('u32', half), word(k, 0));
  const chosen = k.op('shr', k.op('where', first, x, y), word(k, 8));
  const value = k.op('mul', k.b.cast('f32', chosen), k.b.const('f32', 2 ** -24));
  k.output(k.op('add', value, k.at(k.input('f32', sizeOf(space)), flat)));
  return k.done(`drawn_${space.join('x')}`);
}

const word = (k: KernelBuilder, v: number): Expr => k.b.const('u32', v);
