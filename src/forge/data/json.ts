// JSON that a person edits: parse errors name the line and the column, and keys can be traced back to their line.
//
// The engine's own messages differ between Node versions and often give no position, so the position is found here by a
// strict scan of the text (RFC 8259); the value itself always comes from JSON.parse.

import { FormatError } from '../../errors.ts';
import { position } from './schema.ts';

export function parseJson(source: string, file: string): unknown {
  const clean = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  try {
    return JSON.parse(clean);
  } catch (cause) {
    const fault = firstFault(clean);
    const { line, column } = position(clean, fault.offset);
    throw new FormatError({
      code: 'FORGE_JSON_SYNTAX',
      message: `${file}:${line}:${column}: ${fault.what}`,
      fix: 'Correct the file at that place; JSON has no comments and no trailing commas.',
      where: 'forge.json',
      cause,
    });
  }
}

/** The line on which the last key of a dotted path stands, or undefined when the text does not show it. */
export function lineOfKey(source: string, path: string): number | undefined {
  let from = 0;
  for (const name of path.split('.')) {
    const found = source.indexOf(`${JSON.stringify(name)}`, from);
    if (found < 0) return undefined;
    from = found + 1;
  }
  return position(source, from - 1).line;
}

interface Fault {
  readonly offset: number;
  readonly what: string;
}

const LITERAL =
  /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;

function firstFault(source: string): Fault {
  let at = 0;
  const fail = (what: string): never => {
    throw { offset: at, what } satisfies Fault;
  };
  const space = (): void => {
    while (at < source.length && ' \t\r\n'.includes(source[at]!)) at++;
  };
  const literal = (what: string): void => {
    LITERAL.lastIndex = at;
    const found = LITERAL.exec(source);
    if (!found)
      fail(at >= source.length ? 'the file ends too early' : `expected ${what}, found ${JSON.stringify(source[at])}`);
    else at += found[0].length;
  };
  const members = (close: string, member: () => void): void => {
    at++;
    space();
    if (source[at] === close) {
      at++;
      return;
    }
    for (;;) {
      member();
      space();
      if (source[at] === ',') {
        at++;
        space();
        if (source[at] === close) fail('a comma before the closing bracket');
      } else if (source[at] === close) {
        at++;
        return;
      } else {
        fail(
          at >= source.length
            ? 'the file ends too early'
            : `expected a comma or ${close}, found ${JSON.stringify(source[at])}`,
        );
      }
    }
  };
  const value = (): void => {
    space();
    if (source[at] === '{') {
      members('}', () => {
        space();
        if (source[at] !== '"') fail('expected a key in double quotes');
        literal('a key');
        space();
        if (source[at] !== ':') fail('expected a colon after the key');
        at++;
        value();
      });
    } else if (source[at] === '[') members(']', value);
    else literal('a value');
  };
  try {
    value();
    space();
    if (at < source.length) fail('text after the end of the value');
  } catch (fault) {
    return fault as Fault;
  }
  return { offset: 0, what: 'not valid JSON' };
}
