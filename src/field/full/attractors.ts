// Content that was rewarded or punished, kept on the device: a slot for each, taken when the reward comes.

import type { Runtime, Tensor } from '../../index.ts';
import type { StateTensors } from '../program.ts';

/** One content to be kept. */
export interface Store {
  readonly row: number;
  readonly slot: number;
  /** Content channels, and slots there are. */
  readonly content: number;
  readonly slots: number;
}

/** The attractors with the present content in some slots: [N, slots, D, H, W, content]. */
export function withAttractors(rt: Runtime, state: StateTensors, stores: readonly Store[]): Tensor {
  const field = state.field!;
  const [rows, d, h, w] = field.shape as [number, number, number, number];
  const { content, slots } = stores[0]!;
  const shape = [rows, slots, d, h, w, content];
  const now = field
    .slice([null, null, null, null, [0, content]])
    .cast('f32')
    .reshape([rows, 1, d, h, w, content]);
  const small = [rows, slots, 1, 1, 1, 1];
  const [row, slot] = [rt.iota(small, 0), rt.iota(small, 1)];
  let made = state.attractors ?? rt.zeros(shape);
  for (const s of stores) {
    const here = row.equal(s.row).logicalAnd(slot.equal(s.slot)).broadcastTo(shape);
    made = rt.where(here, now.broadcastTo(shape), made);
  }
  return made.compute();
}
