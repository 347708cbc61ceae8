// The facts of one machine, as they pass from detect to resolve, env, doctor and explain.
//
// Everything here is plain JSON: it is cached, printed with --json and built by hand in tests. A fact is a value with the
// place it came from, or null with the reason why it is not known. Nothing is guessed, and unknown is never 0. The shape is
// versioned by MACHINE_SCHEMA: a reader that meets another number treats the record as absent.

export const MACHINE_SCHEMA = 1;

/** Where a value came from. `pci-table` is looked up, `override` was given by the user, all others were read on the machine. */
export type Source =
  | 'sysfs'
  | 'proc'
  | 'kfd'
  | 'device-tree'
  | 'file'
  | 'os'
  | 'env'
  | 'registry'
  | 'pci-table'
  | 'nvml'
  | 'smi'
  | 'tool'
  | 'override';

export interface Known<T> {
  readonly value: T;
  readonly source: Source;
  /** What the reader should know of the value: "upper bound", "carve-out only". */
  readonly note?: string;
}

export interface Missing {
  readonly value: null;
  readonly reason: string;
}

export type Fact<T> = Known<T> | Missing;

export type Vendor = 'nvidia' | 'amd' | 'intel' | 'apple' | 'other';

export type Platform = 'linux' | 'windows' | 'macos' | 'other';

export type Arch = 'x64' | 'arm64' | 'other';

export interface ComputeCapability {
  readonly major: number;
  readonly minor: number;
}

/** Intel GPUs are told apart by family, never by vendor: the families that PyTorch's XPU wheels were validated on differ. */
export type IntelFamily =
  | 'alchemist'
  | 'battlemage'
  | 'ponte-vecchio'
  | 'meteor-lake'
  | 'arrow-lake'
  | 'lunar-lake'
  | 'panther-lake'
  | 'xe-lp'
  | 'gen';

export interface PciFacts {
  /** Domain:bus:device.function, lower case: "0000:01:00.0". */
  readonly address: string;
  /** Lower-case hexadecimal without 0x, four digits. */
  readonly vendorId: string;
  readonly deviceId: string;
  readonly subsystem: string | null;
  readonly revision: string | null;
  /** Class code, six hexadecimal digits: "030000" VGA, "030200" 3D, "120000" accelerator. */
  readonly classCode: string;
  readonly numaNode: number | null;
  readonly linkSpeed: string | null;
  readonly linkWidth: number | null;
  /** The kernel's power/runtime_status: "active", "suspended". */
  readonly power: string | null;
  /** Sizes of the memory regions (BARs) in bytes, in the order of the kernel's `resource` file; 0 where unused. */
  readonly regions: readonly number[];
}

export interface MigInstance {
  readonly uuid: string | null;
  readonly name: string | null;
  readonly memoryBytes: number | null;
}

export interface MigFacts {
  readonly enabled: boolean;
  readonly instances: readonly MigInstance[];
}

/** Whether this process may use the device, by the permission bits of its node; no node is ever opened. */
export interface Access {
  readonly state: 'ok' | 'missing' | 'denied';
  readonly nodes: readonly string[];
  readonly detail: string;
}

export interface Gpu {
  /** Stable on one machine: "pci:0000:01:00.0", "soc:tegra234", "wsl:0", "apple:0", "override:0". */
  readonly id: string;
  readonly vendor: Vendor;
  readonly kind: Fact<'discrete' | 'integrated' | 'virtual'>;
  readonly name: Fact<string>;
  /** "AD102", "Navi 31", "tegra234", "Apple M3 Max". */
  readonly chip: Fact<string>;
  /** "Ada", "RDNA 3", "Xe2". */
  readonly architecture: Fact<string>;
  /** NVIDIA only. */
  readonly computeCapability: Fact<ComputeCapability>;
  /** True for the Tegra parts, whose cubins are not interchangeable with those of desktop parts. */
  readonly tegra: boolean;
  /** AMD only: "gfx1100". */
  readonly gfx: Fact<string>;
  /** Intel only. */
  readonly intelFamily: Fact<IntelFamily>;
  /** Compute units, streaming multiprocessors or GPU cores. */
  readonly units: Fact<number>;
  /** Memory the device can use in all. For shared memory this is the share the driver allows, and `unified` is true. */
  readonly memoryBytes: Fact<number>;
  readonly memoryFreeBytes: Fact<number>;
  readonly unified: boolean;
  readonly uuid: Fact<string>;
  /** The kernel driver bound to it: nvidia, nouveau, vfio-pci, amdgpu, i915, xe … */
  readonly boundDriver: Fact<string>;
  readonly pci: PciFacts | null;
  readonly mig: Fact<MigFacts>;
  readonly access: Fact<Access>;
  /** False when a visible-devices variable, vfio, another driver or missing device nodes keep this process from computing on it. */
  readonly usable: boolean;
  /** Why not usable; empty when usable. */
  readonly blockers: readonly string[];
}

