// Cycles as they are asked for: of one field, with a promise or without, and of several together.

import type { FieldCalls } from './calls.ts';
import { FieldBusyError, FieldConfigError } from './errors.ts';
import type { FieldInput } from './events.ts';
import type { StepResult } from './result.ts';
import { checkAlike, cycleLater, cycleSync, share } from './run.ts';
import { Turn } from './turns.ts';

export async function step(field: FieldCalls, input: FieldInput): Promise<StepResult> {
  const where = 'step';
  while (field.turn.running) await field.turn.running;
  field.check(where);
  const checked = field.checked(input, where);
  // Where a read need not wait for a turn of the event loop, the promise is fulfilled at once.
  const [result] = field.sync
    ? cycleSync([field.body], [checked], where)
    : await Turn.takeAll([field.turn], () => cycleLater([field.body], [checked], where));
  return field.done(checked, result!);
}

export function stepSync(field: FieldCalls, input: FieldInput): StepResult {
  const where = 'stepSync';
  field.check(where);
  if (field.turn.running)
    throw new FieldBusyError({ where, problem: 'another cycle of this field is under way', fix: 'Await it first.' });
  if (!field.sync)
    throw new FieldConfigError({
      where,
      problem: `${field.body.device} cannot be read without a promise`,
      fix: 'Use step().',
    });
  const checked = field.checked(input, where);
  const [result] = cycleSync([field.body], [checked], where);
  return field.done(checked, result!);
}

/** One cycle that brings features along, in one turn: another call cannot come between. */
export async function stepFeatures(field: FieldCalls, input: FieldInput, where: string): Promise<Float64Array> {
  while (field.turn.running) await field.turn.running;
  field.check(where);
  const { body } = field;
  body.withFeatures();
  const checked = field.checked(input, where);
  const cycle = async (): Promise<Float64Array> => {
    const [result] = field.sync ? cycleSync([body], [checked], where) : await cycleLater([body], [checked], where);
    const features = body.features!;
    field.done(checked, result!);
    return features;
  };
  return field.sync ? cycle() : Turn.takeAll([field.turn], cycle);
}

export async function stepBatch(fields: readonly FieldCalls[], inputs: readonly FieldInput[]): Promise<StepResult[]> {
  const where = 'stepBatch';
  const [first] = fields;
  const bodies = fields.map((f) => f.body);
  const turns = fields.map((f) => f.turn);
  for (let busy = Turn.busy(turns); busy; busy = Turn.busy(turns)) await busy;
  for (const f of fields) f.check(where);
  // Only now: a call that came before may have changed what a field runs.
  checkAlike(bodies, inputs.length, where);
  if (!first) return [];
  const checked = inputs.map((input, i) => fields[i]!.checked(input, where));
  share(bodies);
  const results = first.sync
    ? cycleSync(bodies, checked, where)
    : await Turn.takeAll(turns, () => cycleLater(bodies, checked, where));
  return fields.map((f, i) => f.done(checked[i]!, results[i]!));
}
