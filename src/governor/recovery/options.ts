// The options of recovery, as a table: default, and what a value must be. A bad or unknown key is named.

import { ArgumentError } from '../../errors.ts';

export interface RecoveryOptions {
  /** Attempts in all at something that fails for a passing reason. Default 3. */
  readonly attempts?: number | undefined;
  /** Waits in ms between attempts; the last one repeats. Default [50, 200]. */
  readonly backoffMs?: readonly number[] | undefined;
  /** The longest wait for a device, in ms; a device that takes longer counts as lost. Default 60,000; Infinity for no limit. */
  readonly timeoutMs?: number | undefined;
  /** Failures within `failureWindowMs` after which a device gets no more work for `coolDownMs`. Default 5 in 60,000 ms. */
  readonly failures?: number | undefined;
  readonly failureWindowMs?: number | undefined;
  /** Default 1000 ms; doubled each time the device fails again when it is tried, up to a minute. */
  readonly coolDownMs?: number | undefined;
  /** Good results in a row that make a device trusted again. Default 3. */
  readonly probes?: number | undefined;
  /** How often a lost device is opened anew within `resetWindowMs`; then it is left alone. Default 3 in 600,000 ms. */
  readonly resets?: number | undefined;
  readonly resetWindowMs?: number | undefined;
  /** How often a device that gets no work is tried in the background, in ms; Infinity for never. Default 5000. */
  readonly probeEveryMs?: number | undefined;
  /** Whether another device takes over when one fails for good. Default true. */
  readonly fallback?: boolean | undefined;
  /** Which uploads stay in host memory too, so that they outlive a lost device: those up to `keepBytes`, all, none. Default 'small'. */
  readonly keep?: 'small' | 'all' | 'none' | undefined;
  /** Default 1 MiB. */
  readonly keepBytes?: number | undefined;
  /** Events remembered by `rt.recovery.history()`. Default 256. */
  readonly history?: number | undefined;
}

/** What one call allows, in place of the runtime's options. */
export interface AttemptPolicy {
  /** Names the call in errors and events. */
  readonly what: string;
  readonly attempts: number;
  readonly backoffMs: readonly number[];
  /** 'failures': another device takes over after failures, but not for lack of room. */
  readonly fallback: boolean | 'failures';
}

export type ResolvedRecovery = { readonly [K in keyof RecoveryOptions]-?: Exclude<RecoveryOptions[K], undefined> };

interface Rule<T> {
  readonly default: T;
  readonly must: string;
  readonly holds: (value: unknown) => boolean;
}

const whole = (least: number, value: number): Rule<number> => ({
  default: value,
  must: `a whole number, at least ${least}`,
  holds: (v) => Number.isSafeInteger(v) && (v as number) >= least,
});

const duration = (value: number): Rule<number> => ({
  default: value,
  must: 'a time in ms, above 0',
  holds: (v) => typeof v === 'number' && v > 0,
});

const kept = ['small', 'all', 'none'] as const;

const rules: { readonly [K in keyof ResolvedRecovery]: Rule<ResolvedRecovery[K]> } = {
  attempts: whole(1, 3),
  backoffMs: {
    default: [50, 200],
    must: 'a list of times in ms, each at least 0 and finite',
    holds: (v) => Array.isArray(v) && v.every((ms) => Number.isFinite(ms) && ms >= 0),
  },
  timeoutMs: duration(60_000),
  failures: whole(1, 5),
  failureWindowMs: duration(60_000),
  coolDownMs: duration(1000),
  probes: whole(1, 3),
  resets: whole(0, 3),
  resetWindowMs: duration(600_000),
  probeEveryMs: duration(5000),
  fallback: { default: true, must: 'true or false', holds: (v) => typeof v === 'boolean' },
  keep: {
    default: 'small',
    must: `one of ${kept.join(', ')}`,
    holds: (v) => kept.includes(v as (typeof kept)[number]),
  },
  keepBytes: whole(0, 2 ** 20),
  history: whole(1, 256),
};

/** The options with their defaults; throws ArgumentError that names the key. */
export function resolveRecovery(options: RecoveryOptions = {}): ResolvedRecovery {
  if (typeof options !== 'object' || options === null) throw bad('recovery', options, 'an object');
  const unknown = Object.keys(options).find((k) => !(k in rules));
  if (unknown !== undefined) {
    throw new ArgumentError({
      code: 'UNKNOWN_OPTION',
      message: `recovery.${unknown}: there is no such option`,
      fix: `Options of recovery are ${Object.keys(rules).join(', ')}.`,
      where: 'createRuntime',
    });
  }
  const resolved = Object.entries(rules).map(([key, rule]) => {
    const value = options[key as keyof RecoveryOptions];
    if (value === undefined) return [key, rule.default];
    if (!rule.holds(value)) throw bad(`recovery.${key}`, value, rule.must);
    return [key, value];
  });
  return Object.fromEntries(resolved) as ResolvedRecovery;
}

function bad(key: string, value: unknown, must: string): ArgumentError {
  return new ArgumentError({
    code: 'BAD_OPTION',
    message: `${key}: ${typeof value === 'string' ? `'${value}'` : String(value)} is not ${must}`,
    fix: `Give ${must}, or leave it out.`,
    where: 'createRuntime',
  });
}
