// Tiny kernels that add up floats which are computed on the way, as a softmax does: what is added is computed by a program of its own.
//
// The order in which the interpreter adds is part of the result, so such a kernel is never compiled. What it adds has the same bits
// either way: the part that computes it, which takes most of the time, may be.

import { byteSize } from '../../base/dtype.ts';
import { sizeOf } from '../../base/shape.ts';
import { axesOf } from '../../kernel/bounds.ts';
import { estimateKernel } from '../../kernel/estimate.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Accumulator, Kernel } from '../../kernel/kernel.ts';
import { rewriter } from '../../kernel/rewrite.ts';
import { below } from '../../kernel/walk.ts';
import type { Device } from '../device.ts';
import { type CpuBuffer, smallBytes } from './buffer.ts';
import type { CpuProgram } from './program.ts';

/** A kernel in two: the first writes summands, which are the last inputs of the second. */
interface Summed {
  readonly summands: Kernel;
  readonly sums: Kernel;
}

/** The two kernels of one that adds up floats; null if it is best run as a whole. */
export function summed(kernel: Kernel): Summed | null {
  const { accumulators, inputs, outputs, scalars } = kernel;
  const space = [...kernel.space, ...kernel.reduced];
  const elements = sizeOf(space);
  const computed = accumulators.filter((a) => isComputed(a) && byteSize(a.type) * elements <= smallBytes);
  if (computed.length === 0) return null;
  const name = `${kernel.name}_summands`;
  const written = computed.map(({ type, value }) => ({ type, value }));
  const first = { space, reduced: [], accumulators: [], inputs, outputs: written, scalars, inPlace: [] };
  const b = new Exprs();
  const copy = rewriter(b, () => undefined);
  const read = (a: Accumulator): Expr => {
    const at = computed.indexOf(a);
    return at < 0 ? copy(a.value) : b.load(a.type, inputs.length + at, position(b, space));
  };
  const second = {
    ...kernel,
    inputs: [...inputs, ...computed.map(({ type }) => ({ type, elements }))],
    accumulators: accumulators.map((a) => ({ ...a, value: read(a) })),
    outputs: outputs.map((o) => ({ ...o, value: copy(o.value) })),
  };
  return {
    summands: { kind: 'kernel', name, ...first, estimate: estimateKernel(first) },
    sums: { ...second, estimate: estimateKernel(second) },
  };
}

/** Fewer operations than this are interpreted as fast as another program is launched. */
const leastOperations = 8;

/** Whether floats are added, or multiplied, that take some computing, at every position. */
const isComputed = ({ op, type, value }: Accumulator): boolean =>
  (op === 'sum' || op === 'prod') &&
  (type === 'f32' || type === 'f64') &&
  axesOf(value).size > 0 &&
  [...below([value])].filter((e) => e.kind === 'alu' && e.type !== 'index').length >= leastOperations;

/** The number of a position, counted along the last axis first. */
function position(b: Exprs, space: readonly number[]): Expr {
  let at: Expr = b.const('index', 0);
  for (const [axis, size] of space.entries())
    at = b.alu('add', b.alu('mul', at, b.const('index', size)), b.axis(axis, size));
  return at;
}

/** Both as one program. */
export class SummedProgram implements CpuProgram {
  readonly name: string;
  readonly needs: readonly number[];
  readonly scalars: number;
  readonly #summands: CpuProgram;
  readonly #sums: CpuProgram;
  readonly #inputs: number;
  readonly #bytes: readonly number[];
  readonly #device: Pick<Device, 'allocate' | 'release'>;

  constructor(
    whole: Kernel,
    { summands, sums }: Summed,
    prepare: (kernel: Kernel) => CpuProgram,
    device: Pick<Device, 'allocate' | 'release'>,
  ) {
    this.name = whole.name;
    this.scalars = whole.scalars.length;
    this.#summands = prepare(summands);
    this.#sums = prepare(sums);
    this.#inputs = whole.inputs.length;
    this.#bytes = this.#summands.needs.slice(this.#inputs);
    this.needs = [...this.#sums.needs.slice(0, this.#inputs), ...this.#sums.needs.slice(sums.inputs.length)];
    this.#device = device;
  }

  get source(): string {
    return `${this.#summands.source}\n${this.#sums.source}`;
  }

  run(buffers: readonly CpuBuffer[], scalars: readonly number[]): void {
    const inputs = buffers.slice(0, this.#inputs);
    const summands = this.#bytes.map((bytes) => this.#device.allocate(bytes) as CpuBuffer);
    this.#summands.run([...inputs, ...summands], scalars);
    this.#sums.run([...inputs, ...summands, ...buffers.slice(this.#inputs)], scalars);
    for (const s of summands) this.#device.release(s);
  }

  /** Its programs are the device's, and may serve others. */
  dispose(): void {}
}
