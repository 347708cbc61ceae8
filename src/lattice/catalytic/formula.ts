// Formulas of sums and products as register programs.
//
// A product needs the value of a factor four times, so a formula of depth D takes up to 4^D steps (Ben-Or and Cleve). The count is
// known before anything is compiled, and too large ones are refused.

import { checked } from '../../base/signatures.ts';
import { invalidArgument } from '../errors.ts';
import { formulaSignature, latticeKinds } from '../signatures.ts';
import { RegisterProgram, type RegisterStep, type Ring } from './registers.ts';

export interface FormulaOptions {
  readonly ring?: Ring | undefined;
  /** Default 4^8. */
  readonly maxSteps?: number | undefined;
}

type Formula =
  | { readonly kind: 'input'; readonly name: string }
  | { readonly kind: 'number'; readonly value: bigint }
  | { readonly kind: 'sum' | 'difference' | 'product'; readonly a: Formula; readonly b: Formula };

/** `x*y + z` → a program that adds its value to register 0 and leaves all others as they were. */
export const compileFormula = checked(
  'compileFormula',
  formulaSignature,
  (text: string, o: FormulaOptions = {}): RegisterProgram => {
    const formula = parse(text);
    const steps = countSteps(formula);
    const { maxSteps = 4 ** 8 } = o;
    if (steps > maxSteps) {
      throw invalidArgument({
        where,
        problem: `'${text}' takes ${steps} steps, the most is ${maxSteps}`,
        fix: 'Use a formula of less depth, or raise maxSteps.',
      });
    }
    const made: RegisterStep[] = [];
    const registers = emit(formula, 0, 1, 1, made);
    return new RegisterProgram({ registers, ring: o.ring }, made);
  },
  latticeKinds,
);

const where = 'compileFormula';

/** Steps that `emit` makes, without making them. */
function countSteps(f: Formula): number {
  if (f.kind === 'input' || f.kind === 'number') return 1;
  const [a, b] = [countSteps(f.a), countSteps(f.b)];
  return f.kind === 'product' ? 2 * a + 2 * b + 4 : a + b;
}

/** r[target] ± f, with registers from `spare` on for the factors; returns how many registers there are then. */
function emit(f: Formula, target: number, spare: number, sign: 1 | -1, into: RegisterStep[]): number {
  if (f.kind === 'input') into.push({ target, sign, term: { kind: 'input', name: f.name } });
  if (f.kind === 'number') into.push({ target, sign, term: { kind: 'product', constant: f.value, registers: [] } });
  if (f.kind === 'input' || f.kind === 'number') return Math.max(target + 1, spare);
  if (f.kind !== 'product') {
    const second = f.kind === 'sum' ? sign : (-sign as 1 | -1);
    return Math.max(emit(f.a, target, spare, sign, into), emit(f.b, target, spare, second, into));
  }
  // (r1 + a)(r2 + b) − (r1 + a) r2 − r1 (r2 + b) + r1 r2 = a b, whatever r1 and r2 hold.
  const [r1, r2] = [spare, spare + 1];
  const product = (s: 1 | -1): void =>
    void into.push({
      target,
      sign: (sign * s) as 1 | -1,
      term: { kind: 'product', constant: 1n, registers: [r1, r2] },
    });
  let most = spare + 2;
  const factor = (g: Formula, r: number, s: 1 | -1): void => {
    most = Math.max(most, emit(g, r, spare + 2, s, into));
  };
  product(1);
  factor(f.a, r1, 1);
  product(-1);
  factor(f.b, r2, 1);
  product(1);
  factor(f.a, r1, -1);
  product(-1);
  factor(f.b, r2, -1);
  return most;
}

/** Names, whole numbers, + − *, brackets. */
function parse(text: string): Formula {
  const tokens = text.match(/[A-Za-z_]\w*|\d+|[-+*()]|\S/g) ?? [];
  let at = 0;
  const bad = (): never => {
    throw invalidArgument({
      where,
      problem: `'${text}' ends or goes wrong at '${tokens[at] ?? 'its end'}'`,
      fix: 'Write names, whole numbers, +, -, * and brackets, such as x*y + z.',
    });
  };
  const factor = (): Formula => {
    const token = tokens[at++] ?? '';
    if (token === '(') {
      const inner = sum();
      if (tokens[at++] !== ')') bad();
      return inner;
    }
    if (/^\d/.test(token)) return { kind: 'number', value: BigInt(token) };
    if (/^[A-Za-z_]/.test(token)) return { kind: 'input', name: token };
    at--;
    return bad();
  };
  const chain = (next: () => Formula, ops: Readonly<Record<string, 'sum' | 'difference' | 'product'>>): Formula => {
    let a = next();
    for (let kind = ops[tokens[at] ?? '']; kind; kind = ops[tokens[at] ?? '']) {
      at++;
      a = { kind, a, b: next() };
    }
    return a;
  };
  const sum = (): Formula => chain(() => chain(factor, { '*': 'product' }), { '+': 'sum', '-': 'difference' });
  const formula = sum();
  return at < tokens.length ? bad() : formula;
}
