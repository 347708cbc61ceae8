// The port between Forge and the machine: files, processes, environment, clock.
//
// Everything Forge learns of a machine comes through one of these calls, so a recorded or constructed machine drives the
// whole pipeline. No call throws for an absent or unreadable file: absence is an ordinary answer.

import type { Arch, Platform } from './machine.ts';

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'device' | 'other';
  readonly size: number;
  readonly mtimeMs: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface FilePort {
  /** The text of a file; undefined when it is absent or cannot be read. */
  read(path: string): string | undefined;
  exists(path: string): boolean;
  /** Names in a folder, sorted; undefined when it is absent or cannot be read. */
  list(path: string): readonly string[] | undefined;
  /** The target of a symbolic link as written; undefined when it is no link. */
  link(path: string): string | undefined;
  /** The final path after all links; undefined when it does not exist. */
  resolve(path: string): string | undefined;
  stat(path: string): FileStat | undefined;
}

export interface RunResult {
  /** Exit status, or null when the process was ended by the time limit or a signal, or did not start. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: 'exited' | 'timeout' | 'not-found' | 'failed';
  readonly ms: number;
}

export interface ProcessPort {
  /** Runs a program without a shell. Never rejects; after `timeoutMs` the process group is ended and 'timeout' returned. */
  run(file: string, args: readonly string[], options: { readonly timeoutMs: number }): Promise<RunResult>;
  /** How many processes were started through this port. */
  readonly spawned: number;
}

/** One NVIDIA device as NVML tells it; null where NVML answers "not supported". */
export interface NvmlDevice {
  readonly index: number;
  readonly name: string | null;
  readonly uuid: string | null;
  readonly busId: string | null;
  readonly computeCapability: string | null;
  readonly memoryTotal: number | null;
  readonly memoryFree: number | null;
  readonly migEnabled: boolean | null;
  readonly mig: readonly {
    readonly uuid: string | null;
    readonly name: string | null;
    readonly memoryTotal: number | null;
  }[];
  readonly units: number | null;
}

export interface NvmlTelemetry {
  readonly index: number;
  readonly name: string | null;
  readonly uuid: string | null;
  readonly utilization: number | null;
  readonly memoryUtilization: number | null;
  readonly memoryUsed: number | null;
  readonly memoryTotal: number | null;
  readonly temperature: number | null;
  readonly powerWatts: number | null;
  readonly powerLimitWatts: number | null;
  readonly clockMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly fanPercent: number | null;
}

export type NvmlAnswer =
  | {
      readonly outcome: 'ok';
      readonly driver: string | null;
      readonly cuda: string | null;
      readonly devices: readonly NvmlDevice[];
      readonly ms: number;
    }
  | { readonly outcome: 'timeout' | 'failed' | 'no-ffi'; readonly detail: string; readonly ms: number };

export interface NvmlPort {
  /**
   * Starts the library and lets it open its devices while the caller reads files; `query` with the same path then takes it
   * over. Returns when the start is under way. For cards that are awake. Never throws.
   */
  prepare?(library: string): void;
  /** Asks the driver library in a child process that is ended after `timeoutMs`. Never rejects. */
  query(library: string, timeoutMs: number): Promise<NvmlAnswer>;
  /** Each question starts a second Node, which takes longer than nvidia-smi needs for its whole answer. */
  readonly startsNode?: true;
}

/** A folder of small files for cached results. Nothing throws; what cannot be written is not written. */
export interface CachePort {
  readonly folder: string;
  read(name: string): string | undefined;
  /** Atomic: a temporary file, then a rename. */
  write(name: string, text: string): void;
  list(): readonly { readonly name: string; readonly size: number; readonly mtimeMs: number }[];
  remove(name: string): void;
}

/** The machine as this process sees it. */
export interface Ports {
  readonly files: FilePort;
  readonly processes: ProcessPort;
  readonly nvml: NvmlPort;
  readonly cache: CachePort;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: Platform;
  readonly arch: Arch;
  /** User id and the group ids of the process; undefined on Windows. */
  readonly user: { readonly uid: number; readonly gids: readonly number[] } | undefined;
  readonly home: string;
  readonly node: string;
  /** uname -r, the processor's name, logical cores and memory, as the operating system's own calls tell them. */
  readonly kernel: string;
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Changes with every start of the machine; empty where the system tells none. */
  readonly bootId: string;
  /** Milliseconds since the epoch. */
  now(): number;
}
