// A slice of a field to look at.

import type { FieldBody } from './body.ts';
import { FieldConfigError } from './errors.ts';
import { totalChannels } from './layout.ts';

/** Values of one channel on a slice across an axis: row-major over the other two axes. */
export async function sliceOf(body: FieldBody, axis: 0 | 1 | 2, index: number, channel: number): Promise<Float32Array> {
  const { edges, layout } = body.options.shape;
  const channels = totalChannels(layout);
  const within = (v: number, n: number): boolean => Number.isSafeInteger(v) && v >= 0 && v < n;
  if (!within(axis, 3) || !within(index, edges[axis]!) || !within(channel, channels))
    throw new FieldConfigError({
      where: 'slice',
      problem: `there is no slice ${String(index)} across axis ${String(axis)} of channel ${String(channel)}`,
      fix: `Axes are 0, 1, 2 with ${edges.join(', ')} cells; channels go from 0 to ${channels - 1}.`,
    });
  using part = body.rt.scope({ device: body.device }, () => {
    const at = [0, 1, 2].map((a) => (a === axis ? ([index, index + 1] as const) : null));
    const range = [channel, channel + 1] as const;
    return body.tensors
      .field!.slice([null, ...at, range])
      .cast('f32')
      .compute();
  });
  return (await part.data()) as Float32Array;
}
