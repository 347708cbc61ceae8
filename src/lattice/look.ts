// Where long work of lattices looks up: at the event loop, and at the signal of its caller.

import { throwIfAborted, turnIfDue } from '../index.ts';

/** Ends the work if its caller says so, after the event loop has had its turn if one was due: without it the caller could say nothing. */
export async function look(where: string, signal: AbortSignal | undefined): Promise<void> {
  const due = turnIfDue(performance.now());
  if (due) await due;
  throwIfAborted(signal, where);
}
