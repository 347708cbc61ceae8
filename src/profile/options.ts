// Options as tables: per key what a value must be. A bad or unknown key is an error that names it.

import { ArgumentError } from '../index.ts';

export type Rule = readonly [holds: (value: unknown) => boolean, must: string];

export const flag: Rule = [(v) => typeof v === 'boolean', 'true or false'];
export const oneOf = (...values: readonly string[]): Rule => [
  (v) => values.includes(v as string),
  values.map((v) => `'${v}'`).join(' or '),
];

/** Throws unless every option that is given is known and good. */
export function checkOptions(
  operation: string,
  what: string,
  options: object,
  rules: Readonly<Record<string, Rule>>,
): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule?.[0](value)) continue;
    throw new ArgumentError({
      message: rule ? `${operation}: ${key} is ${String(value)}` : `${operation}: there is no ${what} '${key}'`,
      where: operation,
      fix: rule ? `Use ${rule[1]}.` : `There are ${Object.keys(rules).join(', ')}.`,
    });
  }
}
