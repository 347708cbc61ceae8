// The circuit breaker of one device: after repeated failures no work is sent until probes have gone well.
//
//   closed ──failures in the window, or a loss──▶ open ──cool-down──▶ half-open ──good probes──▶ closed
//                                                  ▲                       │
//                                                  └─────────failure───────┘   (the cool-down doubles)
//   any ──more resets than allowed in their window──▶ quarantined, until `release` is called
//
// Half-open lets one probe through at a time. A probe whose end nobody reports is forgotten after the cool-down.

import { type Clock, systemClock } from './clock.ts';
import { Recent } from './recent.ts';

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
  readonly #failures: Recent;
  readonly #resets: Recent;
  #coolDown: number;
  #openUntil = 0;
  #good = 0;
  /** When the probe under way was let through; null without one. */
  #probing: number | null = null;
  /** A probe was let through since the last good result: others say nothing about the device as it is now. */
  #tried = false;

  constructor(
    options: BreakerOptions,
    clock: Clock = systemClock,
    onChange: (to: BreakerState, from: BreakerState) => void = () => {},
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#coolDown = options.coolDownMs;
    this.#failures = new Recent(clock, options.failureWindowMs);
    this.#resets = new Recent(clock, options.resetWindowMs);
  }

  get state(): BreakerState {
    if (this.#state === 'open' && this.#clock.now() >= this.#openUntil) {
      this.#probation();
    }
    return this.#state;
  }

  /** Failures within the window. */
  get recentFailures(): number {
    return this.#failures.count;
  }

  /** Resets within their window. */
  get recentResets(): number {
    return this.#resets.count;
  }

  /** Milliseconds until it opens up, or a probe or failure is forgotten, by itself; null if nothing will change. */
  get changesIn(): number | null {
    const now = this.#clock.now();
    if (this.state === 'open') return this.#openUntil - now;
    if (!this.admits && this.#probing !== null) return this.#probing + this.#coolDown - now;
    return this.#state === 'quarantined' ? null : this.#failures.forgetsIn;
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
    if (this.#state === 'half-open') {
      this.#probing = this.#clock.now();
      this.#tried = true;
    }
    return true;
  }

  /** The probe under way has ended, whatever came of it: the next one may start. */
  over(): void {
    this.#probing = null;
  }

  succeeded(): void {
    if (this.state !== 'half-open' || !this.#tried) return;
    this.#probing = null;
    this.#tried = false;
    if (++this.#good < this.#options.probes) return;
    this.#failures.clear();
    this.#coolDown = this.#options.coolDownMs;
    this.#become('closed');
  }

  failed(): void {
    const { state } = this;
    if (state === 'quarantined') return;
    this.#failures.add();
    if (state === 'half-open') {
      this.#coolDown = Math.min(2 * this.#coolDown, longestCoolDownMs);
      this.#open();
    } else if (state === 'closed' && this.#failures.count >= this.#options.failures) this.#open();
  }

  /** The device is gone: no work until it was reset. */
  lost(): void {
    if (this.state === 'quarantined') return;
    this.#failures.add();
    if (this.#state !== 'open') this.#open();
  }

  /** Counts a reset if one is allowed; one too many puts the device into quarantine. */
  reset(): boolean {
    if (this.#state === 'quarantined') return false;
    if (this.#resets.count >= this.#options.resets) {
      this.#become('quarantined');
      return false;
    }
    this.#resets.add();
    return true;
  }

  /** A new device is in its place: probes may start at once. */
  reborn(): void {
    if (this.#state === 'quarantined') return;
    this.#probation();
  }

  /** Ends a quarantine by hand. */
  release(): void {
    this.#failures.clear();
    this.#resets.clear();
    this.#coolDown = this.#options.coolDownMs;
    this.#become('closed');
  }

  #probation(): void {
    this.#good = 0;
    this.#probing = null;
    this.#tried = false;
    this.#become('half-open');
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
