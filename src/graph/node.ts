// Lazy nodes: what a tensor stands for before (op and sources) and after (storage) it has been computed.
//
// Who holds a node, and for how long, is in `holding.ts`; what the arguments of ops are, in `args.ts`.

import { type DType, dtypeInfo, dtypes } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { AluRow } from './args.ts';
import type { Group } from './group.ts';
import { type Ints, internInts, noInts } from './intern.ts';
import type { Site, Storage } from './storage.ts';

const nodeOps = [
  'leaf',
  'const',
  'iota',
  'draw',
  'alu',
  'aluNumber',
  'cast',
  'bitcast',
  'reshape',
  'permute',
  'expand',
  'slice',
  'pad',
  'roll',
  'concat',
  'window',
  'gather',
  'takeAlong',
  'search',
  'reduce',
  'matmul',
  'scan',
  'sort',
  'first',
  'second',
  'scatter',
  'fourier',
] as const;
export type NodeOp = (typeof nodeOps)[number];

const opIds = Object.fromEntries(nodeOps.map((op, i) => [op, i])) as Record<NodeOp, number>;

const dtypeBits = 15;
const dtypesById: DType[] = [];
for (const t of dtypes) dtypesById[dtypeInfo[t].id] = t;

/** Op and dtype as one number. */
export const codeOf = (op: NodeOp, dtype: DType): number => opIds[op] * 16 + dtypeInfo[dtype].id;

/** The code of an op whose result has the dtype of a node. */
const codeLike = (first: number, node: Node): number => first + (node.code & dtypeBits);

/** One bit per dtype, by its id: the dtype of a node. */
export const dtypeBit = (node: Node): number => 1 << (node.code & dtypeBits);

/** A run-time check of indices: `bad` is a bool scalar. */
export interface IndexCheck {
  readonly bad: Node;
  /** What is told if it is true. */
  readonly message: () => string;
  /** What was held against which size. */
  readonly indices: Node;
  readonly size: number;
}

/** Computes values again: one node per result of the call that made them. */
export interface Replay {
  readonly inputs: readonly Node[];
  readonly index: number;
  run(inputs: readonly Node[]): readonly Node[];
}

/** The sources of what is made from nothing, and of what is computed. */
export const noNodes: readonly Node[] = [];

/** What few nodes have: the others pay for one empty field. */
interface Extras {
  check: IndexCheck | null;
  seed: Uint8Array | null;
  site: Site | null;
  issuedIn: readonly unknown[] | null;
  onFree: (() => void) | null;
}

const noExtras: Readonly<Extras> = { check: null, seed: null, site: null, issuedIn: null, onFree: null };

// Nodes are made by the million: a field more here is a measurable part of every op.
export class Node {
  /** Op and dtype in one number, for cache keys. */
  readonly code: number;
  readonly shape: Ints;
  readonly arg: Ints;
  /** The value of a `const`; the last operand of an `aluNumber`. */
  readonly value: number | bigint;
  /** Longest way down to computed values; bounds how much lazy work piles up. */
  readonly depth: number;
  /** Something below holds memory that the garbage collector does not see. */
  tracked: boolean;
  sources: readonly Node[];
  storage: Storage | null = null;
  /** How to compute the value again after its bytes were given up; known to the runtime. Every result of a compiled function has one. */
  recipe: object | null = null;
  /** From what a value that a device could lose can be computed again: its sources, or a call that made it. */
  lineage: readonly Node[] | Replay | null = null;
  /** Computations between this value and data from outside, as far as lineages go back. */
  reach = 0;
  /** Who takes hold of a node that nobody held yet does so by `addHandle` or `addUse`. */
  handles = 0;
  uses = 0;
  /** Somebody has held it: it counts as a use of its sources. */
  rooted = false;
  /** The lazy nodes that are watched together with it, and how many of its uses are theirs. */
  group: Group | null = null;
  usedInGroup = 0;
  /** Scratch of the current trace. */
  mark = 0;
  number = 0;
  #extras: Extras | null = null;

  /** Who knows the code, because a source has the same dtype, gives it: looking it up takes a good part of making a node. */
  constructor(
    op: NodeOp,
    dtype: DType,
    shape: Ints,
    sources: readonly Node[],
    arg: Ints,
    value: number | bigint = 0,
    code: number = codeOf(op, dtype),
  ) {
    this.code = code;
    this.shape = shape;
    this.sources = sources;
    this.arg = arg;
    this.value = value;
    let depth = 0;
    let tracked = false;
    for (let i = 0; i < sources.length; i++) {
      const s = sources[i]!;
      const below = s.storage ? 0 : s.depth;
      if (below >= depth) depth = below + 1;
      tracked ||= s.tracked;
    }
    this.depth = depth;
    this.tracked = tracked;
  }

