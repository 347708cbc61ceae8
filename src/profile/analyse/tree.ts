// Whose time it was: each moment belongs to the innermost scopes that were open, in equal parts if there were several. So the
// self times of all scopes add up to the time in which any of them was open, however much ran at the same time.
//
// One pass over starts and ends in order. A clock that runs at one divided by the number of innermost scopes makes the parts:
// a scope's share is the difference of that clock between becoming innermost and ceasing to be it.

/** What the pass needs of a scope. */
export interface Timed {
  readonly id: number;
  readonly parentId: number | null;
  readonly operation: string;
  readonly startMs: number;
  readonly durationMs: number;
  /** Starts and ends of the parts in which it was really open; for generators. */
  readonly steps?: readonly number[] | null;
}

/** A path of operations, with the time of all scopes on it. */
export interface FlameNode {
  readonly name: string;
  /** Together with what is below it. */
  total: number;
  self: number;
  calls: number;
  readonly children: Map<string, FlameNode>;
}

export interface Shares {
  /** By position in the list. */
  readonly self: Float64Array;
  readonly root: FlameNode;
}

class Open {
  readonly index: number;
  parent: Open | null;
  readonly children = new Set<Open>();
  node: FlameNode;
  /** The slow clock when it became innermost. */
  since = 0;

  constructor(index: number, parent: Open | null, node: FlameNode) {
    this.index = index;
    this.parent = parent;
    this.node = node;
  }
}

const makeNode = (name: string): FlameNode => ({ name, total: 0, self: 0, calls: 0, children: new Map() });

function childOf(node: FlameNode, name: string): FlameNode {
  let child = node.children.get(name);
  if (!child) {
    child = makeNode(name);
    node.children.set(name, child);
  }
  return child;
}

/** Microseconds since `origin`; whole numbers, so that moments which were written down equal are equal. */
const toUs = (ms: number, origin: number): number => Math.round((ms - origin) * 1000);

/** Positions in the list by id. Ids are counted, so a table usually holds them; -1 for those that are not there. */
function positions(list: readonly Timed[]): {
  readonly least: number;
  readonly of: (id: number) => number;
  readonly range: number;
} {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { id } of list) {
    least = Math.min(least, id);
    most = Math.max(most, id);
  }
  const range = most - least + 1;
  if (range > 16 * list.length + 1024) {
    const map = new Map(list.map((e, i) => [e.id, i]));
    return { least, range, of: (id) => map.get(id) ?? -1 };
  }
  const table = new Int32Array(Math.max(0, range)).fill(-1);
  list.forEach((e, i) => {
    table[e.id - least] = i;
  });
  return { least, range, of: (id) => table[id - least] ?? -1 };
}

/**
 * Starts and ends in order of time; at the same moment inner scopes end before outer ones, then outer ones begin before inner
 * ones (ids are counted by starts). Numbers are sorted instead of rows: that takes a tenth of the time. Beyond some hours of a
 * hundred thousand scopes the order within a microsecond is lost, not the time.
 */
class Edges {
  readonly origin: number;
  readonly #range: number;
  readonly #least: number;
  readonly #keys: Float64Array;

  constructor(origin: number, least: number, range: number, keys: Float64Array) {
    this.origin = origin;
    this.#least = least;
    this.#range = range;
    this.#keys = keys;
  }

  get count(): number {
    return this.#keys.length;
  }

