// A small schema language for the data files, the configuration and user profiles.
//
// A schema is a value that checks an unknown and lists every problem with its path; the TypeScript type follows from the
// schema, so the two cannot drift apart. Unknown keys are problems: a misspelt key is never ignored in silence.

export interface Schema<T> {
  /** Every problem found, each "path: what is wrong"; empty when the value fits. */
  check(value: unknown, path: string): readonly string[];
  /** Only carries the type. */
  readonly type?: T;
}

export type Infer<S> = S extends Schema<infer T> ? T : never;

/** What was found, without a name and password in an address: problems are pasted into issues. */
const shown = (value: unknown): string => {
  const text = (JSON.stringify(value) ?? String(value)).replace(/\/\/[^/@\s"]*@/g, '//…@');
  return text.length > 40 ? `${text.slice(0, 37)}…` : text;
};

export function text(pattern?: RegExp, what = 'text'): Schema<string> {
  return {
    check: (value, path) =>
      typeof value === 'string' && value.length > 0 && (pattern?.test(value) ?? true)
        ? []
        : [`${path}: expected ${what}, found ${shown(value)}`],
  };
}

export function number(
  options: { readonly min?: number; readonly max?: number; readonly whole?: boolean } = {},
): Schema<number> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, whole = false } = options;
  const range =
    min > Number.NEGATIVE_INFINITY ? ` from ${min}${max < Number.POSITIVE_INFINITY ? ` to ${max}` : ' up'}` : '';
  return {
    check: (value, path) =>
      typeof value === 'number' &&
      Number.isFinite(value) &&
      value >= min &&
      value <= max &&
      (!whole || Number.isInteger(value))
        ? []
        : [`${path}: expected a ${whole ? 'whole ' : ''}number${range}, found ${shown(value)}`],
  };
}

export const flag: Schema<boolean> = {
  check: (value, path) =>
    typeof value === 'boolean' ? [] : [`${path}: expected true or false, found ${shown(value)}`],
};

export function oneOf<const T extends readonly string[]>(...values: T): Schema<T[number]> {
  return {
    check: (value, path) =>
      typeof value === 'string' && values.includes(value)
        ? []
        : [`${path}: expected one of ${values.join(', ')}, found ${shown(value)}`],
  };
}

export function nullable<T>(inner: Schema<T>): Schema<T | null> {
  return { check: (value, path) => (value === null ? [] : inner.check(value, path)) };
}

export function list<T>(item: Schema<T>): Schema<readonly T[]> {
  return {
    check: (value, path) =>
      Array.isArray(value)
        ? value.flatMap((entry, i) => item.check(entry, `${path}[${i}]`))
        : [`${path}: expected a list, found ${shown(value)}`],
  };
}

/** An object used as a dictionary: any key that fits `key`, all values alike. */
export function dictionary<T>(item: Schema<T>, key: RegExp = /./): Schema<Readonly<Record<string, T>>> {
  return {
    check: (value, path) =>
      isObject(value)
        ? Object.entries(value).flatMap(([name, entry]) =>
            key.test(name) ? item.check(entry, `${path}.${name}`) : [`${path}.${name}: the name does not fit ${key}`],
          )
        : [`${path}: expected an object, found ${shown(value)}`],
  };
}

type Fields = Readonly<Record<string, Schema<unknown>>>;
type Shape<R extends Fields, O extends Fields> = { readonly [K in keyof R]: Infer<R[K]> } & {
  readonly [K in keyof O]?: Infer<O[K]>;
};

export function object<R extends Fields, O extends Fields = Record<never, never>>(
  required: R,
  optional?: O,
): Schema<Shape<R, O>> {
  const all: Fields = { ...required, ...optional };
  return {
    check(value, path) {
      if (!isObject(value)) return [`${path}: expected an object, found ${shown(value)}`];
      const problems: string[] = [];
      for (const [name, field] of Object.entries(all)) {
        if (Object.hasOwn(value, name)) problems.push(...field.check(value[name], `${path}.${name}`));
        else if (Object.hasOwn(required, name)) problems.push(`${path}.${name}: missing`);
      }
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(all, name))
          problems.push(`${path}.${name}: unknown key${suggestion(name, Object.keys(all))}`);
      }
      return problems;
    },
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** " (did you mean x?)" when one known name is close, else nothing. */
export function suggestion(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

/** The known name within a third of the length in edits, or undefined. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = edits(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

/** Line and column (from 1) of an offset, for messages about files a person edits. */
export function position(source: string, offset: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, Math.max(0, Math.min(offset, source.length)));
  const line = before.split('\n').length;
  return { line, column: before.length - before.lastIndexOf('\n') };
}
