// Makes wrong calls and tells which of them were not refused.

import { ForgeError } from '../../src/index.ts';
import { seed } from '../support/seed.ts';
import { type Surface, type WrongCall, wrongCalls } from './surface.ts';

/** An entry of the package, or a part of it. */
export interface Part {
  readonly part: string;
  /** Expressions whose methods are called. */
  readonly targets: readonly string[];
  /** Expressions of functions and classes that are called themselves. */
  readonly functions: readonly string[];
  /** Methods that are not called, by name or as `target.method`. */
  readonly leftOut?: readonly string[];
}

/** What expressions name: values, and their types as the compiler is told. */
export interface Names {
  readonly values: Readonly<Record<string, unknown>>;
  readonly types: Readonly<Record<string, string>>;
}

/** Values of all kinds, as expressions. `rt` is a runtime. */
const kinds = [
  'undefined',
  'null',
  '0',
  '1',
  '-1',
  '2.5',
  '3n',
  "'f32'",
  "'sum'",
  "''",
  'true',
  'false',
  '[]',
  '[0]',
  '[1, 1]',
  '[2, 3]',
  "['a']",
  '[null]',
  '[[0, 1]]',
  '[[1, 1], [0, 0]]',
  '{}',
  '{ axis: 0 }',
  "{ dtype: 'i32' as const }",
  '{ signal: AbortSignal.timeout(60_000) }',
  '{ dim: 1 }',
  "Symbol('s')",
  '() => undefined as never',
  'new Map()',
  'new Date(0)',
  'new Set([1])',
  'Promise.resolve(1)',
  'new Float32Array([1, 2, 3])',
  'new Float64Array(4)',
  'new Uint8Array(4)',
  'new Int32Array(4)',
  'new ArrayBuffer(4)',
  'new DataView(new ArrayBuffer(4))',
  'new AbortController()',
  '/x/',
  'rt',
  'rt.tensor([1, 2, 3])',
  'rt.tensor([[1, 2], [3, 4]])',
  "rt.tensor([1, 0], { dtype: 'i32' })",
  'rt.tensor([true, false])',
  '[rt.tensor([1]), rt.tensor([2])]',
  'rt.random',
];

/** About `count` calls that the compiler refuses, of the functions of all parts. */
export function makeCalls(
  parts: readonly Part[],
  { types }: Names,
  modules: readonly string[],
  count: number,
  odd: readonly string[] = [],
): Surface {
  const instances = Object.keys(types).filter((name) => name !== 'rt' && !modules.includes(name));
  const prelude = Object.entries(types)
    .map(([name, type]) => `declare const ${name}: ${type};`)
    .join('\n');
  const targets = parts.flatMap(({ part, targets, functions }) => [
    ...targets.map((expression) => ({ part, expression, methods: true })),
    ...functions.map((expression) => ({ part, expression, methods: false })),
  ]);
  const leftOut = parts.flatMap((p) => p.leftOut ?? []);
  // A good part of what is drawn turns out to be right.
  return wrongCalls({
    prelude,
    modules,
    targets,
    values: [...kinds, ...odd],
    fitting: instances,
    leftOut,
    count: Math.ceil(count * 1.4),
    right: odd.length > 0,
    roll: dice(seed),
  });
}

/** Makes the calls; tells, once for each kind, which were accepted or failed with an error that is none of the library's. */
export async function problemsOf(
  calls: readonly WrongCall[],
  { values }: Names,
  around: (call: () => Promise<string | null>) => Promise<string | null>,
): Promise<string[]> {
  const problems = new Map<string, string>();
  for (const call of calls) {
    const found = await around(() => problem(call, values));
    if (found) problems.set(`${call.target}.${call.method}: ${found.split('\n').slice(0, 3).join(' ')}`, shown(call));
  }
  return [...problems].map(([what, call]) => `${call}: ${what}`);
}

const shown = ({ target, method, made, args }: WrongCall): string =>
  `${made ? 'new ' : ''}${target}${method === null ? '' : `.${method}`}(${args.join(', ')})`;

/** Makes a call and waits for it; null if it was refused as it should be. */
async function problem(call: WrongCall, names: Names['values']): Promise<string | null> {
  const evaluate = (expression: string): unknown =>
    new Function(...Object.keys(names), `return (${plain(expression)});`)(...Object.values(names));
  const args = call.args.map(evaluate);
  const target = evaluate(call.target) as Record<string, () => unknown>;
  try {
    if (call.made) Reflect.construct(target as unknown as () => unknown, args);
    else if (call.method === null) await Reflect.apply(target as unknown as () => unknown, undefined, args);
    else await Reflect.apply(target[call.method]!, target, args);
    return `accepted, though ${call.why}`;
  } catch (e) {
    if (e instanceof ForgeError && e.code === 'UNKNOWN_OPTION' && e.message.endsWith(`'${call.option}'`))
      return `does not know its option '${call.option}'`;
    if (e instanceof ForgeError && e.fix.length > 0) return null;
    return `threw ${e instanceof Error ? (e.stack ?? e) : String(e)}`;
  }
}

/** An expression without what only the compiler needs. */
const plain = (expression: string): string => expression.replaceAll(/ as (const|never)/g, '');

function dice(from: number): (sides: number) => number {
  let s = from | 0;
  return (sides) => {
    s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((s ^ (s >>> 13)) >>> 0) % sides;
  };
}
