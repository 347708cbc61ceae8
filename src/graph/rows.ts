// Kernels that pass over the same rows one after the other become one launch, where the device keeps rows on the chip.
//
// A stack begins with a reduction of rows and goes on with the kernels right behind it that read its results row by row. It is
// worth it if an operand as large as the rows is read by more than one of them: that is then read once.

import { byteSize } from '../base/dtype.ts';
import { sizeOf } from '../base/shape.ts';
import type { Capabilities } from '../devices/device.ts';
import type { Kernel, RowStage, Rows } from '../kernel/kernel.ts';
import { commonSizes, refine } from '../kernel/refine.ts';
import { isColumnLoad, isElementLoad, isRowLoad, loadsOf } from '../kernel/rows.ts';
import type { Draft } from './plan.ts';

/** Too few rows do not fill a device; too short ones are faster many at a time. */
const fewest = 128;
const shortest = 64;

interface Stage {
  readonly step: Draft;
  readonly kernel: Kernel;
}

type Chip = NonNullable<Capabilities['rows']> & Pick<Capabilities, 'maxBuffers'>;

/** `lasting`: buffers that outlive the program. */
export function stackRows(steps: readonly Draft[], lasting: ReadonlySet<number>, chip: Chip): Draft[] {
  const done: Draft[] = [];
  let readers: Map<number, Draft[]> | undefined;
  const needed: Needed = (buffer, within) => {
    readers ??= readersOf(steps);
    return lasting.has(buffer) || readers.get(buffer)!.some((s) => !within.has(s));
  };
  for (let i = 0; i < steps.length; i++) {
    const stack = stackFrom(steps, i, chip);
    while (stack.length > 1 && countBound(stack, needed) > chip.maxBuffers) stack.pop();
    if (stack.length > 1) {
      done.push(stacked(stack, needed));
      i += stack.length - 1;
    } else done.push(steps[i]!);
  }
  return done;
}

function readersOf(steps: readonly Draft[]): Map<number, Draft[]> {
  const readers = new Map<number, Draft[]>();
  for (const s of steps) {
    for (const b of s.buffers) {
      const known = readers.get(b);
      if (known) known.push(s);
      else readers.set(b, [s]);
    }
  }
  return readers;
}

function stackFrom(steps: readonly Draft[], at: number, chip: Chip): Stage[] {
  const first = steps[at]!.work;
  if (first.kind !== 'kernel' || first.accumulators.length === 0) return [];
  const [rows, columns] = [sizeOf(first.space), sizeOf(first.reduced)];
  if (rows < fewest || columns < shortest) return [];
  let stack: Stage[] = [];
  const results = new Set<number>();
  for (let i = at; i < steps.length; i++) {
    const step = steps[i]!;
    const { work } = step;
    if (work.kind !== 'kernel') break;
    const longer = inOneShape([...stack, { step, kernel: work }]);
    if (!longer || !fits(longer[longer.length - 1]!, longer[0]!.kernel, results)) break;
    stack = longer;
    if (work.accumulators.length === 0) break;
    for (const b of outputsOf(step)) results.add(b);
  }
  while (stack.length > 1 && !worthIt(stack, columns, chip) && !worthTurning(stack, columns, chip)) stack.pop();
  return stack;
}

const sizesOf = ({ space, reduced }: Kernel): readonly number[] => [...space, ...reduced];

/** The stages with the same axes: those of the last one may be others over the same positions. Null where they cannot be the same. */
function inOneShape(stack: readonly Stage[]): Stage[] | null {
  const [first, last] = [stack[0]!.kernel, stack[stack.length - 1]!.kernel];
  if (sameSizes(sizesOf(first), sizesOf(last))) return [...stack];
  const sizes = commonSizes(sizesOf(first), sizesOf(last));
  return sizes && stack.map((s) => ({ ...s, kernel: refine(s.kernel, sizes) }));
}

const outputsOf = (s: Draft): readonly number[] => s.buffers.slice(s.buffers.length - s.outputs);

/** Whether a kernel passes over the rows of the first one, axis by axis, and reads what was made of them only row by row. */
function fits({ step: s, kernel }: Stage, first: Kernel, results: ReadonlySet<number>): boolean {
  if (kernel.accumulators.length > 0 && kernel.space.length !== first.space.length) return false;
  let reads = results.size === 0;
  for (const load of loadsOf(kernel)) {
    if (!results.has(s.buffers[load.slot]!)) continue;
    if (!isRowLoad(load, first.space)) return false;
    reads = true;
  }
  return reads;
}

const sameSizes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((d, i) => d === b[i]);

