// The circuit breaker of one device: after repeated failures no work is sent until probes have gone well.
//
//   closed ──failures in the window, or a loss──▶ open ──cool-down──▶ half-open ──good probes──▶ closed
//                                                  ▲                       │
//                                                  └─────────failure───────┘   (the cool-down doubles)
//   any ──more resets than allowed in their window──▶ quarantined, until `release` is called
//
// Half-open lets one probe through at a time. A probe whose outcome nobody reports is forgotten after the cool-down.

import { type Clock, systemClock } from './clock.ts';

export type BreakerState = 'closed' | 'open' | 'half-open' | 'quarantined';

export interface BreakerOptions {
  /** Failures within the window that open it. */
  readonly failures: number;
  readonly failureWindowMs: number;
  /** Time without work before the first probe. */
  readonly coolDownMs: number;
  /** Good probes that close it. */
  readonly probes: number;
  /** Resets of the device allowed within the window. */
  readonly resets: number;
  readonly resetWindowMs: number;
}

const longestCoolDownMs = 60_000;

export class Breaker {
  readonly #options: BreakerOptions;
  readonly #clock: Clock;
  readonly #onChange: (to: BreakerState, from: BreakerState) => void;
  #state: BreakerState = 'closed';
  #failures: number[] = [];
  #resets: number[] = [];
  #coolDown: number;
  #openUntil = 0;
  #good = 0;
  /** When the probe under way was let through; null without one. */
  #probing: number | null = null;

  constructor(
    options: BreakerOptions,
    clock: Clock = systemClock,
    onChange: (to: BreakerState, from: BreakerState) => void = () => {},
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#coolDown = options.coolDownMs;
  }

  get state(): BreakerState {
    if (this.#state === 'open' && this.#clock.now() >= this.#openUntil) {
      this.#good = 0;
      this.#probing = null;
      this.#become('half-open');
    }
    return this.#state;
  }

  /** Failures within the window. */
  get recentFailures(): number {
    return recent(this.#failures, this.#clock.now() - this.#options.failureWindowMs);
  }

  /** Resets within their window. */
  get recentResets(): number {
    return recent(this.#resets, this.#clock.now() - this.#options.resetWindowMs);
  }

  /** Milliseconds until it opens up, or a failure is forgotten, by itself; null if nothing will change. */
  get changesIn(): number | null {
    const now = this.#clock.now();
    if (this.state === 'open') return this.#openUntil - now;
    const { failureWindowMs } = this.#options;
    const next = this.#failures.find((t) => t > now - failureWindowMs);
    return next === undefined || this.#state === 'quarantined' ? null : next + failureWindowMs - now;
  }

  /** Whether work would be let through; asking changes nothing. */
  get admits(): boolean {
    const { state } = this;
    if (state === 'half-open') return this.#probing === null || this.#clock.now() - this.#probing >= this.#coolDown;
    return state === 'closed';
  }

  /** Lets a piece of work through or not; in half-open it is the probe, and its outcome is awaited. */
  admit(): boolean {
    if (!this.admits) return false;
    if (this.#state === 'half-open') this.#probing = this.#clock.now();
    return true;
  }

  succeeded(): void {
    if (this.state !== 'half-open') return;
    this.#probing = null;
    if (++this.#good < this.#options.probes) return;
    this.#failures = [];
    this.#coolDown = this.#options.coolDownMs;
    this.#become('closed');
  }

  failed(): void {
    const now = this.#clock.now();
    const { state } = this;
    if (state === 'quarantined') return;
    this.#failures = [...this.#failures.filter((t) => t > now - this.#options.failureWindowMs), now];
    if (state === 'half-open') {
      this.#coolDown = Math.min(2 * this.#coolDown, longestCoolDownMs);
      this.#open();
    } else if (state === 'closed' && this.#failures.length >= this.#options.failures) this.#open();
  }

  /** The device is gone: no work until it was reset. */
  lost(): void {
    if (this.state === 'quarantined') return;
    this.#failures.push(this.#clock.now());
    if (this.#state !== 'open') this.#open();
  }

  /** Counts a reset if one is allowed; one too many puts the device into quarantine. */
  reset(): boolean {
    if (this.#state === 'quarantined') return false;
    const now = this.#clock.now();
    this.#resets = this.#resets.filter((t) => t > now - this.#options.resetWindowMs);
    if (this.#resets.length >= this.#options.resets) {
      this.#become('quarantined');
      return false;
    }
    this.#resets.push(now);
    return true;
  }

  /** A new device is in its place: probes may start at once. */
  reborn(): void {
    if (this.#state === 'quarantined') return;
    this.#good = 0;
    this.#probing = null;
    this.#become('half-open');
  }

  /** Ends a quarantine by hand. */
  release(): void {
    this.#failures = [];
    this.#resets = [];
    this.#coolDown = this.#options.coolDownMs;
    this.#become('closed');
  }

  #open(): void {
    this.#openUntil = this.#clock.now() + this.#coolDown;
    this.#probing = null;
    this.#become('open');
  }

  #become(to: BreakerState): void {
    const from = this.#state;
    if (to === from) return;
    this.#state = to;
    this.#onChange(to, from);
  }
}

const recent = (times: readonly number[], after: number): number => times.filter((t) => t > after).length;
