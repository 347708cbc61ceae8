// Kernels that keep data on the chip: squares of transposes, rows, attention, scans. A file of its own, fetched where the adapter is a
// GPU: on software adapters barriers cost more than the memory they save, and plain forms are faster.

import type { Attention, Kernel, Rows, Scan } from '../../../kernel/kernel.ts';
import type { Capabilities } from '../../device.ts';
import type { Pass, PassPlan, Traits } from '../plan.ts';
import type { InPlace } from '../wgsl/buffers.ts';
import { renderAttention } from './attention.ts';
import { attentionHeads } from './attention-tiles.ts';
import { rowRoom } from './row-layout.ts';
import { renderRows } from './rows.ts';
import { renderLines } from './scan.ts';
import { renderSquares } from './squares.ts';

export interface OnChip {
  /** Null where the kernel reads nothing across. */
  readonly squares: (kernel: Kernel, traits: Traits, inPlace: InPlace) => Pass | null;
  readonly rows: (stack: Rows, traits: Traits) => PassPlan;
  readonly attention: (r: Attention, traits: Traits) => PassPlan;
  /** Null where other lines lie between the elements of one. */
  readonly scan: (w: Scan, traits: Traits) => PassPlan | null;
  /** What the device's capabilities say of them. */
  readonly caps: (traits: Traits) => Pick<Capabilities, 'rows' | 'attention'>;
}

export const onChip: OnChip = {
  squares: renderSquares,
  rows: renderRows,
  attention: renderAttention,
  scan: renderLines,
  caps: (traits) => ({ rows: rowRoom(traits), attention: attentionHeads(traits) }),
};
