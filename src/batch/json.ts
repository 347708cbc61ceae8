// What travels through a queue: JSON, and nothing that JSON would change on the way.

/** A value as it travels, or what is wrong with it: `params.rate is NaN`. */
export type Wired = { readonly text: string } | { readonly wrong: string };

/** `name`: what the value is called in messages. */
export function wired(value: unknown, name: string): Wired {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    return { wrong: lossIn(value, name, 0) ?? `${name}: ${(error as Error).message.split('\n')[0]}` };
  }
  const wrong = lossIn(value, name, 0);
  return wrong !== null || text === undefined ? { wrong: wrong ?? `${name} is ${typeof value}` } : { text };
}

/** A value as it arrives elsewhere: what is done to it here later changes nothing there. */
export const sent = <T>(value: T): T => (isObject(value) ? (JSON.parse(JSON.stringify(value)) as T) : value);

/** What others may change. */
export const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Nobody writes deeper data, and rings have no end. */
const deepest = 100;

/** Where the first value lies that would arrive as another one; null if there is none. Properties that are undefined are left out. */
function lossIn(value: unknown, name: string, depth: number): string | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${name} is ${value}`;
  if (typeof value !== 'object')
    return `${name} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`;
  if (depth > deepest) return `${/^\w+/.exec(name)?.[0] ?? name} holds itself, or is nested too deeply`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const wrong = lossIn(value[i], `${name}[${i}]`, depth + 1);
      if (wrong !== null) return wrong;
    }
    return null;
  }
  const Class = (value as { constructor?: unknown }).constructor;
  // Of another realm, objects have another Object: what it is called is the same.
  if (typeof Class === 'function' && Class.name !== 'Object') return `${name} is a ${Class.name || 'value of a class'}`;
  for (const [key, v] of Object.entries(value)) {
    if (v === undefined) continue;
    const wrong = lossIn(v, `${name}.${key}`, depth + 1);
    if (wrong !== null) return wrong;
  }
  return null;
}
