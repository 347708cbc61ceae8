// Opens devices in processes of their own: one process for each device, so that one that dies takes no other with it.
//
// Never throws for a device that cannot be opened: those are listed with the reason, as the openers in this process do.

import { readdirSync } from 'node:fs';
import type { CpuOptions } from '../../../devices/cpu/device.ts';
import type { CudaOptions } from '../../../devices/cuda/discover.ts';
import type { WebGpuOptions } from '../../../devices/webgpu/open.ts';
import { ArgumentError } from '../../../errors.ts';
import { Connection } from './connection.ts';
import { Isolated, type IsolatedDevice } from './device.ts';
import type { ChildSpec, IsolatedKind } from './spawn.ts';
import { type packCaps, unpackCaps } from './wire.ts';

export interface IsolatedOptions {
  readonly cpu?: CpuOptions | undefined;
  readonly cuda?: CudaOptions | undefined;
  readonly webgpu?: WebGpuOptions | undefined;
  /** The longest wait for an answer, in ms; a device that takes longer counts as lost. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** The longest wait for the process to be ready, in ms. Default 30,000. */
  readonly openMs?: number | undefined;
  /** The built child.ts; looked for beside the library when not given. */
  readonly script?: string | undefined;
  /** Added to the environment of the process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface Refusal {
  readonly id: string;
  readonly reason: string;
  readonly fix: string;
}

export interface OpenedIsolated {
  readonly devices: readonly IsolatedDevice[];
  readonly refused: readonly Refusal[];
}

export type { IsolatedDevice, IsolatedKind };

/** What cannot be handed to another process. */
const local: Readonly<Record<IsolatedKind, readonly string[]>> = { cuda: ['ffi', 'host'], webgpu: ['gpu'], cpu: [] };

export async function openIsolated(kind: IsolatedKind, options: IsolatedOptions = {}): Promise<OpenedIsolated> {
  const given: object = options[kind] ?? {};
  const bad = local[kind].find((key) => key in given);
  if (bad !== undefined) {
    throw new ArgumentError({
      code: 'NOT_ISOLATABLE',
      message: `${kind}.${bad}: cannot be used with isolation: 'process'`,
      fix: 'It belongs to this process. Leave it out, or leave isolation off.',
      where: 'isolation',
    });
  }
  if (kind !== 'cuda') return open(kind, given, options);
  const asked = (given as CudaOptions).ordinals;
  const ordinals = asked ?? Array.from({ length: nvidiaCount() }, (_, i) => i);
  const opened = await Promise.all(ordinals.map((o) => open(kind, { ...given, ordinals: [o] }, options)));
  const devices = opened.flatMap((o) => o.devices);
  // Without a driver each of them says the same.
  const refused = new Map(opened.flatMap((o) => o.refused.map((r) => [`${r.id} ${r.reason}`, r] as const)));
  return { devices, refused: [...refused.values()] };
}

/** How many NVIDIA GPUs there may be: one if the system does not tell. */
function nvidiaCount(): number {
  try {
    return Math.max(1, readdirSync('/proc/driver/nvidia/gpus').length);
  } catch {
    return 1;
  }
}

interface Limits {
  readonly openMs: number;
  readonly timeoutMs: number;
}

interface PackedHello {
  readonly id: string;
  readonly caps: ReturnType<typeof packCaps>;
  readonly features: { readonly record: boolean; readonly telemetry: boolean; readonly pool: boolean };
  readonly refused?: readonly Refusal[];
}

async function open(kind: IsolatedKind, device: object, options: IsolatedOptions): Promise<OpenedIsolated> {
  const { script, env, openMs = 30_000, timeoutMs = 60_000 } = options;
  const limits = { openMs, timeoutMs };
  try {
    const opened = await start({ kind, options: device, script, env }, limits);
    return opened instanceof Isolated ? { devices: [opened], refused: [] } : { devices: [], refused: opened };
  } catch (e) {
    const reason = (e instanceof Error ? e.message : String(e)).split('\n')[0]!;
    const fix = "Leave isolation off (isolation: 'none') to see whether the device opens in this process.";
    return { devices: [], refused: [{ id: kind, reason, fix }] };
  }
}

async function start(spec: ChildSpec, limits: Limits): Promise<Isolated | readonly Refusal[]> {
  const line = new Connection(spec, limits);
  const hello = JSON.parse(await line.hello) as PackedHello;
  if (hello.refused) {
    await line.end();
    return hello.refused;
  }
  const again = async (): Promise<IsolatedDevice> => {
    const fresh = await start(spec, limits);
    if (fresh instanceof Isolated) return fresh;
    throw new Error(fresh.map((r) => `${r.id}: ${r.reason}`).join('; '));
  };
  const made: Isolated = new Isolated(
    { ...hello, caps: unpackCaps(hello.caps, (name) => made.ask(`detail ${name}`) as string | number | boolean) },
    line,
    again,
  );
  return made;
}
