// Reads the lazy graph below some outputs into a flat key of whole numbers.
//
// Equal keys mean equal programs: the key holds every op, dtype, shape, argument and edge, with computed nodes as numbered
// leaves and most constants as numbered scalars, so that `x.mul(0.98)` and `x.mul(0.99)` are one program. Finding a
// program again costs one pass over the graph and one map lookup that compares the whole key.

import { is64BitInt } from '../base/dtype.ts';
import { fixedArg, type IndexCheck, type Node } from './node.ts';

export interface Trace {
  /** Sources before users. Numbers in the key and in `Node.number` are positions in this list. */
  readonly nodes: readonly Node[];
  readonly leaves: readonly Node[];
  readonly scalars: readonly number[];
  /** The key is the first `length` words. It is valid until the next trace. */
  readonly key: Int32Array;
  readonly length: number;
  /** Index checks of the traced nodes; their flags are traced as outputs behind the requested ones. */
  readonly checks: readonly IndexCheck[];
  /** One bit per dtype that occurs, by dtype id. */
  readonly dtypes: number;
}

// Values worth a program of their own, because simplification rules look at them.
const baked = new Map<number, number>([-2, -1, 0, 1, 2, 3, 0.5].map((v, i) => [v, i + 2]));
const bakedBig = new Map<string, number>();

/** 0 for a launch scalar, else a number that stands for this very value. */
export function bakedId(node: Node): number {
  const v = node.value;
  if (typeof v === 'number') {
    if (Object.is(v, -0)) return 1;
    const known = baked.get(v);
    if (known !== undefined) return known;
    if (node.arg !== fixedArg && Number.isFinite(v) && !(is64BitInt(node.dtype) && !Number.isSafeInteger(v))) return 0;
  } else if (node.arg !== fixedArg && v >= Number.MIN_SAFE_INTEGER && v <= Number.MAX_SAFE_INTEGER) {
    return baked.get(Number(v)) ?? 0;
  }
  // Infinities, NaN, integers that a double cannot carry, and what was asked to be fixed.
  const text = String(v);
  let id = bakedBig.get(text);
  if (id === undefined) bakedBig.set(text, (id = 100 + bakedBig.size));
  return id;
}

let epoch = 0;
let key = new Int32Array(256);
let length = 0;
let dtypes = 0;
let nodes: Node[] = [];
let leaves: Node[] = [];
let scalars: number[] = [];
let checks: IndexCheck[] = [];

/** Makes room for some more words of the key. */
function room(words: number): void {
  if (length + words <= key.length) return;
  const larger = new Int32Array(2 * (length + words));
  larger.set(key);
  key = larger;
}

/** Traces the graph below `outputs`. */
export function trace(outputs: readonly Node[]): Trace {
  epoch++;
  length = 0;
  dtypes = 0;
  nodes = [];
  leaves = [];
  scalars = [];
  checks = [];
  for (let i = 0; i < outputs.length; i++) visit(outputs[i]!);
  // The list grows while it is walked: an index that is itself looked up brings a check of its own.
  for (let i = 0; i < checks.length; i++) visit(checks[i]!.bad);
  room(1 + outputs.length + checks.length);
  key[length++] = -1;
  for (let i = 0; i < outputs.length; i++) key[length++] = outputs[i]!.number;
  for (let i = 0; i < checks.length; i++) key[length++] = checks[i]!.bad.number;
  return { nodes, leaves, scalars, checks, key, length, dtypes };
}

/** A node whose sources are being visited. */
interface Visit {
  readonly node: Node;
  next: number;
}

// A stack, not recursion: inside a compiled function a graph may be as deep as its body is long.
function visit(root: Node): void {
  if (!enter(root)) return;
  const stack: Visit[] = [{ node: root, next: 0 }];
  for (let top = stack[0]; top; top = stack[stack.length - 1]) {
    const { node } = top;
    if (top.next < node.sources.length) {
      const source = node.sources[top.next++]!;
      if (enter(source)) stack.push({ node: source, next: 0 });
    } else {
      leave(node);
      stack.pop();
    }
  }
}

/** Notes a node that is met for the first time; true if its sources come first. */
function enter(node: Node): boolean {
  if (node.mark === epoch) return false;
  node.mark = epoch;
  dtypes |= 1 << (node.code & 15);
  if (node.storage || node.op === 'leaf') {
    node.number = nodes.length;
    nodes.push(node);
    leaves.push(node);
    room(2);
    key[length++] = node.code & 15;
    key[length++] = node.shape.id;
    return false;
  }
  if (node.check) checks.push(node.check);
  if (node.sources.length > 0) return true;
  leave(node);
  return false;
}

/** Writes down a node whose sources are written down. */
function leave(node: Node): void {
  const { sources } = node;
  node.number = nodes.length;
  nodes.push(node);
  room(4 + sources.length);
  key[length++] = node.code;
  key[length++] = node.shape.id;
  if (node.op === 'const') {
    const id = bakedId(node);
    key[length++] = id;
    if (id === 0) scalars.push(Number(node.value));
    return;
  }
  key[length++] = node.arg.id;
  // A computed value that a tensor still holds is kept if the program stores it anyway.
  key[length++] = 2 * sources.length + (node.handles > 0 ? 1 : 0);
  for (let i = 0; i < sources.length; i++) key[length++] = sources[i]!.number;
}

/** Programs by key. A hit compares every word of the key. */
export class KeyedCache<T> {
  readonly #buckets = new Map<number, { readonly key: Int32Array; readonly value: T }[]>();
  size = 0;

  get(key: Int32Array, length: number): T | undefined {
    const bucket = this.#buckets.get(hash(key, length));
    if (!bucket) return undefined;
    for (let i = 0; i < bucket.length; i++) if (equal(bucket[i]!.key, key, length)) return bucket[i]!.value;
    return undefined;
  }

  set(key: Int32Array, length: number, value: T): void {
    const h = hash(key, length);
    let bucket = this.#buckets.get(h);
    if (!bucket) this.#buckets.set(h, (bucket = []));
    bucket.push({ key: key.slice(0, length), value });
    this.size++;
  }

  clear(): void {
    this.#buckets.clear();
    this.size = 0;
  }
}

function hash(key: Int32Array, length: number): number {
  let h = length;
  for (let i = 0; i < length; i++) h = (Math.imul(h, 31) + key[i]!) | 0;
  return h;
}

function equal(a: Int32Array, b: Int32Array, length: number): boolean {
  if (a.length !== length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}
