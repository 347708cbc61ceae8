// Blocks of B as panels: what a tile reads in a row lies in a row. A transposed B is turned in squares of as many rows as a vector has lanes.

import type { Code } from '../wasm/code.ts';
import type { Func, WasmModule } from '../wasm/module.ts';
import { address, rising, type VectorMachine } from './emit.ts';
import { type GemmPlan, vectors } from './gemm-plan.ts';
import { Shuffles } from './shuffles.ts';

/** (source, target, k, columns): a block of B, from its first row on, as panels; missing columns are zero. */
export function packer(module: WasmModule, p: GemmPlan): Func {
  const { v } = p;
  const f = module.func(['i32', 'i32', 'i32', 'i32']);
  const [source, target, count, columns] = [0, 1, 2, 3];
  const code = f.code;
  const l = f.named('i32', 'j', 'i', 'from', 'to', 'lane', 'done');
  const panelBytes = p.panel * v.bytes;
  const [rowStep, columnStep] = p.transposeB ? [v.bytes, p.k * v.bytes] : [p.n * v.bytes, v.bytes];
  const next = (rows: number): void => {
    code
      .get(l.from)
      .i32(rows * rowStep)
      .op('i32.add')
      .set(l.from);
    code
      .get(l.to)
      .i32(rows * panelBytes)
      .op('i32.add')
      .set(l.to);
  };
  const rowsFrom = (first: () => void, end: () => void, step: number, body: () => void): void => {
    first();
    code.set(l.i);
    rising(code, l.i, end, step, () => {
      body();
      next(step);
    });
  };
  const all = (): void => {
    code.get(count);
  };

  /** One column of the panel, from row `first` on. */
  const column = (first: () => void): void => {
    address(code, source, l.j, columnStep).get(l.lane).i32(columnStep).ops('i32.mul', 'i32.add');
    first();
    code.i32(rowStep).ops('i32.mul', 'i32.add').set(l.from);
    address(code, target, l.lane, v.bytes);
    first();
    code.i32(panelBytes).ops('i32.mul', 'i32.add').set(l.to);
    rowsFrom(first, all, 1, () => code.get(l.to).get(l.from).mem(v.load).mem(v.store));
  };
  const zeros = (): void => {
    address(code, target, l.lane, v.bytes).set(l.to);
    rowsFrom(
      () => code.i32(0),
      all,
      1,
      () => {
        code.get(l.to);
        zeroOf(code, v);
        code.mem(v.store);
      },
    );
  };
  const lanes = (body: () => void): void => {
    code.i32(0).set(l.lane);
    rising(code, l.lane, () => code.i32(p.panel), 1, body);
  };

  /** Vectors of neighbouring columns. */
  const copied = (): void => {
    address(code, source, l.j, v.bytes).set(l.from);
    code.get(target).set(l.to);
    rowsFrom(
      () => code.i32(0),
      all,
      1,
      () => {
        for (let x = 0; x < vectors; x++)
          code
            .get(l.to)
            .get(l.from)
            .mem('v128.load', x * 16, 2)
            .mem('v128.store', x * 16);
      },
    );
  };

  /** Vectors of neighbouring rows, which lie side by side, turned; rows that fill no vector one by one. */
  const turned = (): void => {
    const shuffles = new Shuffles(f, v.bytes);
    code.get(count).i32(-v.lanes).op('i32.and').set(l.done);
    address(code, source, l.j, columnStep).set(l.from);
    code.get(target).set(l.to);
    rowsFrom(
      () => code.i32(0),
      () => code.get(l.done),
      v.lanes,
      () => {
        for (let x = 0; x < vectors; x++) {
          const loaded = Array.from({ length: v.lanes }, (_, lane) => {
            const made = f.local('v128');
            code
              .get(l.from)
              .mem('v128.load', (x * v.lanes + lane) * columnStep, 2)
              .set(made);
            return made;
          });
          for (const [row, made] of shuffles.interleaved(loaded).entries())
            code
              .get(l.to)
              .get(made)
              .mem('v128.store', row * panelBytes + x * 16);
        }
      },
    );
    code.get(l.done).get(count).op('i32.lt_u');
    code.if();
    lanes(() => column(() => code.get(l.done)));
    code.end();
  };

  code.i32(0).set(l.j);
  rising(
    code,
    l.j,
    () => code.get(columns),
    p.panel,
    () => {
      code.get(l.j).i32(p.panel).op('i32.add').get(columns).op('i32.le_u');
      code.if();
      if (p.transposeB) turned();
      else copied();
      code.else();
      lanes(() => {
        code.get(l.j).get(l.lane).op('i32.add').get(columns).op('i32.ge_u');
        code.if();
        zeros();
        code.else();
        column(() => code.i32(0));
        code.end();
      });
      code.end();
      code.get(target).get(count).i32(panelBytes).ops('i32.mul', 'i32.add').set(target);
    },
  );
  return f;
}

function zeroOf(code: Code, v: VectorMachine): void {
  if (v.value === 'f32') code.f32(0);
  else if (v.value === 'f64') code.f64(0);
  else if (v.value === 'i64') code.i64(0n);
  else code.i32(0);
}
