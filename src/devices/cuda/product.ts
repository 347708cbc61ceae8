// The program of a matrix product: whose code multiplies, and where its epilogue goes.
//
// cuBLASLt multiplies where it is there; it takes the epilogue along if that is one of its own, else a kernel of ours follows.
// Our own products apply the epilogue before they store, unless it is too long to be repeated for each result.

import { byteSize } from '../../base/dtype.ts';
import type { Matmul, Products } from '../../kernel/kernel.ts';
import { needsOf } from '../fit.ts';
import { CudaProgram, once, type ProgramSteps } from './program.ts';
import type { Target } from './ptx/target.ts';
import { kernelRecipe, type ModuleRecipe } from './recipe.ts';
import { apart, outputIndex, rebind } from './routines/epilogue.ts';
import { type Libraries, libraryProgram, matmulRecipe, routineRecipe, takesEpilogue } from './routines/index.ts';
import { onTensorCores } from './routines/tensor.ts';
import type { Argument, StreamStep } from './step.ts';

export interface ProductContext {
  readonly libraries: Libraries;
  readonly target: Target;
  readonly build: (recipe: ModuleRecipe) => CudaProgram;
}

export function buildMatmul(r: Matmul, { libraries, target, build }: ProductContext): CudaProgram {
  const whole = libraryProgram(r, libraries, target);
  if (whole) return new CudaProgram(r.name, whole.source, foreign(whole.steps), whole.borrowedBytes, true, needsOf(r));
  if (!r.epilogue) return build(matmulRecipe(r, target));
  const { product, kernel, inPlace } = apart(r, r.epilogue);
  const fromLibrary = libraryProgram(product, libraries, target);
  if (!fromLibrary && takesEpilogue(r, target)) return build(matmulRecipe(r, target));

  // The product goes where the result will be, or behind what is borrowed anyway, which may be any number of bytes.
  const last = outputIndex(r);
  const recipe = fromLibrary ? null : matmulRecipe(product, target);
  const offset = aligned(fromLibrary?.borrowedBytes ?? recipe!.borrowedBytes);
  const between: Argument = inPlace ? { kind: 'buffer', index: last } : { kind: 'borrowed', offset };
  const borrowedBytes = offset + (inPlace ? 0 : r.batch * r.m * r.n * byteSize(r.type));
  const to = (index: number): Argument => (index === 2 ? between : { kind: 'buffer', index });
  const first = fromLibrary
    ? { source: fromLibrary.source, make: foreign(fromLibrary.steps.map((s) => writing(s, between))), cached: true }
    : build({ ...recipe!, launches: recipe!.launches.map((l) => ({ ...l, args: rebind(l.args, to) })) });
  const behind = kernelRecipe(kernel, target);
  // The kernel reads the product as its first buffer; the epilogue's own inputs follow A and B in the launch.
  const shifted = (index: number): Argument => (index === 0 ? between : { kind: 'buffer', index: index + 1 });
  const second = build({
    ...behind,
    launches: behind.launches.map((l) => ({ ...l, args: rebind(l.args, shifted) })),
  });
  const source = `${first.source}\n${second.source}`;
  const make = inTurn(first.make, second.make);
  return new CudaProgram(r.name, source, make, borrowedBytes, first.cached && second.cached, needsOf(r));
}

/** Steps that are not ours: they note no times. */
const foreign = (steps: readonly StreamStep[]): ProgramSteps => ({ plain: () => steps, stamped: null });

function inTurn(a: ProgramSteps, b: ProgramSteps): ProgramSteps {
  const [first, second] = [a.stamped, b.stamped];
  return {
    plain: once(() => [...a.plain(), ...b.plain()]),
    stamped: first && second && once(() => [...first(), ...second()]),
  };
}

/** Products of one shape as one launch, with the sums each has alone; what is not multiplied by tiles of ours is launched one by one. */
export function buildProducts(r: Products, context: ProductContext): CudaProgram {
  const { product, count } = r;
  const { libraries, target, build } = context;
  const needs = needsOf(r);
  if (!libraryProgram(product, libraries, target) && !onTensorCores(product, target)) {
    const { source, make, borrowedBytes, cached } = build(routineRecipe(r, target));
    return new CudaProgram(r.name, source, make, borrowedBytes, cached, needs);
  }
  const one = buildMatmul(product, context);
  const steps = Array.from({ length: count }, (_, i) => one.steps.map((step) => ofPair(step, i, count)));
  return new CudaProgram(r.name, one.source, foreign(steps.flat()), one.borrowedBytes, one.cached, needs);
}

/** A product's step with the buffers of the i-th of several. */
const ofPair = (step: StreamStep, i: number, count: number): StreamStep => ({
  run: (stream, buffers, borrowed, scalars) =>
    step.run(stream, [buffers[i]!, buffers[count + i]!, buffers[2 * count + i]!], borrowed, scalars),
});

/** Where vectors of any type, and libraries, may read and write. */
const alignment = 256;
const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;

/** A library's step whose third buffer is somewhere else. */
function writing(step: StreamStep, to: Argument): StreamStep {
  return {
    run: (stream, buffers, borrowed, scalars) => {
      const [a, b] = buffers;
      const c = to.kind === 'buffer' ? buffers[to.index]! : { address: borrowed + (to as { offset: number }).offset };
      step.run(stream, [a!, b!, c], borrowed, scalars);
    },
  };
}
