// Names as they stand in a table of text: on one line, in their column, and without anything that moves a cursor.

/** Text cut to a width, with a mark where it was. */
export const cut = (text: string, to: number): string => (text.length > to ? `${text.slice(0, to - 1)}…` : text);

/** Text that stays on its line and moves no cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
export const clean = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
