// Alerts: rules as data, looked at once a sample. An alert fires once, when its condition has held for a time, and clears once, when
// the condition has not held for a time. Nothing is sent anywhere: listen with `studio.on('alert')`, or have a file written.

import { formatBytes } from '../index.ts';
import type { Alert, RuntimeView, StudioSnapshot } from './types.ts';

export interface AlertRule {
  readonly name: string;
  /** What is wrong, in words, or true; false or null if nothing is. What is not known is nothing wrong. */
  readonly when: (snapshot: AlertSnapshot) => string | boolean | null;
  /** How long it must hold before the alert fires, and must not hold before it clears. */
  readonly forMs: number;
  readonly clearMs: number;
  /** Default `warn`. */
  readonly level?: 'error' | 'warn' | undefined;
}

/** A snapshot without what the rules decide. */
export type AlertSnapshot = Omit<StudioSnapshot, 'alerts' | 'health'>;

const pastKept = 50;
/** A leak report or an anomaly is news for so long. */
const newsMs = 60_000;
const leastErrors = 5;
const worstErrorShare = 0.05;
const leastRequests = 1000;
const leastHitRate = 0.8;

const open = (s: AlertSnapshot): readonly RuntimeView[] => s.runtimes.filter((r) => r.closedAt === null);

/** Devices of all open runtimes in a state, as a sentence. */
const inState = (s: AlertSnapshot, state: string, says: (ids: string) => string): string | null => {
  const ids = open(s).flatMap((r) => r.snapshot.devices.filter((d) => d.health?.state === state).map((d) => d.id));
  return ids.length > 0 ? says(ids.join(', ')) : null;
};

function hitRate(s: AlertSnapshot): { readonly hits: number; readonly requests: number } {
  const pools = open(s).flatMap((r) => r.snapshot.memory.places.flatMap((p) => (p.pool ? [p.pool] : [])));
  if (s.compute) pools.push({ ...s.compute.pool, requestedBytes: 0, roundedBytes: 0, heldBytes: 0 });
  const hits = pools.reduce((sum, p) => sum + p.hits, 0);
  return { hits, requests: hits + pools.reduce((sum, p) => sum + p.misses, 0) };
}

export const defaultAlerts: readonly AlertRule[] = [
  {
    name: 'memory-critical',
    level: 'error',
    forMs: 10_000,
    clearMs: 5000,
    when: (s) => {
      const full = open(s)
        .flatMap((r) => r.snapshot.memory.places)
        .find((p) => p.pressure === 'critical');
      return full ? `Memory of ${full.device} is nearly full: ${formatBytes(full.live)} are live.` : null;
    },
  },
  {
    name: 'device-lost',
    level: 'error',
    forMs: 0,
    clearMs: 0,
    when: (s) => inState(s, 'lost', (ids) => `Lost: ${ids}.`),
  },
  {
    name: 'quarantine',
    level: 'error',
    forMs: 0,
    clearMs: 0,
    when: (s) => inState(s, 'quarantined', (ids) => `${ids} was lost too often and gets no work.`),
  },
  {
    name: 'error-rate',
    level: 'error',
    forMs: 0,
    clearMs: 10_000,
    when: ({ lastMinute: { errors, launches, errorShare } }) =>
      errors >= leastErrors && errorShare !== null && errorShare > worstErrorShare
        ? `${errors} failures on ${launches} launches in the last minute.`
        : null,
  },
  {
    name: 'leak',
    forMs: 0,
    clearMs: 0,
    when: (s) => {
      const leak = open(s)
        .flatMap((r) => r.memory.leaks)
        .find((l) => s.time - l.timestamp < newsMs);
      return leak ? `Live memory of ${leak.device} keeps growing.` : null;
    },
  },
  {
    name: 'anomaly',
    forMs: 0,
    clearMs: 0,
    when: (s) => s.compute?.anomalies.find((a) => s.time - a.time < newsMs)?.text ?? null,
  },
  {
    name: 'stalled',
    forMs: 5000,
    clearMs: 0,
    when: (s) => {
      const stuck = open(s).find(
        (r) => r.queue !== null && r.queue > 0 && r.busy.length > 0 && r.busy.every((b) => b.share === 0),
      );
      return stuck ? `${stuck.queue} launches wait, and no device of ${stuck.name} is busy.` : null;
    },
  },
  {
    name: 'hit-rate',
    forMs: 0,
    clearMs: 0,
    when: (s) => {
      const { hits, requests } = hitRate(s);
      return requests >= leastRequests && hits < leastHitRate * requests
        ? `Only ${Math.round((100 * hits) / requests)} % of ${requests.toLocaleString('en')} pool requests found a buffer.`
        : null;
    },
  },
];

interface State {
  readonly rule: AlertRule;
  /** Since when the condition is what it is. */
  since: number;
  held: boolean;
  active: Alert | null;
}

export class Alerts {
  readonly #states: readonly State[];
  #past: Alert[] = [];

  constructor(rules: readonly AlertRule[]) {
    this.#states = rules.map((rule) => ({ rule, since: Number.NEGATIVE_INFINITY, held: false, active: null }));
  }

  get active(): readonly Alert[] {
    return this.#states.flatMap((s) => (s.active ? [s.active] : []));
  }

  /** Newest first. */
  get past(): readonly Alert[] {
    return this.#past;
  }

  /** Those that fired or cleared just now. */
  look(snapshot: AlertSnapshot): readonly Alert[] {
    return this.#states.flatMap((state) => this.#step(state, snapshot) ?? []);
  }

  #step(state: State, snapshot: AlertSnapshot): Alert | null {
    const { rule } = state;
    const { time } = snapshot;
    const found = ask(rule, snapshot);
    if (state.held !== (found !== null)) {
      state.held = found !== null;
      state.since = time;
    }
    const lasted = time - state.since;
    if (!state.active && found !== null && lasted >= rule.forMs) {
      state.active = { name: rule.name, level: rule.level ?? 'warn', text: found, firedAt: time, clearedAt: null };
      return state.active;
    }
    if (state.active && found === null && lasted >= rule.clearMs) {
      const cleared = { ...state.active, clearedAt: time };
      state.active = null;
      this.#past = [cleared, ...this.#past].slice(0, pastKept);
      return cleared;
    }
    return null;
  }
}

/** A rule that throws says nothing. */
function ask(rule: AlertRule, snapshot: AlertSnapshot): string | null {
  try {
    const found = rule.when(snapshot);
    return found === true ? rule.name : found === false ? null : found;
  } catch {
    return null;
  }
}
