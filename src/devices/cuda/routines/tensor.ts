// Matrix product on tensor cores: f16 and bf16, and f32 where tf32 or bf16 precision was asked for.
//
// Operands are read with the depth contiguous, in rows padded to 16 bytes; one that lies otherwise is repacked first, unless the
// core takes it as it is. Tiles are copied to shared memory asynchronously, several stages ahead (`tensor-operand.ts`). The core
// that multiplies a stage is `mma.sync` from Ampere on, and `wgmma` on Hopper.

import { type DType, dtypeInfo } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { inlineEpilogue, outputIndex, outputType } from './epilogue.ts';
import { blocksFor, Kit, Layout } from './kit.ts';
import { mmaCore } from './mma.ts';
import { recipeOf } from './recipe-of.ts';
import { rowBytes, sharedLimit } from './tensor-core.ts';
import { tileCopier } from './tensor-operand.ts';
import { storePieces } from './tensor-store.ts';
import { takesTurned, wgmmaCore } from './wgmma.ts';

/** Whether the tensor cores multiply this: the type, and enough of it. */
export function onTensorCores(r: Matmul, target: Target): boolean {
  const precise = r.type === 'f32' && r.precision === 'exact';
  const narrowType = r.type === 'f16' || r.type === 'bf16';
  if (target.sm < 80 || precise || (!narrowType && r.type !== 'f32')) return false;
  return r.k >= 16 && r.m >= 16 && r.n >= 16;
}

/** The most that a thread of any core holds. */
export const tensorResultsPerThread = 128;

export function tensorRecipe(r: Matmul, target: Target): ModuleRecipe | null {
  if (!onTensorCores(r, target)) return null;
  const hopper = target.sm === 90;
  const size = dtypeInfo[r.type].bytes;
  const depth = Math.ceil((r.k * size) / 16) * (16 / size);
  const layout = new Layout();
  const parts: { text: string; launch: ModuleRecipe['launches'][number] }[] = [];
  const operand = (name: 'a' | 'b', index: number, rows: number, along: boolean, batch: number): Operand => {
    if (along && depth === r.k) return { at: { kind: 'buffer', index }, rows, batch, depth, turned: false };
    if (!along && hopper && takesTurned(r.type, rows))
      return { at: { kind: 'buffer', index }, rows, batch, depth: r.k, turned: true };
    const at = layout.add(batch * rows * depth * size);
    parts.push(repack(`${r.name}_${name}`, r.type, { index, rows, depth, k: r.k, along, batch, to: at }, target));
    return { at, rows, batch, depth, turned: false };
  };
  const a = operand('a', 0, r.m, !r.transposeA, r.batchA);
  const b = operand('b', 1, r.n, r.transposeB, r.batchB);
  parts.push(product(r, a, b, hopper, target));
  return recipeOf(r.name, target, parts, {
    borrowedBytes: layout.bytes,
    dynamicAlign: 1024,
    suffix: hopper ? 'a' : '',
  });
}

interface Operand {
  readonly at: Argument;
  /** Of the product's results: its rows for A, its columns for B. */
  readonly rows: number;
  readonly batch: number;
  /** Elements along the depth, padding included. */
  readonly depth: number;
  /** It lies with its rows contiguous, not its depth. */
  readonly turned: boolean;
}

interface Repack {
  readonly index: number;
  readonly rows: number;
  readonly depth: number;
  readonly k: number;
  /** Whether the depth is already contiguous, and only has to be padded. */
  readonly along: boolean;
  readonly batch: number;
  readonly to: Argument;
}

