// How states of a recurrence that were given up are computed again: the first state, and a number of steps.

import { dropUse, type Node, settle } from '../graph/node.ts';

type Step = (inputs: readonly Node[]) => Node[];

/** A run of states x, step(x), step(step(x)) …, with the other arguments unchanged. */
interface Family {
  readonly owner: object;
  readonly signature: object;
  /** The arguments of the first step. */
  readonly first: readonly Node[];
  readonly step: Step;
  readonly onRecompute: (steps: number) => void;
  /** States that were computed again, by their number of steps. */
  readonly again: Map<number, Node>;
  /** States that exist as a recipe only; as long as there are any, the first arguments are held. */
  absent: number;
}

export interface Recipe {
  readonly family: Family;
  readonly steps: number;
}

/** Functions whose old states were read: they keep their states from then on. */
const keepers = new WeakSet<object>();
const recipeOf = new WeakMap<Node, Recipe>();
/** The state before a state, as long as nobody gave it up. */
const before = new WeakMap<Node, Node>();
let givenUp = 0;

export const recipes = {
  /** Notes a call `outputs = step(inputs)`, and gives up the state before the input if nobody can need it but by reading it. */
  advance(
    owner: object,
    signature: object,
    inputs: readonly Node[],
    outputs: readonly Node[],
    step: Step,
    onRecompute: (steps: number) => void,
  ): void {
    const [input] = inputs;
    const [output] = outputs;
    if (!input || !output || outputs.length !== 1 || keepers.has(owner)) return;
    if (input.dtype !== output.dtype || input.shape !== output.shape || output.storage === input.storage) return;
    const known = recipeOf.get(input);
    const goesOn =
      known?.family.owner === owner &&
      known.family.signature === signature &&
      inputs.every((n, i) => i === 0 || n === known.family.first[i]);
    if (goesOn) {
      recipeOf.set(output, { family: known.family, steps: known.steps + 1 });
      const previous = before.get(input);
      if (previous) giveUp(previous);
      before.delete(input);
      before.set(output, input);
      return;
    }
    const family: Family = { owner, signature, first: inputs, step, onRecompute, again: new Map(), absent: 0 };
    recipeOf.set(output, { family, steps: 1 });
  },

  /** Whether any state anywhere was given up; a cheap test before looking for them. */
  get any(): boolean {
    return givenUp > 0;
  },

  /** Computes again what the given nodes need and was given up. */
  restoreAll(nodes: readonly Node[]): void {
    if (givenUp === 0) return;
    const seen = new Set<Node>();
    const stack = [...nodes];
    for (let n = stack.pop(); n; n = stack.pop()) {
      if (seen.has(n)) continue;
      seen.add(n);
      if (!n.storage && n.op === 'leaf') restore(n);
      stack.push(...n.sources);
    }
  },
};

function giveUp(node: Node): void {
  const { storage } = node;
  // A state that went into other lazy work, or whose bytes another tensor shares, stays.
  if (!storage || node.uses > 0 || node.handles !== 1 || storage.owners !== 1 || !storage.tracked) return;
  const recipe = recipeOf.get(node);
  if (!recipe || recipe.family.first.some((n) => !n.storage)) return;
  const { family } = recipe;
  if (family.absent++ === 0) for (const n of family.first) n.uses++;
  node.onFree = () => present(family);
  node.storage = null;
  storage.disown();
  givenUp++;
}

/** One state less that exists as a recipe only: it was computed again, or nobody holds it any more. */
function present(family: Family): void {
  givenUp--;
  if (--family.absent === 0) for (const n of family.first) dropUse(n);
}

function restore(node: Node): void {
  const recipe = recipeOf.get(node);
  if (!recipe) return;
  const { family, steps } = recipe;
  keepers.add(family.owner);
  let from = 0;
  for (const [n, known] of family.again) if (n < steps && n > from && known.storage) from = n;
  let state = from === 0 ? family.first[0]! : family.again.get(from)!;
  const rest = family.first.slice(1);
  for (let i = from; i < steps; i++) {
    const [next] = family.step([state, ...rest]);
    if (state !== family.first[0] && state !== family.again.get(from)) {
      state.storage!.disown();
      state.storage = null;
    }
    state = next!;
  }
  settle(node, state.storage!);
  state.storage!.owners--;
  family.again.set(steps, node);
  node.onFree = null;
  present(family);
  family.onRecompute(steps - from);
}
