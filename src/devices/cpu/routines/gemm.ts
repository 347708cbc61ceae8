// The matrix product as a WebAssembly module, made for one set of sizes.
//
// Blocked after Goto and van de Geijn (TOMS 2008): an item is one block of columns of one product (and of its rows, where
// that is needed to keep many threads busy). Per stretch of k it packs its block of B into panels two vectors wide (gemm-pack.ts), unless B is
// small, then runs a micro-kernel of four rows by one panel whose sums stay in registers (gemm-tile.ts). A is read where it lies: a transposed A
// only has other strides. Every sum is taken in the order of k whatever the split, so threads do not change results.
//
// Arguments: A, B, C, scratch. run(args, begin, end) computes items begin … end-1.

import { type Func, WasmModule } from '../wasm/module.ts';
import { address, rising } from './emit.ts';
import { packer } from './gemm-pack.ts';
import { depth, type GemmPlan, type GemmShape, planGemm, tileRows } from './gemm-plan.ts';
import { micro } from './gemm-tile.ts';

export interface Gemm {
  readonly bytes: Uint8Array;
  readonly items: number;
  readonly scratchBytes: number;
}

export function renderGemm(shape: GemmShape, shared: boolean, fma: boolean, threads: number): Gemm {
  const p = planGemm(shape, fma, threads);
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const pack = p.packed ? packer(module, p) : null;
  const tails = { rows: p.m % tileRows, columns: p.n % p.panel };
  const micros = new Map<string, Func>();
  for (const rows of new Set([Math.min(p.m, tileRows), tails.rows])) {
    for (const columns of new Set([Math.min(p.n, p.panel), tails.columns])) {
      if (rows > 0 && columns > 0) micros.set(`${rows},${columns}`, micro(module, p, rows, columns));
    }
  }
  driver(run, p, pack, (rows, columns) => micros.get(`${rows},${columns}`)!.index);
  const items = p.batch * p.rowBlocks * p.columnBlocks;
  return { bytes: module.bytes(), items, scratchBytes: items * p.packBytes };
}

function driver(run: Func, p: GemmPlan, pack: Func | null, micro: (rows: number, columns: number) => number): void {
  const { v } = p;
  const c = run.code;
  const [args, item, end] = [0, 1, 2];
  const local = (): number => run.local('i32');
  const [a, b, out, packed] = [local(), local(), local(), local()];
  const [row0, rowEnd, column0, columns, batch, rest] = [local(), local(), local(), local(), local(), local()];
  const [k0, count, i, j, panel, tile, block] = [local(), local(), local(), local(), local(), local(), local()];
  const [rowStepA, depthStepA] = p.transposeA ? [v.bytes, p.m * v.bytes] : [p.k * v.bytes, v.bytes];
  const [depthStepB, columnStepB] = p.transposeB ? [v.bytes, p.k * v.bytes] : [p.n * v.bytes, v.bytes];
  const least = (value: () => void, most: () => void): void => {
    value();
    most();
    value();
    most();
    c.ops('i32.lt_u', 'select');
  };

  /** The panels of one row tile. */
  const alongRow = (rows: number): void => {
    c.i32(0).set(j).get(block).set(panel);
    rising(
      c,
      j,
      () => c.get(columns),
      p.panel,
      () => {
        const call = (width: number): void => {
          c.get(a).get(i).i32(rowStepA).ops('i32.mul', 'i32.add').get(k0).i32(depthStepA).ops('i32.mul', 'i32.add');
          c.get(panel).get(tile).get(j).i32(v.bytes).ops('i32.mul', 'i32.add');
          c.get(count).get(k0).op('i32.eqz').call(micro(rows, width));
        };
        const tail = p.n % p.panel;
        if (tail === 0) call(p.panel);
        else if (p.n < p.panel) call(tail);
        else {
          c.get(columns).get(j).op('i32.sub').i32(p.panel).op('i32.ge_u');
          c.if();
          call(p.panel);
          c.else();
          call(tail);
          c.end();
        }
        c.get(panel).i32(p.panel * v.bytes);
        if (pack) c.get(count).op('i32.mul');
        c.op('i32.add').set(panel);
      },
    );
  };

  rising(
    c,
    item,
    () => c.get(end),
    1,
    () => {
      c.get(item).i32(p.columnBlocks).op('i32.rem_u').i32(p.columns).op('i32.mul').set(column0);
      c.get(item).i32(p.columnBlocks).op('i32.div_u').set(rest);
      c.get(rest).i32(p.rowBlocks).op('i32.rem_u').i32(p.rows).op('i32.mul').set(row0);
      c.get(rest).i32(p.rowBlocks).op('i32.div_u').set(batch);
      least(
        () => c.get(row0).i32(p.rows).op('i32.add'),
        () => c.i32(p.m),
      );
      c.set(rowEnd);
      least(
        () => c.i32(p.columns),
        () => c.i32(p.n).get(column0).op('i32.sub'),
      );
      c.set(columns);
      const base = (slot: number, stride: number): void => {
        c.get(args)
          .mem('i32.load', slot * 4)
          .get(batch)
          .i32(stride * v.bytes)
          .ops('i32.mul', 'i32.add');
      };
      base(0, p.batchA === 1 ? 0 : p.m * p.k);
      c.set(a);
      base(1, p.batchB === 1 ? 0 : p.k * p.n);
      c.get(column0).i32(columnStepB).ops('i32.mul', 'i32.add').set(b);
      base(2, p.m * p.n);
      c.get(column0).i32(v.bytes).ops('i32.mul', 'i32.add').set(out);
      c.get(args).mem('i32.load', 12).get(item).i32(p.packBytes).ops('i32.mul', 'i32.add').set(packed);
      c.i32(0).set(k0);
      rising(
        c,
        k0,
        () => c.i32(p.k),
        depth,
        () => {
          least(
            () => c.i32(depth),
            () => c.i32(p.k).get(k0).op('i32.sub'),
          );
          c.set(count);
          address(c, b, k0, depthStepB);
          if (pack) c.get(packed).get(count).get(columns).call(pack.index).get(packed);
          c.set(block);
          c.get(row0).set(i);
          rising(
            c,
            i,
            () => c.get(rowEnd),
            tileRows,
            () => {
              address(c, out, i, p.n * v.bytes).set(tile);
              const tail = p.m % tileRows;
              if (tail === 0) alongRow(tileRows);
              else if (p.m < tileRows) alongRow(tail);
              else {
                c.get(rowEnd).get(i).op('i32.sub').i32(tileRows).op('i32.ge_u');
                c.if();
                alongRow(tileRows);
                c.else();
                alongRow(tail);
                c.end();
              }
            },
          );
        },
      );
    },
  );
}
