// Loads: how the elements of one vector come out of memory.
//
//   the same in all lanes    one load, spread over the lanes, outside the loop
//   neighbours               one vector load (or a reversed one)
//   evenly spaced            one load per lane at constant distances; a few vectors and shuffles where several lanes lie in each; a vector of
//                            neighbours' loads for each, where they are together
//   looked up                one load per lane at a computed position
//
// A gate that differs between lanes sends the closed lanes to element 0 and clears them afterwards, so nothing outside the
// buffer is touched and nothing branches. A gate that is the same in all lanes is a branch.

import { byteSize } from '../../../base/dtype.ts';
import { strideAlong } from '../../../kernel/bounds.ts';
import type { Load } from '../../../kernel/expr.ts';
import type { Emitter } from './emitter.ts';
import { bf16ToF32, f16ToF32 } from './half.ts';
import { laneLoads, loadLow, shuffleOf, storedWidth } from './lanes.ts';
import type { WasmScope } from './scope.ts';
import { emitSquare } from './squares.ts';
import { emitWindows, windowsOf } from './windows.ts';

const zero = new Uint8Array(16);
const splatLoads = {
  8: 'v128.load8_splat',
  16: 'v128.load16_splat',
  32: 'v128.load32_splat',
  64: 'v128.load64_splat',
} as const;

/** Part `p` of a load that is not a bool, as lanes to compute with. */
export function emitLoad(em: Emitter, e: Load, p: number, s: WasmScope): void {
  if (e.type !== 'f16' && e.type !== 'bf16') {
    raw(em, e, p, s);
    return;
  }
  const { varying } = em.info(e);
  em.keep(e, `r${e.id}.${varying ? p >> 1 : 0}`, 'v128', s, true, (t) => raw(em, e, varying ? p >> 1 : 0, t));
  s.code.op(varying && p & 1 ? 'i32x4.extend_high_i16x8_u' : 'i32x4.extend_low_i16x8_u');
  if (e.type === 'f16') f16ToF32(s.code, em.temp);
  else bf16ToF32(s.code);
}

/** Part `p` of a load of bools, as a byte mask. */
export function emitLoadMask(em: Emitter, e: Load, p: number, s: WasmScope): void {
  raw(em, e, p, s);
  s.code.v128(zero).op('i8x16.ne');
}

/** Part `p` in the lanes of memory. */
function raw(em: Emitter, e: Load, p: number, s: WasmScope): void {
  const width = storedWidth(e.type);
  const shift = Math.log2(byteSize(e.type));
  const gate = e.gate;
  const gateVaries = gate !== null && em.info(gate).varying;
  if (!em.info(e.index).varying && !gateVaries) {
    branch(em, e, s, () => {
      const rest = em.nearAddress(e.slot, e.index, shift, s);
      return () => s.code.mem(splatLoads[width], rest);
    });
    return;
  }
  const stride = strideAlong(e.index, em.vectorAxis);
  if (stride === null || gateVaries) {
    lookup(em, e, p, s);
    return;
  }
  const lanes = Math.min(s.lanes, 128 / width);
  const bytes = width / 8;
  if (stride === 1) {
    branch(em, e, s, () => {
      const rest = em.nearAddress(e.slot, e.index, shift, s);
      return () => loadLow(s.code, lanes * width, rest + p * 16, shift);
    });
    return;
  }
  const square = em.squareOf(e);
  if (square && lanes === square.length) {
    const locals = emitSquare(em, square, p, s);
    square.forEach((x, k) => {
      if (x !== e) s.memo.set(`v${x.id}.${p}`, locals[k]!);
    });
    s.code.get(locals[square.indexOf(e)]!);
    return;
  }
  // With a negative stride the address is that of the last lane of all, so that offsets stay positive.
  const start = stride < 0 ? (s.lanes - 1) * stride * bytes : 0;
  branch(em, e, s, () => {
    const rest = em.nearAddress(e.slot, e.index, shift, s, start);
    const offset = (lane: number): number => (p * (128 / width) + lane) * stride * bytes - start + rest;
    return () => {
      if (stride === -1 && lanes * width === 128) {
        const v = em.temp();
        s.code
          .mem('v128.load', offset(lanes - 1), shift)
          .tee(v)
          .get(v);
        s.code.shuffle(
          shuffleOf(
            width,
            Array.from({ length: lanes }, (_, i) => lanes - 1 - i),
          ),
        );
        return;
      }
      const offsets = Array.from({ length: lanes }, (_, lane) => offset(lane));
      const windows = lanes * width === 128 ? windowsOf(offsets, bytes) : [];
      const [address, v] = [em.local('i32'), em.temp()];
      if (windows.length > 0 && windows.length <= lanes / 2) {
        s.code.set(address);
        emitWindows(s.code, windows, address, v, bytes, shift);
        return;
      }
      s.code.tee(address).mem(splatLoads[width], offset(0)).set(v);
      for (let lane = 1; lane < lanes; lane++) {
        s.code.get(address).get(v).memLane(laneLoads[width], lane, offset(lane)).set(v);
      }
      s.code.get(v);
    };
  });
}

/** The address is computed before the branch on a gate, the memory touched only behind it. */
function branch(em: Emitter, e: Load, s: WasmScope, address: () => () => void): void {
  const load = address();
  if (!e.gate) {
    load();
    return;
  }
  const at = em.local('i32');
  s.code.set(at);
  em.scalar(e.gate, s);
  s.code.if('v128');
  s.code.get(at);
  load();
  s.code.else().v128(zero).end();
}

/** Every lane at a position of its own. */
function lookup(em: Emitter, e: Load, p: number, s: WasmScope): void {
  const width = storedWidth(e.type);
  const shift = Math.log2(width / 8);
  const lanes = Math.min(s.lanes, 128 / width);
  const base = em.local('i32');
  em.address(e.slot, em.exprs.const('index', 0), shift, s);
  s.code.set(base);
  const positions: number[] = [];
  const v = em.temp();
  for (let lane = 0; lane < lanes; lane++) {
    const at = p * (128 / width) + lane;
    const part = at >> 2;
    const local = (positions[part] ??= gatedIndex(em, e, part, s));
    s.code.get(local).lane('i32x4.extract_lane', at & 3);
    if (shift > 0) s.code.i32(shift).op('i32.shl');
    s.code.get(base).op('i32.add');
    if (lane === 0) loadLow(s.code, width, 0);
    else s.code.get(v).memLane(laneLoads[width], lane);
    s.code.set(v);
  }
  s.code.get(v);
  if (e.gate) {
    // A mask of 16-bit lanes, for f16 and bf16, comes from the byte mask like any other.
    em.mask(e.gate, p, width, s);
    s.code.op('v128.and');
  }
}

function gatedIndex(em: Emitter, e: Load, part: number, s: WasmScope): number {
  const local = em.temp();
  em.vec(e.index, part, s);
  if (e.gate) {
    em.mask(e.gate, part, 32, s);
    s.code.op('v128.and');
  }
  s.code.set(local);
  return local;
}
