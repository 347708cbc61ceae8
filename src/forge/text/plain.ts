// Text from outside, made harmless: what a machine, a file or a person hands over never steers a terminal or a page.
//
// Whole escape sequences go (colours, cursor, titles, links, DCS, APC, PM, SOS), then every control character that is left
// but tab and newline, then the characters that turn the direction of text or cannot be seen.

/** ESC [ … final, ESC ] … BEL or ST, ESC P/X/^/_ … ST, ESC and one more; and the same with the one-byte C1 openers. */
const SEQUENCES = new RegExp(
  [
    '(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]',
    '(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d\\u009e\\u009f])[^\\u0007\\u001b\\u009c\\n]*(?:\\u0007|\\u001b\\\\|\\u009c)?',
    '\\u001b[ -/]*[0-~]?',
  ].join('|'),
  'g',
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Marks and overrides of direction, zero-width characters, separators that some terminals break lines at, tags. */
const INVISIBLE =
  /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Several lines: newlines and tabs stay. */
export function plainText(text: string): string {
  return text.replace(SEQUENCES, '').replace(CONTROLS, '').replace(INVISIBLE, '');
}

/** One line: every break becomes a space. */
export function plainLine(text: string): string {
  return plainText(text.replace(/[\r\n\u0085\u2028\u2029]+/g, ' ')).replace(/\t/g, ' ');
}

/** A word of a fixed list as it was typed or pasted: in small letters, without what cannot be seen. */
export const asWord = (text: string): string => plainLine(text).trim().toLowerCase();

/** All strings of a value, at any depth; a value without such characters is returned as it is. */
export function plainValue<T>(value: T): T {
  if (typeof value === 'string') return plainLine(value) as T;
  if (Array.isArray(value)) return value.map(plainValue) as T;
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)])) as T;
  return value;
}

/** What our own output is made of: the colours of `style.ts`, and what a live view draws a screen with. */
const OWN = {
  nothing: null,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
  colours: /(\u001b\[(?:0|1|2|31|32|33)m)/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for
  screen: /(\u001b\[(?:[0-9;]*m|[HJK]|2[JK]|\?1049[hl]|\?25[hl])|\r)/,
} as const;

export type Keeps = keyof typeof OWN;

const JSON_TEXT = /^\s*[{[][\s\S]*[}\]]\s*$/;

/**
 * The last gate before a terminal, for all that a command prints: what came in from outside and was passed on unread does not
 * steer it. JSON keeps its values: there such characters are escaped.
 */
export function forTerminal(text: string, keeps: Keeps): string {
  if (JSON_TEXT.test(text)) return text.replace(CONTROLS, escaped).replace(INVISIBLE, escaped);
  const own = OWN[keeps];
  if (own === null) return plainText(text);
  return text
    .split(own)
    .map((part) => (own.test(part) ? part : plainText(part)))
    .join('');
}

/** As JSON writes it: "\\u009b"; two of them for a character of two halves. */
const escaped = (text: string): string =>
  text
    .split('')
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
