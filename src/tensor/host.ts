// What tensors ask of the runtime they belong to.

import type { DType, TypedArray } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { Node } from '../graph/node.ts';
import type { RoutineOp } from '../kernel/kernel.ts';

/** A tensor as its runtime sees it. */
export interface Handle {
  readonly disposed: boolean;
  /** Until it is disposed of. */
  readonly node: Node;
  /** Kept for the runtime's backstop, which frees what nobody disposes of; null until it watches the tensor. */
  guard: object | null;
  dispose(): void;
}

export interface TensorHost {
  /** Capture the lines that create and dispose tensors, for error messages and the leak report. */
  readonly development: boolean;
  /** Nodes deeper than this are computed at once instead of piling up. */
  readonly maxDepth: number;
  /** A handle was made: scopes, leak backstop and counters take note. */
  adopt(tensor: Handle, node: Node): void;
  /** A handle of a node was disposed. */
  forget(tensor: Handle, node: Node): void;
  /** Takes a handle out of all scopes. */
  keep(tensor: Handle): void;
  compute(nodes: readonly Node[]): void;
  computeOne(node: Node): void;
  /** The elements as stored: f16 and bf16 as 16 bits. */
  readSync(node: Node): TypedArray;
  /** The elements as stored, or a promise of them; their bytes in `into`, if that is given, which is as long. */
  read(node: Node, signal?: AbortSignal | undefined, into?: Uint8Array): TypedArray | Promise<TypedArray>;
  /** The bytes go to a device and nowhere else; programs that read the node run there from then on. */
  move(node: Node, device: string, signal?: AbortSignal | undefined): Promise<void>;
  /** The bytes went with a lost device, and nothing is left to make them from. */
  lost(node: Node): boolean;
  /** A computed node from bytes in storage form; the bytes are copied. */
  upload(bytes: Uint8Array, dtype: DType, shape: Shape): Node;
  /** The next of the keys from which random numbers are drawn where no seed is given. */
  nextKey(): number;
  checkOpen(where: string): void;
  /** Whether every device of the runtime has a routine: what is made of it can be computed wherever it is placed. */
  everywhere(routine: RoutineOp): boolean;
}
