// The tree of calls stays within its bounds, whatever programs do.

import { describe, expect, it } from 'vitest';
import { type Described, type Ending, type Step, StepTree } from '../../src/tfjs/steps.ts';

const described = (constant: number | null, shape: readonly number[] = [2]): Described => {
  const dataId = {};
  return {
    count: 1,
    names: ['x'],
    infos: [{ dataId, shape: [...shape], dtype: 'float32' }],
    values: [0],
    constants: [constant],
  };
};

const result = [{ dtype: 'float32', shape: [2], of: null, value: 1 }] as const;

/** Steps that the tree can reach, those that it only compares with among them. */
function reachable(root: Step): number {
  const seen = new Set<Step>([root]);
  for (const step of seen) for (const s of [...step.next, ...step.elders]) seen.add(s);
  return seen.size;
}

describe('a tree of calls', () => {
  it('forgets what it noted when that is too much', () => {
    const tree = new StepTree();
    let [at, most] = [tree.root, 0];
    for (let i = 0; i < 100_000; i++) {
      const given = described(null, [1 + (i % 7), i % 1000]);
      at =
        tree.find(at, 'Add', { axis: i }, given) ?? tree.add(at, 'Add', { axis: i }, given, result, false) ?? tree.root;
      if (i % 64 === 0) at = tree.root;
      if (i % 9_000 === 0) most = Math.max(most, reachable(tree.root));
    }
    expect(most).toBeGreaterThan(100);
    expect(most).toBeLessThanOrEqual(32_769);
  });

  it('notes few of the calls at a point where every call is new', () => {
    const tree = new StepTree();
    for (let i = 0; i < 5000; i++) tree.add(tree.root, 'Slice', { begin: i }, described(null), result, false);
    expect(tree.root.next.length).toBeLessThanOrEqual(32);
    expect(tree.find(tree.root, 'Slice', { begin: 4991 }, described(null))).not.toBeNull();
  });

  it('knows that a number varies when it was three different ones, and what varies after it at once', () => {
    const tree = new StepTree();
    const turn = (n: number): Step[] => {
      const made: Step[] = [];
      let at = tree.root;
      for (const constant of [n, 7, n + 0.5]) {
        const given = described(constant);
        at = tree.find(at, 'Mul', null, given) ?? tree.add(at, 'Mul', null, given, result, false)!;
        made.push(at);
      }
      return made;
    };
    expect(turn(1).map((s) => s.varies)).toEqual([false, false, false]);
    expect(turn(2).map((s) => s.varies)).toEqual([false, false, false]);
    const third = turn(3);
    expect(third.map((s) => s.varies)).toEqual([true, false, true]);
    expect(turn(4)).toEqual(third);
    // A turn that was known before is found as it was.
    expect(reachable(tree.root)).toBe(10);
  });

  it('keeps a number of programs, the last ones', () => {
    const tree = new StepTree();
    const endings: Ending[] = Array.from({ length: 300 }, (_, i) => {
      const program = { leaves: [], run: () => [] };
      const ending: Ending = { wanted: [i], from: 0, seen: 2, program };
      tree.hasProgram(ending);
      return ending;
    });
    expect(endings.filter((e) => e.program !== null).length).toBe(256);
    expect(endings.at(-1)!.program).not.toBeNull();
  });
});
