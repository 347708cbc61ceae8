// What a field takes: memory, launches, transfers, and where it runs.

import type { Field } from './field.ts';

export interface FieldReport {
  readonly device: string;
  /** Why this device. */
  readonly reason: string;
  readonly model: 'fused' | 'full';
  readonly cycles: number;
  /** Kernels that one cycle launches; 0 before the first one. */
  readonly launches: number;
  /** Uploads and downloads of all cycles. */
  readonly transfers: { readonly up: number; readonly down: number };
  readonly memory: {
    /** Bytes of this field's own tensors. */
    readonly state: number;
    /** Bytes that the runtime holds on the device, of this field and of everything else there. */
    readonly reserved: number;
  };
}

/** `state`: bytes of the field's tensors. */
export function reportOf(field: Field, state: number): FieldReport {
  const reserved = Math.round(field.runtime.memory.snapshot(field.device).reservedMb * 2 ** 20);
  return {
    device: field.device,
    reason: field.choice.reason,
    model: field.options.shape.model,
    cycles: field.cycle,
    launches: field.kernels.length,
    transfers: { ...field.transfers },
    memory: { state, reserved },
  };
}
