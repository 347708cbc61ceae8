// The records of the facade's contract.

export interface DevicePreference {
  /** Default true. */
  readonly preferGPU?: boolean | undefined;
  /** Bytes that must be free on the device. */
  readonly minMemory?: number | undefined;
  /** 0 to 1: the highest load at which a device is acceptable. */
  readonly maxLoad?: number | undefined;
  /** No silent CPU. Default false. */
  readonly requireGPU?: boolean | undefined;
  /** What to do when memory or load cannot be read. Default 'accept'. */
  readonly unknown?: 'accept' | 'reject' | undefined;
  /** GPUs emulated on the CPU. Default 'reject': they are slower than the CPU itself. */
  readonly software?: 'accept' | 'reject' | undefined;
}

export interface DeviceSelection {
  /** The device really in use. */
  readonly device: string;
  readonly kind: 'gpu' | 'cpu';
  readonly reason: string;
  readonly unverified: readonly ('minMemory' | 'maxLoad')[];
  readonly rejected: readonly { readonly device: string; readonly reason: string }[];
}
