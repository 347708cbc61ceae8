// Ops that make one node of several: choosing between two, and putting them one behind the other.

import { promote } from '../base/dtype.ts';
import { broadcast, checkCount, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, Node } from '../graph/node.ts';
import { alu, cast, constantFrom, expand, operandsOf, reshape, type ScalarInput, scalarType } from './build.ts';

/** Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast. */
export function where(condition: Node, a: Node | ScalarInput, b: Node | ScalarInput): Node {
  const [x, y] = branches(a, b);
  const c = cast(condition, 'bool');
  const shape = broadcast(broadcast(c.shape.values, x.shape.values, 'where'), y.shape.values, 'where');
  return alu('where', expand(c, shape), expand(x, shape), expand(y, shape));
}

/** Both branches in one dtype: a tensor decides how a scalar beside it is taken, and two scalars meet as tensors of theirs would. */
function branches(a: Node | ScalarInput, b: Node | ScalarInput): [Node, Node] {
  if (a instanceof Node) return operandsOf(a, b, 'where');
  if (b instanceof Node) {
    const [y, x] = operandsOf(b, a, 'where');
    return [x, y];
  }
  const dtype = promote(scalarType(a), scalarType(b));
  return [constantFrom(dtype, a, 'where'), constantFrom(dtype, b, 'where')];
}

/** Nodes one behind the other along an axis. */
export function concat(nodes: readonly Node[], axis: number, call = 'concat'): Node {
  const first = checkSome(nodes, call);
  const shape = first.shape.quick;
  const a = normalizeAxis(axis, shape.length, call);
  let dtype = first.dtype;
  let length = 0;
  for (const n of nodes) {
    const { quick } = n.shape;
    if (n.dtype !== dtype) dtype = promote(dtype, n.dtype);
    length += quick[a]!;
    if (quick === shape || isAlike(quick, shape, a)) continue;
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `${call}: ${show(quick)} does not fit ${show(shape)} along axis ${a}`,
      fix: 'All sizes but that of the axis must be equal.',
      where: call,
    });
  }
  const result = [...shape];
  result[a] = length;
  checkCount(result, call);
  const parts = nodes.map((n) => cast(n, dtype));
  return parts.length === 1 ? parts[0]! : makeNode('concat', dtype, result, parts, args.axis(a));
}

/** Whether shapes are equal but for one axis. */
function isAlike(a: Shape, b: Shape, but: number): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (i !== but && a[i] !== b[i]) return false;
  return true;
}

/** Nodes of one shape along a new axis. */
export function stack(nodes: readonly Node[], axis: number): Node {
  const shape = checkSome(nodes, 'stack').shape.quick;
  const bad = nodes.find((n) => !sameShape(n.shape.quick, shape));
  if (bad) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `stack: ${show(bad.shape.values)} does not fit ${show(shape)}`,
      fix: 'All shapes must be equal.',
      where: 'stack',
    });
  }
  const at = normalizeAxis(axis, shape.length + 1, 'stack');
  const grown = [...shape.slice(0, at), 1, ...shape.slice(at)];
  return concat(
    nodes.map((n) => reshape(n, grown)),
    at,
    'stack',
  );
}

function checkSome(nodes: readonly Node[], call: string): Node {
  const [first] = nodes;
  if (first) return first;
  throw new ArgumentError({
    code: 'NO_TENSORS',
    message: `${call}: no tensors were given`,
    fix: 'Give at least one.',
    where: call,
  });
}
