// How states of a recurrence that were given up are computed again: the first state, and a number of steps.

import { addUse, dropUse, remember, settle } from '../graph/holding.ts';
import { isLeaf, type Node } from '../graph/node.ts';

/** A traced function whose results may go into it again. */
export interface Recurrent {
  step(inputs: readonly Node[]): Node[];
  /** Old states were read: they are kept from then on. */
  keeps: boolean;
  onRecompute(steps: number): void;
}

/** A run of states x, step(x), step(step(x)) …, with the other arguments unchanged. */
interface Family {
  readonly program: Recurrent;
  /** The arguments of the first step. */
  readonly first: readonly Node[];
  /** States that were computed again, by their number of steps. */
  again: Map<number, Node> | null;
  /** States that exist as a recipe only; as long as there are any, the first arguments are held. */
  absent: number;
}

class StateRecipe {
  readonly family: Family;
  readonly steps: number;
  /** The state before, as long as nobody gave it up. */
  before: Node | null = null;

  constructor(family: Family, steps: number) {
    this.family = family;
    this.steps = steps;
  }
}

let givenUp = 0;

/** Lets go of the first arguments when no state of a family is reachable any more. */
const forgotten = new FinalizationRegistry<readonly Node[]>((first) => {
  for (const n of first) dropUse(n);
});

const recipeOf = (node: Node): StateRecipe | null => node.recipe as StateRecipe | null;

export const recipes = {
  /** Notes a call `outputs = step(inputs)`, and gives up the state before the input if nobody can need it but by reading it. */
  advance(program: Recurrent, inputs: readonly Node[], outputs: readonly Node[]): void {
    const input = inputs[0];
    const output = outputs[0];
    if (!input || !output || outputs.length !== 1 || program.keeps) return;
    if (input.dtype !== output.dtype || input.shape !== output.shape || output.storage === input.storage) return;
    const known = recipeOf(input);
    if (known?.family.program !== program || inputs.some((n, i) => i > 0 && n !== known.family.first[i])) {
      output.recipe = new StateRecipe({ program, first: inputs, again: null, absent: 0 }, 1);
      return;
    }
    const next = new StateRecipe(known.family, known.steps + 1);
    // However long the loop ran, its states come from the first one.
    if (output.lineage)
      remember(output, { inputs: known.family.first, index: 0, run: again(next) }, reachOf(known.family));
    if (known.before) giveUp(known.before);
    known.before = null;
    next.before = input;
    output.recipe = next;
  },

  /** Whether any state anywhere was given up; a cheap test before looking for them. */
  get any(): boolean {
    return givenUp > 0;
  },

  /** Computes again those of some nodes that were given up; false if there is none. What they are made from is not looked at. */
  restore(nodes: readonly Node[]): boolean {
    const found = nodes.filter(isGivenUp);
    for (const n of found) restore(n);
    return found.length > 0;
  },

  /** As `restore`, for everything that nodes are made from. */
  restoreAll(nodes: readonly Node[]): void {
    const seen = new Set<Node>();
    const stack = [...nodes];
    for (let n = stack.pop(); n; n = stack.pop()) {
      if (seen.has(n)) continue;
      seen.add(n);
      if (isGivenUp(n)) restore(n);
      stack.push(...n.sources);
    }
  },
};

/** A recipe without bytes: nothing else is a leaf that has none, but for what stands for the arguments of a compiled function. */
const isGivenUp = (node: Node): boolean => node.storage === null && node.recipe !== null && isLeaf(node);

const reachOf = (family: Family): number => 1 + Math.max(...family.first.map((n) => n.reach));

/** Runs the steps of a recipe anew. */
const again =
  ({ family, steps }: StateRecipe) =>
  (inputs: readonly Node[]): readonly Node[] => {
    const [first, ...rest] = inputs;
    return [advanced(family.program, first!, rest, steps)];
  };

/** The state so many steps after one. Those in between are let go, also if a step fails. */
function advanced(program: Recurrent, first: Node, rest: readonly Node[], steps: number): Node {
  let state = first;
  for (let i = 0; i < steps; i++) {
    const before = state;
    try {
      [state] = program.step([before, ...rest]) as [Node];
    } finally {
      if (i > 0) release(before);
    }
  }
  return state;
}

/** Lets go of a state that no tensor ever held. */
function release(state: Node): void {
  state.storage!.disown();
  state.storage = null;
}

function giveUp(node: Node): void {
  const { storage } = node;
  // A state that went into other lazy work, or whose bytes another tensor shares, stays.
  if (!storage || node.uses > 0 || node.handles !== 1 || storage.owners !== 1 || !storage.tracked) return;
  const recipe = recipeOf(node);
  if (!recipe || recipe.family.first.some((n) => !n.storage)) return;
  const { family } = recipe;
  if (family.absent++ === 0) {
    for (const n of family.first) addUse(n);
    forgotten.register(family, family.first, family);
  }
  node.onFree = () => present(family);
  node.storage = null;
  storage.disown();
  givenUp++;
}

/** One state less that exists as a recipe only: it was computed again, or nobody holds it any more. */
function present(family: Family): void {
  givenUp--;
  if (--family.absent > 0) return;
  forgotten.unregister(family);
  for (const n of family.first) dropUse(n);
}

function restore(node: Node): void {
  const { family, steps } = recipeOf(node)!;
  family.program.keeps = true;
  family.again ??= new Map();
  let from = 0;
  for (const [n, known] of family.again) if (n < steps && n > from && known.storage) from = n;
  const start = from === 0 ? family.first[0]! : family.again.get(from)!;
  const state = advanced(family.program, start, family.first.slice(1), steps - from);
  settle(node, state.storage!);
  state.storage!.owners--;
  family.again.set(steps, node);
  node.onFree = null;
  present(family);
  family.program.onRecompute(steps - from);
}
