// Which channels hold what: content first, then temporal, then the four groups of dynamics.

import { FieldConfigError } from './errors.ts';

/** Channels of each kind, in this order. */
export interface ChannelLayout {
  readonly content: number;
  readonly temporal: number;
  readonly decay: number;
  readonly diffusion: number;
  readonly coupling: number;
  readonly plasticity: number;
}

export const channelGroups = ['content', 'temporal', 'decay', 'diffusion', 'coupling', 'plasticity'] as const;
export type ChannelGroup = (typeof channelGroups)[number];

/** How the channels of a group start: mean and standard deviation. */
export const startOf: Readonly<Record<ChannelGroup, { readonly mean: number; readonly std: number }>> = {
  content: { mean: 0.05, std: 0.2 },
  temporal: { mean: 0.05, std: 0.2 },
  decay: { mean: 2, std: 0.1 },
  diffusion: { mean: 0, std: 0.05 },
  coupling: { mean: 0, std: 0.05 },
  plasticity: { mean: 0, std: 0.2 },
};

export const totalChannels = (l: ChannelLayout): number => channelGroups.reduce((n, g) => n + l[g], 0);

export const dynamicsChannels = (l: ChannelLayout): number => l.decay + l.diffusion + l.coupling + l.plasticity;

/** First and last channel (exclusive) of a group. */
export function rangeOf(l: ChannelLayout, group: ChannelGroup): readonly [number, number] {
  let first = 0;
  for (const g of channelGroups) {
    if (g === group) return [first, first + l[g]];
    first += l[g];
  }
  return [first, first];
}

/**
 * A layout of so many channels: a quarter for dynamics, but at most 16, and of the rest two thirds for content. 64 gives
 * 32 content, 16 temporal and 4 for each group of dynamics. `dynamics` sets their number.
 */
export function layoutOf(channels: number, dynamics = Math.min(16, Math.floor(channels / 16) * 4)): ChannelLayout {
  const each = dynamics / 4;
  const temporal = Math.floor((channels - dynamics) / 3);
  return {
    content: channels - dynamics - temporal,
    temporal,
    decay: each,
    diffusion: each,
    coupling: each,
    plasticity: each,
  };
}

export function checkLayout(given: ChannelLayout, model: 'fused' | 'full', where: string): ChannelLayout {
  for (const g of channelGroups) {
    const n = given[g];
    if (Number.isSafeInteger(n) && n >= (g === 'content' ? 1 : 0)) continue;
    throw new FieldConfigError({
      where,
      problem: `channels.${g} is ${String(n)}`,
      fix: `Give a whole number for each of ${channelGroups.join(', ')}, and at least one content channel.`,
    });
  }
  const four = (['decay', 'diffusion', 'coupling', 'plasticity'] as const).every((g) => given[g] === 4);
  if (model === 'full' && !(four && given.temporal > 0))
    throw new FieldConfigError({
      where,
      problem: `model 'full' has four channels for each group of dynamics and some temporal ones, not ${JSON.stringify(given)}`,
      fix: 'Give 4 to decay, diffusion, coupling and plasticity, or a number of channels, such as 64.',
    });
  return given;
}
