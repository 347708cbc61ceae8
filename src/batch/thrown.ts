// What is told of something that was thrown. Anything may be: no value, a text, an object whose properties throw when they are read.
// Telling of it never fails, and never says nothing.

/** The most of a thrown object that a message shows. */
const mostText = 200;

const readers: readonly ((value: unknown) => unknown)[] = [
  (v) => (v as { readonly message?: unknown } | null | undefined)?.message,
  (v) => (typeof v === 'string' ? v : undefined),
  (v) => (v instanceof Error ? `${v.name} without a message` : undefined),
  (v) => (v === '' ? 'an empty text was thrown' : undefined),
  (v) => (typeof v === 'object' && v !== null ? `${JSON.stringify(v).slice(0, mostText)} was thrown` : undefined),
  (v) => (typeof v === 'function' ? `a function was thrown` : undefined),
  (v) => `${String(v)} was thrown`,
];

/** Its message, or what it is. */
export function messageOf(value: unknown): string {
  for (const read of readers) {
    const text = attempted(() => read(value));
    if (typeof text === 'string' && text !== '') return text;
  }
  return `a value of type ${typeof value} was thrown, which tells nothing`;
}

/** The first line of that: what helps is often told below. */
export const firstLineOf = (value: unknown): string => messageOf(value).split('\n')[0]!;

/** Its code, whoever made it. */
export function codeOf(value: unknown): string | null {
  const code = attempted(() => (value as { readonly code?: unknown } | null | undefined)?.code);
  return typeof code === 'string' ? code : null;
}

/** Where it was thrown, as far as it tells. */
export function traceOf(value: unknown): string {
  const stack = attempted(() => (value as { readonly stack?: unknown } | null | undefined)?.stack);
  return typeof stack === 'string' ? stack : '';
}

/** An error as it is, if it can be read like one; else one that tells of what was thrown. */
export function errorOf(value: unknown): Error {
  const texts = attempted(() => value instanceof Error && [value.message, value.stack]);
  if (Array.isArray(texts) && texts.every((t) => typeof t === 'string')) return value as Error;
  return Object.assign(
    new Error(messageOf(value), { cause: value }),
    codeOf(value) !== null && { code: codeOf(value) },
  );
}

function attempted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
