// A program made ready: its plan, its kernels on one device, and what the router said about it.

import type { Program } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Decision, WorkItem } from '../governor/routing/types.ts';
import type { Plan } from '../graph/plan.ts';
import type { MadeBy } from '../graph/storage.ts';
import type { Template } from '../graph/template.ts';

/** A plan made ready for the device at a place. */
export interface Executable {
  /** Its number among the events of the runtime. */
  readonly id: number;
  readonly plan: Plan;
  readonly place: Place;
  readonly generation: number;
  readonly programs: readonly Program[];
  /** Its only launch takes the buffers and the numbers of the program as they come. */
  readonly inOrder: boolean;
  /** Its kernels, as what they make remembers them. */
  readonly by: MadeBy;
  /** What it is, for the router's books; null while there is only one place. */
  readonly entry: Entry;
  /** What the router said, if it was asked. */
  decision: Decision | null;
  /** Times it ran; the router measures some of them. */
  runs: number;
}

/** A program, whatever it runs on: its plans, and where it was decided to run. */
export interface Entry {
  /** Per place. */
  readonly plans: (Plan | undefined)[];
  readonly executables: (Executable | undefined)[];
  /** By the pattern of where the inputs are. */
  readonly choices: Map<
    number,
    { readonly executable: Executable; readonly epoch: number; readonly decision: Decision | null }
  >;
  work: readonly WorkItem[] | null;
  /** Its graph, for results that may have to be computed again. */
  template: Template | null;
  readonly spares: Spares;
}

/** Values that a program computes on the way and keeps because tensors hold them, although nobody asked for them. */
export interface Spares {
  /** Runs that kept some, of which nobody had used any so far. */
  runs: number;
  /** Some were used: they are kept for good. */
  used: boolean;
  /** Nobody used any: they are not kept any more, and computed again should somebody ask after all. */
  dropped: boolean;
}

/** A program that nothing is known of yet. */
export const newEntry = (): Entry => ({
  plans: [],
  executables: [],
  choices: new Map(),
  work: null,
  template: null,
  spares: { runs: 0, used: false, dropped: false },
});

/** Whether a plan is one launch that takes all inputs, then writes its result, with all numbers in their order. */
export function isInOrder({ steps, leaves, made }: Plan): boolean {
  const [step] = steps;
  if (!step || steps.length > 1 || made.length !== 1 || step.outputs !== 1 || step.reuse >= 0) return false;
  const { buffers, scalars } = step;
  return buffers.length === leaves + 1 && buffers.every((b, i) => b === i) && scalars.every((s, i) => s === i);
}

/** Whether the device it was made ready for is still there. */
export const usable = (e: Executable): boolean => e.generation === e.place.generation && e.place.alive;