/** An operand of whole rows is read more than once, and all of them fit the chip. */
function worthIt(stack: readonly Stage[], columns: number, chip: Chip): boolean {
  const held = heldBy(stack);
  let bytes = 0;
  for (const { size } of held.values()) bytes += Math.max(4, size) * columns;
  return bytes <= chip.bytes && [...held.values()].some(({ stages }) => stages > 1);
}

/** The same of rows that lie side by side, if every stage folds them. */
function worthTurning(stack: readonly Stage[], columns: number, chip: Chip): boolean {
  if (stack.some(({ kernel }) => kernel.accumulators.length === 0)) return false;
  const [held, another] = [...heldBy(stack, isColumnLoad).values()];
  return !!held && !another && held.stages > 1 && Math.max(4, held.size) * columns <= chip.columnBytes;
}

/** Buffers that are read element by element, and by how many stages. */
function heldBy(stack: readonly Stage[], isHeld = isElementLoad): Map<number, { size: number; stages: number }> {
  const held = new Map<number, { size: number; stages: number }>();
  for (const { step, kernel } of stack) {
    const here = new Set<number>();
    for (const load of loadsOf(kernel)) {
      const buffer = step.buffers[load.slot]!;
      if (here.has(buffer) || !isHeld(load, kernel)) continue;
      here.add(buffer);
      const known = held.get(buffer);
      held.set(buffer, { size: byteSize(load.type), stages: (known?.stages ?? 0) + 1 });
    }
  }
  return held;
}

/** Whether a buffer is read by anything but these launches. */
type Needed = (buffer: number, within: ReadonlySet<Draft>) => boolean;

/** What a stack reads and stores, and the numbers of its results. */
function boundBy(stack: readonly Stage[], needed: Needed) {
  const within = new Set(stack.map((s) => s.step));
  const results = new Map<number, number>();
  const inputs: number[] = [];
  const stored: number[] = [];
  for (const { step } of stack) {
    for (const b of step.buffers.slice(0, step.buffers.length - step.outputs))
      if (!results.has(b) && !inputs.includes(b)) inputs.push(b);
    for (const b of outputsOf(step)) {
      results.set(b, results.size);
      if (needed(b, within)) stored.push(b);
    }
  }
  return { results, inputs, stored };
}

function countBound(stack: readonly Stage[], needed: Needed): number {
  const { inputs, stored } = boundBy(stack, needed);
  return inputs.length + stored.length;
}

function stacked(stack: readonly Stage[], needed: Needed): Draft {
  const { results, inputs, stored } = boundBy(stack, needed);
  const buffers = [...inputs, ...stored];
  const scalars: number[] = [];
  const stages = (of: (s: Stage) => Kernel): RowStage[] => {
    let first = 0;
    return stack.map((stage) => {
      const { step } = stage;
      const kernel = of(stage);
      const slots = kernel.scalars.map((_, k) => first + k);
      first += kernel.scalars.length;
      return {
        kernel,
        sources: step.buffers
          .slice(0, step.buffers.length - step.outputs)
          .map((b) => (results.has(b) ? { result: results.get(b)! } : { buffer: inputs.indexOf(b) })),
        stored: outputsOf(step).map((b) => buffers.indexOf(b, inputs.length)),
        scalars: slots,
      };
    });
  };
  for (const { step } of stack) scalars.push(...step.scalars);
  const kernels = stack.map((s) => s.kernel);
  const first = kernels[0]!;
  const params = new Map(
    stack.flatMap(({ step, kernel }) => [
      ...kernel.inputs.map((p, k) => [step.buffers[k]!, p] as const),
      ...kernel.outputs.map((o, k) => [outputsOf(step)[k]!, { type: o.type, elements: sizeOf(kernel.space) }] as const),
    ]),
  );
  const shape = {
    kind: 'routine',
    op: 'rows',
    name: `rows_${kernels[kernels.length - 1]!.name}`,
    rows: sizeOf(first.space),
    columns: sizeOf(first.reduced),
    inputs: inputs.map((b) => params.get(b)!),
    outputs: stored.map((b) => params.get(b)!),
    scalars: kernels.flatMap((k) => k.scalars),
  } as const;
  const bytes = (list: readonly { type: Kernel['scalars'][number]; elements: number }[]): number =>
    list.reduce((n, p) => n + byteSize(p.type) * p.elements, 0);
  const estimate = {
    flops: stack.reduce((n, { step }) => n + step.fused.estimate.flops, 0),
    bytesRead: bytes(shape.inputs),
    bytesWritten: bytes(shape.outputs),
  };
  const work: Rows = { ...shape, stages: stages((s) => s.kernel), estimate };
  const fused: Rows = { ...shape, stages: stages((s) => refine(s.step.fused as Kernel, sizesOf(s.kernel))), estimate };
  return { work, fused, buffers, outputs: stored.length, scalars };
}