export interface LibraryFile {
  /** "libcuda.so.1" */
  readonly soname: string;
  readonly path: string;
  /** The version in the name of the file it links to, e.g. "580.95.05"; null where the name tells none. */
  readonly version: string | null;
}

export interface NvidiaDriver {
  readonly version: Fact<string>;
  /** The highest CUDA version the driver reports: measured by NVML, or looked up by branch. "13.0" */
  readonly cuda: Fact<string>;
  readonly module: Fact<'open' | 'proprietary'>;
  readonly loaded: boolean;
  readonly libraries: readonly LibraryFile[];
  /** Set when a library's version differs from the module's. */
  readonly mismatch: string | null;
}

export interface AmdDriver {
  /** The amdgpu module's own version where it is an out-of-tree build. */
  readonly version: Fact<string>;
  readonly loaded: boolean;
  readonly rocm: Fact<string>;
  readonly kfd: Fact<Access>;
}

export interface IntelDriver {
  readonly module: Fact<'i915' | 'xe'>;
  readonly libraries: readonly LibraryFile[];
}

export interface Drivers {
  readonly nvidia: NvidiaDriver | null;
  readonly amd: AmdDriver | null;
  readonly intel: IntelDriver | null;
}

export interface HostSystem {
  readonly platform: Platform;
  readonly arch: Arch;
  /** x64 Node on an arm64 Mac. */
  readonly rosetta: boolean;
  readonly kernel: string;
  /** "Debian GNU/Linux 12", "Windows 11", "macOS 15.1" */
  readonly name: Fact<string>;
  /** ID of os-release: "ubuntu", "debian", "fedora", "arch" … */
  readonly distribution: Fact<string>;
  /** "2.36" on glibc systems; missing with reason on musl. */
  readonly glibc: Fact<string>;
  readonly cpu: Fact<string>;
  readonly cores: number;
  readonly memoryBytes: Fact<number>;
  readonly wsl: 0 | 1 | 2;
  readonly container: Fact<'docker' | 'podman' | 'kubernetes' | 'lxc' | 'other'>;
  readonly hypervisor: Fact<string>;
  readonly cloud: Fact<'aws' | 'gcp' | 'azure' | 'oracle' | 'digitalocean' | 'alibaba'>;
  /** Jetson and other Tegra boards, and DGX Spark. */
  readonly board: Fact<{ readonly model: string; readonly soc: string | null; readonly l4t: string | null }>;
}

/** A variable that hides devices or turns their order. Shown and warned about; the list of GPUs is never shortened by it. */
export interface Visibility {
  readonly name: string;
  readonly value: string;
}

export interface Probe {
  readonly tier: 0 | 1 | 2;
  readonly name: string;
  readonly outcome: 'ok' | 'skipped' | 'failed' | 'timeout';
  readonly ms: number;
  readonly detail: string;
}

export interface Machine {
  readonly schema: typeof MACHINE_SCHEMA;
  readonly host: HostSystem;
  readonly gpus: readonly Gpu[];
  readonly drivers: Drivers;
  readonly visibility: readonly Visibility[];
  /** What the user said in place of detection, one line each; empty when all was detected. */
  readonly overrides: readonly string[];
  readonly warnings: readonly string[];
  readonly probes: readonly Probe[];
  /** True when a probe failed or ran out of time, so that facts may be missing which the machine could give. */
  readonly partial: boolean;
}

/** Whether the GPUs were named by the user in place of detection: what their drivers and nodes are is not known here. */
export const isGiven = ({ gpus }: Pick<Machine, 'gpus'>): boolean => gpus.some(({ id }) => id.startsWith('override:'));

export function known<T>(value: T, source: Source, note?: string): Known<T> {
  return note === undefined ? { value, source } : { value, source, note };
}

export function missing(reason: string): Missing {
  return { value: null, reason };
}

/** The value, or undefined when it is not known. */
export function factValue<T>(fact: Fact<T>): T | undefined {
  return 'source' in fact ? fact.value : undefined;
}

export function parseCc(text: string): ComputeCapability | undefined {
  const found = /^(\d{1,2})\.(\d)$/.exec(text.trim());
  return found ? { major: Number(found[1]), minor: Number(found[2]) } : undefined;
}

export function formatCc(cc: ComputeCapability): string {
  return `${cc.major}.${cc.minor}`;
}

export function compareCc(a: ComputeCapability, b: ComputeCapability): number {
  return a.major - b.major || a.minor - b.minor;
}

/** Numeric comparison of dotted versions: 580.9 is older than 580.65.06, and a missing part counts as 0. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.');
  const right = b.split('.');
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (Number.parseInt(left[i] ?? '0', 10) || 0) - (Number.parseInt(right[i] ?? '0', 10) || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
