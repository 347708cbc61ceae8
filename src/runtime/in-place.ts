// rt.inPlaceKernel: a kernel that changes borrowed memory in place, written with values as rt.kernel is.
//
// Tensors never change; memory that `rt.memory.borrow` lends does. The body gets a value per piece of memory and returns the new
// contents of the first ones: result i replaces value i. It must fuse into one kernel that reads what it replaces only at the very
// position it writes, so that no temporary array is needed. Tensors from outside may be read as well.

import { byteSize, type DType } from '../base/dtype.ts';
import { checkShape, type Shape, show } from '../base/shape.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError } from '../errors.ts';
import type { Borrowed } from '../governor/memory/borrow.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import { makePlan } from '../graph/plan.ts';
import { trace } from '../graph/trace.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { nodeOf } from '../tensor/core.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { type KernelOptions, type KernelValue, stencilInput } from './kernel.ts';

/** How a piece of memory is to be read. */
export interface MemoryLayout {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** Changes memory, given in the order of the layouts. Enqueued, as every launch. */
export type InPlaceKernel = (...memory: readonly Borrowed[]) => void;

type Body = (...values: KernelValue[]) => Tensor | readonly Tensor[];

/** A kernel made ready for the device at a place. */
interface Ready {
  readonly generation: number;
  readonly id: number;
  readonly kernel: Kernel;
  readonly program: ReturnType<Engine['programs']['prepare']>['program'];
  readonly scalars: readonly number[];
  /** Per buffer of the launch: the number of a piece of memory, or a tensor from outside. */
  readonly buffers: readonly (number | Node)[];
}

export function inPlaceKernel(
  engine: Engine,
  host: RuntimeHost,
  places: readonly Place[],
  layouts: readonly MemoryLayout[],
  body: Body,
  options: KernelOptions,
): InPlaceKernel {
  for (const { shape } of layouts) checkShape(shape, where);
  const ready = new Map<Place, Ready>();
  const bytes = layouts.map(({ dtype, shape }) => shape.reduce((n, d) => n * d, 1) * byteSize(dtype));
  return (...memory) => {
    host.checkOpen(where);
    const place = placeOf(places, memory, bytes);
    let known = ready.get(place);
    if (known?.generation !== place.generation) {
      known = prepare(engine, host, place, layouts, body, options);
      ready.set(place, known);
    }
    const buffers = known.buffers.map((b) =>
      typeof b === 'number' ? memory[b]!.buffer : engine.residency.bring(b, place),
    );
    engine.issues();
    engine.dispatch.launch(place, known.program, buffers, known.scalars, known.kernel.estimate, known.id);
  };
}

const where = 'inPlaceKernel';

function prepare(
  engine: Engine,
  host: RuntimeHost,
  place: Place,
  layouts: readonly MemoryLayout[],
  body: Body,
  { border = 'wrap', name }: KernelOptions,
): Ready {
  const leaves = layouts.map(({ dtype, shape }) => new Node('leaf', dtype, internInts([...shape]), [], noInts));
  const made = body(...leaves.map((leaf) => stencilInput(host, leaf, border)));
  const results = (Array.isArray(made) ? made : [made]) as readonly Tensor[];
  results.forEach((r, i) => {
    const { dtype, shape } = layouts[i] ?? {};
    if (r.dtype !== dtype || show(r.shape) !== show(shape ?? [])) throw misfit(i, r, layouts[i]);
  });
  const nodes = results.map((r) => nodeOf(r, host, where));
  const t = trace(nodes);
  const { steps, outputs: planned } = makePlan(t, nodes, place.caps);
  const [step] = steps;
  if (!step || steps.length > 1 || step.work.kind !== 'kernel' || step.outputs !== nodes.length)
    throw refused(
      'NOT_ONE_KERNEL',
      `the body takes ${steps.length} kernels: ${steps.map((s) => s.fused.name).join(', ')}`,
    );
  const input = (leaf: Node): number | Node => {
    const at = leaves.indexOf(leaf);
    return at < 0 ? leaf : at;
  };
  const ids = step.buffers.slice(0, step.buffers.length - step.outputs);
  const inputs = ids.map((id) => input(t.leaves[id]!));
  // The results are in the order in which the kernel stores them; each belongs to the memory it replaces.
  const outputs = step.buffers.slice(ids.length).map((id) => planned.indexOf(id));
  outputs.forEach((i) => {
    const slot = inputs.indexOf(i);
    if (slot < 0 || (step.work as Kernel).inPlace.includes(slot)) return;
    throw refused('NOT_IN_PLACE', `the body reads input ${i}, which it replaces, at other positions than its own`);
  });
  const work: Kernel = { ...step.work, name: name ?? step.work.name };
  const scalars = step.scalars.map((s) => t.scalars[s]!);
  return {
    generation: place.generation,
    kernel: work,
    scalars,
    buffers: [...inputs, ...outputs],
    ...engine.programs.prepare(work, place),
  };
}

function placeOf(places: readonly Place[], memory: readonly Borrowed[], bytes: readonly number[]): Place {
  if (memory.length !== bytes.length)
    throw refused('WRONG_MEMORY', `${memory.length} pieces of memory for ${bytes.length}`);
  const small = memory.findIndex((m, i) => m.bytes < bytes[i]!);
  if (small >= 0)
    throw refused('WRONG_MEMORY', `piece ${small} has ${memory[small]!.bytes} bytes, the kernel takes ${bytes[small]}`);
  const place = places.find((p) => p.alive && p.device === memory[0]!.device);
  if (place && memory.every((m) => m.device === place.device)) return place;
  throw refused('WRONG_MEMORY', 'the memory is not on one open device of this runtime');
}

function misfit(i: number, made: Tensor, layout: MemoryLayout | undefined): ArgumentError {
  const wanted = layout ? `${layout.dtype} ${show(layout.shape)}` : 'nothing: there is no such input';
  return refused('WRONG_RESULT', `result ${i} is ${made.dtype} ${show(made.shape)}, to replace ${wanted}`);
}

function refused(code: string, problem: string): ArgumentError {
  return new ArgumentError({
    code,
    message: `${where}: ${problem}`,
    fix: 'Return, for each piece of memory that changes, elementwise work of its shape and dtype; other pieces may be read at neighbours.',
    where,
  });
}
