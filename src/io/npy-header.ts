// The header of a .npy file: a Python dictionary with the keys descr, fortran_order and shape.
//
// Only the literals that NumPy writes are read: strings, True and False, tuples of whole numbers. Nothing is evaluated.

import { flaw } from './record.ts';

export interface NpyHeader {
  readonly descr: string;
  readonly fortranOrder: boolean;
  readonly shape: readonly number[];
}

type Literal = string | boolean | readonly number[];

const fail = flaw('parseNpy');

/** Reads one literal after another; `base` is the position of the text in the file, for messages. */
class Reader {
  readonly #text: string;
  readonly #base: number;
  #at = 0;

  constructor(text: string, base: number) {
    this.#text = text;
    this.#base = base;
  }

  /** The next token if it is this one. */
  take(token: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  expect(token: string): void {
    if (!this.take(token)) throw this.#unexpected(`\`${token}\``);
  }

  match(pattern: RegExp): string | undefined {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) return undefined;
    this.#at = pattern.lastIndex;
    return found[1] ?? found[2] ?? '';
  }

  string(): string {
    const found = this.match(/'([^'\\\n]*)'|"([^"\\\n]*)"/y);
    if (found === undefined) throw this.#unexpected('a string');
    return found;
  }

  literal(): Literal {
    if (this.take('True')) return true;
    if (this.take('False')) return false;
    if (this.take('(')) return this.#tuple();
    if (this.take('[')) {
      throw fail({
        code: 'DTYPE_UNSUPPORTED',
        message: `the array has named fields (a structured dtype), at byte ${this.#position()}`,
        fix: "Save each field by itself, as in np.save(file, array['field']).",
      });
    }
    return this.string();
  }

  end(): void {
    this.#skipSpace();
    if (this.#at !== this.#text.length) throw this.#unexpected('the end of the header');
  }

  #tuple(): number[] {
    const sizes: number[] = [];
    while (!this.take(')')) {
      // Python 2 wrote long numbers with an L.
      const digits = this.match(/(\d+)L?/y);
      if (digits === undefined) throw this.#unexpected('a size');
      sizes.push(Number(digits));
      if (this.take(',')) continue;
      this.expect(')');
      break;
    }
    return sizes;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && ' \t\n\r'.includes(this.#text[this.#at]!)) this.#at++;
  }

  #position = (): number => this.#base + this.#at;

  #unexpected(wanted: string): Error {
    const found = this.#text.slice(this.#at, this.#at + 12);
    return fail({
      code: 'BAD_HEADER',
      message: `the header has ${found ? JSON.stringify(found) : 'its end'} at byte ${this.#position()} where ${wanted} should be`,
    });
  }
}

export function parseHeader(text: string, base: number): NpyHeader {
  const reader = new Reader(text, base);
  const entries = new Map<string, Literal>();
  reader.expect('{');
  while (!reader.take('}')) {
    const key = reader.string();
    reader.expect(':');
    if (entries.has(key)) throw fail({ code: 'BAD_HEADER', message: `the header has the key ${key} twice` });
    entries.set(key, reader.literal());
    if (reader.take(',')) continue;
    reader.expect('}');
    break;
  }
  reader.end();
  const descr = entries.get('descr');
  const fortranOrder = entries.get('fortran_order');
  const shape = entries.get('shape');
  if (entries.size !== 3 || typeof descr !== 'string' || typeof fortranOrder !== 'boolean' || !Array.isArray(shape)) {
    throw fail({
      code: 'BAD_HEADER',
      message: `the header at byte ${base} should have descr (a string), fortran_order (True or False) and shape (a tuple); it has ${[...entries.keys()].join(', ') || 'nothing'}`,
    });
  }
  return { descr, fortranOrder, shape };
}

export function formatHeader({ descr, fortranOrder, shape }: NpyHeader): string {
  const sizes = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  return `{'descr': '${descr}', 'fortran_order': ${fortranOrder ? 'True' : 'False'}, 'shape': ${sizes}, }`;
}
