// The compiled cycle of fields: one program for all fields of a runtime that are alike, however many run together.

import type { DeviceId, Runtime, StepperFunction, Tensor } from '../index.ts';
import { planOf } from './cycle/dials.ts';
import { projectionMatrix } from './cycle/features.ts';
import { fusedCycle } from './cycle/fused.ts';
import { Neighbours } from './cycle/grid.ts';
import type { CycleParts } from './cycle/shape.ts';
import { fullCycle } from './full/cycle.ts';
import type { ResolvedField } from './options.ts';

/** The tensors of a field, each with a first axis for the fields that run together. */
export type StateTensors = Readonly<Record<string, Tensor>>;

export type CycleProgram = StepperFunction;

interface Shared {
  readonly program: CycleProgram;
  readonly parts: CycleParts;
  users: number;
}

const programs = new WeakMap<Runtime, Map<string, Shared>>();

/** A program that is in use; `release` when it is not any more. */
export interface HeldProgram {
  readonly key: string;
  readonly run: CycleProgram;
  readonly parts: CycleParts;
  release(): void;
}

export function holdProgram(rt: Runtime, device: DeviceId, field: ResolvedField, features: boolean): HeldProgram {
  const key = `${device} ${programKey(field, features)}`;
  let known = programs.get(rt);
  if (!known) programs.set(rt, (known = new Map()));
  let shared = known.get(key);
  if (!shared) {
    const parts = rt.scope({ device }, () => keptParts(rt, field, features));
    shared = { program: compiled(rt, parts), parts, users: 0 };
    known.set(key, shared);
  }
  const held = shared;
  held.users++;
  let released = false;
  return {
    key,
    run: held.program,
    parts: held.parts,
    release: () => {
      if (released) return;
      released = true;
      if (--held.users > 0) return;
      known.delete(key);
      held.program.dispose();
      held.parts.near.dispose();
      held.parts.projection?.dispose();
    },
  };
}

const keptParts = (rt: Runtime, field: ResolvedField, features: boolean): CycleParts => ({
  shape: field.shape,
  plan: planOf(field.settings),
  attention: field.telemetry === 'full',
  near: new Neighbours(rt, field.shape.edges, field.boundary),
  projection: features ? projectionMatrix(rt, field.shape) : null,
});

function compiled(rt: Runtime, parts: CycleParts): CycleProgram {
  if (parts.shape.model === 'full') return rt.compile(fullCycle(rt, parts) as Body);
  const cycle = fusedCycle(rt, parts);
  const body = (state: StateTensors, input: Tensor, keys: Tensor) => ({
    ...cycle(state.field!, state.tail!, input, keys),
  });
  return rt.compile(body as Body);
}

/** A cycle takes its keys behind its input. */
type Body = (state: StateTensors, input: Tensor, ...keys: Tensor[]) => { readonly [name: string]: Tensor };

/** What must be equal for fields to share a program, and to run together. Numbers among their settings may differ. */
const programKey = ({ shape, settings, boundary, telemetry }: ResolvedField, features: boolean): string =>
  JSON.stringify([shape, planOf(settings), boundary, features, telemetry === 'full']);
