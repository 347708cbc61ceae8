// Stores: the lanes of one body into the output, neighbours with one instruction, spaced ones lane by lane.

import { byteSize } from '../../../base/dtype.ts';
import { strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, Load } from '../../../kernel/expr.ts';
import type { Output } from '../../../kernel/kernel.ts';
import type { Emitter } from './emitter.ts';
import { f32ToBf16, f32ToF16, isHalf } from './half.ts';
import { laneStores, partsFor, splatBytes, storedWidth, storeLow } from './lanes.ts';
import type { Range } from './nest.ts';
import type { AxisLoop } from './plan.ts';
import type { WasmScope } from './scope.ts';

export interface Target {
  readonly output: Output;
  /** Number of the buffer in the argument block. */
  readonly buffer: number;
  /** Position of the element, over the output axes. */
  readonly index: Expr;
}

/**
 * Computes and stores all outputs for the lanes of a body. Everything is computed before anything is stored: an output may lie over an
 * input that another output still reads, and the engine overlaps the parts only where no store lies between their loads. `between` is
 * called when all is computed and nothing is stored.
 */
export function emitStores(em: Emitter, targets: readonly Target[], s: WasmScope, between = (): void => {}): void {
  em.inStep(
    targets.map((t) => t.output.value),
    s,
  );
  const values = targets.map((t) =>
    Array.from({ length: partsFor(s.lanes, storedWidth(t.output.type)) }, (_, p) => {
      const local = em.temp();
      emitStored(em, t.output, p, s);
      s.code.set(local);
      return local;
    }),
  );
  between();
  targets.forEach((t, k) => {
    values[k]!.forEach((local, p) => {
      store(em, t, p, s, () => s.code.get(local));
    });
  });
}

/** Bytes of a row from which on the engine's own copy is faster than a loop. */
const copiedBytes = 16 << 10;

/** Whether the elements of a row are those of a load, neighbours as they lie. */
export function isCopied({ output: { type, value }, index }: Target, { axis, size }: AxisLoop): boolean {
  if (value.kind !== 'load' || value.gate || type === 'bool') return false;
  return size * byteSize(type) >= copiedBytes && strideAlong(value.index, axis) === 1 && strideAlong(index, axis) === 1;
}

/** Copies the elements from `lo` to `hi`; the position is at `lo`. */
export function emitCopied(em: Emitter, { output, buffer, index }: Target, { lo, hi }: Range, s: WasmScope): void {
  const from = output.value as Load;
  const shift = Math.log2(byteSize(output.type));
  em.address(buffer, index, shift, s);
  em.address(from.slot, from.index, shift, s);
  s.code.get(hi).get(lo).op('i32.sub').i32(shift).op('i32.shl').memoryCopy();
}

/** Pushes part `p` of an output as it lies in memory. */
function emitStored(em: Emitter, output: Output, p: number, s: WasmScope): void {
  const e = output.value;
  if (output.type === 'bool') {
    em.mask(e, p, 8, s);
    s.code.v128(splatBytes('u8', 1)).op('v128.and');
    return;
  }
  if (!isHalf(output.type)) {
    em.vec(e, p, s);
    return;
  }
  const toBits = output.type === 'f16' ? f32ToF16 : f32ToBf16;
  em.vec(e, 2 * p, s);
  toBits(s.code, em.temp);
  if (em.parts(s, 32) > 1) {
    em.vec(e, 2 * p + 1, s);
    toBits(s.code, em.temp);
  } else {
    const t = em.temp();
    s.code.tee(t).get(t);
  }
  s.code.op('i16x8.narrow_i32x4_u');
}

function store(em: Emitter, t: Target, p: number, s: WasmScope, value: () => void): void {
  const width = storedWidth(t.output.type);
  const shift = Math.log2(byteSize(t.output.type));
  const lanes = Math.min(s.lanes, 128 / width);
  const stride = lanes === 1 ? 1 : strideAlong(t.index, em.vectorAxis)!;
  em.address(t.buffer, t.index, shift, s);
  value();
  if (stride !== 1) {
    const [address, v] = [em.local('i32'), em.temp()];
    s.code.set(v).set(address);
    for (let lane = 0; lane < lanes; lane++) {
      const offset = (p * (128 / width) + lane) * stride * (width / 8);
      s.code.get(address).get(v).memLane(laneStores[width], lane, offset);
    }
    return;
  }
  storeLow(s.code, lanes * width, p * 16, shift);
}
