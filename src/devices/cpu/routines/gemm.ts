// The matrix product as a WebAssembly module, made for one set of sizes.
//
// Blocked after Goto and van de Geijn (TOMS 2008): an item is one block of columns of one product (and of its rows, where
// that is needed to keep many threads busy). Per stretch of k it packs its block of B into panels two vectors wide, then
// runs a micro-kernel of four rows by one panel whose sums stay in registers. A is read where it lies: a transposed A
// only has other strides. Every sum is taken in the order of k whatever the split, so threads do not change results.
//
// Arguments: A, B, C, scratch. run(args, begin, end) computes items begin … end-1.

import type { Code } from '../wasm/code.ts';
import { type Func, WasmModule } from '../wasm/module.ts';
import { address, rising, type VectorMachine, vectorMachines } from './emit.ts';

export interface GemmShape {
  readonly type: keyof typeof vectorMachines;
  readonly batch: number;
  readonly batchA: number;
  readonly batchB: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

export interface Gemm {
  readonly bytes: Uint8Array;
  readonly items: number;
  readonly scratchBytes: number;
}

const tileRows = 4;
const vectors = 2;
/**
 * Steps of k in one turn of the innermost loop. Each may be the last one: the sums leave the loop there, so the engine finishes a step before it
 * begins the next. Without the ways out it would put the loads of all steps first, and run out of registers.
 */
const stepsPerTurn = 8;
/** Products per element before C is touched: a panel of B and four rows of A stay in the first-level cache. */
const depth = 256;

/** Items for each thread: enough that one which is late makes nobody wait for long. */
const itemsPerThread = 8;

/** Panels of an item: with fewer a tile of A is read for too little work, with more the packed block leaves the second-level cache. */
const panels = { fewest: 4, most: 16 } as const;

interface GemmPlan extends GemmShape {
  readonly v: VectorMachine;
  readonly fma: boolean;
  /** Columns of a panel, of an item. */
  readonly panel: number;
  readonly columns: number;
  readonly rows: number;
  readonly columnBlocks: number;
  readonly rowBlocks: number;
  readonly packBytes: number;
}

function plan(shape: GemmShape, fma: boolean, threads: number): GemmPlan {
  const v = vectorMachines[shape.type];
  const panel = v.lanes * vectors;
  // A block of columns is packed once by each of its blocks of rows: columns are split first, rows only as far as the threads need it.
  // Results do not depend on it.
  const wanted = Math.ceil((itemsPerThread * threads) / shape.batch);
  const all = Math.ceil(shape.n / panel);
  const columns = panel * Math.min(panels.most, Math.max(panels.fewest, Math.ceil(all / wanted)));
  const columnBlocks = Math.ceil(shape.n / columns);
  const rows = Math.max(64, Math.ceil(shape.m / Math.ceil(wanted / columnBlocks) / tileRows) * tileRows);
  const width = Math.min(columns, all * panel);
  return {
    ...shape,
    v,
    fma: fma && v.fused !== null,
    panel,
    columns,
    rows,
    columnBlocks,
    rowBlocks: Math.ceil(shape.m / rows),
    packBytes: Math.min(depth, shape.k) * width * v.bytes,
  };
}

export function renderGemm(shape: GemmShape, shared: boolean, fma: boolean, threads: number): Gemm {
  const p = plan(shape, fma, threads);
  const module = new WasmModule({ module: 'env', name: 'memory', shared });
  const run = module.func(['i32', 'i32', 'i32'], [], 'run');
  const pack = packer(module, p);
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

/** Row tile × panel: (a, b, c, k, first) with b packed; adds to C unless it is the first stretch of k. */
function micro(module: WasmModule, p: GemmPlan, rows: number, columns: number): Func {
  const { v } = p;
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const [a, b, c, count, first] = [0, 1, 2, 3, 4];
  const used = Math.ceil(columns / v.lanes);
  const sums = Array.from({ length: rows }, () => Array.from({ length: used }, () => f.local('v128')));
  const right = Array.from({ length: used }, () => f.local('v128'));
  const left = f.local('v128');
  const code = f.code;
  const [rowStep, depthStep] = p.transposeA ? [v.bytes, p.m * v.bytes] : [p.k * v.bytes, v.bytes];
  const panelStep = p.panel * v.bytes;
  const end = f.local('i32');
  address(code, a, count, depthStep).set(end);
  const exit = code.block();
  const top = code.loop();
  for (let step = 0; step < stepsPerTurn; step++) {
    right.forEach((r, j) => {
      code
        .get(b)
        .mem('v128.load', step * panelStep + j * 16)
        .set(r);
    });
    sums.forEach((row, i) => {
      code
        .get(a)
        .mem(v.splatLoad, i * rowStep)
        .set(left);
      row.forEach((sum, j) => {
        if (p.fma) code.get(left).get(right[j]!).get(sum).op(v.fused!);
        else code.get(sum).get(left).get(right[j]!).ops(v.mul, v.add);
        code.set(sum);
      });
    });
    code.get(a).i32(depthStep).op('i32.add').tee(a).get(end).op('i32.eq').brIf(exit);
  }
  code
    .get(b)
    .i32(stepsPerTurn * panelStep)
    .op('i32.add')
    .set(b)
    .br(top)
    .end()
    .end();
  const whole = columns % v.lanes === 0;
  sums.forEach((row, i) => {
    const at = i * p.n * v.bytes;
    code.get(first).op('i32.eqz');
    code.if();
    row.forEach((sum, j) => {
      if (whole)
        code
          .get(sum)
          .get(c)
          .mem('v128.load', at + j * 16, 2)
          .op(v.add)
          .set(sum);
    });
    code.end();
    row.forEach((sum, j) => {
      if (whole)
        code
          .get(c)
          .get(sum)
          .mem('v128.store', at + j * 16, 2);
      else storeLanes(code, p, c, first, sum, at + j * 16, Math.min(v.lanes, columns - j * v.lanes));
    });
  });
  return f;
}

function storeLanes(code: Code, p: GemmPlan, c: number, first: number, sum: number, at: number, lanes: number): void {
  const { v } = p;
  for (let lane = 0; lane < lanes; lane++) {
    const offset = at + lane * v.bytes;
    code.get(c).get(sum).lane(v.extract, lane);
    code.get(sum).lane(v.extract, lane).get(c).mem(v.load, offset).op(v.scalarAdd);
    code.get(first).op('select').mem(v.store, offset);
  }
}

/** (source, target, k, columns): a block of B, from its first row on, as panels; missing columns are zero. */
function packer(module: WasmModule, p: GemmPlan): Func {
  const { v } = p;
  const f = module.func(['i32', 'i32', 'i32', 'i32']);
  const [source, target, count, columns] = [0, 1, 2, 3];
  const code = f.code;
  const j = f.local('i32');
  const i = f.local('i32');
  const from = f.local('i32');
  const to = f.local('i32');
  const lane = f.local('i32');
  const panelBytes = p.panel * v.bytes;
  const [rowStep, columnStep] = p.transposeB ? [v.bytes, p.k * v.bytes] : [p.n * v.bytes, v.bytes];
  const scalars = (): void => {
    code.i32(0).set(lane);
    rising(
      code,
      lane,
      () => code.i32(p.panel),
      1,
      () => {
        code.get(j).get(lane).op('i32.add').get(columns).op('i32.ge_u');
        code.if();
        code.get(target).get(lane).i32(v.bytes).ops('i32.mul', 'i32.add').set(to);
        code.i32(0).set(i);
        rising(
          code,
          i,
          () => code.get(count),
          1,
          () => {
            code.get(to);
            zeroOf(code, v);
            code.mem(v.store).get(to).i32(panelBytes).op('i32.add').set(to);
          },
        );
        code.else();
        address(code, source, j, columnStep).get(lane).i32(columnStep).ops('i32.mul', 'i32.add').set(from);
        code.get(target).get(lane).i32(v.bytes).ops('i32.mul', 'i32.add').set(to);
        code.i32(0).set(i);
        rising(
          code,
          i,
          () => code.get(count),
          1,
          () => {
            code.get(to).get(from).mem(v.load).mem(v.store);
            code.get(from).i32(rowStep).op('i32.add').set(from);
            code.get(to).i32(panelBytes).op('i32.add').set(to);
          },
        );
        code.end();
      },
    );
  };
  code.i32(0).set(j);
  rising(
    code,
    j,
    () => code.get(columns),
    p.panel,
    () => {
      if (p.transposeB) scalars();
      else {
        code.get(j).i32(p.panel).op('i32.add').get(columns).op('i32.le_u');
        code.if();
        address(code, source, j, v.bytes).set(from);
        code.get(target).set(to).i32(0).set(i);
        rising(
          code,
          i,
          () => code.get(count),
          1,
          () => {
            for (let x = 0; x < vectors; x++)
              code
                .get(to)
                .get(from)
                .mem('v128.load', x * 16, 2)
                .mem('v128.store', x * 16);
            code.get(from).i32(rowStep).op('i32.add').set(from);
            code.get(to).i32(panelBytes).op('i32.add').set(to);
          },
        );
        code.else();
        scalars();
        code.end();
      }
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

function driver(run: Func, p: GemmPlan, pack: Func, micro: (rows: number, columns: number) => number): void {
  const { v } = p;
  const c = run.code;
  const [args, item, end] = [0, 1, 2];
  const local = (): number => run.local('i32');
  const [a, b, out, packed] = [local(), local(), local(), local()];
  const [row0, rowEnd, column0, columns, batch, rest] = [local(), local(), local(), local(), local(), local()];
  const [k0, count, i, j, panel, tile] = [local(), local(), local(), local(), local(), local()];
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
    c.i32(0).set(j).get(packed).set(panel);
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
        c.get(panel)
          .get(count)
          .i32(p.panel * v.bytes)
          .ops('i32.mul', 'i32.add')
          .set(panel);
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
          address(c, b, k0, depthStepB).get(packed).get(count).get(columns).call(pack.index);
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
