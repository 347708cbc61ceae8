// Model `fused`: one cycle of N fields as an expression of tensors, to be compiled once.
//
//   imprint and evolution  reads the field and its neighbours, writes the field
//   planes                 sums over the channels of each cell
//   sums                   sums over the cells: statistics, gradient, and the emptiest cell, where the next cycle imprints
//   tail                   motors, statistics and the next imprint's profile, as one tensor
//
// That the emptiest cell is looked for at the end of a cycle instead of at the beginning of the next changes nothing: the field
// in between is the same. It saves a pass over the field.

import type { Runtime, Tensor } from '../../index.ts';
import { dynamicsChannels, totalChannels } from '../layout.ts';
import { type StreamName, streams } from '../random.ts';
import { type DialName, dialOf } from './dials.ts';
import { blurWeights, evolved } from './evolution.ts';
import { imprintOf, inputOf, profileIn } from './imprint.ts';
import { measure } from './measure.ts';
import type { CycleParts } from './shape.ts';

export interface CycleResult {
  readonly field: Tensor;
  readonly tail: Tensor;
}

/** `field` [N, D, H, W, C], `tail` [N, ·] of the cycle before, `input` [N, ·], `keys` [N, ·] of all streams. */
export type CycleBody = (field: Tensor, tail: Tensor, input: Tensor, keys: Tensor) => CycleResult;

export function fusedCycle(rt: Runtime, parts: CycleParts): CycleBody {
  const { shape, plan, near } = parts;
  const { layout } = shape;
  const channels = totalChannels(layout);
  return (field, tail, input, keys) => {
    const x = field.cast('f32');
    const given = inputOf(input, shape);
    const strength = given.reward.abs().minimum(1).mul(0.25).add(0.25).mul(given.imprints);
    const lasting = channels - dynamicsChannels(layout);
    const everywhere = (name: DialName): Tensor =>
      dialOf(input, name, shape).reshape([-1, 1, 1, 1, 1]).broadcastTo(field.shape);
    const keeps = rt.iota([1, 1, 1, 1, channels], 4).less(lasting).broadcastTo(field.shape);
    const key = cycleKeys(keys, 'spontaneous', given.cycle);
    const next = evolved(x, near, 1, {
      keep: rt.where(keeps, everywhere('keep'), 1),
      mix: plan.spreads ? { stays: everywhere('stays'), comes: everywhere('comes') } : null,
      blur: plan.blur,
      imprint: imprintOf(rt, field, profileIn(tail, shape), given, strength, parts, blurWeights[plan.blur]),
      noise: plan.noisy ? rt.random.normal(field.shape, { key }).mul(everywhere('noise')) : undefined,
    }).cast(shape.precision);
    return { field: next, tail: measure(rt, next.cast('f32'), input, parts) };
  };
}

/** The keys of a stream in a cycle: those of the field plus the two words of the cycle's number. */
export function cycleKeys(keys: Tensor, stream: StreamName, words: Tensor): Tensor {
  const first = 2 * streams[stream];
  return keys.slice([null, [first, first + 2]]).add(words.cast('u32'));
}
