// The device that was selected, and the runtime it belongs to.

import type { Device, Runtime } from '../index.ts';
import type { ProbeResult } from './probe.ts';

export class Station {
  readonly runtime: Runtime;
  readonly id: string;
  readonly kind: 'gpu' | 'cpu';
  /** What the device did in its probe. */
  readonly probe: ProbeResult;

  constructor(runtime: Runtime, id: string, kind: 'gpu' | 'cpu', probe: ProbeResult) {
    this.runtime = runtime;
    this.id = id;
    this.kind = kind;
    this.probe = probe;
  }

  /** The device that is there now: the runtime opens a lost one again by itself. */
  get device(): Device {
    return this.runtime.device(this.id);
  }

  /** Other devices that the runtime has open. */
  get others(): readonly string[] {
    return this.runtime
      .devices()
      .filter((d) => d.open && d.id !== this.id)
      .map((d) => d.id);
  }
}
