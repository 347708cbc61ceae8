// What became of the device that was selected: whether it does the work at the moment, or which one does instead. The runtime
// decides that; its events are passed on here as those of the facade.

import type { Runtime } from '../index.ts';
import type { Signals } from './events.ts';
import { kindOf } from './select.ts';
import { Station } from './station.ts';
import type { DeviceSelection } from './types.ts';

export interface StandingDeps {
  readonly signals: Signals;
  /** Whether a device that was healed is used again by itself. */
  readonly returns: boolean;
  /** How many tensors that were handed out are lost. */
  readonly lostTensors: () => number;
}

export class Standing {
  readonly #deps: StandingDeps;
  /** Devices that the runtime has given up, and why. */
  readonly #abandoned = new Map<string, string>();
  #station: Station | null = null;
  /** What was selected, and what is used at the moment. */
  #chosen: DeviceSelection | null = null;
  #selection: DeviceSelection | null = null;
  /** The selected device was lost, and nobody knows yet whether it comes back. */
  #loss: { readonly reason: string; readonly tensors: number } | null = null;

  constructor(deps: StandingDeps) {
    this.#deps = deps;
  }

  get station(): Station | null {
    return this.#station;
  }

  get selection(): DeviceSelection | null {
    return this.#selection;
  }

  selected(station: Station, selection: DeviceSelection): void {
    this.#station = station;
    this.#selection = this.#chosen = selection;
  }

  clear(): void {
    this.#station = null;
    this.#selection = null;
    this.#chosen = null;
    this.#loss = null;
    this.#abandoned.clear();
  }

  /** What executes the next operation; null while that is being decided. */
  active(): { readonly id: string; readonly kind: 'gpu' | 'cpu' } | null {
    const station = this.#station;
    if (!station || this.#loss) return null;
    const { runtime } = station;
    const open = runtime.devices().flatMap((d) => (d.open ? [d.id] : []));
    if (open.includes(station.id) && !rests(runtime, station.id)) return station;
    const id = open.find((d) => d !== station.id && !rests(runtime, d)) ?? open[0];
    return id === undefined ? null : { id, kind: kindOf(runtime, id) };
  }

  /** Devices that get no work at the moment, and why. */
  quarantined(runtime: Runtime): Map<string, string> {
    const found = new Map<string, string>();
    for (const { id, open } of runtime.devices()) {
      const given = this.#abandoned.get(id);
      if (given !== undefined && !open) found.set(id, `quarantined: ${given}`);
      else if (open && rests(runtime, id)) found.set(id, `quarantined: ${runtime.recovery.of(id).lastError}`);
    }
    return found;
  }

  /** Listens to a runtime for as long as it is the one in use. */
  follow(runtime: Runtime): void {
    const { signals, returns, lostTensors } = this.#deps;
    const selected = (device: string): boolean => device === this.#station?.id && runtime === this.#station.runtime;
    runtime.on('lost', ({ device, reason, kept, gone, reopens }) => {
      if (!reopens) this.#abandoned.set(device, reason);
      if (!selected(device)) return;
      this.#loss = reopens ? { reason, tensors: kept + gone } : null;
      signals.emit('lost', { device, reason });
    });
    runtime.on('reborn', ({ device, ms }) => {
      this.#abandoned.delete(device);
      if (!selected(device)) return;
      const { reason: cause, tensors } = this.#loss ?? { reason: 'it was lost', tensors: 0 };
      this.#loss = null;
      const lost = lostTensors();
      signals.emit('reset', { device, cause, ms, restored: Math.max(0, tensors - lost), lost });
    });
    runtime.on('abandoned', ({ device, reason }) => {
      this.#abandoned.set(device, `${this.#loss?.reason ?? 'it was lost'}: ${reason}`);
      if (selected(device)) this.#loss = null;
    });
    runtime.on('fallback', ({ from, to, reason }) => {
      if (!selected(from)) return;
      const kind = kindOf(runtime, to);
      const why = this.#abandoned.get(from) ?? reason;
      const rejected = [...(this.#chosen?.rejected ?? []), { device: from, reason: why }];
      this.#selection = { device: to, kind, reason: `${from} failed: ${reason}`, unverified: [], rejected };
      if (!returns) this.#station = new Station(runtime, to, kind, this.#station!.probe);
      signals.emit('fallback', { from, to, reason });
    });
    runtime.on('return', ({ device, probes }) => {
      signals.emit('healed', { device, probes });
      if (selected(device)) this.#selection = this.#chosen;
    });
    runtime.on('retry', ({ what, attempt, error, reaction, waitMs }) =>
      signals.emit('retry', { operation: what, attempt, error, reaction, waitMs }),
    );
    runtime.on('error', (e) => signals.emit('error', e));
  }
}

/** Whether the runtime sends no work to a device. */
function rests(runtime: Runtime, device: string): boolean {
  const { state } = runtime.recovery.of(device);
  return state === 'open' || state === 'quarantined';
}
