// What the doctor finds. Plain data: printed, serialised with --json, and acted upon by --fix.

import type { LoadedTables } from '../data/tables.ts';
import type { Mirrors } from '../env/mirrors.ts';
import type { Machine } from '../machine.ts';
import type { Ports } from '../ports.ts';

export const DOCTOR_SCHEMA = 'gpuforge.doctor/1';

export const areas = [
  'gpu',
  'driver',
  'access',
  'place',
  'libraries',
  'node',
  'vulkan',
  'python',
  'tools',
  'disk',
  'network',
  'data',
  'compute',
] as const;

export type Area = (typeof areas)[number];

/** `unverified` is neither good nor bad: nobody looked. It is never shown as healthy. */
export type Status = 'ok' | 'info' | 'unverified' | 'skipped' | 'warning' | 'error';

export type FixAction = 'clear-broken-cache' | 'write-headless-icd';

export interface Fix {
  /** A sentence the reader can act on. */
  readonly text: string;
  /** Commands to paste, in order. */
  readonly commands: readonly string[];
  /** Set when `--fix` may do it. */
  readonly action?: FixAction;
}

export interface Finding {
  /** Stable: scripts may rely on it. */
  readonly code: string;
  readonly area: Area;
  readonly status: Status;
  readonly summary: string;
  readonly evidence: readonly string[];
  readonly fix: Fix | null;
}

export interface DeviceVerdict {
  readonly device: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** A real run on each device but those of the kinds to leave alone; given by whoever has the core at hand. */
export type ComputeProbe = (leave: readonly string[]) => Promise<readonly DeviceVerdict[]>;

export interface DoctorReport {
  readonly schema: typeof DOCTOR_SCHEMA;
  readonly exitStatus: 0 | 1 | 2;
  readonly verdict: {
    readonly compute: 'verified' | 'failed' | 'unverified';
    readonly devices: readonly DeviceVerdict[];
  };
  readonly areas: readonly { readonly area: Area; readonly status: Status; readonly findings: readonly Finding[] }[];
  readonly supportedFixes: readonly FixAction[];
  readonly machine: Machine;
}

/** Where the doctor looks beyond detection. */
export interface World {
  readonly ports: Ports;
  readonly cwd: string;
  /** Folders from which `import` of a package would start: the working folder and the one this program lies in. */
  readonly packageRoots: readonly string[];
  freeBytes(path: string): number | undefined;
  /** Opens a connection and closes it again; never rejects. */
  reach(host: string, timeoutMs: number, port: number): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

export interface DoctorOptions {
  readonly offline?: boolean;
  /** The interpreter to examine instead of the one found. */
  readonly python?: string;
  readonly computeProbe?: ComputeProbe;
  /** The compatibility tables in use; the shipped ones when not given. */
  readonly tables?: LoadedTables;
  /** Compute on sleeping cards too, which wakes them. */
  readonly wake?: boolean;
  /** What stands in place of the public indexes. */
  readonly mirrors?: Mirrors;
  /** Months after which the tables count as old. */
  readonly staleMonths?: number;
}

/** Everything the checks look at, gathered once. */
export interface Context {
  readonly world: World;
  readonly ports: Ports;
  readonly machine: Machine;
  readonly options: DoctorOptions;
}

export function finding(
  code: string,
  area: Area,
  status: Status,
  summary: string,
  more: { readonly evidence?: readonly string[]; readonly fix?: Fix } = {},
): Finding {
  return { code, area, status, summary, evidence: more.evidence ?? [], fix: more.fix ?? null };
}

export function fix(text: string, ...commands: readonly string[]): Fix {
  return { text, commands };
}
