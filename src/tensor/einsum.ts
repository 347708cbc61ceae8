// Einstein summation: `ij,jk->ik`.
//
// Two operands at a time, from left to right. Labels both have and the result keeps are batch, labels both have and nobody
// needs later are contracted (as a matrix product), labels only one has and nobody needs are summed before. Half floats are
// rounded once, at the end, wherever more than one product is on the way. For bools a sum is `any`, and a product `and`.

import { accumulatorFor, promote } from '../base/dtype.ts';
import { checkCount, show } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import type { Precision } from '../graph/args.ts';
import type { Node } from '../graph/node.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { reduce } from './reductions.ts';
import { diagonalOf } from './views.ts';

type Matmul = (a: Node, b: Node, precision: Precision) => Node;
type Sizes = ReadonlyMap<string, number>;

interface Term {
  readonly node: Node;
  readonly labels: readonly string[];
}

export function einsumNode(spec: string, operands: readonly Node[], matmul: Matmul): Node {
  const { inputs, output } = parse(spec, operands);
  const sizes = sizesOf(spec, operands, inputs);
  const shape = checkCount(
    output.map((l) => sizes.get(l)!),
    'einsum',
  );
  const dtype = operands.map((o) => o.dtype).reduce(promote);
  // A sum of nothing, or nothing to give a sum for: either way there is nothing to compute.
  if (operands.some((o) => o.size === 0)) return expand(constant(dtype, 0), shape);
  const type = operands.length > 2 ? accumulatorFor(dtype) : dtype;
  let terms = operands.map((node, i) => onDiagonals({ node: cast(node, type), labels: inputs[i]! }));
  while (terms.length > 1) {
    const [a, b, ...rest] = terms as [Term, Term, ...Term[]];
    const needed = new Set([...output, ...rest.flatMap((t) => t.labels)]);
    terms = [contract(a, b, needed, matmul), ...rest];
  }
  const [last] = terms as [Term];
  const summed = sumAway(last, new Set(output));
  const order = output.map((l) => summed.labels.indexOf(l));
  return cast(permute(summed.node, order), dtype);
}

/** The size of every label: that of its axes, of which those of size 1 stretch. */
function sizesOf(spec: string, operands: readonly Node[], inputs: readonly (readonly string[])[]): Sizes {
  const sizes = new Map<string, number>();
  inputs.forEach((labels, k) => {
    const shape = operands[k]!.shape.values;
    labels.forEach((label, i) => {
      const size = shape[i]!;
      const again = labels.indexOf(label);
      // Within one operand the sizes of a diagonal are equal; only between operands does a 1 stretch.
      if (again < i && shape[again] !== size) throw differing(spec, label, shape[again]!, size);
      const known = sizes.get(label) ?? 1;
      if (known !== 1 && size !== 1 && known !== size) throw differing(spec, label, known, size);
      sizes.set(label, known === 1 ? size : known);
    });
  });
  return sizes;
}

function contract(a: Term, b: Term, needed: ReadonlySet<string>, matmul: Matmul): Term {
  const x = sumAway(a, new Set([...needed, ...b.labels]));
  const y = sumAway(b, new Set([...needed, ...a.labels]));
  const type = promote(x.node.dtype, y.node.dtype);
  const both = x.labels.filter((l) => y.labels.includes(l));
  const batch = both.filter((l) => needed.has(l));
  const inner = both.filter((l) => !needed.has(l));
  const left = x.labels.filter((l) => !both.includes(l));
  const right = y.labels.filter((l) => !both.includes(l));
  // A label of size 1 in both may stretch later, beside a third operand: its size here is what the two make of it.
  const sizeOf = (label: string): number => Math.max(axisOf(x, label), axisOf(y, label));
  const product = (labels: readonly string[]) => labels.reduce((n, l) => n * sizeOf(l), 1);
  const arrange = (t: Term, order: readonly string[]): Node => {
    const axes = order.map((l) => t.labels.indexOf(l));
    return expand(permute(cast(t.node, type), axes), order.map(sizeOf));
  };
  const labels = [...batch, ...left, ...right];
  const shape = labels.map(sizeOf);
  const p = reshape(arrange(x, [...batch, ...left, ...inner]), [product(batch), product(left), product(inner)]);
  const q = reshape(arrange(y, [...batch, ...inner, ...right]), [product(batch), product(inner), product(right)]);
  // Rows times rows: a plain product and a sum are one pass, and fuse with their neighbours.
  if (inner.length > 0 && left.length === 0 && right.length === 0) {
    const all = [...batch, ...inner];
    const [u, v] = [x, y].map((t) => cast(arrange(t, all), accumulatorFor(type))) as [Node, Node];
    const node = alu(type === 'bool' ? 'and' : 'mul', u, v);
    return sumAway({ node, labels: all }, new Set(batch));
  }
  if (inner.length > 0) return { node: reshape(matmul(p, q, 'exact'), shape), labels };
  // Nothing to contract: a plain product fuses with its neighbours, a matrix product does not.
  const wide = checkCount([product(batch), product(left), product(right)], 'einsum');
  return { node: reshape(alu(type === 'bool' ? 'and' : 'mul', expand(p, wide), expand(q, wide)), shape), labels };
}

