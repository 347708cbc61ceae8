// Reads the lazy graph below some outputs into a flat key of whole numbers.
//
// Equal keys mean equal programs: the key holds every op, dtype, shape, argument and edge, with computed nodes as numbered
// leaves and most constants as numbered scalars, so that `x.mul(0.98)` and `x.mul(0.99)` are one program. Finding a
// program again costs one pass over the graph and one map lookup that compares the whole key.
//
// Where a slice starts and how far a roll goes is part of the program too, unless the node is opened: then these
// numbers are scalars of the launch as well, and so is a constant that would otherwise have a program of its own.

import { is64BitInt } from '../base/dtype.ts';
import { drawnArg, fixedArg } from './args.ts';
import { internInts } from './intern.ts';
import { type IndexCheck, isAluNumber, isConst, isElementwise, isLeaf, type Node } from './node.ts';

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
  /** Which nodes had their numbers taken out of the program. */
  readonly opened: Opened;
  /** Scalars that are drawn anew whenever a compiled function runs. */
  readonly draws: readonly number[];
}

/** Nodes whose numbers are launch scalars: none, those with these numbers in the trace, or all that can be. */
export type Opened = ReadonlySet<number> | 'all' | null;

const isOpened = (opened: Opened, number: number): boolean =>
  opened !== null && (opened === 'all' || opened.has(number));

/** Whether a launch can be told the value of a constant. */
const tellable = ({ value, dtype, arg }: Node): boolean =>
  arg !== fixedArg &&
  (typeof value === 'bigint'
    ? value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
    : Number.isFinite(value) && !(is64BitInt(dtype) && !Number.isSafeInteger(value)));

/** Sizes beyond this are not counted in launch scalars. */
const largestOpened = 2 ** 31;

/** The launch scalars of a node, given its number in the trace: a constant's value, where a slice starts, how far a roll goes. */
export function scalarsOf(node: Node, number: number, opened: Opened): readonly number[] {
  if (isAluNumber(node)) {
    const v = node.value as number;
    return bakedFloat(v) === 0 || (isOpened(opened, number) && Number.isFinite(v)) ? [v] : none;
  }
  if (node.op === 'const') {
    const told = bakedId(node) === 0 || (isOpened(opened, number) && tellable(node));
    return told ? [Number(node.value)] : none;
  }
  if ((node.op !== 'slice' && node.op !== 'roll') || !isOpened(opened, number)) return none;
  if (node.sources[0]!.size >= largestOpened) return none;
  return node.arg.values.slice(0, node.shape.values.length);
}

const none: readonly number[] = [];

// Values worth a program of their own, because simplification rules look at them.
const baked = new Map<number, number>([-2, -1, 0, 1, 2, 3, 0.5].map((v, i) => [v, i + 2]));
/** Whether a value may be among them, at less than the cost of looking. */
const mayBeBaked = (v: number): boolean => v <= 3 && v >= -2 && Math.floor(2 * v) === 2 * v;
const bakedBig = new Map<string, number>();
const mostBaked = 1 << 14;
let nextBaked = 100;

/** 0 for a launch scalar, else a number that stands for this very value of a constant. */
export function bakedId(node: Node): number {
  const v = node.value;
  if (node.arg === drawnArg) return 0;
  if (typeof v === 'number') {
    const known = simpleId(v);
    if (known !== 0 || tellable(node)) return known;
  } else if (tellable(node)) {
    return baked.get(Number(v)) ?? 0;
  }
  return rareId(v);
}

/** As `bakedId`, for a number that is a float. */
export function bakedFloat(v: number): number {
  const known = simpleId(v);
  return known !== 0 || Number.isFinite(v) ? known : rareId(v);
}

/** The number that stands for a simple value; 0 for all others. */
function simpleId(v: number): number {
  if (!mayBeBaked(v)) return 0;
  return Object.is(v, -0) ? 1 : (baked.get(v) ?? 0);
}

