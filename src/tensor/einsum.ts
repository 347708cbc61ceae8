// Einstein summation: `ij,jk->ik`.
//
// Two operands at a time, from left to right. Labels both have and the result keeps are batch, labels both have and nobody
// needs later are contracted (as a matrix product), labels only one has and nobody needs are summed before.

import { promote } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import type { Node, Precision } from '../graph/node.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { triangleMask } from './movement.ts';
import { reduce } from './reductions.ts';

type Matmul = (a: Node, b: Node, precision: Precision) => Node;

interface Term {
  readonly node: Node;
  readonly labels: readonly string[];
}

export function einsumNode(spec: string, operands: readonly Node[], matmul: Matmul): Node {
  const { inputs, output } = parse(spec, operands);
  const dtype = operands.map((o) => o.dtype).reduce(promote);
  let terms = operands.map((node, i) => diagonalOf({ node: cast(node, dtype), labels: inputs[i]! }, spec));
  while (terms.length > 1) {
    const [a, b, ...rest] = terms as [Term, Term, ...Term[]];
    const needed = new Set([...output, ...rest.flatMap((t) => t.labels)]);
    terms = [contract(a, b, needed, matmul, spec), ...rest];
  }
  const [last] = terms as [Term];
  const summed = sumAway(last, new Set(output));
  return permute(
    summed.node,
    output.map((l) => summed.labels.indexOf(l)),
  );
}

function contract(a: Term, b: Term, needed: ReadonlySet<string>, matmul: Matmul, spec: string): Term {
  const x = sumAway(a, new Set([...needed, ...b.labels]));
  const y = sumAway(b, new Set([...needed, ...a.labels]));
  const sizes = new Map<string, number>();
  for (const t of [x, y]) {
    t.labels.forEach((l, i) => {
      const d = t.node.shape.values[i]!;
      const known = sizes.get(l) ?? 1;
      if (known !== 1 && d !== 1 && known !== d) throw differing(spec, l, known, d);
      sizes.set(l, Math.max(known, d));
    });
  }
  const both = x.labels.filter((l) => y.labels.includes(l));
  const batch = both.filter((l) => needed.has(l));
  const inner = both.filter((l) => !needed.has(l));
  const left = x.labels.filter((l) => !both.includes(l));
  const right = y.labels.filter((l) => !both.includes(l));
  const product = (labels: readonly string[]) => labels.reduce((n, l) => n * sizes.get(l)!, 1);
  const arrange = (t: Term, order: readonly string[]) =>
    expand(
      permute(
        t.node,
        order.map((l) => t.labels.indexOf(l)),
      ),
      order.map((l) => sizes.get(l)!),
    );
  const labels = [...batch, ...left, ...right];
  const shape = labels.map((l) => sizes.get(l)!);
  const p = reshape(arrange(x, [...batch, ...left, ...inner]), [product(batch), product(left), product(inner)]);
  const q = reshape(arrange(y, [...batch, ...inner, ...right]), [product(batch), product(inner), product(right)]);
  // Nothing to contract: a plain product fuses with its neighbours, a matrix product does not.
  if (inner.length === 0) {
    const wide = [product(batch), product(left), product(right)];
    return { node: reshape(alu('mul', expand(p, wide), expand(q, wide)), shape), labels };
  }
  return { node: reshape(matmul(p, q, 'exact'), shape), labels };
}

function sumAway(t: Term, keep: ReadonlySet<string>): Term {
  const axes = t.labels.flatMap((l, i) => (keep.has(l) ? [] : [i]));
  if (axes.length === 0) return t;
  return { node: reduce('sum', t.node, { axis: axes }, 'einsum'), labels: t.labels.filter((l) => keep.has(l)) };
}

/** A label that occurs twice in one operand takes its diagonal. */
function diagonalOf(t: Term, spec: string): Term {
  const twice = t.labels.findIndex((l, i) => t.labels.indexOf(l) !== i);
  if (twice < 0) return t;
  const first = t.labels.indexOf(t.labels[twice]!);
  const { values } = t.node.shape;
  if (values[first] !== values[twice]) throw differing(spec, t.labels[twice]!, values[first]!, values[twice]!);
  const order = values.map((_, i) => i).filter((i) => i !== first && i !== twice);
  const moved = permute(t.node, [...order, first, twice]);
  const shape = moved.shape.values;
  const onDiagonal = alu('and', triangleMask(shape, 0, true), triangleMask(shape, 0, false));
  const zero = expand(constant(moved.dtype, 0), shape);
  const node = reduce('sum', alu('where', onDiagonal, moved, zero), { axis: shape.length - 1 }, 'einsum');
  return diagonalOf({ node, labels: [...order.map((i) => t.labels[i]!), t.labels[first]!] }, spec);
}

function parse(spec: string, operands: readonly Node[]): { inputs: string[][]; output: string[] } {
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
