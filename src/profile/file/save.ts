// Files: whole or not at all, without holding up the event loop.

import { layerKinds } from '../../base/layer-kinds.ts';
import { checked } from '../../base/signatures.ts';
import { replaceFile } from '../../base/whole-file.ts';
import { ArgumentError, ForgeError, turnIfDue } from '../../index.ts';

/** Runs a generator to its end and lets the event loop turn in between. */
export async function finishSlowly<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    const due = turnIfDue(performance.now());
    if (due) await due;
  }
}

/** All pieces as one text. */
export async function joined(pieces: Iterable<string>): Promise<string> {
  const all: string[] = [];
  for (const piece of pieces) {
    all.push(piece);
    const due = turnIfDue(performance.now());
    if (due) await due;
  }
  return all.join('');
}

const pieceBytes = 1 << 18;

/** Writes a file beside its place and moves it there: nobody ever sees half of it. */
export const save = checked(
  'save',
  'async file:text pieces:texts where:text',
  async (file: string, pieces: Iterable<string>, where: string): Promise<void> => {
    if (typeof file !== 'string' || file === '') {
      throw new ArgumentError({
        message: `${where}: the name of the file is ${file === '' ? 'empty' : typeof file}`,
        fix: 'Give a path, such as profile.json.',
        where,
      });
    }
    try {
      await replaceFile(file, async (handle) => {
        let waiting = '';
        for (const piece of pieces) {
          waiting += piece;
          if (waiting.length < pieceBytes) continue;
          await handle.writeFile(waiting);
          waiting = '';
          const due = turnIfDue(performance.now());
          if (due) await due;
        }
        await handle.writeFile(waiting);
      });
    } catch (error) {
      throw unwritable(file, where, error);
    }
  },
  layerKinds,
);

export function unwritable(file: string, where: string, error: unknown): ForgeError {
  if (error instanceof ForgeError) return error;
  const { code } = error as { code?: string };
  return new ForgeError({
    code: 'FILE_NOT_WRITTEN',
    message: `${where}: ${file} cannot be written (${code ?? String(error)})`,
    fix: code === 'ENOENT' ? 'Make its folder first.' : 'Choose a place that can be written to.',
    where,
    cause: error,
  });
}
