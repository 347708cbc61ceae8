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
  readonly parent: Open | null;
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

/**
 * Starts and ends in order of time; at the same moment inner scopes end before outer ones, then outer ones begin before inner
 * ones. Numbers are sorted instead of rows: that takes a tenth of the time.
 */
class Edges {
  readonly origin: number;
  readonly #byRank: Int32Array;
  readonly #keys: Float64Array;

  constructor(list: readonly Timed[]) {
    const n = list.length;
    let [origin, last, count] = [Number.POSITIVE_INFINITY, 0, 0];
    for (const e of list) {
      origin = Math.min(origin, e.startMs);
      last = Math.max(last, e.startMs + e.durationMs);
      count += e.steps ? e.steps.length : 2;
    }
    this.origin = origin;
    const ids = Float64Array.from(list, (e) => e.id).sort();
    const rankOf = new Map<number, number>();
    ids.forEach((id, rank) => void rankOf.set(id, rank));
    this.#byRank = new Int32Array(n);
    list.forEach((e, i) => {
      this.#byRank[rankOf.get(e.id)!] = i;
    });
    // Beyond nine hours of a hundred thousand scopes the order within a microsecond is lost, not the time.
    const keys = new Float64Array(count);
    let at = 0;
    const width = 2 * n;
    const add = (ms: number, rank: number): void => {
      keys[at++] = toUs(ms, origin) * width + rank;
    };
    for (const e of list) {
      const rank = rankOf.get(e.id)!;
      const parts = e.steps ?? [e.startMs, e.startMs + e.durationMs];
      for (let k = 0; k < parts.length; k += 2) {
        add(parts[k]!, n + rank);
        // What has no length ends where it begins.
        if (toUs(parts[k + 1]!, origin) > toUs(parts[k]!, origin)) add(parts[k + 1]!, n - 1 - rank);
      }
    }
    this.#keys = keys.subarray(0, at).sort();
  }

  get count(): number {
    return this.#keys.length;
  }

  /** In µs. */
  time(k: number): number {
    return Math.floor(this.#keys[k]! / (2 * this.#byRank.length));
  }

  isStart(k: number): boolean {
    return this.#keys[k]! % (2 * this.#byRank.length) >= this.#byRank.length;
  }

  whose(k: number): number {
    const n = this.#byRank.length;
    const part = this.#keys[k]! % (2 * n);
    return this.#byRank[part >= n ? part - n : n - 1 - part]!;
  }
}

/** Gives way now and then: the caller decides whether to wait. */
export function* shareOut(list: readonly Timed[]): Generator<void, Shares> {
  const self = new Float64Array(list.length);
  const root = makeNode('');
  const indexOf = new Map<number, number>();
  list.forEach((e, i) => void indexOf.set(e.id, i));
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
      const i = indexOf.get(parent);
      if (i === undefined) return null;
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
    // Scopes that outlive the one they began in go on by themselves.
    for (const child of o.children) {
      moveBelow(child, root);
      (child as { parent: Open | null }).parent = null;
    }
    if (o.parent && o.parent.children.size === 0) {
      o.parent.since = clock;
      leaves++;
    }
  };

  yield;
  const edges = new Edges(list);
  yield;
  const { origin } = edges;
  for (let k = 0; k < edges.count; k++) {
    const time = edges.time(k);
    if (leaves > 0) clock += (time - now) / leaves / 1000;
    now = time;
    const index = edges.whose(k);
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
