// Kernels that choose between many sources by position, as a concatenation does: one loop for each stretch of positions instead of a
// choice at every element.
//
// The stretches lie between the numbers that the first axis is compared with. In each of them those comparisons are known, so what
// is left is the work of one source. Results are the same bits: nothing is reordered within an element.

import { byteSize } from '../../base/dtype.ts';
import { sizeOf } from '../../base/shape.ts';
import { estimateKernel } from '../../kernel/estimate.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { rewriter } from '../../kernel/rewrite.ts';
import { below } from '../../kernel/walk.ts';
import { CpuBuffer } from './buffer.ts';
import type { CpuProgram } from './program.ts';

/** Fewer choices, or fewer elements, are not worth a launch for each stretch. */
const leastPieces = 8;
const leastElements = 2048;

interface Piece {
  readonly kernel: Kernel;
  /** Which inputs of the whole it reads. */
  readonly inputs: readonly number[];
  /** Bytes of the output before it. */
  readonly offset: number;
  readonly bytes: number;
}

/** The stretches of a kernel; null if it is best run as a whole. */
export function piecesOf(kernel: Kernel): readonly Piece[] | null {
  const { space, outputs, accumulators, inPlace } = kernel;
  if (outputs.length !== 1 || accumulators.length > 0 || inPlace.length > 0) return null;
  if (sizeOf(space) < leastPieces * leastElements) return null;
  const cuts = cutsOf(outputs[0]!.value, space[0]!);
  if (cuts.length < leastPieces + 1 || sizeOf(space) < (cuts.length - 1) * leastElements) return null;
  return cuts.slice(1).map((end, i) => piece(kernel, cuts[i]!, end));
}

/** The positions of the first axis at which something changes, with both ends. */
function cutsOf(value: Expr, size: number): readonly number[] {
  const cuts = new Set([0, size]);
  for (const e of below([value])) {
    if (e.kind !== 'alu' || (e.op !== 'lt' && e.op !== 'le')) continue;
    const [a, b] = e.src as [Expr, Expr];
    const [axis, limit] = e.op === 'lt' ? [a, b] : [b, a];
    if (axis.kind !== 'axis' || axis.axis !== 0 || limit.kind !== 'const') continue;
    const at = Number(limit.value);
    if (at > 0 && at < size) cuts.add(at);
  }
  return [...cuts].sort((p, q) => p - q);
}

function piece(whole: Kernel, begin: number, end: number): Piece {
  const [output] = whole.outputs as [Kernel['outputs'][number]];
  const b = new Exprs();
  const moved = rewriter(b, (e) =>
    e.kind === 'axis' && e.axis === 0 ? b.alu('add', b.axis(0, end - begin), b.const('index', begin)) : undefined,
  )(output.value);
  const inputs: number[] = [];
  for (const e of below([moved])) if (e.kind === 'load' && !inputs.includes(e.slot)) inputs.push(e.slot);
  inputs.sort((p, q) => p - q);
  const value = rewriter(b, (e, copy) =>
    e.kind === 'load' ? b.load(e.type, inputs.indexOf(e.slot), copy(e.index), e.gate && copy(e.gate)) : undefined,
  )(moved);
  const space = [end - begin, ...whole.space.slice(1)];
  const body = { ...whole, space, inputs: inputs.map((i) => whole.inputs[i]!), outputs: [{ ...output, value }] };
  const row = byteSize(output.type) * sizeOf(whole.space.slice(1));
  const kernel = { ...body, estimate: estimateKernel(body) };
  return { kernel, inputs, offset: begin * row, bytes: (end - begin) * row };
}

/** The stretches as one program. */
export class PiecewiseProgram implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars: number;
  readonly #pieces: readonly (Piece & { readonly program: CpuProgram })[];

  constructor(
    whole: Kernel,
    needs: readonly number[],
    pieces: readonly Piece[],
    prepare: (kernel: Kernel) => CpuProgram,
  ) {
    this.name = whole.name;
    this.needs = needs;
    this.scalars = whole.scalars.length;
    this.#pieces = pieces.map((p) => ({ ...p, program: prepare(p.kernel) }));
  }

  get source(): string {
    const counts = new Map<string, number>();
    for (const { program } of this.#pieces) counts.set(program.source, (counts.get(program.source) ?? 0) + 1);
    return [...counts].map(([text, n]) => `;; ${n} of ${this.#pieces.length} stretches\n${text}`).join('\n');
  }

  run(buffers: readonly CpuBuffer[], scalars: readonly number[]): void {
    const out = buffers[buffers.length - 1]!;
    for (const { program, inputs, offset, bytes } of this.#pieces) {
      const part = new CpuBuffer(bytes, out.small, out.address + offset, null);
      program.run([...inputs.map((i) => buffers[i]!), part], scalars);
    }
  }

  /** The stretches' programs are the device's, and may serve others. */
  dispose(): void {}
}
