// The state of a field before its first cycle.

import type { Runtime, Tensor } from '../index.ts';
import { Neighbours } from './cycle/grid.ts';
import { measure } from './cycle/measure.ts';
import { channelGroups, rangeOf, startOf, totalChannels } from './layout.ts';
import type { ResolvedField } from './options.ts';
import type { StateTensors } from './program.ts';
import { streamKey } from './random.ts';

/** Every value from the seed: mean and spread by kind of channel. Call it in a scope that says where. */
export function startTensors(rt: Runtime, { shape, settings, boundary, seed }: ResolvedField): StateTensors {
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
  return withTail(rt, field, { shape, settings, boundary });
}

/** A field with the tail that the cycle before would have left. */
export function withTail(
  rt: Runtime,
  field: Tensor,
  { shape, settings, boundary }: Pick<ResolvedField, 'shape' | 'settings' | 'boundary'>,
): StateTensors {
  const near = new Neighbours(rt, shape.edges, boundary);
  const stored = field.compute();
  const tail = measure(rt, stored.cast('f32'), { shape, settings, near, features: false }).compute();
  near.dispose();
  return { field: stored.keep(), tail: tail.keep() };
}
