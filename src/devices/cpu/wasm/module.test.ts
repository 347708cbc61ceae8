import { describe, expect, it } from 'vitest';
import { Bytes, Reader } from './bytes.ts';
import { Code } from './code.ts';
import { WasmModule } from './module.ts';
import {
  type LaneOp,
  laneOps,
  type MemoryLaneOp,
  type MemoryOp,
  memoryLaneOps,
  memoryOps,
  opNames,
  type PlainOp,
  plainOps,
} from './ops.ts';
import { instructions, moduleText } from './text.ts';

const memory = { module: 'env', name: 'memory', shared: false } as const;

describe('bytes', () => {
  it('round-trips LEB128 numbers at the edges of every length', () => {
    const b = new Bytes(1);
    const unsigned = [0, 1, 127, 128, 16383, 16384, 2 ** 31, 2 ** 32 - 1];
    const signed = [0, 63, 64, -64, -65, 8191, 8192, -8192, 2 ** 31 - 1, -(2 ** 31)];
    const wide = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 1n << 40n];
    for (const v of unsigned) b.unsigned(v);
    for (const v of signed) b.signed(v);
    for (const v of wide) b.signed64(v);
    b.f32(1.5);
    b.f64(-0.1);
    b.name('größe');
    const r = new Reader(b.view());
    expect(unsigned.map(() => r.unsigned())).toEqual(unsigned);
    expect(signed.map(() => Number(r.signed64()))).toEqual(signed);
    expect(wide.map(() => r.signed64())).toEqual(wide);
    expect([r.f32(), r.f64(), r.name()]).toEqual([1.5, -0.1, 'größe']);
    expect(r.done).toBe(true);
    expect(() => r.u8()).toThrow(RangeError);
    expect(() => r.raw(1)).toThrow(RangeError);
  });
});

describe('the assembler', () => {
  it('names every opcode once', () => {
    const tables = [plainOps, memoryOps, memoryLaneOps, laneOps].map((t) => Object.keys(t).length);
    const codes = opNames();
    expect(new Set([...codes.values()].map((v) => v.name)).size).toBe(codes.size);
    expect(codes.size).toBeGreaterThan(tables.reduce((a, b) => a + b));
  });

  it('encodes every SIMD and numeric instruction so that the engine accepts it with its operand types', () => {
    // Signatures follow from the names; an opcode one off would have another signature or none at all.
    const failures: string[] = [];
    for (const name of Object.keys(plainOps) as PlainOp[]) {
      const signature = signatureOf(name);
      if (!signature) continue;
      const [params, result] = signature;
      const m = new WasmModule(memory);
      const f = m.func(params, [result], 'f');
      for (const i of params.keys()) f.code.get(i);
      f.code.op(name);
      if (!WebAssembly.validate(m.bytes())) failures.push(name);
    }
    expect(failures).toEqual([]);
  });

  it('encodes every memory and lane instruction so that the engine accepts it', () => {
    const failures: string[] = [];
    const check = (name: string, params: Val[], result: Val | null, emit: (c: Code) => void): void => {
      const m = new WasmModule({ ...memory, shared: true });
      const f = m.func(params, result ? [result] : []);
      for (const i of params.keys()) f.code.get(i);
      emit(f.code);
      if (!WebAssembly.validate(m.bytes())) failures.push(name);
    };
    for (const name of Object.keys(memoryOps) as MemoryOp[]) {
      const [params, result] = memorySignature(name);
      check(name, params, result, (c) => c.mem(name, 8));
    }
    for (const name of Object.keys(memoryLaneOps) as MemoryLaneOp[]) {
      check(name, ['i32', 'v128'], name.includes('load') ? 'v128' : null, (c) => c.memLane(name, 1, 8));
    }
    for (const name of Object.keys(laneOps) as LaneOp[]) {
      const shape = name.split('.')[0]!;
      const scalar: Val = shape.startsWith('i64') ? 'i64' : shape.startsWith('f') ? (shape.slice(0, 3) as Val) : 'i32';
      if (name.includes('extract')) check(name, ['v128'], scalar, (c) => c.lane(name, 1));
      else check(name, ['v128', scalar], 'v128', (c) => c.lane(name, 1));
    }
    expect(failures).toEqual([]);
  });

  it('runs what it assembles, with blocks, loops and calls', () => {
    const m = new WasmModule(memory);
    const square = m.func(['i32'], ['i32']);
    square.code.get(0).get(0).op('i32.mul');
    const f = m.func(['i32'], ['i32'], 'sumOfSquares');
    const sum = f.local('i32');
    const c = f.code;
    const out = c.block();
    const top = c.loop();
    c.get(0).op('i32.eqz').brIf(out);
    c.get(sum).get(0).call(square.index).op('i32.add').set(sum);
    c.get(0).i32(1).op('i32.sub').set(0).br(top);
    c.end().end().get(sum);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(m.bytes()), {
      env: { memory: new WebAssembly.Memory({ initial: 1 }) },
    });
    expect((instance.exports.sumOfSquares as (n: number) => number)(10)).toBe(385);
  });

  it('refuses to hand out code with open blocks', () => {
    const c = new Code();
    c.block();
    expect(() => c.bytes()).toThrow('1 blocks are still open');
    expect(c.end().bytes().length).toBe(3);
  });

  it('shows a module as text, one instruction a line', () => {
    const m = new WasmModule({ ...memory, shared: true, initial: 1, maximum: 2 });
    const f = m.func(['i32'], ['i32'], 'f');
    const v = f.local('v128');
    const c = f.code;
    c.get(0).if('i32');
    c.i32(-5).else().i32(7).end();
    c.v128(new Uint8Array(16).fill(3)).tee(v).get(v).shuffle([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31]);
    c.lane('i32x4.extract_lane', 2).op('i32.add');
    c.get(0).mem('i32.load', 4).op('i32.add').f32(-0).op('drop').f64(Number.NaN).op('drop').i64(9n).op('drop').fence();
    c.i32(0).i32(0).i32(0).memoryCopy().i32(0).i32(0).i32(0).memoryFill();
    c.i32(0).get(v).memLane('v128.store8_lane', 3, 2);
    expect(WebAssembly.validate(m.bytes())).toBe(true);
    expect(moduleText(m.bytes())).toBe(`(module
  (import "env" "memory" (memory 1 2 shared))
  (func $f (param i32) (result i32)
    (local 1×v128)
    local.get 0
    if (result i32)
      i32.const -5
    else
      i32.const 7
    end
    v128.const i8x16 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3
    local.tee 1
    local.get 1
    i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31
    i32x4.extract_lane 2
    i32.add
    local.get 0
    i32.load offset=4 align=4
    i32.add
    f32.const -0
    drop
    f64.const nan
    drop
    i64.const 9
    drop
    atomic.fence 0
    i32.const 0
    i32.const 0
    i32.const 0
    memory.copy 0 0
    i32.const 0
    i32.const 0
    i32.const 0
    memory.fill 0
    i32.const 0
    local.get 1
    v128.store8_lane offset=2 align=1 3
  )
)`);
  });

  it('decodes branch tables and names an instruction it does not know', () => {
    expect(instructions(new Reader(new Uint8Array([0x0e, 2, 0, 1, 3])))).toEqual([
      { name: 'br_table', immediates: ['0', '1', '3'] },
    ]);
    expect(() => instructions(new Reader(new Uint8Array([0xfd, 0xff, 0x7f])))).toThrow('unknown instruction 0xfd3fff');
  });
});

