// The words of routing: what is to be done, where it could be done, what that would cost, and what was decided.

import type { OperationType } from '../../base/operations.ts';
import type { DeviceId } from '../../devices/device.ts';

export type Outcome = 'gpu_optimal' | 'gpu_acceptable' | 'cpu_optimal' | 'cpu_acceptable' | 'no_preference';

/** Kinds of kernels whose time follows one curve: `heavy` has costly functions. */
export const kernelClasses = ['map', 'heavy', 'reduce', 'matmul', 'sort', 'scan', 'scatter', 'raw'] as const;

export type KernelClass = (typeof kernelClasses)[number];

/** What work is called in the router's books: the name its caller gave it, else the class of its costliest kernel. */
export type Operation = OperationType | KernelClass;

/** One launch, as the cost model sees it. */
export interface WorkItem {
  readonly class: KernelClass;
  readonly flops: number;
  /** Read and written. */
  readonly bytes: number;
  /** Positions computed; for a matrix product, the elements of one operand. */
  readonly elements: number;
  /** Loads for each position whose place depends on data, so that each touches memory of its own. */
  readonly gathers?: number;
}

/** A device that can do the work, with the launches it would take there. */
export interface Candidate {
  readonly device: DeviceId;
  readonly work: readonly WorkItem[];
  /** 1 for a healthy device; a device under memory pressure or lately failed costs this many times more. */
  readonly penalty: number;
  /** What the work needs there, and what is free; missing where that is no matter. */
  readonly memory?: { readonly needBytes: number; readonly freeBytes: number } | undefined;
}

export interface RouteRequest {
  readonly op: Operation;
  /** At least one. */
  readonly candidates: readonly Candidate[];
  /** Each with the devices that hold it, and 'host' if host memory does; none means host memory only. */
  readonly inputs: readonly { readonly bytes: number; readonly at: readonly DeviceId[] }[];
  readonly outputBytes: number;
  /** Where the result is needed next: null if nobody knows. */
  readonly wanted: 'host' | DeviceId | null;
}

/** What a request would cost on one device, in microseconds. */
export interface Prediction {
  readonly device: DeviceId;
  /** Everything, the penalty included. */
  readonly us: number;
  readonly launch: number;
  /** The kernels' own time, corrected by what was measured before. */
  readonly work: number;
  /** Moving inputs there and the result to where it is wanted, waiting included. */
  readonly transfer: number;
  readonly penalty: number;
  /** Measurements of this very work on this device behind the prediction. */
  readonly samples: number;
}

export interface Decision {
  readonly device: DeviceId;
  readonly outcome: Outcome;
  /** Plain words with figures. */
  readonly reason: string;
  /** One for each device that was considered; empty if no costs were compared. */
  readonly predictions: readonly Prediction[];
  /** Not the device predicted to be fastest: chosen to learn how fast it is. */
  readonly explored: boolean;
}
