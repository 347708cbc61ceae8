// The outline of a small expression on computed inputs: what the key of its trace holds, as a tree.
//
// Another expression is held against it, node by node. One that fits is the same program on other inputs and numbers, found without
// writing a key down or looking it up. Inputs and numbers are gathered on the way, in the order of the trace.
//
// Parts that the outline has apart may be shared in what fits: they are computed twice then, to the same value. Parts that it has
// together must be together.

import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Ints } from './intern.ts';
import { isAluNumber, isConst, isLeaf, type Node } from './node.ts';
import { bakedFloat, bakedId } from './trace.ts';

const nothing: readonly Outline[] = [];
const dtypeBits = 15;
const [input, sameInput, constant, withNumber, op, sameOp] = [0, 1, 2, 3, 4, 5];

/** What is the same in all expressions that fit. A class: objects of one layout are compared faster. */
export class Outline {
  readonly kind: number;
  /** Of an input its dtype, else op and dtype. */
  readonly code: number;
  readonly shape: Ints;
  readonly arg: Ints;
  /** A tensor holds it. */
  readonly held: boolean;
  /** What the key says of a number; which input or part it is, or is the same as. */
  readonly id: number;
  /** The places that an input is at. */
  readonly mask: number;
  /** The number by which others name this part; -1 if nobody does. */
  shared = -1;
  readonly sources: readonly Outline[];

  constructor(kind: number, id: number, node: Node, sources: readonly Outline[] = nothing) {
    this.kind = kind;
    this.code = node.storage ? node.code & dtypeBits : node.code;
    this.shape = node.shape;
    this.arg = node.arg;
    this.held = node.handles > 0;
    this.id = id;
    this.mask = node.storage ? node.storage.mask : 0;
    this.sources = sources;
  }
}

/** Larger expressions are traced: there the key is a small part of the work. */
const [mostNodes, mostInputs, mostNumbers] = [15, 8, 8];
/** So deep is no expression that has an outline. */
export const deepest = 8;

/** The outline of a lazy node with so many inputs; null if it is too large, or one of them is not computed. */
export function outlineOf(root: Node, leaves: number): Outline | null {
  const inputs: Node[] = [];
  const parts = new Map<Node, Outline>();
  let [count, numbers, shared] = [0, 0, 0];
  const walk = (node: Node): Outline | null => {
    if (node.storage) {
      // Where its program runs is not for others to go by.
      if (node.storage.pin !== null) return null;
      const known = inputs.indexOf(node);
      return known < 0 ? new Outline(input, inputs.push(node) - 1, node) : new Outline(sameInput, known, node);
    }
    const before = parts.get(node);
    if (before) {
      if (before.shared < 0) before.shared = shared++;
      return new Outline(sameOp, before.shared, node);
    }
    if (isLeaf(node) || node.check || ++count > mostNodes) return null;
    const below: Outline[] = [];
    for (const s of node.sources) {
      const o = walk(s);
      if (!o) return null;
      below.push(o);
    }
    const numbered = isAluNumber(node);
    const id = numbered ? bakedFloat(node.value as number) : isConst(node) ? bakedId(node) : -1;
    if (id === 0) numbers++;
    const kind = numbered ? withNumber : isConst(node) ? constant : op;
    const made = new Outline(kind, id, node, below);
    parts.set(node, made);
    return made;
  };
  const made = walk(root);
  if (!made || inputs.length !== leaves || leaves === 0 || leaves > mostInputs || numbers > mostNumbers) return null;
  return made.kind === op || made.kind === withNumber ? made : null;
}

// What was gathered from the last expression that fitted.
let inputs = 0;
let numbers = 0;
let reach = 0;
const values = new Float64Array(mostNumbers);
/** Parts that others name; none is held here afterwards. */
const parts: (Node | null)[] = [];
let use = 0;

/**
 * Whether a lazy node fits an outline, with all inputs at a place. Their buffers are put into a list, and they count as used `now`; the
 * rest is told by `gatheredNumbers` and `gatheredReach`.
 */
export function fits(
  outline: Outline,
  node: Node,
  place: Place,
  buffers: (DeviceBuffer | undefined)[],
  now: number,
): boolean {
  inputs = 0;
  numbers = 0;
  reach = 0;
  use = now;
  const found = fitsLazy(outline, node, place, buffers);
  for (let i = 0; i < parts.length; i++) parts[i] = null;
  return found;
}

function fitsLazy(o: Outline, node: Node, place: Place, buffers: (DeviceBuffer | undefined)[]): boolean {
  if (o.kind === sameOp) return parts[o.id] === node;
  if (o.code !== node.code || o.shape !== node.shape) return false;
  if (o.kind === constant) {
    if (bakedId(node) !== o.id) return false;
    if (o.id === 0) values[numbers++] = Number(node.value);
    if (o.shared >= 0) parts[o.shared] = node;
    return true;
  }
  if (o.arg !== node.arg || o.held !== node.handles > 0 || node.check !== null) return false;
  const { sources } = node;
  const below = o.sources;
  if (sources.length !== below.length) return false;
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    const expected = below[i]!;
    if (
      source.storage === null ? !fitsLazy(expected, source, place, buffers) : !isInput(expected, source, place, buffers)
    )
      return false;
  }
  if (o.kind === withNumber) {
    const value = node.value as number;
    if (bakedFloat(value) !== o.id) return false;
    if (o.id === 0) values[numbers++] = value;
  }
  if (o.shared >= 0) parts[o.shared] = node;
  return true;
}

function isInput(o: Outline, node: Node, place: Place, buffers: (DeviceBuffer | undefined)[]): boolean {
  if (o.code !== (node.code & dtypeBits) || o.shape !== node.shape) return false;
  const storage = node.storage!;
  if (o.kind === sameInput) return storage.buffer === buffers[o.id];
  if (o.kind !== input || storage.mask !== o.mask || storage.place !== place) return false;
  if (!storage.plain && (storage.checks !== null || storage.pin !== null || storage.lent !== null)) return false;
  storage.use(use);
  if (node.reach > reach) reach = node.reach;
  buffers[inputs++] = storage.buffer!;
  return true;
}

const none: readonly number[] = [];

/** The numbers of the last expression that fitted, as a launch is given them. */
export function gatheredNumbers(): readonly number[] {
  // Lists that are written whole need not grow.
  if (numbers === 0) return none;
  if (numbers === 1) return [values[0]!];
  if (numbers === 2) return [values[0]!, values[1]!];
  return Array.from(values.subarray(0, numbers));
}

/** How far back the longest lineage of its inputs goes. */
export const gatheredReach = (): number => reach;
