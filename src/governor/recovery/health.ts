// The health of every device of a runtime: what failed, what was done about it, and what the router should think of it.
//
// `penalty` is the factor by which the router makes a device's predicted time worse: 1 when nothing is wrong, more after
// failures (it fades with them), Infinity while no work may be sent. A device on probation costs what it always cost, but gets
// one piece of work at a time: at a higher price it might never be tried. Whoever remembers what was decided by it is told when it
// changes, also by the mere passing of time. The history is bounded; the oldest events go first.

import { checkMethods } from '../../base/signatures.ts';
import type { DeviceId } from '../../devices/device.ts';
import { Breaker, type BreakerState } from './breaker.ts';
import { type Clock, idleClock } from './clock.ts';
import { type ResolvedRecovery, resolveRecovery } from './options.ts';

export type HealthEventKind = 'failure' | 'lost' | 'reset' | 'reborn' | 'fallback' | 'return' | BreakerState;

export interface HealthEvent {
  readonly device: DeviceId;
  readonly kind: HealthEventKind;
  /** Milliseconds on the runtime's clock. */
  readonly at: number;
  readonly detail: string;
}

export interface DeviceHealth {
  readonly device: DeviceId;
  readonly state: BreakerState;
  /** ≥ 1; Infinity while no work may be sent. */
  readonly penalty: number;
  /** Within the windows of the options. */
  readonly recentFailures: number;
  readonly recentResets: number;
  /** Since the runtime was made. */
  readonly failures: number;
  readonly successes: number;
  readonly lastError: string | null;
  /** Another device does its work at the moment. */
  readonly fallenBack: boolean;
  /** Probes since it was last trusted. */
  readonly probes: number;
}

interface Entry {
  readonly breaker: Breaker;
  failures: number;
  successes: number;
  lastError: string | null;
  fallenBack: boolean;
  probes: number;
  /** Ends the wait for the next change that comes by itself. */
  cancel: () => void;
}

/** Each recent failure makes a device look this much slower. */
const penaltyPerFailure = 1;

export class Health {
  readonly #options: ResolvedRecovery;
  readonly #clock: Clock;
  readonly #devices = new Map<DeviceId, Entry>();
  readonly #history: HealthEvent[] = [];
  readonly #changed: () => void;

  /** @internal `changed` is told when a device's penalty, or whether it is usable, is not what it was. */
  constructor(options: ResolvedRecovery = resolveRecovery(), clock: Clock = idleClock, changed: () => void = () => {}) {
    this.#options = options;
    this.#clock = clock;
    this.#changed = changed;
  }

