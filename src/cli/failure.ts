// How commands tell that they failed: to a person on standard error, to a program that asked for JSON on standard output.

import type { Output } from '../forge/style.ts';

/** A failure as one JSON object. */
export const failureJson = (code: string, message: string, fix?: string): string =>
  `${JSON.stringify({ schema: 'gpuforge.error/1', error: { code, message, ...(fix ? { fix } : {}) } }, null, 2)}\n`;

/** Tells what happened, then what to do. */
export function tellFailure(error: unknown, output: Pick<Output, 'write' | 'warn'>, json = false): void {
  const message = error instanceof Error ? error.message : String(error);
  if (!json) {
    output.warn(`gpuforge: ${message.replace(/^gpuforge:? /, '')}\n`);
    return;
  }
  const { code, fix } = (error ?? {}) as { readonly code?: unknown; readonly fix?: unknown };
  const advice = typeof fix === 'string' ? fix : undefined;
  // The message of an error of the library ends in its fix.
  const plain =
    advice && message.endsWith(advice) ? message.slice(0, -advice.length).replace(/\s*fix:\s*$/, '') : message;
  output.write(failureJson(typeof code === 'string' ? code : 'FAILED', plain, advice));
}
