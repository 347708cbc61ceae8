// Attention's products on Hopper: a warpgroup multiplies 64 queries with all keys of a step, and their weights, from registers,
// with all values of it.

import { type Fragment, type MakeAttentionCore, zeroFragments } from './core.ts';
import { panelBytes, panelWidth } from './panels.ts';

/** A descriptor's fixed bits: 128-byte swizzle, 1024 bytes from eight rows to the next, and from one panel to the next. */
const fixedBits = (panelStride: number): string =>
  `0x${((1n << 62n) | (64n << 32n) | (BigInt(panelStride / 16) << 16n)).toString(16)}`;

export const wgmmaAttention: MakeAttentionCore = (kit, { type, depth, width, tiles, queries, tid }) => {
  const { b } = kit;
  const { keys, rows } = tiles;
  const warp = b.def('r', 'shr.u32', tid, 5);
  const results = zeroFragments(kit, 1, width);
  const scores = zeroFragments(kit, 1, keys);
  const steps = Math.ceil(depth / 16);
  const perPanel = panelWidth / 16;
  const descriptor = (address: string, panelStride: number): string => {
    const bits = b.def('r', 'bfe.u32', address, 4, 14);
    return b.def('d', 'or.b64', kit.wide(bits), fixedBits(panelStride));
  };
  /** The step-th 32 bytes of every row, in units of 16 bytes. */
  const along = (from: string, step: number, tileRows: number): string => {
    const moved = Math.floor(step / perPanel) * (panelBytes(tileRows) / 16) + (step % perPanel) * 2;
    return moved === 0 ? from : b.def('d', 'add.u64', from, moved);
  };
  const group = b.def('r', 'shr.u32', tid, 7);
  const own = descriptor(b.def('r', 'mad.lo.u32', group, panelBytes(64), queries), 16);
  const multiply = (into: readonly Fragment[], left: string, right: string, add: string, turned: boolean): void => {
    const n = into.length * 8;
    const flags = left.startsWith('{') ? `1, 1, ${Number(turned)}` : `1, 1, 0, ${Number(turned)}`;
    b.emit(
      `wgmma.mma_async.sync.aligned.m64n${n}k16.f32.${type}.${type} {${into.flat().join(', ')}}, ${left}, ${right}, ${add}, ${flags}`,
    );
  };
  const always = b.def('p', 'setp.ne.u32', 1, 0);
  const first = b.def('p', 'setp.ne.u32', 0, 0);
  const end = (): void => b.emit('wgmma.wait_group.sync.aligned 0');
  return {
    firstRow: b.def('r', 'shl.b32', warp, 4),
    results,
    begin: () => {},
    scores: (at) => {
      const right = descriptor(at, 16);
      b.emit('wgmma.fence.sync.aligned');
      for (let s = 0; s < steps; s++)
        multiply(scores[0]!, along(own, s, rows), along(right, s, keys), s === 0 ? first : always, false);
      b.emit('wgmma.commit_group.sync.aligned');
      end();
      return scores;
    },
    accumulate: ([weights], at) => {
      const right = descriptor(at, panelBytes(keys));
      b.emit('wgmma.fence.sync.aligned');
      weights!.forEach((four, t) => {
        // Sixteen keys are sixteen rows of 128 bytes.
        const values = t === 0 ? right : b.def('d', 'add.u64', right, (t * 16 * 128) / 16);
        multiply(results[0]!, `{${four.join(', ')}}`, values, always, true);
      });
      b.emit('wgmma.commit_group.sync.aligned');
    },
    end,
  };
};
