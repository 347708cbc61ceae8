// Values of f32 that only end in halves: between them and a rounding to f16 or bf16 lie only steps that do not enlarge a relative error.
// A kernel that stores such a value may compute its functions as it does for a half itself (`kernel/decompose/coarse.ts`).

import type { AluOp } from '../kernel/ops.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';

/** Ops that pass a relative error on as it is, or smaller, from all operands that are numbers. Sums may cancel, and do not. */
const passing: ReadonlySet<AluOp> = new Set(['mul', 'div', 'neg', 'abs', 'sqrt', 'max', 'min', 'where']);

const moves: ReadonlySet<Vertex['op']> = new Set(['reshape', 'permute', 'expand', 'slice', 'roll']);

const isHalf = ({ dtype }: Vertex): boolean => dtype === 'f16' || dtype === 'bf16';

export function endsInHalves({ vertices, outputs }: Graph): ReadonlySet<Vertex> {
  const found = new Set<Vertex>();
  if (!vertices.some(isHalf)) return found;
  const asked = new Set(outputs);
  const passes = (user: Vertex): boolean => {
    if (user.op === 'cast') return isHalf(user);
    if (!found.has(user)) return false;
    if (user.op === 'reduce') return ['max', 'min'].includes(args.reduceOf(user).op);
    return user.op === 'alu' ? passing.has(args.aluOf(user)) : moves.has(user.op);
  };
  for (let i = vertices.length - 1; i >= 0; i--) {
    const v = vertices[i]!;
    const asIs = v.dtype === 'f32' && !asked.has(v) && !v.held && v.users.length > 0;
    if (asIs && v.users.every(passes)) found.add(v);
  }
  return found;
}