/** Infinities, NaN, integers that a double cannot carry, and what was asked to be fixed. */
function rareId(v: number | bigint): number {
  const text = String(v);
  let id = bakedBig.get(text);
  if (id === undefined) {
    // Ids are never given twice: a value that was forgotten gets another one, and its program is planned again.
    if (bakedBig.size >= mostBaked) bakedBig.clear();
    bakedBig.set(text, (id = nextBaked++));
  }
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
let opened: Opened = null;
let draws: number[] = [];

/** The key, with room for some more words. */
function room(words: number): Int32Array {
  if (length + words <= key.length) return key;
  const larger = new Int32Array(2 * (length + words));
  larger.set(key);
  return (key = larger);
}

/** Traces the graph below `outputs`. */
export function trace(outputs: readonly Node[], told: Opened = null): Trace {
  epoch++;
  opened = told;
  draws = [];
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
  return { nodes, leaves, scalars, checks, key, length, dtypes, opened, draws };
}

// A stack, not recursion: inside a compiled function a graph may be as deep as its body is long.
function visit(root: Node): void {
  if (!enter(root)) return;
  // Nodes whose sources are being visited, and for those that are not elementwise which source comes next. Both lists are as young as the
  // nodes: the collector need not be told of what they hold.
  const open = [root];
  const next = isElementwise(root) ? [] : [0];
  for (let top = 0; top >= 0; ) {
    const node = open[top]!;
    if (isElementwise(node)) {
      top = ascend(open, next, descend(open, top));
      continue;
    }
    const { sources } = node;
    let at = next[next.length - 1]!;
    while (at < sources.length && !enter(sources[at]!)) at++;
    if (at === sources.length) {
      leave(node);
      next.pop();
      top--;
      continue;
    }
    next[next.length - 1] = at + 1;
    top++;
    open[top] = sources[at]!;
    if (!isElementwise(open[top]!)) next.push(0);
  }
}

// Long expressions are runs of elementwise ops, most of them on the one before. They are followed in two loops that keep everything in
// names of their own: what others could change in between would be looked up again for every node.

/** Goes down from an elementwise op to the last of a run of them, by their first sources: its place on the stack. */
function descend(open: Node[], from: number): number {
  const now = epoch;
  let [top, found] = [from, 0];
  let source = open[top]!.sources[0]!;
  while (source.mark !== now && source.storage === null && isElementwise(source) && source.check === null) {
    source.mark = now;
    found |= 1 << (source.code & 15);
    top++;
    open[top] = source;
    source = source.sources[0]!;
  }
  dtypes |= found;
  return top;
}

/** What the first word of an elementwise op says besides its code: how many sources it has (0: and a number), which words follow. */
const sourceShift = 10;
const held = 1 << 12;
const sourceElsewhere = 1 << 13;
const fixedNumber = 1 << 14;

/** The most words that an elementwise op takes. */
const mostWords = 8;

/** Writes down a run from its end, until a source comes first that is not written down: it is the last on the stack then. */
function ascend(open: Node[], next: number[], from: number): number {
  const now = epoch;
  const [list, told] = [nodes, scalars];
  let words = room(mostWords);
  let [top, at] = [from, length];
  do {
    const node = open[top]!;
    const { sources } = node;
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i]!;
      if (source.mark === now) continue;
      length = at;
      if (enter(source)) {
        open[++top] = source;
        if (!isElementwise(source)) next.push(0);
        return top;
      }
      words = key;
      at = length;
    }
    if (at + mostWords > words.length) {
      length = at;
      words = room(mostWords);
    }
    const number = list.push(node) - 1;
    node.number = number;
    const first = at++;
    words[at++] = node.arg.id;
    // A computed value that a tensor still holds is kept if the program stores it anyway.
    let said = node.handles > 0 ? node.code | held : node.code;
    const below = sources[0]!.number;
    if (below !== number - 1) {
      said |= sourceElsewhere;
      words[at++] = below;
    }
    if (isAluNumber(node)) {
      // Its shape is its source's.
      const v = node.value as number;
      const id = bakedFloat(v);
      if (id === 0 || (opened !== null && isOpened(opened, number) && Number.isFinite(v))) told.push(v);
      else {
        said |= fixedNumber;
        words[at++] = id;
      }
    } else {
      said |= sources.length << sourceShift;
      words[at++] = node.shape.id;
      for (let i = 1; i < sources.length; i++) words[at++] = sources[i]!.number;
    }
    words[first] = said;
    top--;
  } while (top >= 0 && isElementwise(open[top]!));
  length = at;
  return top;
}

/** Notes a node that is met for the first time; true if its sources come first. */
function enter(node: Node): boolean {
  if (node.mark === epoch) return false;
  node.mark = epoch;
  dtypes |= 1 << (node.code & 15);
  if (node.storage !== null || isLeaf(node)) {
    node.number = nodes.push(node) - 1;
    leaves.push(node);
    const words = room(2);
    words[length++] = node.code & 15;
    words[length++] = node.shape.id;
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
  const number = nodes.push(node) - 1;
  node.number = number;
  // In names of this function: what others could change in between would be looked up again for every word.
  const words = room(5 + sources.length);
  let at = length;
  words[at++] = node.code;
  words[at++] = node.shape.id;
  if (isConst(node)) {
    const id = bakedId(node);
    if (node.arg === drawnArg) draws.push(scalars.length);
    const told = id === 0 || (opened !== null && isOpened(opened, number) && tellable(node));
    words[at++] = told ? 0 : id;
    if (told) scalars.push(Number(node.value));
  } else {
    words[at++] = opened === null ? node.arg.id : openedArg(node);
    // A computed value that a tensor still holds is kept if the program stores it anyway.
    words[at++] = 2 * sources.length + (node.handles > 0 ? 1 : 0);
    for (let i = 0; i < sources.length; i++) words[at++] = sources[i]!.number;
  }
  length = at;
}

/** What is left of an argument without the numbers that are launch scalars; no id is below 0. */
function openedArg(node: Node): number {
  const numbers = scalarsOf(node, node.number, opened);
  if (numbers.length === 0) return node.arg.id;
  for (const v of numbers) scalars.push(v);
  return -1 - internInts(node.arg.values.slice(numbers.length)).id;
}
