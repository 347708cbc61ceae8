// Lazy nodes: what a tensor stands for before (op and sources) and after (storage) it has been computed.
//
// A node is kept alive by handles (tensors) and by uses (nodes that still need it as a source). When both are gone its
// storage is let go; when it is computed it lets go of its sources. So `x.dispose()` right after `y = x.add(1)` is safe,
// and memory is freed at the earliest moment nobody can ask for it.
//
// A node holds its sources from the moment somebody holds it, not from when it is made (`rooted`). So what an op builds and
// then drops, because it refuses its arguments or finds a shorter way, keeps no memory.
//
// Op arguments are tuples of whole numbers; `args` below writes and reads them.

import { type DType, dtypeInfo, dtypes } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { AluOp } from '../kernel/ops.ts';
import { aluOps, type ReduceOp } from '../kernel/ops.ts';
import type { Group } from './group.ts';
import { type Ints, internInts, noInts } from './intern.ts';
import type { Site, Storage } from './storage.ts';

export const nodeOps = [
  'leaf',
  'const',
  'iota',
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
  'reduce',
  'matmul',
  'scan',
  'sort',
  'sorted',
  'positions',
  'scatter',
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
  readonly message: string;
}

/** Computes values again: one node per result of the call that made them. */
export interface Replay {
  readonly inputs: readonly Node[];
  readonly index: number;
  run(inputs: readonly Node[]): readonly Node[];
}

/** How far back a value that a device could lose is remembered to be computed again. */
const maxReach = 64;

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

/** The node has been computed: it holds its bytes from now on and no longer needs its sources. */
export function settle(node: Node, storage: Storage): void {
  if (storage.owners++ === 0) {
    storage.dtype = node.dtype;
    storage.shape = node.shape.values;
    storage.site = node.site;
  }
  if (node.group !== null) outOfGroup(node, node.group);
  node.storage = storage;
  if (node.issuedIn !== null) node.issuedIn = null;
  node.tracked = storage.tracked;
  const sources = node.sources;
  node.sources = noNodes;
  if (node.rooted) for (let i = 0; i < sources.length; i++) dropUse(sources[i]!);
  dropCheck(node);
}

/** The check of an index is done, or not needed any more: what it was to be computed from is let go. */
function dropCheck(node: Node): void {
  if (!node.check) return;
  const { bad } = node.check;
  node.check = null;
  if (node.rooted) dropUse(bad);
}

/**
 * As `settle`, for bytes that a device could lose: the sources are remembered, though not kept alive. After `maxReach`
 * steps the chain is cut, so that an endless loop does not remember all of its past.
 */
export function settleMortal(node: Node, storage: Storage, reach: number): void {
  remember(node, node.sources, reach);
  settle(node, storage);
}

/** Notes how a computed node can be computed again. */
export function remember(node: Node, lineage: readonly Node[] | Replay, reach: number): void {
  const cut = reach > maxReach;
  node.lineage = cut ? null : lineage;
  node.reach = cut ? 0 : reach;
}

/** A lazy node is to be computed or freed: its group knows nothing of it any more. */
function outOfGroup(node: Node, group: Group): void {
  if (group.released) beyondGroup(node);
  else group.remove(node);
}

/** Somebody takes hold of a lazy node that was watched with others. */
function takeOut(node: Node, group: Group): void {
  if (group.released) beyondGroup(node);
  else group.leave(node);
}

/** The tensors of its group are gone and its sources given back: it is a node as if new, which a lineage remembers. */
function beyondGroup(node: Node): void {
  node.group = null;
  node.usedInGroup = 0;
  node.handles = 0;
  node.uses = 0;
  node.rooted = false;
}

/** A tensor holds the node from now on. */
export function addHandle(node: Node): void {
  if (node.group !== null) takeOut(node, node.group);
  node.handles++;
  if (!node.rooted) root(node);
}

/** Something that is no tensor holds the node from now on. */
export function addUse(node: Node): void {
  if (node.group !== null) takeOut(node, node.group);
  node.uses++;
  if (!node.rooted) root(node);
}

