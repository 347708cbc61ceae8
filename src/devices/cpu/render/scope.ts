// The loop nest as scopes: each holds the code that runs at the head of one loop and the values computed there.
//
// Generating an inner loop asks for values; those that do not change in it are generated in the scope of the loop where
// they do, and kept in a local. So everything is hoisted as far out as it goes, by construction.

import type { Expr } from '../../../kernel/expr.ts';
import { Code } from '../wasm/code.ts';

export class WasmScope {
  readonly code = new Code();
  readonly memo = new Map<string, number>();
  readonly depth: number;
  readonly parent: WasmScope | null;
  /** Elements handled at once here; 1 outside the vector loop. */
  readonly lanes: number;
  /** In a body for usual elements: the conditions that none of them meets, as far as they came up (usual.ts). */
  readonly rare: Set<Expr> | null;

  constructor(depth: number, parent: WasmScope | null, lanes = parent?.lanes ?? 1, rare: Set<Expr> | null = null) {
    this.depth = depth;
    this.parent = parent;
    this.lanes = lanes;
    this.rare = rare;
  }

  /** Code that runs only sometimes: it knows what is known here, and nothing that it computes is known after it. */
  branch(): WasmScope {
    const s = new WasmScope(this.depth, this.parent, this.lanes);
    for (const [key, local] of this.memo) s.memo.set(key, local);
    return s;
  }

  /** The scope in which something of this depth is computed. */
  at(depth: number): WasmScope {
    let s: WasmScope = this;
    while (s.depth > depth && s.parent) s = s.parent;
    return s;
  }
}

/** The scope in which the epilogue runs: after all loops. */
export const epilogueDepth = 1000;
