// Scatter: a copy of the base in which updates land at looked-up positions, in their order.
//
// An item is one outer position: it copies its part of the base, then applies its updates one after the other, so that
// `set` leaves the last and sums have one order. No position writes outside the axis.

import { byteSize } from '../../../base/dtype.ts';
import type { Scatter } from '../../../kernel/kernel.ts';
import { WasmCode, type WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import { WasmModule } from '../wasm/module.ts';
import { moduleText } from '../wasm/text.ts';
import { CodeProgram } from './code-program.ts';
import { combineOps, isHalf } from './combine.ts';
import { address, machines, rising } from './emit.ts';
import { Widened } from './widened.ts';

/** Bytes of a row up to which its elements are copied one by one: copying memory at large is a call. */
const shortRow = 32;

export function prepareScatter(routine: Scatter, engine: WasmEngine): CpuProgram {
  const { outer, length, inner, count, perElement } = routine;
  const base = outer * length * inner;
  const all = outer * count * inner;
  const updates = routine.uniform ? 1 : all;
  if (isHalf(routine.type) && routine.combine !== 'set') {
    const wide = prepareScatter({ ...routine, type: 'f32' }, engine);
    return new Widened(wide, routine.type, 'f32', [base, null, updates, base], 3, engine);
  }
  const bytes = render(routine, engine.memory.shared);
  const size = byteSize(routine.type);
  return new CodeProgram(
    {
      code: new WasmCode(routine.name, bytes, () => moduleText(bytes)),
      needs: [base * size, (perElement ? all : count) * 4, updates * size, base * size],
      inputs: 3,
      items: outer,
      grain: Math.max(1, Math.ceil((20_000 * outer) / Math.max(1, base + all))),
      nanoseconds: base * 0.3 + all * 2,
      scratchBytes: 0,
    },
    engine,
  );
}

function render(r: Scatter, shared: boolean): Uint8Array {
  const machine = machines[r.type];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const c = f.code;
  const [args, item, end] = [0, 1, 2];
  const { at, from, out, j, n, to } = f.named('i32', 'at', 'from', 'out', 'j', 'n', 'to');
  const rowBytes = r.inner * machine.bytes;
  const part = r.length * rowBytes;
  /** Turns the position on the stack into the address of its row. */
  const target = (): void => {
    c.set(to);
    // Most are where they belong.
    c.get(to).i32(r.length).op('i32.ge_u');
    c.if();
    if (!r.clips) c.get(to).i32(r.length).op('i32.add').get(to).get(to).i32(0).ops('i32.lt_s', 'select').set(to);
    c.i32(0).get(to).get(to).i32(0).ops('i32.lt_s', 'select').set(to);
    c.i32(r.length - 1)
      .get(to)
      .get(to)
      .i32(r.length - 1)
      .ops('i32.gt_s', 'select')
      .set(to);
    c.end();
    address(c, out, to, rowBytes);
  };
  const apply = (): void => {
    // Stack: address of the element; `from` points at the update.
    if (r.combine === 'set') c.get(from).mem(machine.load).mem(machine.store);
    else {
      c.tee(to).get(to).mem(machine.load).get(from).mem(machine.load);
      combineOps[r.type as keyof typeof combineOps][r.combine](f);
      c.mem(machine.store);
    }
    if (!r.uniform) c.get(from).i32(machine.bytes).op('i32.add').set(from);
  };
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(args).mem('i32.load', 12).get(item).i32(part).ops('i32.mul', 'i32.add').tee(out);
      c.get(args).mem('i32.load').get(item).i32(part).ops('i32.mul', 'i32.add').i32(part).memoryCopy();
      c.get(args).mem('i32.load', 8);
      if (!r.uniform)
        c.get(item)
          .i32(r.count * rowBytes)
          .ops('i32.mul', 'i32.add');
      c.set(from);
      c.get(args).mem('i32.load', 4);
      if (r.perElement)
        c.get(item)
          .i32(r.count * r.inner * 4)
          .ops('i32.mul', 'i32.add');
      c.set(at);
      c.i32(0).set(j);
      rising(
        c,
        j,
        () => c.i32(r.count),
        1,
        () => {
          const row = f.local('i32');
          if (!r.perElement) {
            c.get(at).mem('i32.load');
            target();
            c.set(row).get(at).i32(4).op('i32.add').set(at);
            if (r.combine === 'set' && rowBytes > shortRow && !r.uniform) {
              c.get(row).get(from).i32(rowBytes).memoryCopy().get(from).i32(rowBytes).op('i32.add').set(from);
              return;
            }
          }
          const element = (): void => {
            if (r.perElement) {
              c.get(at).mem('i32.load');
              target();
              c.get(n).op('i32.add').get(at).i32(4).op('i32.add').set(at);
            } else c.get(row).get(n).op('i32.add');
            apply();
          };
          c.i32(0).set(n);
          if (r.inner === 1) element();
          else rising(c, n, () => c.i32(rowBytes), machine.bytes, element);
        },
      );
    },
  );
  return module.bytes();
}
