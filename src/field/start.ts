// The state of a field before its first cycle.

import type { Runtime, Tensor } from '../index.ts';
import { attentionLength } from './cycle/attention.ts';
import { projected } from './cycle/features.ts';
import { measure } from './cycle/measure.ts';
import type { CycleParts } from './cycle/shape.ts';
import { noveltyPositions } from './full/novelty.ts';
import { sampleCount, tablesOf } from './full/tables.ts';
import { channelGroups, rangeOf, startOf, totalChannels } from './layout.ts';
import type { ResolvedField } from './options.ts';
import type { StateTensors } from './program.ts';
import { streamKey } from './random.ts';

/** Every value from the seed: mean and spread by kind of channel. Call it in a scope that says where. */
export function startTensors(rt: Runtime, parts: CycleParts, options: ResolvedField, seed: number): StateTensors {
  const { shape } = parts;
  const channels = totalChannels(shape.layout);
  const size = [1, ...shape.edges, channels];
  const draw = (stream: 'start' | 'startOfDynamics'): Tensor =>
    rt.random.normal(size, { key: rt.tensor(Uint32Array.from(streamKey(seed, stream)), [1, 2]) });
  const [dynamics] = rangeOf(shape.layout, 'decay');
  const c = rt.iota([1, 1, 1, 1, channels], 4);
  const noise = rt.where(c.less(dynamics).broadcastTo(size), draw('start'), draw('startOfDynamics'));
  let [mean, std]: [Tensor, Tensor] = [rt.zeros(c.shape), rt.zeros(c.shape)];
  for (const group of channelGroups) {
    const inside = c.greaterEqual(rangeOf(shape.layout, group)[0]);
    mean = rt.where(inside, startOf[group].mean, mean);
    std = rt.where(inside, startOf[group].std, std);
  }
  const field = noise.mul(std.broadcastTo(size)).add(mean.broadcastTo(size)).cast(shape.precision);
  const made = withTail(rt, field, parts);
  if (shape.model === 'fused') return made;
  const positions = rt.tensor(noveltyPositions(options, seed), [1, sampleCount]).keep();
  return {
    ...made,
    activity: rt
      .zeros([1, ...shape.edges])
      .compute()
      .keep(),
    positions,
  };
}

/** A field with the tail that the cycle before would have left. */
export function withTail(rt: Runtime, field: Tensor, parts: CycleParts): StateTensors {
  const stored = field.compute();
  const tail = measure(rt, stored.cast('f32'), null, parts);
  return { field: stored.keep(), tail: padded(rt, tail, parts).compute().keep() };
}

/** The tail of model `full` is longer; a cycle reads nothing but the record of the one before. */
function padded(rt: Runtime, tail: Tensor, { shape, projection, attention }: CycleParts): Tensor {
  if (shape.model === 'fused') return tail;
  const length = tablesOf(shape).tailLength + (attention ? attentionLength : 0) + (projection ? projected : 0);
  return rt.concat([tail, rt.zeros([tail.shape[0]!, length - tail.shape[1]!])], 1);
}
