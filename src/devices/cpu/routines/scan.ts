// Inclusive scans along the middle of [outer, length, inner], as a WebAssembly module made for the sizes.
//
// An item is a stretch of `inner` of one outer position, scanned in order. With inner 1 the running value stays in a
// register, of sums of integers in vectors (integer-scan.ts); else a row is combined with the row written before it, which streams through memory.

import { byteSize } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { WasmCode, type WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import { WasmModule } from '../wasm/module.ts';
import { moduleText } from '../wasm/text.ts';
import { CodeProgram } from './code-program.ts';
import { combineOps, isHalf } from './combine.ts';
import { machines, rising } from './emit.ts';
import { isVectorScan, vectorScan } from './integer-scan.ts';
import { Widened } from './widened.ts';

/** Neighbours of `inner` that are scanned together. */
const stretch = 512;

export function prepareScan(routine: Scan, engine: WasmEngine): CpuProgram {
  const elements = routine.outer * routine.length * routine.inner;
  if (isHalf(routine.type)) {
    const inner = prepareScan({ ...routine, type: 'f32' }, engine);
    return new Widened(inner, routine.type, 'f32', [elements, elements], 1, engine);
  }
  const { bytes, items } = render(routine, engine.memory.shared);
  const [read, written] = [routine.from ?? routine.type, routine.type].map((t) => elements * byteSize(t));
  return new CodeProgram(
    {
      code: new WasmCode(routine.name, bytes, () => moduleText(bytes)),
      needs: [read!, written!],
      inputs: 1,
      items,
      grain: Math.max(1, Math.ceil((20_000 * items) / Math.max(1, elements))),
      nanoseconds: elements * 1.5,
      scratchBytes: 0,
    },
    engine,
  );
}

function render(r: Scan, shared: boolean): { bytes: Uint8Array; items: number } {
  const type = r.type as keyof typeof combineOps;
  const machine = machines[type];
  const combine = combineOps[type][r.combine];
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const f = module.func(['i32', 'i32', 'i32'], [], 'run');
  const c = f.code;
  const [args, item, end] = [0, 1, 2];
  const stretches = Math.ceil(r.inner / stretch);
  const { bytes: readBytes } = machines[r.from ?? r.type];
  const rowBytes = r.inner * machine.bytes;
  const step = r.reverse ? -rowBytes : rowBytes;
  const { from, to, i, n, width } = f.named('i32', 'from', 'to', 'i', 'n', 'width');
  const running = f.local(machine.value);
  const advance = (): void => {
    c.get(from).i32(step).op('i32.add').set(from);
    c.get(to).i32(step).op('i32.add').set(to);
  };
  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      for (const [slot, pointer, size] of [
        [0, from, readBytes],
        [1, to, machine.bytes],
      ] as const) {
        c.get(args).mem('i32.load', slot * 4);
        c.get(item)
          .i32(stretches)
          .op('i32.div_u')
          .i32(r.length * r.inner * size)
          .ops('i32.mul', 'i32.add');
        c.get(item)
          .i32(stretches)
          .op('i32.rem_u')
          .i32(stretch * size)
          .ops('i32.mul', 'i32.add');
        c.i32(r.reverse ? (r.length - 1) * rowBytes : 0)
          .op('i32.add')
          .set(pointer);
      }
      if (isVectorScan(r)) {
        vectorScan(f, r, from, to, i);
        return;
      }
      if (r.inner === 1) {
        c.get(to).get(from).mem(machine.load).tee(running).mem(machine.store);
        c.i32(1).set(i);
        rising(
          c,
          i,
          () => c.i32(r.length),
          1,
          () => {
            advance();
            c.get(running).get(from).mem(machine.load);
            combine(f);
            // A running bool or byte may carry more bits than are stored; only the low ones count.
            c.set(running).get(to).get(running).mem(machine.store);
          },
        );
        return;
      }
      const tail = r.inner % stretch || stretch;
      c.i32(stretch).i32(tail);
      c.get(item)
        .i32(1)
        .op('i32.add')
        .i32(stretches)
        .op('i32.rem_u')
        .op('select')
        .i32(machine.bytes)
        .op('i32.mul')
        .set(width);
      c.get(to).get(from).get(width).memoryCopy();
      c.i32(1).set(i);
      rising(
        c,
        i,
        () => c.i32(r.length),
        1,
        () => {
          advance();
          c.i32(0).set(n);
          rising(
            c,
            n,
            () => c.get(width),
            machine.bytes,
            () => {
              c.get(to).get(n).op('i32.add');
              c.get(to).get(n).ops('i32.add').i32(step).op('i32.sub').mem(machine.load);
              c.get(from).get(n).op('i32.add').mem(machine.load);
              combine(f);
              c.mem(machine.store);
            },
          );
        },
      );
    },
  );
  return { bytes: module.bytes(), items: r.outer * stretches };
}
