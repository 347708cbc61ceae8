// What the devices of the attached runtimes did: kernels, transfers, waits, programs, decisions, memory. Bounded, and written
// once; nothing is computed here.

import { Newest } from '../../base/newest.ts';
import type { Decision, Operation } from '../../index.ts';
import { Columns, Names } from './columns.ts';
import { MemoryCurve } from './memory-curve.ts';

/** The columns of a kernel. Times in ms; NaN is "not measured". */
export const kernel = {
  entry: 0,
  name: 1,
  device: 2,
  /** Of the device, else NaN. */
  start: 3,
  ms: 4,
  /** Time of a pass with several kernels in it, at each of them. */
  passMs: 5,
  bytes: 6,
  flops: 7,
  replay: 8,
  /** The host's call. */
  enqueued: 9,
  hostMs: 10,
  issuedIn: 11,
  /** How many kernels it stands for: more than one for a recorded replay. */
  kernels: 12,
  /** The row of the first kernel of its pass, plus 1; 0 if it was measured by itself. */
  pass: 13,
  /** The line that made it run, by the number of its text plus 1; 0 if that is not known. */
  line: 14,
} as const;

export interface TransferRecord {
  readonly id: number;
  readonly entry: number;
  readonly kind: 'upload' | 'download' | 'move';
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
  readonly start: number;
  readonly ms: number;
  readonly pinned: boolean;
}

export interface WaitRecord {
  readonly entry: number;
  readonly device: string;
  readonly start: number;
  readonly ms: number;
  readonly line: string;
  readonly why: 'read' | 'flush' | 'memory';
}

export interface CompileRecord {
  readonly entry: number;
  readonly device: string;
  readonly kernels: readonly string[];
  readonly start: number;
  readonly ms: number;
  readonly cached: boolean;
}

export interface RouteRecord {
  readonly entry: number;
  readonly op: Operation;
  readonly device: string;
  readonly start: number;
  readonly predictions: readonly Pick<Decision['predictions'][number], 'device' | 'us' | 'work' | 'samples'>[];
}

/** A worker thread of a device at a kernel; only with `detailed`. */
export interface LaneRecord {
  readonly device: string;
  readonly lane: number;
  readonly name: string;
  readonly start: number;
  readonly ms: number;
}

/** What is known of a device's memory and clock. */
export interface DeviceCounts {
  allocations: number;
  /** Allocations for which the device held nothing ready. */
  grown: number;
  cleanups: number;
  quantumUs: number | null;
  errorUs: number | null;
  reserved: number;
}

const kernelLimit = 1_000_000;
const otherLimit = 10_000;

export class DeviceLog {
  readonly kernels = new Columns(Object.keys(kernel).length, kernelLimit);
  readonly names = new Names();
  readonly transfers: Newest<TransferRecord>;
  readonly waits = new Newest<WaitRecord>(10 * otherLimit);
  readonly compiles = new Newest<CompileRecord>(otherLimit);
  readonly routes = new Newest<RouteRecord>(otherLimit);
  readonly lanes = new Newest<LaneRecord>(10 * otherLimit);
  readonly memory = new MemoryCurve();
  readonly devices = new Map<string, DeviceCounts>();
  /** Device spans that seem to start before the call that caused them. */
  violations = 0;

  constructor(capacity: number) {
    this.transfers = new Newest(capacity);
  }

  device(id: string): DeviceCounts {
    let known = this.devices.get(id);
    if (!known) {
      known = { allocations: 0, grown: 0, cleanups: 0, quantumUs: null, errorUs: null, reserved: 0 };
      this.devices.set(id, known);
    }
    return known;
  }

  clear(): void {
    this.kernels.clear();
    for (const list of [this.transfers, this.waits, this.compiles, this.routes, this.lanes]) list.clear();
    this.memory.clear();
    this.devices.clear();
    this.violations = 0;
  }
}
