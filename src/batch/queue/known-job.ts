// What a worker knows of a job that has not ended, as it stands in Redis.

import type { Capability } from '../transport.ts';

/** Where the chunks of a job may go as well, and from which backlog on. */
export interface Overflow {
  readonly to: Capability;
  readonly slowdown: number;
}

export interface KnownJob {
  readonly id: string;
  readonly needs: Capability;
  readonly overflow: Overflow | null;
  readonly cancelled: boolean;
  /** From which multiple of the median on a chunk is a straggler; null if none is. */
  readonly stragglers: number | null;
  /** It was submitted more than once: chunks may be in a parcel, and in the queue alone. */
  readonly again: boolean;
}

export const jobFields = ['needs', 'overflow', 'cancelled', 'stragglers', 'again'] as const;

/** Null if there is no such job. */
export function knownJob(id: string, fields: readonly (string | null)[] | undefined): KnownJob | null {
  const [needs, overflow, cancelled, stragglers, again] = fields ?? [];
  if (!needs) return null;
  return {
    id,
    needs,
    overflow: overflow ? (JSON.parse(overflow) as Overflow) : null,
    cancelled: cancelled === '1',
    stragglers: stragglers ? Number(stragglers) : null,
    again: again === '1',
  };
}
