// Kernels by hand, for tests of a device without the planner: a builder with row-major inputs over the kernel's axes.

import type { DType } from '../../src/base/dtype.ts';
import { sizeOf, stridesOf } from '../../src/base/shape.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Accumulator, BufferParam, Kernel, Output } from '../../src/kernel/kernel.ts';
import type { AluOp, ReduceOp } from '../../src/kernel/ops.ts';

export class KernelBuilder {
  readonly b = new Exprs();
  readonly space: readonly number[];
  readonly reduced: readonly number[];
  readonly inputs: BufferParam[] = [];
  readonly scalars: DType[] = [];
  readonly accumulators: Accumulator[] = [];
  readonly outputs: Output[] = [];
  readonly inPlace: number[] = [];

  constructor(space: readonly number[], reduced: readonly number[] = []) {
    this.space = space;
    this.reduced = reduced;
  }

  axis(i: number): Expr {
    return this.b.axis(i, [...this.space, ...this.reduced][i]!);
  }

  index(v: number): Expr {
    return this.b.const('index', v);
  }

  op(op: AluOp, ...src: readonly Expr[]): Expr {
    return this.b.alu(op, ...src);
  }

  /** Declares an input of this many elements; read it with `at`. */
  input(type: DType, elements: number): number {
    this.inputs.push({ type, elements });
    return this.inputs.length - 1;
  }

  at(slot: number, index: Expr, gate: Expr | null = null): Expr {
    return this.b.load(this.inputs[slot]!.type, slot, index, gate);
  }

  /** Σ position · stride, with the row-major strides of `sizes` over all axes (default: all of them). */
  flat(sizes: readonly number[] = [...this.space, ...this.reduced], positions?: readonly Expr[]): Expr {
    const strides = stridesOf(sizes);
    let sum: Expr = this.index(0);
    sizes.forEach((_, i) => {
      sum = this.op('add', sum, this.op('mul', positions?.[i] ?? this.axis(i), this.index(strides[i]!)));
    });
    return sum;
  }

  /** A new input with one element per position of the kernel. */
  whole(type: DType): Expr {
    const sizes = [...this.space, ...this.reduced];
    return this.at(this.input(type, sizeOf(sizes)), this.flat(sizes));
  }

  scalar(type: DType): Expr {
    this.scalars.push(type);
    return this.b.scalar(type, this.scalars.length - 1);
  }

  reduce(op: ReduceOp, value: Expr): Expr {
    this.accumulators.push({ op, type: value.type as DType, value });
    const type = op === 'argmax' || op === 'argmin' ? 'i32' : (value.type as DType);
    return this.b.acc(type, this.accumulators.length - 1);
  }

  output(value: Expr): void {
    this.outputs.push({ type: value.type as DType, value });
  }

  done(name: string): Kernel {
    const elements = sizeOf(this.space);
    return {
      kind: 'kernel',
      name,
      space: this.space,
      reduced: this.reduced,
      accumulators: this.accumulators,
      outputs: this.outputs,
      inputs: this.inputs,
      scalars: this.scalars,
      inPlace: this.inPlace,
      estimate: { flops: elements * sizeOf(this.reduced), bytesRead: 0, bytesWritten: 0 },
    };
  }
}
