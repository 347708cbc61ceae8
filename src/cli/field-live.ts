// A picture that is drawn again and again: in place on a terminal, now and then as plain text where the output is a file or a pipe.

import type { Output } from '../forge/style.ts';

/** Between two pictures: on a terminal, and as lines of a file. */
const drawMs = 100;
const printMs = 2000;

/** A screen of its own without a cursor, and back. */
const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';

export class LiveView {
  readonly #output: Output;
  readonly #lines: (canvas: { columns: number; colour: boolean }) => Promise<readonly string[]>;
  readonly #colour: boolean;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #drawing: Promise<void> = Promise.resolve();
  #ended = false;

  /** `lines` makes the picture each time; what it throws ends the view, and `end` throws it again. */
  constructor(
    output: Output,
    lines: (canvas: { columns: number; colour: boolean }) => Promise<readonly string[]>,
    env: Readonly<Record<string, string | undefined>> = process.env,
  ) {
    this.#output = output;
    this.#lines = lines;
    this.#colour = output.isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
    if (output.isTTY) output.write(enter);
    this.#next(0);
  }

  /** Gives the terminal back, and leaves the last picture there. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
    try {
      await this.#drawing;
    } finally {
      if (this.#output.isTTY) this.#output.write(leave);
    }
    this.#output.write(`${(await this.#picture()).join('\n')}\n`);
  }

  #next(wait: number): void {
    this.#timer = setTimeout(() => {
      this.#drawing = this.#draw().then(() => {
        if (!this.#ended) this.#next(this.#output.isTTY ? drawMs : printMs);
      });
      // Told by `end`.
      this.#drawing.catch(() => {});
    }, wait);
    this.#timer.unref();
  }

  async #draw(): Promise<void> {
    const lines = await this.#picture();
    const { isTTY, columns } = this.#output;
    if (!isTTY) this.#output.write(`${lines.join('\n')}\n\n`);
    // From the corner; each line is cleared to its end, and so is what was below. Colours have no width: such lines fit already.
    else {
      const cut = (line: string): string => (line.includes('\u001b') ? line : line.slice(0, columns));
      this.#output.write(`\u001b[H${lines.map((line) => `${cut(line)}\u001b[K`).join('\r\n')}\u001b[J`);
    }
  }

  #picture(): Promise<readonly string[]> {
    return this.#lines({ columns: this.#output.columns, colour: this.#colour });
  }
}