  /** @internal Stops watching the time. */
  close(): void {
    for (const { cancel } of this.#devices.values()) cancel();
  }

  /** @internal Whether work may be sent; asking changes nothing. */
  usable(device: DeviceId): boolean {
    const known = this.#devices.get(device);
    return known === undefined || known.breaker.admits;
  }

  /** @internal Work begins on a device. True if it is the probe of one that is being tried again: say when it is over. */
  admit(device: DeviceId): boolean {
    const known = this.#devices.get(device);
    // Almost every device, almost always.
    if (known === undefined || known.breaker.state !== 'half-open' || !known.breaker.admit()) return false;
    known.probes++;
    this.#tell(known);
    return true;
  }

  /** @internal The probe of a device is over; how it went is told when its result is read, or by its failure. */
  over(device: DeviceId): void {
    const known = this.#devices.get(device);
    if (known?.breaker.state !== 'half-open') return;
    known.breaker.over();
    this.#tell(known);
  }

  /** @internal Whether it matters to be told of good results. */
  doubts(device: DeviceId): boolean {
    if (this.#devices.size === 0) return false;
    const known = this.#devices.get(device);
    return known !== undefined && (known.fallenBack || known.breaker.state !== 'closed');
  }

  /** @internal `of` tells it too. */
  penalty(device: DeviceId): number {
    const known = this.#devices.get(device);
    if (known === undefined) return 1;
    const { state, recentFailures, admits } = known.breaker;
    if (!admits) return Number.POSITIVE_INFINITY;
    return state === 'half-open' ? 1 : 1 + penaltyPerFailure * recentFailures;
  }

  /** @internal Work on the device went well. Devices that never failed have no record, and cost nothing here. */
  succeeded(device: DeviceId): void {
    const known = this.#devices.get(device);
    if (!known) return;
    known.successes++;
    const probation = known.breaker.state === 'half-open';
    known.breaker.succeeded();
    if (probation) this.#tell(known);
  }

  /** @internal */
  failed(device: DeviceId, error: unknown): void {
    const r = this.#entry(device);
    this.#note(device, 'failure', (r.lastError = firstLine(error)));
    r.failures++;
    r.breaker.failed();
    this.#tell(r);
  }

  /** @internal */
  lost(device: DeviceId, reason: string): void {
    const r = this.#entry(device);
    this.#note(device, 'lost', (r.lastError = reason));
    r.failures++;
    r.breaker.lost();
  }

  /** @internal Whether the device may be opened anew now; counts as a reset if so. */
  reset(device: DeviceId): boolean {
    const may = this.#entry(device).breaker.reset();
    if (may) this.#note(device, 'reset', '');
    return may;
  }

  /** @internal */
  reborn(device: DeviceId, detail = ''): void {
    const r = this.#entry(device);
    this.#note(device, 'reborn', detail);
    r.breaker.reborn();
  }

  /** @internal Another device takes over. True the first time only, so that it is reported once. */
  fellBack(device: DeviceId, to: DeviceId): boolean {
    const r = this.#entry(device);
    if (r.fallenBack) return false;
    r.fallenBack = true;
    this.#note(device, 'fallback', `to ${to}`);
    return true;
  }

  /** @internal The device does its own work again. True if another had taken over; not while it is not trusted. */
  returned(device: DeviceId): boolean {
    const r = this.#devices.get(device);
    if (!r?.fallenBack || r.breaker.state !== 'closed') return false;
    r.fallenBack = false;
    r.probes = 0;
    this.#note(device, 'return', '');
    return true;
  }

  /** Lets a device be used again at once, whatever failed on it. */
  release(device: DeviceId): void {
    this.#devices.get(device)?.breaker.release();
  }

  /** How a device is doing. One that never failed has the state `closed` and the penalty 1. */
  of(device: DeviceId): DeviceHealth {
    const r = this.#devices.get(device);
    return {
      device,
      state: r?.breaker.state ?? 'closed',
      penalty: this.penalty(device),
      recentFailures: r?.breaker.recentFailures ?? 0,
      recentResets: r?.breaker.recentResets ?? 0,
      failures: r?.failures ?? 0,
      successes: r?.successes ?? 0,
      lastError: r?.lastError ?? null,
      fallenBack: r?.fallenBack ?? false,
      probes: r?.probes ?? 0,
    };
  }

  /** What happened, oldest first. */
  history(device?: DeviceId): readonly HealthEvent[] {
    return device === undefined ? [...this.#history] : this.#history.filter((e) => e.device === device);
  }

  #entry(device: DeviceId): Entry {
    let r = this.#devices.get(device);
    if (!r) {
      const breaker = new Breaker(this.#options, this.#clock, (to, from) => {
        this.#note(device, to, `from ${from}`);
        this.#tell(made);
      });
      const made: Entry = {
        breaker,
        failures: 0,
        successes: 0,
        lastError: null,
        fallenBack: false,
        probes: 0,
        cancel: () => {},
      };
      this.#devices.set(device, (r = made));
    }
    return r;
  }

  /** Something changed, and more may change with time. */
  #tell(entry: Entry): void {
    // Asking may find out that something changed just now, and tell it.
    const wait = entry.breaker.changesIn;
    entry.cancel();
    entry.cancel = wait === null ? () => {} : this.#clock.after(wait, () => this.#tell(entry));
    this.#changed();
  }

  #note(device: DeviceId, kind: HealthEventKind, detail: string): void {
    this.#history.push({ device, kind, at: this.#clock.now(), detail });
    if (this.#history.length > this.#options.history) this.#history.shift();
  }
}

checkMethods(Health.prototype, { 'of release': 'device:text', history: 'device:text?' });

const firstLine = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n', 1)[0]!;
