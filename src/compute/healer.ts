// Devices that were given up, and the background probe that lets them out again: after three good probes in a row.

import type { DeviceKind } from '../runtime/devices.ts';
import type { Clock } from './clock.ts';
import { probeDevice } from './probe.ts';
import type { OpenRuntime } from './select.ts';

export interface HealerDeps {
  readonly open: OpenRuntime;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly healed: (device: string, probes: number) => void;
}

interface Patient {
  readonly reason: string;
  passed: number;
  probes: number;
}

/** Good probes in a row before a device is used again. */
export const probesNeeded = 3;
const probeElements = 1 << 16;

export class Healer {
  readonly #deps: HealerDeps;
  readonly #patients = new Map<string, Patient>();
  #stop: (() => void) | null = null;
  #busy = false;

  constructor(deps: HealerDeps) {
    this.#deps = deps;
  }

  /** The devices in quarantine, and why. */
  get patients(): ReadonlyMap<string, string> {
    return new Map([...this.#patients].map(([id, p]) => [id, `quarantined: ${p.reason}`]));
  }

  admit(device: string, reason: string): void {
    this.#patients.set(device, { reason, passed: 0, probes: 0 });
    this.#stop ??= this.#deps.clock.every(this.#deps.everyMs, () => {
      this.visit().catch(() => {});
    });
  }

  /** Probes every patient once. */
  async visit(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const [device, patient] of [...this.#patients]) {
        patient.probes++;
        patient.passed = (await this.#well(device)) ? patient.passed + 1 : 0;
        if (patient.passed < probesNeeded || this.#patients.get(device) !== patient) continue;
        this.#patients.delete(device);
        this.#deps.healed(device, patient.probes);
      }
    } finally {
      this.#busy = false;
    }
    if (this.#patients.size === 0) this.stop();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }

  async #well(device: string): Promise<boolean> {
    const { open, clock } = this.#deps;
    try {
      const runtime = await open(device.split(':')[0] as DeviceKind, device.includes(':') ? device : undefined);
      if (!runtime) return false;
      try {
        return (await probeDevice(runtime.device(device), clock, probeElements)).ok;
      } finally {
        await runtime.close();
      }
    } catch {
      return false;
    }
  }
}
