// The text of `explain`: words, a file, a pipe or standard input. Of anything long the end is kept, where the error stands;
// nothing is too long, too slow or too odd to be answered, and every wait ends.

import fs from 'node:fs';
import { ArgumentError } from '../../errors.ts';
import { plainLine } from '../text/plain.ts';

export interface Input {
  /** All of standard input, or its end. */
  read(): Promise<string>;
  readonly isTTY: boolean;
}

/** What is kept of a long input. */
const KEPT = 4 * 1024 * 1024;
/** After this much a stream is taken to be endless. */
const ENDLESS = 2 * 1024 ** 3;
/** How long a pipe may stay silent before what came is taken for all. */
const SILENT_MS = 10_000;
const LONGEST_PATH = 4096;

const STDIN = new Set(['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0']);

export async function textOf(words: readonly string[], input: Input): Promise<string> {
  const [first] = words;
  if (first === undefined) {
    const text = input.isTTY ? '' : await input.read();
    if (text.trim() !== '') return text;
    throw refused('FORGE_NO_TEXT', 'there is nothing to explain', {
      fix: 'Give a text, a file, or - for standard input: python train.py 2>&1 | gpuforge explain -',
    });
  }
  if (words.length === 1 && STDIN.has(first)) return input.read();
  return (words.length === 1 ? await fromPath(first) : undefined) ?? words.join(' ');
}

/** The content of a file that is meant; undefined when the word is a text. */
async function fromPath(word: string): Promise<string | undefined> {
  if (word.length > LONGEST_PATH || /[\0\n]/.test(word)) return undefined;
  let stat: fs.Stats | undefined;
  try {
    stat = fs.statSync(word, { throwIfNoEntry: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM' || code === 'ELOOP') throw unreadable(word, code);
  }
  if (stat?.isDirectory())
    throw refused('FORGE_IS_FOLDER', `${plainLine(word)} is a folder`, { fix: 'Name a file in it.' });
  if (stat) return readEnd(word, stat);
  // A word that looks like a path and is none was meant as a file.
  if (/^[.~/\\]|\.(?:log|txt|out|err)$/i.test(word) && !/\s/.test(word) && word.length < 256)
    throw refused('FORGE_NO_FILE', `there is no file ${plainLine(word)}`, {
      fix: 'Check the path, or put a text in quotation marks.',
    });
  return undefined;
}

async function readEnd(path: string, stat: fs.Stats): Promise<string> {
  let handle: number;
  try {
    // A named pipe without a writer would hold a blocking open for ever.
    handle = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw unreadable(path, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
  try {
    const tail = new Tail();
    const chunk = Buffer.alloc(1 << 20);
    let position = stat.isFile() && stat.size > KEPT ? stat.size - KEPT : null;
    let silent = 0;
    while (tail.seen < ENDLESS) {
      let count: number;
      try {
        count = fs.readSync(handle, chunk, 0, chunk.length, position);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'EAGAIN' && code !== 'EWOULDBLOCK') throw unreadable(path, code ?? 'an error');
        if ((silent += 50) > SILENT_MS) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      if (count === 0) break;
      silent = 0;
      if (position !== null) position += count;
      tail.push(Buffer.from(chunk.subarray(0, count)));
    }
    if (tail.seen === 0 && !stat.isFile())
      throw refused('FORGE_NO_TEXT', `nothing came from ${plainLine(path)}`, {
        fix: 'Start the program that writes to it first, or name a file.',
      });
    return tail.text();
  } finally {
    fs.closeSync(handle);
  }
}

/** The last bytes of a stream, in bounded memory. */
class Tail {
  seen = 0;
  #parts: Buffer[] = [];
  #held = 0;

  push(part: Buffer): void {
    this.seen += part.length;
    this.#parts.push(part);
    this.#held += part.length;
    while (this.#parts.length > 1 && this.#held - this.#parts[0]!.length >= KEPT)
      this.#held -= this.#parts.shift()!.length;
  }

  text(): string {
    const bytes = Buffer.concat(this.#parts).subarray(-KEPT);
    // PowerShell's ">" writes UTF-16 with its mark.
    const wide = this.seen === bytes.length && bytes[0] === 0xff && bytes[1] === 0xfe;
    return wide ? bytes.toString('utf16le').slice(1) : bytes.toString('utf8');
  }
}

export function standardInput(stream: NodeJS.ReadableStream & { isTTY?: boolean } = process.stdin): Input {
  return {
    isTTY: stream.isTTY === true,
    async read() {
      const tail = new Tail();
      for await (const part of stream) {
        tail.push(Buffer.isBuffer(part) ? part : Buffer.from(part));
        if (tail.seen > ENDLESS) break;
      }
      return tail.text();
    },
  };
}

const refused = (code: string, message: string, { fix }: { readonly fix: string }): ArgumentError =>
  new ArgumentError({ code, message, fix, where: 'forge.explain' });

const unreadable = (path: string, code: string): ArgumentError =>
  refused('FORGE_UNREADABLE', `${plainLine(path)} cannot be read (${code})`, {
    fix: 'Check its permissions, or pipe the text in: gpuforge explain -',
  });
