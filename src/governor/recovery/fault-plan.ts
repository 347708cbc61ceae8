// Plans of faults: which calls of a device fail, by their number, and how.

import { seededBits } from '../../base/seeded.ts';

export const faultSites = ['allocate', 'write', 'read', 'prepare', 'launch', 'record', 'replay', 'mark'] as const;
export type FaultSite = (typeof faultSites)[number];

/**
 * How a call fails. `hang`: the device stops answering; reads and marks from then on never settle (a synchronous read, which
 * would block for ever, throws DeadlineExceeded), until the device is lost or closed.
 */
export const faultKinds = ['out-of-memory', 'kernel', 'transient', 'lost', 'hang'] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  /** Which calls are counted. */
  readonly at: FaultSite | 'any';
  /** The first call that fails, counted from 1. */
  readonly nth: number;
  /** How many fail from there on. Default 1; Infinity: all. */
  readonly times?: number;
  readonly as: FaultKind;
}

export interface FaultPlan {
  readonly faults: readonly Fault[];
  /**
   * The device can be opened anew after a loss: `reopen` gives the device underneath, with this plan. Without it a lost device
   * stays lost, as CUDA does within a process.
   */
  readonly rebirth?: FaultPlan;
  /** Every buffer must be released, also where the garbage collector would do it, as on any device that can be lost. Default true. */
  readonly strict?: boolean;
}

/** A plan from a seed: one to three faults within the first `calls` calls. */
export function randomFaults(seed: number, calls: number, kinds: readonly FaultKind[] = faultKinds): FaultPlan {
  const bits = seededBits(seed);
  const next = (below: number): number => bits() % below;
  const sites = ['any', ...faultSites] as const;
  const faults = Array.from({ length: 1 + next(3) }, (): Fault => {
    const at = sites[next(sites.length)]!;
    return {
      at,
      nth: 1 + next(at === 'any' ? calls : Math.ceil(calls / 4)),
      times: 1 + next(3),
      as: kinds[next(kinds.length)]!,
    };
  });
  return { faults };
}

/** Counts the calls of a device and says which of them fail. */
export class FaultTurns {
  plan: FaultPlan;
  readonly calls: Record<FaultSite | 'any', number>;
  /** Faults that happened, in order. */
  readonly injected: { readonly at: FaultSite; readonly call: number; readonly as: FaultKind }[] = [];

  constructor(plan: FaultPlan) {
    this.plan = plan;
    this.calls = Object.fromEntries(['any', ...faultSites].map((s) => [s, 0])) as Record<FaultSite | 'any', number>;
  }

  /** The next call of a kind: how it fails, one way after the other; most do not. */
  *next(site: FaultSite): Generator<FaultKind> {
    const any = ++this.calls.any;
    const count = ++this.calls[site];
    for (const { at, nth, times = 1, as } of this.plan.faults) {
      const call = at === 'any' ? any : at === site ? count : 0;
      if (call < nth || call >= nth + times) continue;
      this.injected.push({ at: site, call: count, as });
      yield as;
    }
  }
}
