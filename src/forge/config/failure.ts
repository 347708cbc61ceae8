// How a command ends when it cannot do what was asked: a clear message, a status that tells, and pure JSON for --json.

import { ForgeError } from '../../errors.ts';
import type { Output } from '../style.ts';
import { plainText } from '../text/plain.ts';

/** Exit status of the commands: 0 done, 1 done but the answer is no, 2 the request itself is wrong or failed. */
export const EXIT = { done: 0, no: 1, failed: 2 } as const;

const LONG_WORD = /\S{240,}/g;
const MOST_MESSAGE = 4000;

/** What was given is quoted in a message, and may be a whole file by mistake. */
const shortened = (text: string): string => {
  const words = text.replace(LONG_WORD, (word) => `${word.slice(0, 120)}…${word.slice(-40)}`);
  return words.length > MOST_MESSAGE ? `${words.slice(0, MOST_MESSAGE)}…` : words;
};

/** Runs a command; a ForgeError becomes its message and status, anything else is a fault of ours and passes through. */
export async function guarded(
  schema: string,
  json: boolean,
  output: Output,
  command: () => Promise<number> | number,
): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    if (json) {
      const { code, fix, where } = error;
      output.write(
        `${JSON.stringify({ schema, error: { code, message: shortened(error.message.split('\n  fix: ')[0]!), fix, where } }, null, 2)}\n`,
      );
    } else output.warn(`error: ${shortened(plainText(error.message))}\n`);
    return error.code === 'FORGE_NO_BUILD' ? EXIT.no : EXIT.failed;
  }
}
