// Help that fits the terminal. Commander wraps what it writes itself; texts of our own, such as examples, are fitted here.

/** As wide as Commander takes help to be: the terminal, or 80 columns where there is none. */
export const helpWidth = (): number => (process.stdout.isTTY ? process.stdout.columns : 80);

/** The text with its long lines wrapped. Commands to be copied stay whole; what they do moves below them where it has no room beside them. */
export function fitted(text: string, width: number): string {
  return text
    .split('\n\n')
    .map((paragraph) => {
      const lines = paragraph.split('\n');
      const tight = lines.some((line) => line.length > width);
      return tight ? lines.flatMap((line) => fittedLine(line, width)).join('\n') : paragraph;
    })
    .join('\n\n');
}

/** A command, with or without a prompt, and what it does. */
const example = /^(?<indent> *)(?<command>(?:\$ )?gpuforge\b.*?)(?: {2,}(?<meaning>\S.*))?$/;

function fittedLine(line: string, width: number): string[] {
  const found = example.exec(line)?.groups;
  if (!found) return line.length > width ? wrapped(line, / */.exec(line)![0], width) : [line];
  const { indent = '', command = '', meaning } = found;
  return meaning === undefined ? [line] : [indent + command, ...wrapped(meaning, `${indent}    `, width)];
}

function wrapped(text: string, indent: string, width: number): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.trim().split(/ +/)) {
    const longer = line === indent ? indent + word : `${line} ${word}`;
    if (longer.length > width && line !== indent) {
      lines.push(line);
      line = indent + word;
    } else line = longer;
  }
  return [...lines, line];
}