/** The size of a label in a term; 1 if it has none. */
const axisOf = (t: Term, label: string): number => t.node.shape.values[t.labels.indexOf(label)] ?? 1;

function sumAway(t: Term, keep: ReadonlySet<string>): Term {
  const axes = t.labels.flatMap((l, i) => (keep.has(l) ? [] : [i]));
  if (axes.length === 0) return t;
  const { dtype } = t.node;
  const sum = reduce(dtype === 'bool' ? 'any' : 'sum', cast(t.node, accumulatorFor(dtype)), { axis: axes }, 'einsum');
  return { node: sum, labels: t.labels.filter((l) => keep.has(l)) };
}

/** A label that occurs twice in one operand takes its diagonal. */
function onDiagonals(t: Term): Term {
  const twice = t.labels.findIndex((l, i) => t.labels.indexOf(l) !== i);
  if (twice < 0) return t;
  const first = t.labels.indexOf(t.labels[twice]!);
  const order = t.labels.map((_, i) => i).filter((i) => i !== first && i !== twice);
  const node = diagonalOf(permute(t.node, [...order, first, twice]), 0, 'einsum');
  return onDiagonals({ node, labels: [...order.map((i) => t.labels[i]!), t.labels[first]!] });
}

function parse(spec: string, operands: readonly Node[]): { inputs: string[][]; output: string[] } {
  if (typeof spec !== 'string') throw bad(String(spec), 'it is not a string');
  const match = /^([a-zA-Z.,]*)(?:->([a-zA-Z.]*))?$/.exec(spec.replace(/\s/g, ''));
  if (!match) throw bad(spec, 'it is not of the form ij,jk->ik');
  const parts = match[1]!.split(',');
  if (parts.length !== operands.length)
    throw bad(spec, `it names ${parts.length} operands, ${operands.length} were given`);
  const ranks = operands.map((o) => o.shape.values.length);
  const dots = parts.map((p, i) => (p.includes('...') ? ranks[i]! - (p.length - 3) : 0));
  const widest = Math.max(0, ...dots);
  // The axes of an ellipsis get labels of their own, aligned at the right.
  const ellipsis = (n: number) => Array.from({ length: n }, (_, i) => `.${widest - n + i}`);
  const labels = (part: string, n: number) =>
    part.split('...').flatMap((s, i) => [...(i > 0 ? ellipsis(n) : []), ...s]);
  const inputs = parts.map((p, i) => labels(p, dots[i]!));
  inputs.forEach((l, i) => {
    if (dots[i]! < 0 || l.length !== ranks[i]) {
      throw bad(
        spec,
        `operand ${i} has the shape ${show(operands[i]!.shape.values)}, but '${parts[i]}' names ${l.length} axes`,
      );
    }
  });
  const counts = new Map<string, number>();
  for (const l of inputs.flat()) counts.set(l, (counts.get(l) ?? 0) + 1);
  // Without an arrow: labels that occur once, in alphabetical order, behind the ellipsis.
  const implied = [
    ...ellipsis(widest),
    ...[...counts]
      .filter(([l, n]) => n === 1 && l.length === 1)
      .map(([l]) => l)
      .sort(),
  ];
  const output = match[2] === undefined ? implied : labels(match[2], widest);
  const unknown = output.find((l) => !counts.has(l));
  if (unknown !== undefined) throw bad(spec, `the result names '${unknown}', which no operand has`);
  if (new Set(output).size !== output.length) throw bad(spec, 'the result names a label twice');
  if (widest > 0 && !output.includes(ellipsis(1)[0]!))
    throw bad(spec, `'...' stands for ${widest} of the axes, and the result does not say where they go`);
  return { inputs, output };
}

function differing(spec: string, label: string, a: number, b: number): ShapeError {
  return new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `einsum: '${spec}': label '${label}' has the sizes ${a} and ${b}`,
    fix: 'Axes with one label must have one size.',
    where: 'einsum',
  });
}

function bad(spec: string, why: string): ArgumentError {
  return new ArgumentError({
    code: 'BAD_EINSUM',
    message: `einsum: '${spec}': ${why}`,
    fix: "Write one letter per axis, operands separated by commas: 'ij,jk->ik'.",
    where: 'einsum',
  });
}
