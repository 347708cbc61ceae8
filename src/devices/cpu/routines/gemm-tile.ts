// The innermost part of a matrix product: four rows by one panel of columns, whose sums stay in registers.

import type { Code } from '../wasm/code.ts';
import type { Func, WasmModule } from '../wasm/module.ts';
import { address } from './emit.ts';
import { depth, type GemmPlan } from './gemm-plan.ts';

/**
 * Steps of k in one turn of the innermost loop. Each may be the last one: the sums leave the loop there, so the engine finishes a step before it
 * begins the next. Without the ways out it would put the loads of all steps first, and run out of registers.
 */
const stepsPerTurn = 8;

/** Row tile × panel: (a, b, c, k, first); adds to C unless it is the first stretch of k. */
export function micro(module: WasmModule, p: GemmPlan, rows: number, columns: number): Func {
  const { v } = p;
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32']);
  const [a, b, c, count, first] = [0, 1, 2, 3, 4];
  const used = Math.ceil(columns / v.lanes);
  const sums = Array.from({ length: rows }, () => Array.from({ length: used }, () => f.local('v128')));
  const right = Array.from({ length: used }, () => f.local('v128'));
  const left = f.local('v128');
  const code = f.code;
  const [rowStep, depthStep] = p.transposeA ? [v.bytes, p.m * v.bytes] : [p.k * v.bytes, v.bytes];
  const panelStep = (p.packed ? p.panel : p.n) * v.bytes;
  const end = f.local('i32');
  address(code, a, count, depthStep).set(end);
  const exit = code.block();
  const top = code.loop();
  for (let step = 0; step < stepsPerTurn; step++) {
    right.forEach((r, j) => {
      code
        .get(b)
        .mem('v128.load', step * panelStep + j * 16, 2)
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
  const once = p.k <= depth;
  sums.forEach((row, i) => {
    const at = i * p.n * v.bytes;
    if (whole && !once) {
      code.get(first).op('i32.eqz');
      code.if();
      row.forEach((sum, j) => {
        code
          .get(sum)
          .get(c)
          .mem('v128.load', at + j * 16, 2)
          .op(v.add)
          .set(sum);
      });
      code.end();
    }
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