/** Rewrites an operand as [batch][rows][depth], zero beyond k, through 32 by 32 tiles. */
function repack(name: string, type: DType, p: Repack, target: Target) {
  const kit = new Kit(`${name}_repack`, target);
  const { b } = kit;
  const size = dtypeInfo[type].bytes;
  const suffix = size === 2 ? 'b16' : 'b32';
  const kind = size === 2 ? 'h' : 'r';
  const from = kit.pointer({ kind: 'buffer', index: p.index });
  const to = kit.pointer(p.to);
  const tid = kit.special('tid.x');
  const acrossK = blocksFor(p.depth, 32);
  const acrossRows = blocksFor(p.rows, 32);
  const block = kit.special('ctaid.x');
  const rest = b.def('r', 'div.u32', block, acrossK);
  const kBlock = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', rest, acrossK));
  const batch = b.def('r', 'div.u32', rest, acrossRows);
  const rowBlock = b.def('r', 'sub.u32', rest, b.def('r', 'mul.lo.u32', batch, acrossRows));
  const tx = b.def('r', 'and.b32', tid, 31);
  const ty = b.def('r', 'shr.u32', tid, 5);
  const shared = kit.shared(32 * 33 * 4);
  const k0 = b.def('r', 'shl.b32', kBlock, 5);
  const row0 = b.def('r', 'shl.b32', rowBlock, 5);
  const source = b.def('d', 'mul.lo.u64', kit.wide(batch), p.rows * p.k);
  const target_ = b.def('d', 'mul.lo.u64', kit.wide(batch), p.rows * p.depth);
  for (let i = 0; i < 32; i += 8) {
    const line = b.def('r', 'add.u32', ty, i);
    // Read along whatever is contiguous in the source.
    const [k, row] = p.along
      ? [b.def('r', 'add.u32', k0, tx), b.def('r', 'add.u32', row0, line)]
      : [b.def('r', 'add.u32', k0, line), b.def('r', 'add.u32', row0, tx)];
    const inside = b.def('p', 'and.pred', b.def('p', 'setp.lt.u32', k, p.k), b.def('p', 'setp.lt.u32', row, p.rows));
    const element = p.along
      ? b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', row, p.k), kit.wide(k))
      : b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', k, p.rows), kit.wide(row));
    const v = b.def(kind, `mov.${suffix}`, 0);
    b.emit(`@${inside} ld.global.nc.${suffix} ${v}, [${kit.at(from, b.def('d', 'add.u64', source, element), size)}]`);
    // shared[row][k]
    const [sr, sk] = p.along ? [line, tx] : [tx, line];
    const place = b.def('r', 'mad.lo.u32', b.def('r', 'mad.lo.u32', sr, 33, sk), 4, shared);
    b.emit(`st.shared.${suffix} [${place}], ${v}`);
  }
  kit.sync();
  for (let i = 0; i < 32; i += 8) {
    const line = b.def('r', 'add.u32', ty, i);
    const k = b.def('r', 'add.u32', k0, tx);
    const row = b.def('r', 'add.u32', row0, line);
    const inside = b.def(
      'p',
      'and.pred',
      b.def('p', 'setp.lt.u32', k, p.depth),
      b.def('p', 'setp.lt.u32', row, p.rows),
    );
    const place = b.def('r', 'mad.lo.u32', b.def('r', 'mad.lo.u32', line, 33, tx), 4, shared);
    const v = b.def(kind, `ld.shared.${suffix}`, `[${place}]`);
    const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', row, p.depth), kit.wide(k));
    b.emit(`@${inside} st.global.${suffix} [${kit.at(to, b.def('d', 'add.u64', target_, element), size)}], ${v}`);
  }
  return kit.finish([acrossK * acrossRows * p.batch, 1, 1], 256);
}

