import { describe, expect, it } from 'vitest';
import { Random } from '../../test/gpu/data.ts';
import { aluRows } from './args.ts';
import { internInts, noInts } from './intern.ts';
import { aluNode, aluNumberNode, makeNode, Node, noNodes, partsOf } from './node.ts';
import { bakedFloat, trace } from './trace.ts';

const leaf = (): Node => makeNode('leaf', 'f32', [4], noNodes);

/** A small graph: elementwise ops of one to three operands, some with a number, some held, with something else between them. */
function graph(random: Random, steps: number): Node {
  const made = [leaf(), leaf()];
  const any = (): Node => made[Math.max(0, made.length - 1 - random.below(random.below(4) === 0 ? made.length : 2))]!;
  const number = (): number => [0.3, 0.7, 1, 2, Number.POSITIVE_INFINITY][random.below(5)]!;
  const makers: readonly (() => Node)[] = [
    () => aluNumberNode(random.below(2) === 0 ? aluRows.add : aluRows.mul, any(), number()),
    () => aluNode(random.below(2) === 0 ? aluRows.add : aluRows.sub, [any(), any()]),
    () => aluNode(aluRows.neg, [any()]),
    () => aluNode(aluRows.where, [aluNode(aluRows.lt, [any(), any()]), any(), any()]),
    () => aluNode(aluRows.add, [any(), partsOf(aluNumberNode(aluRows.add, any(), number()))[0]]),
    () => new Node('slice', 'f32', internInts([4]), [any()], internInts([random.below(2), 0])),
    () => makeNode('concat', 'f32', [4], [any(), any(), any(), any()], noInts),
  ];
  for (let i = 0; i < steps; i++) {
    const node = makers[random.below(5) < 3 ? random.below(2) : random.below(makers.length)]!();
    if (random.below(8) === 0) node.handles = 1;
    made.push(node);
  }
  return made[made.length - 1]!;
}

/** All that makes a program what it is, in words; and the numbers it is told. */
function described(root: Node): { readonly text: string; readonly numbers: readonly number[] } {
  const known = new Map<Node, number>();
  const [lines, numbers]: [string[], number[]] = [[], []];
  const say = (node: Node): number => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const sources = node.sources.map(say);
    let value = '';
    if (node.op === 'const' || node.op === 'aluNumber') {
      value = bakedFloat(node.value as number) === 0 ? 'told' : String(node.value);
      if (value === 'told') numbers.push(node.value as number);
    }
    const isHeld = node.op === 'leaf' || node.op === 'const' ? '' : node.handles > 0;
    lines.push(`${node.op} ${node.dtype} ${node.shape.values} ${node.arg.values} ${value} ${isHeld} of ${sources}`);
    known.set(node, lines.length - 1);
    return lines.length - 1;
  };
  say(root);
  return { text: lines.join('\n'), numbers };
}

describe('the key of a graph', () => {
  it('is equal for equal programs and for no others, and numbers are told in their order', () => {
    const random = new Random(20_261_116);
    const textOf = new Map<string, string>();
    const keyOf = new Map<string, string>();
    let again = 0;
    for (let i = 0; i < 6000; i++) {
      const root = graph(random, 1 + random.below(i % 3 === 0 ? 12 : 3));
      const t = trace([root]);
      const key = t.key.slice(0, t.length).join();
      const { text, numbers } = described(root);
      if (textOf.has(key)) again++;
      expect(textOf.get(key) ?? text).toBe(text);
      expect(keyOf.get(text) ?? key).toBe(key);
      expect(t.scalars).toEqual(numbers);
      t.nodes.forEach((node, at) => {
        expect(node.number).toBe(at);
        for (const s of node.sources) expect(s.number).toBeLessThan(at);
      });
      textOf.set(key, text);
      keyOf.set(text, key);
    }
    expect(again).toBeGreaterThan(500);
    expect(textOf.size).toBeGreaterThan(500);
  });

  it('is found for expressions of any length', () => {
    for (const length of [1, 40, 100, 5000]) {
      let node = leaf();
      for (let i = 0; i < length; i++) node = aluNumberNode(aluRows.add, aluNode(aluRows.mul, [node, node]), 0.25 + i);
      const t = trace([node]);
      expect(t.nodes.length).toBe(2 * length + 1);
      expect(t.scalars).toEqual(Array.from({ length }, (_, i) => 0.25 + i));
    }
  });
});
