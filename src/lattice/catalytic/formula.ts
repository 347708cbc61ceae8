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

/** How many steps a part takes is known as soon as it is read: a long text is refused before anything goes through it. */
type Formula = { readonly steps: number } & (
  | { readonly kind: 'input'; readonly name: string }
  | { readonly kind: 'number'; readonly value: bigint }
  | { readonly kind: 'product'; readonly a: Formula; readonly b: Formula }
  // However many: a sum of thousands is no deeper than one of two.
  | { readonly kind: 'sum'; readonly terms: readonly { readonly sign: 1 | -1; readonly of: Formula }[] }
);

/** `x*y + z` → a program that adds its value to register 0 and leaves all others as they were. */
export const compileFormula = checked(
  'compileFormula',
  formulaSignature,
  (text: string, o: FormulaOptions = {}): RegisterProgram => {
    const formula = parse(text);
    const { steps } = formula;
    const { maxSteps = 4 ** 8 } = o;
    if (steps > maxSteps) {
      throw invalidArgument({
        where,
        problem: `'${shortened(text)}' takes ${steps} steps, the most is ${maxSteps}`,
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

/** Brackets may be nested this deep. */
const deepest = 500;

const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** r[target] ± f, with registers from `spare` on for the factors; returns how many registers there are then. */
function emit(f: Formula, target: number, spare: number, sign: 1 | -1, into: RegisterStep[]): number {
  if (f.kind === 'input') into.push({ target, sign, term: { kind: 'input', name: f.name } });
  if (f.kind === 'number') into.push({ target, sign, term: { kind: 'product', constant: f.value, registers: [] } });
  if (f.kind === 'input' || f.kind === 'number') return Math.max(target + 1, spare);
  if (f.kind === 'sum') {
    let most = spare;
    for (const t of f.terms) most = Math.max(most, emit(t.of, target, spare, (sign * t.sign) as 1 | -1, into));
    return most;
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
      problem: `'${shortened(text)}' ends or goes wrong at '${tokens[at] ?? 'its end'}'`,
      fix: 'Write names, whole numbers, +, -, * and brackets, such as x*y + z.',
    });
  };
  let depth = 0;
  const factor = (): Formula => {
    const token = tokens[at++] ?? '';
    if (token === '(') {
      if (++depth > deepest) {
        throw invalidArgument({
          where,
          problem: `'${shortened(text)}' has more than ${deepest} brackets one inside the other`,
          fix: 'Use a formula of less depth.',
        });
      }
      const inner = sum();
      if (tokens[at++] !== ')') bad();
      depth--;
      return inner;
    }
    if (/^\d/.test(token)) return { kind: 'number', value: BigInt(token), steps: 1 };
    if (/^[A-Za-z_]/.test(token)) return { kind: 'input', name: token, steps: 1 };
    at--;
    return bad();
  };
  const product = (): Formula => {
    let a = factor();
    while (tokens[at] === '*') {
      at++;
      const b = factor();
      a = { kind: 'product', a, b, steps: 2 * a.steps + 2 * b.steps + 4 };
    }
    return a;
  };
  const sum = (): Formula => {
    const terms: { sign: 1 | -1; of: Formula }[] = [{ sign: 1, of: product() }];
    while (tokens[at] === '+' || tokens[at] === '-') {
      const sign = tokens[at++] === '+' ? 1 : -1;
      terms.push({ sign, of: product() });
    }
    if (terms.length === 1) return terms[0]!.of;
    return { kind: 'sum', terms, steps: terms.reduce((n, t) => n + t.of.steps, 0) };
  };
  const formula = sum();
  return at < tokens.length ? bad() : formula;
}
