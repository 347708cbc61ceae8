// The steps of a random graph that multiply and slide: matrix products, einsum, pooling.

import { sizeOf } from '../../src/base/shape.ts';
import * as acc from './accumulate.ts';
import { einsum, pool, type Spec, sizesOf, textOf } from './contract.ts';
import { binary } from './elementwise.ts';
import { type Dice, type Operand, one, pickOf, type Row, type Scene } from './move.ts';
import * as move from './rearrange.ts';
import type { Bounded } from './value.ts';

export const matmulRow: Row = (x, dice, { values, fresh }) => {
  if (x.shape.length < 2 || x.shape.length > 4) return null;
  const k = x.shape[x.shape.length - 1]!;
  const fitting = values.flatMap((y, i) => (y.shape.length === 2 && y.shape[0] === k ? [i] : []));
  if (fitting.length > 0 && dice(2)) {
    const at = fitting[dice(fitting.length)]!;
    return one('matmul', acc.matmul(x, values[at]!), [], [at]);
  }
  const lead = x.shape.length === 3 && dice(2) ? [x.shape[0]!] : [];
  const y = fresh(x.dtype, [...lead, k, (1 + dice(10)) % 10], dice(2) ? 'any' : 'whole');
  return one('matmul', acc.matmul(x, y), [], [y]);
};

/** A product of all pairs, and NumPy's dot of a vector or a matrix with any tensor. */
export const outerRow: Row = (x, dice, { values }) => {
  const at = values.length - 1 - dice(values.length);
  const y = values[at]!;
  const flat = (t: Bounded, column: boolean): Bounded =>
    move.reshape(t, column ? [t.values.length, 1] : [1, t.values.length]);
  if (dice(2) === 0 || x.shape.length === 0 || y.shape.length === 0)
    return { ...one('outer', binary('mul', flat(x, true), flat(y, false)), [], [at]) };
  const [k, k2] = [x.shape[x.shape.length - 1], y.shape.length === 1 ? y.shape[0] : y.shape[y.shape.length - 2]];
  if (k !== k2) return null;
  const letters = 'abcdefghijkl';
  const left = letters.slice(0, x.shape.length - 1);
  const right = letters.slice(left.length, left.length + Math.max(0, y.shape.length - 1));
  const inner = right.length === 0 ? 'z' : `${right.slice(0, -1)}z${right.slice(-1)}`;
  const spec = { inputs: [`${left}z`, inner], output: left + right };
  return heavy(spec, [x, y]) ? null : one('dot', einsum(spec, [x, y]), [], [at]);
};

/** More products than are worth evaluating one by one. */
const heavy = (spec: Spec, operands: readonly Bounded[]): boolean =>
  [...sizesOf(spec, operands).values()].reduce((n, d) => n * d, 1) > 20_000;

/** Labels for the axes of an operand: those of known size that fit, or new ones. */
function labelsFor(x: Bounded, known: Map<string, number>, dice: Dice): string {
  let labels = '';
  for (const d of x.shape) {
    // Within one operand a label may come twice if the sizes agree exactly; beside others a 1 stretches.
    const fitting = [...known].filter(([l, n]) => (labels.includes(l) ? n === d : n === d || n === 1 || d === 1));
    const fresh = String.fromCharCode(97 + known.size);
    const choice = dice(3) === 0 || fitting.length === 0 ? fresh : fitting[dice(fitting.length)]![0];
    const size = known.get(choice);
    // A stretched label has two sizes: it is not used twice in one operand.
    if (labels.includes(choice) && size !== d) return labelsFor(x, new Map(), () => 0);
    known.set(choice, size === undefined || size === 1 ? d : size);
    labels += choice;
  }
  return labels;
}

export const einsumRow: Row = (x, dice, scene: Scene) => {
  if (x.shape.length > 4) return null;
  const known = new Map<string, number>();
  const inputs = [labelsFor(x, known, dice)];
  const operands = [x];
  const others: Operand[] = [];
  for (let n = dice(3); n > 0; n--) {
    const labels = [...known.keys()];
    let y: Bounded;
    if (dice(2) && labels.length > 0) {
      // A new operand over some of the labels, with a size of 1 or a new axis here and there.
      const some = labels.filter(() => dice(2) === 0).slice(0, 3);
      const shape = some.map((l) => (dice(8) === 7 ? 1 : known.get(l)!));
      y = scene.fresh(x.dtype, shape, dice(2) ? 'any' : 'whole');
      inputs.push(some.join(''));
      others.push(y);
    } else {
      const at = scene.values.length - 1 - dice(scene.values.length);
      y = scene.values[at]!;
      if (y.shape.length > 4) return null;
      inputs.push(labelsFor(y, known, dice));
      others.push(at);
    }
    operands.push(y);
  }
  if (inputs.some((labels, k) => !consistent(labels, operands[k]!))) return null;
  const output = [...known.keys()].filter(() => dice(2) === 0);
  if (dice(2)) output.reverse();
  const spec = { inputs, output: output.join('') };
  if (!agrees(spec, operands) || heavy(spec, operands)) return null;
  const result = einsum(spec, operands);
  return { ...one('einsum', result, [textOf(spec)], others), common: result.dtype };
};

/** Within an operand, axes with one label have one size. */
const consistent = (labels: string, x: Bounded): boolean =>
  [...labels].every((l, i) => x.shape[labels.indexOf(l)] === x.shape[i]);

/** Between operands, sizes are equal or 1. */
function agrees(spec: Spec, operands: readonly Bounded[]): boolean {
  const sizes = sizesOf(spec, operands);
  return spec.inputs.every((labels, k) =>
    [...labels].every((l, i) => operands[k]!.shape[i] === 1 || operands[k]!.shape[i] === sizes.get(l)),
  );
}

export const poolRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axes = 1 + dice(Math.min(2, x.shape.length));
  const padding = dice(2);
  const sizes = x.shape.slice(-axes).map((d) => d + 2 * padding);
  if (sizes.some((d) => d < 1)) return null;
  const window = sizes.map((d) => 1 + dice(Math.min(d, 3)));
  const stride = dice(2) ? window : window.map(() => 1 + dice(2));
  const op = pickOf(['maxPool', 'avgPool'] as const, dice);
  const result = pool(op, x, window, stride, padding);
  if (sizeOf(result.shape) * sizeOf(window) > 20_000) return null;
  return one(op, result, [window, { stride, padding }]);
};