/** The node, and whatever below it nobody held so far, holds its sources from now on. */
function root(node: Node): void {
  node.rooted = true;
  const { sources } = node;
  // Most nodes stand on held ones and constants: no list is made for them.
  let pending: Node[] | null = null;
  for (let i = 0; i < sources.length; i++) pending = hold(sources[i]!, pending);
  if (node.check) pending = hold(node.check.bad, pending);
  if (pending) rootAll(pending);
}

function rootAll(pending: Node[]): void {
  for (let n = pending.pop(); n; n = pending.pop()) {
    for (const s of n.sources) hold(s, pending);
    if (n.check) hold(n.check.bad, pending);
  }
}

/** Adds a use. A node that nobody held joins the list of those whose sources are held next. */
function hold(node: Node, pending: Node[] | null): Node[] | null {
  if (node.group !== null) takeOut(node, node.group);
  node.uses++;
  if (node.rooted) return pending;
  node.rooted = true;
  if (node.sources.length === 0) return pending;
  if (pending === null) return [node];
  pending.push(node);
  return pending;
}

export function dropHandle(node: Node): void {
  node.handles--;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

export function dropUse(node: Node): void {
  node.uses--;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

/** As `dropUse`, several times. */
export function dropUses(node: Node, times: number): void {
  node.uses -= times;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

/** Nobody holds the node: it lets go of its bytes and its sources, and these of theirs. */
function free(node: Node): void {
  // A list, not recursion: chains of lazy nodes can be long.
  let pending: Node[] | null = null;
  for (let n: Node | undefined = node; n; n = pending?.pop()) {
    if (n.onFree) {
      n.onFree();
      n.onFree = null;
    }
    if (n.group !== null) outOfGroup(n, n.group);
    dropCheck(n);
    n.storage?.disown();
    n.storage = null;
    const sources: readonly Node[] = n.sources;
    if (sources.length === 0) continue;
    n.sources = noNodes;
    // Fused into something that may have to be computed again.
    n.lineage = sources;
    if (!n.rooted) continue;
    for (let i = 0; i < sources.length; i++) {
      const s = sources[i]!;
      s.uses--;
      if (s.handles > 0 || s.uses > 0) continue;
      pending ??= [];
      pending.push(s);
    }
  }
}

/** The argument of a `const` whose value is part of the program rather than an argument of its launches. */
export const fixedArg: Ints = internInts([1]);

/** The argument of a `const` that is drawn anew whenever a compiled function runs: the key of random numbers. */
export const drawnArg: Ints = internInts([2]);

const reduceOps: readonly ReduceOp[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];
const combines = ['set', 'sum', 'prod', 'max', 'min'] as const;
export const precisions = ['exact', 'tf32', 'bf16'] as const;

export type Combine = (typeof combines)[number];
export type Precision = (typeof precisions)[number];

const aluNames = Object.keys(aluOps) as AluOp[];

/** What a node of an elementwise op says of it. */
export interface AluRow {
  readonly arg: Ints;
  readonly compares: boolean;
}

export const aluRows = Object.fromEntries(
  aluNames.map((op, i): [AluOp, AluRow] => [op, { arg: internInts([i]), compares: aluOps[op].compares === true }]),
) as Readonly<Record<AluOp, AluRow>>;

const [aluCode, constCode, numberCode] = [opIds.alu * 16, opIds.const * 16, opIds.aluNumber * 16];

// By the code, which is shorter than asking for the op.
const [leafId, constId, numberId] = [opIds.leaf, opIds.const, opIds.aluNumber];
export const isLeaf = (node: Node): boolean => node.code >> 4 === leafId;
export const isConst = (node: Node): boolean => node.code >> 4 === constId;
export const isAluNumber = (node: Node): boolean => node.code >> 4 === numberId;

/** An elementwise op on nodes of one dtype; shapes are equal or rank 0. */
export function aluNode(row: AluRow, sources: readonly Node[]): Node {
  let { shape } = sources[0]!;
  for (let i = 1; shape === noInts && i < sources.length; i++) shape = sources[i]!.shape;
  if (row.compares) return new Node('alu', 'bool', shape, sources, row.arg);
  const last = sources[sources.length - 1]!;
  return new Node('alu', last.dtype, shape, sources, row.arg, 0, codeLike(aluCode, last));
}

const comparedCode = codeOf('aluNumber', 'bool');

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

const wholes = Object.fromEntries(reduceOps.map((op) => [op, []])) as unknown as Readonly<Record<ReduceOp, Ints[]>>;

/** Writing and reading op arguments. */
export const args = {
  alu: (op: AluOp): Ints => aluRows[op].arg,
  aluOf: (n: { arg: Ints }): AluOp => aluNames[n.arg.values[0]!]!,
  axis: (axis: number): Ints => internInts([axis]),
  axisOf: (n: { arg: Ints }): number => n.arg.values[0]!,
  list: (values: readonly number[]): Ints => internInts(values),
  listOf: (n: { arg: Ints }): readonly number[] => n.arg.values,
  /** First position and step per axis. */
  slice: (starts: readonly number[], steps: readonly number[]): Ints => internInts([...starts, ...steps]),
  sliceOf: (n: { arg: Ints }): { starts: readonly number[]; steps: readonly number[] } => {
    const rank = n.arg.values.length / 2;
    return { starts: n.arg.values.slice(0, rank), steps: n.arg.values.slice(rank) };
  },
  reduce: (op: ReduceOp, axes: readonly number[]): Ints => internInts([reduceOps.indexOf(op), ...axes]),
  /** Over all axes. */
  reduceAll: (op: ReduceOp, rank: number): Ints => (wholes[op][rank] ??= args.reduce(op, [...Array(rank).keys()])),
  reduceOf: (n: { arg: Ints }): { op: ReduceOp; axes: readonly number[] } => ({
    op: reduceOps[n.arg.values[0]!]!,
    axes: n.arg.values.slice(1),
  }),
  /** Per windowed axis: the axis, its window, stride and dilation. The windows become new last axes. */
  window: (rows: readonly WindowAxis[]): Ints =>
    internInts(rows.flatMap((r) => [r.axis, r.size, r.stride, r.dilation])),
  windowOf: (n: { arg: Ints }): WindowAxis[] => {
    const v = n.arg.values;
    return Array.from({ length: v.length / 4 }, (_, i) => ({
      axis: v[4 * i]!,
      size: v[4 * i + 1]!,
      stride: v[4 * i + 2]!,
      dilation: v[4 * i + 3]!,
    }));
  },
  matmul: (precision: Precision): Ints => internInts([precisions.indexOf(precision)]),
  matmulOf: (n: { arg: Ints }): Precision => precisions[n.arg.values[0]!]!,
  scan: (combine: Combine, axis: number, reverse: boolean): Ints =>
    internInts([combines.indexOf(combine), axis, reverse ? 1 : 0]),
  scanOf: (n: { arg: Ints }): { combine: Combine; axis: number; reverse: boolean } => ({
    combine: combines[n.arg.values[0]!]!,
    axis: n.arg.values[1]!,
    reverse: n.arg.values[2] === 1,
  }),
  sort: (descending: boolean): Ints => internInts([descending ? 1 : 0]),
  sortOf: (n: { arg: Ints }): boolean => n.arg.values[0] === 1,
  scatter: (combine: Combine, axis: number, perElement: boolean): Ints =>
    internInts([combines.indexOf(combine), axis, perElement ? 1 : 0]),
  scatterOf: (n: { arg: Ints }): { combine: Combine; axis: number; perElement: boolean } => ({
    combine: combines[n.arg.values[0]!]!,
    axis: n.arg.values[1]!,
    perElement: n.arg.values[2] === 1,
  }),
};

export interface WindowAxis {
  readonly axis: number;
  readonly size: number;
  readonly stride: number;
  readonly dilation: number;
}

export const makeNode = (op: NodeOp, dtype: DType, shape: Shape, sources: readonly Node[], arg: Ints = noInts): Node =>
  new Node(op, dtype, internInts(shape), sources, arg);