function product(r: Matmul, left: Operand, right: Operand, hopper: boolean, target: Target) {
  const kit = new Kit(`${r.name}_product`, target);
  const { b } = kit;
  const size = dtypeInfo[r.type].bytes;
  const a = kit.pointer(left.at);
  const bm = kit.pointer(right.at);
  const c = kit.pointer({ kind: 'buffer', index: outputIndex(r) });
  const finish = r.epilogue && inlineEpilogue(kit, r.epilogue);
  const tid = kit.special('tid.x');
  const base = b.def('r', 'mov.u32', 'dyn');
  const make = hopper
    ? wgmmaCore(r, target, { a: left.turned, b: right.turned })
    : mmaCore(r, target, sharedLimit(target.sm));
  const core = make(kit, r.type, base, tid);
  const { rows, columns, threads, stages, ahead } = core.tiles;
  const stageBytes = (rows + columns) * rowBytes;

  // Blocks in groups of eight rows, so that neighbours in time share operands in the L2 cache.
  const acrossM = blocksFor(r.m, rows);
  const acrossN = blocksFor(r.n, columns);
  const { m: mBlock, n: nBlock } = grouped(kit, acrossM, acrossN);
  const m0 = b.def('r', 'mul.lo.u32', mBlock, rows);
  const n0 = b.def('r', 'mul.lo.u32', nBlock, columns);
  const cy = kit.special('ctaid.y');
  const batch = kit.wide(b.def('r', 'mad.lo.u32', kit.special('ctaid.z'), 65535, cy));
  if (r.batch > 65535) kit.exitWhen(b.def('p', 'setp.ge.u64', batch, r.batch));
  const ofBatch = (o: Operand, from: string): string =>
    o.batch === 1 ? from : b.def('d', 'mad.lo.u64', batch, o.rows * o.depth * size, from);
  const storedBytes = dtypeInfo[outputType(r)].bytes;
  const baseC = b.def('d', 'mad.lo.u64', batch, r.m * r.n * storedBytes, c);

  const threads_ = { tid, threads };
  const copyA = tileCopier(kit, { ...left, size, from: ofBatch(left, a), tile: rows, start: m0 }, threads_);
  const copyB = tileCopier(kit, { ...right, size, from: ofBatch(right, bm), tile: columns, start: n0 }, threads_);

  const perStage = rowBytes / size;
  const steps = Math.ceil(r.k / perStage);
  const k = b.def('r', 'mov.u32', 0);
  const fill = b.def('r', 'mov.u32', base);
  const last = b.def('r', 'add.u32', base, (stages - 1) * stageBytes);
  const advance = (stage: string): void => {
    const wrap = b.def('p', 'setp.eq.u32', stage, last);
    const next = b.def('r', 'add.u32', stage, stageBytes);
    b.set(stage, 'selp.b32', base, next, wrap);
  };
  const fetch = (): void => {
    const more = b.def('p', 'setp.lt.u32', k, steps * perStage);
    kit.when(more, () => {
      copyA(fill, k);
      copyB(b.def('r', 'add.u32', fill, rows * rowBytes), k);
    });
    // Empty groups keep the count of what is outstanding right.
    b.emit('cp.async.commit_group');
    b.set(k, 'add.u32', k, perStage);
    advance(fill);
  };
  core.begin();
  for (let s = 0; s < ahead; s++) fetch();
  const use = b.def('r', 'mov.u32', base);
  const step = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', step, steps),
    () => {
      b.emit(`cp.async.wait_group ${ahead - 1}`);
      if (hopper) b.emit('fence.proxy.async.shared::cta');
      kit.sync();
      fetch();
      core.multiply(use);
      advance(use);
      b.set(step, 'add.u32', step, 1);
    },
  );
  b.emit('cp.async.wait_group 0');
  core.end();

  storePieces(kit, core.pieces(), {
    type: r.type,
    m: r.m,
    n: r.n,
    m0,
    n0,
    batch,
    base: baseC,
    bytes: storedBytes,
    finish,
    shared: base,
    tid,
  });
  const grid = [acrossM * acrossN, Math.min(r.batch, 65535), Math.ceil(r.batch / 65535)] as const;
  return kit.finish(grid, threads, stages * stageBytes);
}

const groupRows = 8;

function grouped(kit: Kit, acrossM: number, acrossN: number): { m: string; n: string } {
  const { b } = kit;
  const block = kit.special('ctaid.x');
  const perGroup = groupRows * acrossN;
  const group = b.def('r', 'div.u32', block, perGroup);
  const first = b.def('r', 'mul.lo.u32', group, groupRows);
  const height = b.def('r', 'min.u32', b.def('r', 'sub.u32', acrossM, first), groupRows);
  const within = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', group, perGroup));
  const n = b.def('r', 'div.u32', within, height);
  const m = b.def('r', 'add.u32', first, b.def('r', 'sub.u32', within, b.def('r', 'mul.lo.u32', n, height)));
  return { m, n };
}