  get op(): NodeOp {
    return nodeOps[this.code >> 4]!;
  }

  get dtype(): DType {
    return dtypesById[this.code & dtypeBits]!;
  }

  get size(): number {
    return this.shape.product;
  }

  /** It has none of what few nodes have. */
  get plain(): boolean {
    return this.#extras === null;
  }

  /** A flag computed along with this node; if it is true, an index was out of range. */
  get check(): IndexCheck | null {
    return this.#extras === null ? null : this.#extras.check;
  }

  set check(check: IndexCheck | null) {
    this.#set('check', check);
  }

  /** The bytes of an upload that a device could lose, kept as long as something may have to be computed from them again. */
  get seed(): Uint8Array | null {
    return this.#extras === null ? null : this.#extras.seed;
  }

  set seed(seed: Uint8Array | null) {
    this.#set('seed', seed);
  }

  /** Where a tensor for it was made, while it is lazy and somebody wants to know; known to the runtime. */
  get issuedIn(): readonly unknown[] | null {
    return this.#extras === null ? null : this.#extras.issuedIn;
  }

  set issuedIn(issuedIn: readonly unknown[] | null) {
    this.#set('issuedIn', issuedIn);
  }

  /** The line that made it, where lines are recorded. */
  get site(): Site | null {
    return this.#extras === null ? null : this.#extras.site;
  }

  set site(site: Site | null) {
    this.#set('site', site);
  }

  /** Told when nobody holds the node any more. */
  get onFree(): (() => void) | null {
    return this.#extras === null ? null : this.#extras.onFree;
  }

  set onFree(told: (() => void) | null) {
    this.#set('onFree', told);
  }

  #set<K extends keyof Extras>(key: K, value: Extras[K]): void {
    if (this.#extras === null && value === null) return;
    this.#extras ??= { ...noExtras };
    this.#extras[key] = value;
  }
}

const [aluCode, constCode, numberCode] = [opIds.alu * 16, opIds.const * 16, opIds.aluNumber * 16];

// By the code, which is shorter than asking for the op.
const [leafId, constId, aluId, numberId] = [opIds.leaf, opIds.const, opIds.alu, opIds.aluNumber];
export const isLeaf = (node: Node): boolean => node.code >> 4 === leafId;
export const isConst = (node: Node): boolean => node.code >> 4 === constId;
export const isAluNumber = (node: Node): boolean => node.code >> 4 === numberId;
/** An op on elements at one place, of at most three nodes. */
export const isElementwise = (node: Node): boolean => node.code >> 4 === aluId || node.code >> 4 === numberId;

/** An elementwise op on nodes of one dtype; shapes are equal or rank 0. */
export function aluNode(row: AluRow, sources: readonly Node[]): Node {
  let { shape } = sources[0]!;
  for (let i = 1; shape === noInts && i < sources.length; i++) shape = sources[i]!.shape;
  if (row.compares) return new Node('alu', 'bool', shape, sources, row.arg, 0, comparingCode);
  const last = sources[sources.length - 1]!;
  return new Node('alu', last.dtype, shape, sources, row.arg, 0, codeLike(aluCode, last));
}

const comparedCode = codeOf('aluNumber', 'bool');
const comparingCode = codeOf('alu', 'bool');

/** An elementwise op on a node of floats and a number: what `aluNode` makes of it and a constant, as one node instead of two. */
export const aluNumberNode = (row: AluRow, node: Node, value: number): Node => {
  const code = row.compares ? comparedCode : codeLike(numberCode, node);
  return new Node('aluNumber', node.dtype, node.shape, [node], row.arg, value, code);
};

/** The number of such a node as a constant of rank 0, and the op that takes it. */
export function partsOf(node: Node): readonly [number: Node, op: Node] {
  const [first] = node.sources as [Node];
  const number = new Node('const', first.dtype, noInts, noNodes, noInts, node.value, codeLike(constCode, first));
  const op = new Node('alu', node.dtype, node.shape, [first, number], node.arg);
  return [number, op];
}

export const makeNode = (op: NodeOp, dtype: DType, shape: Shape, sources: readonly Node[], arg: Ints = noInts): Node =>
  new Node(op, dtype, internInts(shape), sources, arg);
