// Quoting for the formats that are written. Nothing reaches a file unquoted unless its characters were checked.

/** A TOML basic string. */
export function toml(text: string): string {
  return `"${text.replace(/["\\]|\p{Cc}/gu, escaped)}"`;
}

/** A TOML key: bare where that is allowed. */
export const key = (name: string): string => (/^[A-Za-z0-9_-]+$/.test(name) ? name : toml(name));

/** A YAML scalar: plain where that is safe for every YAML version, else double-quoted. */
export function yaml(text: string): string {
  const plain = /^[A-Za-z][A-Za-z0-9_./+-]*$/.test(text) && !/^(?:y|n|yes|no|on|off|true|false|null|~)$/i.test(text);
  return plain ? text : `"${text.replace(/["\\]|\p{Cc}/gu, escaped)}"`;
}

function escaped(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** One argument of a POSIX shell command. */
export function shell(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Comment lines, broken at spaces to fit 100 columns. */
export function comments(lines: readonly string[], mark = '#'): string {
  return lines
    .flatMap((line) => wrap(line, 98 - mark.length))
    .map((line) => `${mark} ${line}`.trimEnd())
    .join('\n');
}

export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines;
}
