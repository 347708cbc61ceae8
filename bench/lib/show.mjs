// Tables and progress on a terminal.

export function table(rows, right = []) {
  const widths = rows[0].map((_, c) => Math.max(...rows.map((r) => `${r[c]}`.length)));
  const line = (r) =>
    r
      .map((cell, c) => (right[c] ? `${cell}`.padStart(widths[c]) : `${cell}`.padEnd(widths[c])))
      .join('  ')
      .trimEnd();
  const rule = widths.map((w) => '─'.repeat(w)).join('  ');
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join('\n');
}

/** Three significant figures. */
export function figure(x) {
  if (!Number.isFinite(x)) return '–';
  return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

export const inUnit = (ms, unit) => (unit === 'µs' ? ms * 1000 : ms);

/** One line that is rewritten on a terminal; plain lines elsewhere. */
export class Progress {
  #tty = process.stderr.isTTY;
  #last = '';

  say(text) {
    if (text === this.#last) return;
    this.#last = text;
    process.stderr.write(this.#tty ? `\r\x1b[2K${text}` : `${text}\n`);
  }

  done() {
    if (this.#tty) process.stderr.write('\r\x1b[2K');
  }
}
