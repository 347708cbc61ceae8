// Fourier transforms of rows as a WebAssembly module, made for one length.
//
// An item is some rows, transformed one after the other: its two pairs of arrays take turns, and the last stage writes the result. Real rows
// of even length are transformed as complex ones of half of it, and back from those (real.ts). Roots of unity are rounded from f64; every value takes the
// same steps whatever the split, so threads do not change results.
//
// Arguments: the operands, the results, scratch, roots. run(args, begin, end) computes items begin … end-1.

import { byteSize } from '../../../../base/dtype.ts';
import { bindingsOf } from '../../../../kernel/bindings.ts';
import type { Fourier } from '../../../../kernel/kernel.ts';
import { chirpOf } from '../../../../kernel/unit-roots.ts';
import { WasmCode, type WasmEngine, WasmTable } from '../../engine.ts';
import type { CpuProgram } from '../../program.ts';
import { type Func, WasmModule } from '../../wasm/module.ts';
import { moduleText } from '../../wasm/text.ts';
import { CodeProgram } from '../code-program.ts';
import { aligned, machines, rising } from '../emit.ts';
import type { FourierType } from './arithmetic.ts';
import { partsOf, productFunction } from './chirp.ts';
import { planTransform, type TransformPlan } from './plan.ts';
import { pairsFunction, tangleFunction, tangleRoots, turnsFunction, untangleFunction, untangleRoots } from './real.ts';
import { stageFunction } from './stage.ts';

/** Items for each thread: enough that one which is late makes nobody wait for long. */
const itemsPerThread = 8;

/** Between the arrays of an item: those of a length that is a power of two would else share few lines of the cache. */
const apart = 320;

export function prepareFourier(r: Fourier, engine: WasmEngine): CpuProgram {
  const type = r.type as FourierType;
  const halved = r.form !== 'complex' && r.length % 2 === 0;
  const length = halved ? r.length / 2 : r.length;
  const chirp = chirpOf(length);
  const plan = planTransform(chirp?.size ?? length, type);
  const ends = r.form === 'hermitian' ? tangleRoots(length) : halved ? untangleRoots(length) : [];
  const chirpAt = plan.roots.length + ends.length;
  // Joined as lists: as many arguments of one call would not fit the stack.
  const numbers = [...plan.roots, ...ends, ...(chirp ? [partsOf(chirp.chirp), partsOf(chirp.spectrum)].flat() : [])];
  const items = Math.min(r.rows, itemsPerThread * engine.threads);
  const { bytes, scratchBytes } = render(
    r,
    { plan, length, chirpAt },
    halved,
    Math.ceil(r.rows / items),
    engine.memory.shared,
  );
  const made = type === 'f32' ? Float32Array.from(numbers) : Float64Array.from(numbers);
  const { inputs, outputs } = bindingsOf(r);
  return new CodeProgram(
    {
      code: new WasmCode(r.name, bytes, () => moduleText(bytes)),
      needs: [...inputs, ...outputs].map((b) => b.elements * byteSize(b.type)),
      inputs: inputs.length,
      items: Math.ceil(r.rows / Math.ceil(r.rows / items)),
      grain: 1,
      nanoseconds: (r.estimate.flops * byteSize(r.type)) / 40,
      scratchBytes: scratchBytes * items,
      table: new WasmTable(r.name, new Uint8Array(made.buffer)),
    },
    engine,
  );
}

/** Where the parts of a complex array begin: locals that hold addresses. */
interface Arrays {
  readonly re: number;
  readonly im: number;
}

/** Stages, the length of what they transform, which is the plan's unless it is a convolution, and where its tables begin then. */
interface Core {
  readonly plan: TransformPlan;
  readonly length: number;
  readonly chirpAt: number;
}

