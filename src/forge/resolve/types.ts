// What the resolver is asked and what it answers. All plain data, printed as it is by --json.

import type { Backend, Framework, PlatformTag } from '../data/schemas.ts';
import type { ComputeCapability, IntelFamily, Machine } from '../machine.ts';

export const RESOLVE_SCHEMA = 'gpuforge.resolve/1';

export interface ResolveRequest {
  readonly machine: Machine;
  readonly framework: Framework;
  /** "3.12"; undefined lets the resolver choose. */
  readonly python?: string;
  readonly cpuOnly?: boolean;
  /** Only this release, e.g. "2.11.0" or "2.11". */
  readonly version?: string;
  /** Only this variant, e.g. "cu128". */
  readonly variant?: string;
}

/** A GPU reduced to what decides between builds. */
export interface TargetGpu {
  readonly id: string;
  readonly name: string;
  readonly vendor: 'nvidia' | 'amd' | 'intel' | 'apple';
  readonly integrated: boolean;
  readonly cc: ComputeCapability | undefined;
  readonly tegra: boolean;
  readonly gfx: string | undefined;
  readonly family: IntelFamily | undefined;
  readonly memoryBytes: number | undefined;
  readonly uuid: string | undefined;
  /** Place in PCI order among the GPUs of its vendor: the number that CUDA_VISIBLE_DEVICES and its kin take. */
  readonly index: number;
}

/** The machine as the checks see it: one vendor's GPUs, one driver. */
export interface Target {
  readonly platform: PlatformTag | undefined;
  readonly platformText: string;
  /** Which column of the driver tables applies: WSL runs on the Windows driver. */
  readonly driverColumn: 'linux' | 'windows';
  readonly wsl: boolean;
  readonly glibc: string | undefined;
  readonly musl: boolean;
  readonly macos: number | undefined;
  /** The major release of L4T on a Tegra board. */
  readonly l4t: string | undefined;
  readonly driver: string | undefined;
  /** The CUDA version the driver reports. */
  readonly driverCuda: string | undefined;
  /** True when no driver is known and a branch was assumed. */
  readonly driverAssumed: boolean;
  readonly gpus: readonly TargetGpu[];
  readonly python: string | undefined;
}

export interface Requirement {
  readonly name: string;
  readonly extras: readonly string[];
  /** "==2.14.1+cu126", "==0.29.*" */
  readonly spec: string;
  /** True when it must come from the build's own index. */
  readonly own: boolean;
}

export interface Wheel {
  readonly framework: Framework;
  readonly version: string;
  readonly variant: string;
  readonly backend: Backend;
  readonly platforms: readonly PlatformTag[];
  readonly pythonMin: string;
  readonly pythonMax: string;
  readonly stable: boolean;
  readonly cuda?: CudaContent;
  /** AMD targets in the wheel. */
  readonly gfx?: readonly string[];
  /** Intel families it was validated on. */
  readonly families?: readonly IntelFamily[];
  /** manylinux floor: "2.28". */
  readonly glibc?: string;
  readonly macosMin?: number;
  /** Built for a Tegra board with this major release of L4T. */
  readonly l4t?: string;
  readonly index: Index | null;
  /** The packages to install; `gfx` is the target for AMD's per-device extras. */
  requirements(gfx: string | undefined): readonly Requirement[];
  readonly companions: readonly { readonly name: string; readonly version: string }[];
  readonly note: string | null;
  readonly source: string;
}

export interface CudaContent {
  readonly version: string;
  /** Machine code in the wheel; null when the wheel compiles for the device itself. */
  readonly cubins: readonly string[] | null;
  readonly ptx: string | null;
  readonly ptxPlatforms: readonly PlatformTag[];
  readonly minCc: string | null;
  readonly maxCc: { readonly cc: string; readonly why: string; readonly source: string } | null;
  readonly minDriver: string | null;
}

export interface Index {
  /** A name for project files: "pytorch-cu126". */
  readonly name: string;
  readonly url: string;
}

export type CheckName = 'platform' | 'python' | 'vendor' | 'driver' | 'gpu-driver' | 'kernels' | 'libc' | 'macos';

export interface ProofStep {
  readonly check: CheckName | 'machine' | 'choice';
  readonly fact: string;
  /** A public page, or the provenance of a fact of the machine ("sysfs", "override"). */
  readonly source: string;
}

export interface Rejection {
  readonly build: string;
  readonly check: CheckName;
  readonly reason: string;
  /** The same reason for several variants at once; {} stands for their names. */
  readonly brief: string;
  readonly source: string;
}

export interface Choice {
  readonly framework: Framework;
  readonly version: string;
  readonly variant: string;
  readonly backend: Backend;
  readonly cuda: string | null;
  readonly index: Index | null;
  readonly python: string;
  readonly pythonRange: readonly [string, string];
  readonly requirements: readonly Requirement[];
  readonly companions: readonly { readonly name: string; readonly version: string }[];
  /** Variables the environment needs, e.g. CUDA_VISIBLE_DEVICES. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs on a driver older than the wheel's own CUDA, by minor-version compatibility. */
  readonly minorVersionCompatibility: boolean;
  readonly gpus: readonly string[];
  readonly source: string;
}

export interface WayOut {
  readonly kind:
    | 'driver'
    | 'python'
    | 'variant'
    | 'framework'
    | 'container'
    | 'visibility'
    | 'platform'
    | 'override'
    | 'cpu';
  readonly text: string;
  readonly choice?: Choice;
  readonly source?: string;
}

interface Common {
  readonly schema: typeof RESOLVE_SCHEMA;
  readonly framework: Framework;
  readonly proof: readonly ProofStep[];
  /** One line: "driver 570 → CUDA 12.8 → cu126, because …". */
  readonly summary: string;
  readonly rejected: readonly Rejection[];
  readonly warnings: readonly string[];
  readonly dataReviewed: string;
}

export type Resolution =
  | (Common & { readonly status: 'ok'; readonly choice: Choice; readonly alternatives: readonly Choice[] })
  | (Common & { readonly status: 'none'; readonly reason: string; readonly waysOut: readonly WayOut[] });
