// One cycle of one field or of several that are alike: one upload, one run of their program, one download. All of them go on, or none.

import type { Tensor } from '../index.ts';
import { alike, type Begun, type FieldBody } from './body.ts';
import { statisticAt } from './cycle/record.ts';
import { FieldConfigError } from './errors.ts';
import { firstNotFinite } from './finite.ts';
import type { Store } from './full/attractors.ts';
import type { CheckedInput } from './input.ts';
import type { StateTensors } from './program.ts';
import type { StepResult } from './result.ts';
import { type CycleExtras, Stack, type Transfers } from './stack.ts';

/** A cycle that is about to run. */
interface Prepared {
  readonly stack: Stack;
  readonly begun: readonly Begun[];
  readonly extras: CycleExtras;
  readonly moved: Transfers;
  readonly start: number;
}

export function cycleSync(fields: readonly FieldBody[], inputs: readonly CheckedInput[], where: string): StepResult[] {
  const prepared = prepare(fields, inputs);
  const { stack, extras, moved } = prepared;
  try {
    return finish(fields, prepared, stack.cycleSync(extras, moved), where);
  } catch (e) {
    stack.reject();
    throw e;
  }
}

export async function cycleLater(
  fields: readonly FieldBody[],
  inputs: readonly CheckedInput[],
  where: string,
): Promise<StepResult[]> {
  const prepared = prepare(fields, inputs);
  const { stack, extras, moved } = prepared;
  try {
    return finish(fields, prepared, await stack.cycle(extras, moved), where);
  } catch (e) {
    stack.reject();
    throw e;
  }
}

function prepare(fields: readonly FieldBody[], inputs: readonly CheckedInput[]): Prepared {
  const start = performance.now();
  const [first] = fields as [FieldBody, ...FieldBody[]];
  if (fields.length === 1) first.alone();
  const { stack, mind } = first;
  const begun = fields.map((f, i) => f.begin(inputs[i]!));
  const stores: Store[] = [];
  fields.forEach((f, i) => {
    const { input, thought } = begun[i]!;
    f.mind.write(stack.input, f.row * mind.inputLength, input, f.carried.cycle, thought);
    const store = f.storeFor(thought);
    if (store) stores.push(store);
  });
  // A field with patterns runs alone: `checkAlike` sees to it.
  const pattern = begun[0]!.strategy?.pattern;
  const tensors: StateTensors = pattern ? { pattern: stacked(first, pattern) } : {};
  return { stack, begun, extras: { stores, tensors }, moved: { up: 0, down: 0 }, start };
}

/** A pattern as a stack of one. */
function stacked({ rt, device }: FieldBody, pattern: Tensor): Tensor {
  const made = rt.scope({ device }, () =>
    pattern
      .reshape([1, ...pattern.shape])
      .compute()
      .keep(),
  );
  pattern.dispose();
  return made;
}

/** Takes over what a cycle made: the state of all fields at once, or an error and nothing. */
function finish(
  fields: readonly FieldBody[],
  { stack, begun, start, moved }: Prepared,
  tail: Float32Array,
  where: string,
): StepResult[] {
  const records = stack.recordsOf(tail);
  const { device, options } = fields[0]!;
  const all = options.shape.motorDim + statisticAt.absoluteAll;
  const bad = fields.find((f) => !Number.isFinite(records[f.row]![all]!));
  if (bad) throw firstNotFinite(bad, stack.made.field!, where);
  const facts = { device, moved, milliseconds: performance.now() - start, timestamp: Date.now() };
  const results = fields.map((f, i) => f.advance(records[f.row]!, begun[i]!, facts));
  stack.accept();
  return results;
}

/** Whether fields are the rows of one stack, in order. */
function areShared(fields: readonly FieldBody[]): boolean {
  const { stack } = fields[0]!;
  return stack.rows === fields.length && fields.every((f, i) => f.stack === stack && f.row === i);
}

/** Moves fields into one stack, if they do not share one. */
export function share(fields: readonly FieldBody[]): void {
  if (areShared(fields)) return;
  const joined = Stack.join(fields.map(({ stack, row }) => ({ stack, row })));
  fields.forEach((f, i) => {
    f.stack.leave();
    [f.stack, f.row] = [joined, i];
  });
}

/** Refuses fields that cannot run together. */
export function checkAlike(fields: readonly FieldBody[], inputs: number, where: string): void {
  const refuse = (problem: string, fix: string): never => {
    throw new FieldConfigError({ where, problem, fix });
  };
  // Those that share a stack were looked at when they came together.
  if (fields.length === inputs && inputs > 1 && areShared(fields)) return;
  if (fields.length !== inputs) refuse(`${inputs} inputs for ${fields.length} fields`, 'Give one for each field.');
  if (new Set(fields).size !== fields.length) refuse('a field is there twice', 'Give each field once.');
  const led = fields.findIndex((f) => f.library?.size);
  if (led >= 0 && fields.length > 1)
    refuse(`field ${led} has strategic patterns`, 'Run it by itself: a pattern is chosen for each cycle.');
  const other = fields.findIndex((f) => !alike(f, fields[0]!));
  if (other >= 0)
    refuse(
      `field ${other} differs from field 0 in size, settings, device or runtime`,
      'Make fields that run together with the same options and one runtime; seeds may differ.',
    );
}
