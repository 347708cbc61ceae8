// Random numbers as one node: what is drawn, how many, and from which two words of a key.
//
// Their steps are hundreds of nodes. A plan writes them out (`canonical.ts`), once for each program; a graph in which numbers are
// drawn stays as small as any other, and is made and looked up as fast.

import type { DType } from '../base/dtype.ts';
import { args, type draws } from './args.ts';
import { below, counterOf, gauss, gaussPair, pairsOf, threefry, unit } from './distributions.ts';
import { cast, expand } from './make.ts';
import { makeNode, type Node } from './node.ts';

export type Draw = (typeof draws)[number];

/** The words of a key: of one for all rows, or a column with one for each row. */
type Key = readonly [Node, Node];

/** [rows, size] elements of a distribution; `range`: of `below`, how many whole numbers. */
export const drawn = (draw: Draw, dtype: DType, shape: readonly [number, number], key: Key, range = 0): Node =>
  makeNode('draw', dtype, shape, key, args.draw(draw, range));

/** Two random words for each element. */
function wordsOf([rows, size]: readonly number[], key: Key): readonly [Node, Node] {
  const [key0, key1] = key.map((w) => (rows! > 1 ? expand(w, [rows!, size!]) : w));
  return threefry(key0!, key1!, counterOf(rows!, size!));
}

/** Two elements from each draw: what `make` makes of its words. */
function paired(shape: readonly number[], key: Key, make: (words: Key) => Key): Node {
  const { counter, ofRow, elements } = pairsOf(shape[0]!, shape[1]!);
  const [key0, key1] = key.map(ofRow);
  return elements(...make(threefry(key0!, key1!, counter)));
}

const steps: Readonly<Record<Draw, (shape: readonly number[], key: Key, range: number) => Node>> = {
  first: (shape, key) => wordsOf(shape, key)[0],
  second: (shape, key) => wordsOf(shape, key)[1],
  unit: (shape, key) => {
    const word = paired(shape, key, (words) => words);
    return unit([word, word], 'f32');
  },
  'unit f64': (shape, key) => unit(wordsOf(shape, key), 'f64'),
  normal: (shape, key) => paired(shape, key, gaussPair),
  'normal f64': (shape, key) => gauss(wordsOf(shape, key)),
  below: (shape, key, range) => below(wordsOf(shape, key), range),
};

/** The steps of a `draw`, over its key: the last of them. */
export function writtenDraw(node: Node): Node {
  const { draw, range } = args.drawOf(node);
  return cast(steps[draw](node.shape.values, node.sources as Key, range), node.dtype);
}