function render(
  r: Fourier,
  { plan, length, chirpAt }: Core,
  halved: boolean,
  rowsPerItem: number,
  shared: boolean,
): { bytes: Uint8Array; scratchBytes: number } {
  const type = r.type as FourierType;
  const { bytes: size, load, store } = machines[type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const stages = plan.stages.map((s) => stageFunction(module, s, type));
  const back = r.form === 'hermitian';
  const tangle = back ? tangleFunction(module, length, type) : null;
  const turns = back ? turnsFunction(module, length, type) : null;
  const pairs = halved && !back ? pairsFunction(module, length, type) : null;
  const untangle = pairs ? untangleFunction(module, length, r.frequencies === r.length, type) : null;
  const convolves = plan.length !== length;
  const turn = convolves ? productFunction(module, length, type) : null;
  const filter = convolves ? productFunction(module, plan.length, type) : null;
  const arrayBytes = aligned((plan.length + 1) * size) + apart;

  const c = run.code;
  const [args, item, end] = [0, 1, 2];
  const local = (): number => run.local('i32');
  const arrays = (): Arrays => ({ re: local(), im: local() });
  const [input, output, first, second] = [arrays(), arrays(), arrays(), arrays()];
  const [row, lastRow, roots] = [local(), local(), local()];
  const outputSlot = r.form === 'real' ? 1 : 2;
  const scratchSlot = outputSlot + (back ? 1 : 2);
  const slot = (n: number): void => {
    c.get(args).mem('i32.load', 4 * n);
  };
  const rowOf = (from: number, values: number, into: number): void => {
    slot(from);
    c.get(row)
      .i32(values * size)
      .ops('i32.mul', 'i32.add')
      .set(into);
  };
  const call = (f: Func, ...locals: readonly number[]): void => {
    for (const l of locals) c.get(l);
    c.call(f.index);
  };

  const setUp = (): void => {
    slot(scratchSlot);
    c.get(item)
      .i32(4 * arrayBytes)
      .ops('i32.mul', 'i32.add')
      .set(first.re);
    for (const [to, from] of [
      [first.im, first.re],
      [second.re, first.im],
      [second.im, second.re],
    ] as const)
      c.get(from).i32(arrayBytes).op('i32.add').set(to);
    slot(scratchSlot + 1);
    c.set(roots);
    c.get(item).i32(rowsPerItem).op('i32.mul').tee(row).i32(rowsPerItem).op('i32.add').set(lastRow);
    c.get(lastRow).i32(r.rows).get(lastRow).i32(r.rows).ops('i32.lt_u', 'select').set(lastRow);
  };

  const through = (from: Arrays, to: Arrays | null): Arrays => {
    let at = from;
    plan.stages.forEach((s, i) => {
      const next = i === plan.stages.length - 1 && to ? to : at === first ? second : first;
      for (const l of [at.re, at.im, next.re, next.im]) c.get(l);
      c.get(roots)
        .i32(s.roots * size)
        .op('i32.add')
        .call(stages[i]!.index);
      at = next;
    });
    return at;
  };

  const byTable = (f: Func, from: Arrays, to: Arrays, table: number): void => {
    for (const l of [from.re, from.im, to.re, to.im]) c.get(l);
    c.get(roots)
      .i32(table * size)
      .op('i32.add')
      .call(f.index);
  };
  const exchanged = ({ re, im }: Arrays): Arrays => ({ re: im, im: re });
  const other = (at: Arrays): Arrays => (at.re === first.re ? second : first);

  /** The frequencies of `length` values: by the stages alone, or as a convolution. */
  const transformed = (from: Arrays, to: Arrays | null): Arrays => {
    if (!turn || !filter) return through(from, to);
    const padded = other(from);
    byTable(turn, from, padded, chirpAt);
    for (const part of [padded.re, padded.im])
      c.get(part)
        .i32(length * size)
        .op('i32.add')
        .i32(0)
        .i32((plan.length - length) * size)
        .memoryFill();
    const spectrum = through(padded, null);
    // Backwards is forwards with exchanged parts.
    byTable(filter, spectrum, exchanged(spectrum), chirpAt + 2 * length);
    const back = through(spectrum, null);
    const made = to ?? other(back);
    byTable(turn, exchanged(back), made, chirpAt);
    return made;
  };

  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      setUp();
      rising(
        c,
        row,
        () => c.get(lastRow),
        1,
        () => {
          if (tangle && turns) {
            rowOf(0, r.frequencies, input.re);
            rowOf(1, r.frequencies, input.im);
            rowOf(outputSlot, r.length, output.re);
            for (const l of [input.re, input.im, first.re, first.im]) c.get(l);
            c.get(roots)
              .i32(plan.roots.length * size)
              .op('i32.add')
              .call(tangle.index);
            const z = transformed(first, null);
            call(turns, z.im, z.re, output.re);
            return;
          }
          rowOf(0, r.length, input.re);
          rowOf(outputSlot, r.frequencies, output.re);
          rowOf(outputSlot + 1, r.frequencies, output.im);
          if (pairs && untangle) {
            call(pairs, input.re, first.re, first.im);
            const z = transformed(first, null);
            for (const part of [z.re, z.im])
              c.get(part)
                .get(part)
                .mem(load)
                .mem(store, length * size);
            for (const l of [z.re, z.im, output.re, output.im]) c.get(l);
            c.get(roots)
              .i32(plan.roots.length * size)
              .op('i32.add')
              .call(untangle.index);
            return;
          }
          if (r.form === 'complex') rowOf(1, r.length, input.im);
          else {
            c.get(second.im).set(input.im);
            c.get(input.im)
              .i32(0)
              .i32(length * size)
              .memoryFill();
          }
          transformed(input, output);
        },
      );
    },
  );
  return { bytes: module.bytes(), scratchBytes: 4 * arrayBytes };
}