  /** In µs. */
  time(k: number): number {
    return Math.floor(this.#keys[k]! / (2 * this.#range));
  }

  isStart(k: number): boolean {
    return this.#keys[k]! % (2 * this.#range) >= this.#range;
  }

  /** The id. */
  whose(k: number): number {
    const n = this.#range;
    const part = this.#keys[k]! % (2 * n);
    return this.#least + (part >= n ? part - n : n - 1 - part);
  }
}

function* edgesOf(list: readonly Timed[], least: number, range: number): Generator<void, Edges> {
  let [origin, count] = [Number.POSITIVE_INFINITY, 0];
  for (const e of list) {
    origin = Math.min(origin, e.startMs);
    count += e.steps ? e.steps.length : 2;
  }
  const keys = new Float64Array(count);
  const width = 2 * range;
  let at = 0;
  const add = (id: number, start: number, end: number): void => {
    const [from, to] = [toUs(start, origin), toUs(end, origin)];
    keys[at++] = from * width + range + (id - least);
    // What has no length ends where it begins.
    if (to > from) keys[at++] = to * width + range - 1 - (id - least);
  };
  for (let i = 0; i < list.length; i++) {
    const { id, steps, startMs, durationMs } = list[i]!;
    if (!steps) add(id, startMs, startMs + durationMs);
    else for (let k = 0; k < steps.length; k += 2) add(id, steps[k]!, steps[k + 1]!);
    if (i % 8192 === 8191) yield;
  }
  yield;
  return new Edges(origin, least, range, keys.subarray(0, at).sort());
}

/** Gives way now and then: the caller decides whether to wait. */
export function* shareOut(list: readonly Timed[]): Generator<void, Shares> {
  const self = new Float64Array(list.length);
  const root = makeNode('');
  const at = positions(list);
  const open = new Map<number, Open>();
  const seen = new Uint8Array(list.length);
  let leaves = 0;
  let clock = 0;
  let now = 0;

  const settle = (o: Open): void => {
    const share = clock - o.since;
    o.since = clock;
    self[o.index] = self[o.index]! + share;
    o.node.self += share;
  };
  const moveBelow = (o: Open, above: FlameNode): void => {
    if (o.children.size === 0) settle(o);
    o.node = childOf(above, list[o.index]!.operation);
    for (const child of o.children) moveBelow(child, o.node);
  };
  /** The nearest scope around that is open. */
  const around = (index: number): Open | null => {
    let parent = list[index]!.parentId;
    for (let steps = 0; parent !== null && steps < list.length; steps++) {
      const i = at.of(parent);
      if (i < 0) return null;
      const found = open.get(i);
      if (found) return found;
      parent = list[i]!.parentId;
    }
    return null;
  };
  const begin = (index: number): void => {
    const parent = around(index);
    const o = new Open(index, parent, childOf(parent ? parent.node : root, list[index]!.operation));
    if (parent) {
      if (parent.children.size === 0) {
        settle(parent);
        leaves--;
      }
      parent.children.add(o);
    }
    o.since = clock;
    leaves++;
    open.set(index, o);
    if (seen[index] === 0) o.node.calls++;
    seen[index] = 1;
  };
  const end = (index: number): void => {
    const o = open.get(index);
    if (!o) return;
    open.delete(index);
    if (o.children.size === 0) {
      settle(o);
      leaves--;
    }
    o.parent?.children.delete(o);
    // Scopes that outlive the one they began in go on in the one around it.
    for (const child of o.children) {
      moveBelow(child, o.parent ? o.parent.node : root);
      child.parent = o.parent;
      o.parent?.children.add(child);
    }
    if (o.parent && o.parent.children.size === 0) {
      o.parent.since = clock;
      leaves++;
    }
  };

  yield;
  const edges = yield* edgesOf(list, at.least, at.range);
  yield;
  const { origin } = edges;
  for (let k = 0; k < edges.count; k++) {
    const time = edges.time(k);
    if (leaves > 0) clock += (time - now) / leaves / 1000;
    now = time;
    const index = at.of(edges.whose(k));
    if (edges.isStart(k)) {
      begin(index);
      if (isEmpty(list[index]!, time, origin)) end(index);
    } else end(index);
    if (k % 4096 === 4095) yield;
  }
  addUp(root);
  return { self, root };
}

/** Whether what begins at this moment ends at it too. */
function isEmpty({ steps, startMs, durationMs }: Timed, us: number, origin: number): boolean {
  if (!steps) return toUs(startMs + durationMs, origin) === us;
  for (let k = 0; k < steps.length; k += 2) {
    if (toUs(steps[k]!, origin) === us) return toUs(steps[k + 1]!, origin) === us;
  }
  return false;
}

function addUp(node: FlameNode): number {
  node.total = node.self;
  for (const child of node.children.values()) node.total += addUp(child);
  return node.total;
}

/** Runs a generator to its end at once. */
export function finish<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