type Val = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

const unary =
  /\.(abs|neg|not|popcnt|clz|ctz|sqrt|ceil|floor|trunc|nearest|extend\w*|promote\w*|demote\w*|convert\w*|trunc_\w*|reinterpret\w*|wrap\w*|extadd\w*)$/;

/** Parameter and result types of a plain instruction, from its name; null for control flow and what the engine may lack. */
function signatureOf(name: string): [Val[], Val] | null {
  if (!name.includes('.') || name.includes('relaxed')) return null;
  const [shape, op] = name.split('.') as [string, string];
  if (!shape.includes('x') && shape !== 'v128') {
    const own = shape as Val;
    if (op === 'eqz') return [[own], 'i32'];
    const source = /_(i32|i64|f32|f64)(_[su])?$/.exec(op)?.[1] as Val | undefined;
    if (/^(wrap|trunc_|convert|promote|demote|reinterpret|extend_)/.test(op)) return [[source!], own];
    if (unary.test(name)) return [[own], own];
    return [[own, own], /^(eq|ne|lt|gt|le|ge)(_|$)/.test(op) ? 'i32' : own];
  }
  const scalar: Val = shape.startsWith('i64') ? 'i64' : shape.startsWith('f') ? (shape.slice(0, 3) as Val) : 'i32';
  if (op === 'splat') return [[scalar], 'v128'];
  if (/(all_true|any_true|bitmask)$/.test(op)) return [['v128'], 'i32'];
  if (/^sh[lr]/.test(op)) return [['v128', 'i32'], 'v128'];
  if (op === 'bitselect') return [['v128', 'v128', 'v128'], 'v128'];
  return [unary.test(name) ? ['v128'] : ['v128', 'v128'], 'v128'];
}

function memorySignature(name: MemoryOp): [Val[], Val | null] {
  const own = name.split('.')[0] as Val;
  return name.includes('store') ? [['i32', own], null] : [['i32'], own];
}
