// Kernels that only move single floats, as kernels of whole numbers: a float that passes through a JavaScript number comes out with
// other bits if it is a signalling NaN, and moving must not change anything.

import type { DType } from '../../base/dtype.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { rewriter } from '../../kernel/rewrite.ts';
import { below } from '../../kernel/walk.ts';

/** The kernel itself if it computes with floats, or has none. */
export function asWords(kernel: Kernel): Kernel {
  const { accumulators, outputs } = kernel;
  if (accumulators.length > 0 || !outputs.some((o) => o.type === 'f32')) return kernel;
  for (const e of below(outputs.map((o) => o.value))) if (!moves(e)) return kernel;
  const b = new Exprs();
  const copy = rewriter(b, (e, again) => {
    if (e.kind === 'cast' && e.bits && (e.type === 'f32' || e.src[0].type === 'f32')) {
      const [to, source] = [e.type === 'f32' ? 'u32' : (e.type as DType), again(e.src[0])];
      return source.type === to ? source : b.bitcast(to, source);
    }
    if (e.type !== 'f32') return undefined;
    if (e.kind === 'const') return b.const('u32', bitsOf(Number(e.value)));
    return e.kind === 'load' ? b.load('u32', e.slot, again(e.index), e.gate && again(e.gate)) : undefined;
  });
  return {
    ...kernel,
    inputs: kernel.inputs.map((i) => ({ ...i, type: word(i.type) })),
    outputs: outputs.map((o) => ({ type: word(o.type), value: copy(o.value) })),
  };
}

/** Nothing reads a float as a number here: floats are loaded, chosen, taken for their bits, and stored. */
function moves(e: Expr): boolean {
  if (e.kind === 'scalar') return e.type !== 'f32';
  if (e.kind === 'alu') return e.op === 'where' || e.src.every((s) => s.type !== 'f32');
  return e.kind !== 'cast' || e.bits || (e.type !== 'f32' && e.src[0].type !== 'f32');
}

const word = (type: DType): DType => (type === 'f32' ? 'u32' : type);

function bitsOf(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint32(0);
}
