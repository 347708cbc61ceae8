// Finding and opening devices: what works is opened, for the rest the reason is kept. The code of a device is imported when
// it is looked for: a page that asks for WebGPU alone loads nothing of the others.

import { isDenied, isNode } from '../base/platform.ts';
import type { CpuOptions } from '../devices/cpu/device.ts';
import type { CudaOptions } from '../devices/cuda/discover.ts';
import type { Device } from '../devices/device.ts';
import type { WebGpuOptions } from '../devices/webgpu/open.ts';
import { ArgumentError, DeviceUnavailable } from '../errors.ts';
import { closeQuietly } from '../governor/recovery/loss.ts';
import { selfCheck } from '../governor/recovery/self-check.ts';

export type DeviceKind = 'cuda' | 'webgpu' | 'cpu' | 'reference';

export interface DeviceOptions {
  /**
   * Kinds of devices to look for, best first, and devices of your own (see docs/devices.md), which the runtime closes with itself.
   * Default: CUDA (in Node), WebGPU, CPU.
   */
  readonly devices?: readonly (DeviceKind | Device)[] | undefined;
  readonly cpu?: CpuOptions | undefined;
  readonly cuda?: CudaOptions | undefined;
  readonly webgpu?: WebGpuOptions | undefined;
  /** Puts something around every device that is opened: fault injection, recording, counting. */
  readonly wrap?: ((device: Device) => Device) | undefined;
  /**
   * 'process' puts each GPU device into a process of its own, which is started again when a fault has taken it down (Node
   * only). A list does so for the kinds it names, the CPU too if you like. Default 'none'.
   */
  readonly isolation?: 'none' | 'process' | readonly ('cuda' | 'webgpu' | 'cpu')[] | undefined;
}

/** One line of `rt.devices()`. */
export interface DeviceReport {
  readonly id: string;
  readonly open: boolean;
  readonly name: string;
  /** Why it was not opened, and what would help. */
  readonly reason?: string;
  readonly fix?: string;
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

interface Opened {
  readonly devices: readonly Device[];
  readonly refused: readonly { readonly id: string; readonly reason: string; readonly fix: string }[];
}

const openers: Readonly<Record<DeviceKind, (options: DeviceOptions, timeoutMs: number) => Promise<Opened>>> = {
  cuda: async (o, timeoutMs) => {
    if (!isNode()) {
      const refused = [{ id: 'cuda', reason: 'browsers have no access to CUDA', fix: 'Use WebGPU here.' }];
      return { devices: [], refused };
    }
    const { openCudaDevices } = await import('../devices/cuda/discover.ts');
    return checked(await openCudaDevices(o.cuda), timeoutMs);
  },
  webgpu: async (o, timeoutMs) => {
    const { openWebGpuDevices } = await import('../devices/webgpu/open.ts');
    return checked(await openWebGpuDevices(o.webgpu), timeoutMs);
  },
  cpu: async (o) => {
    const { createCpuDevice } = await import('../devices/cpu/device.ts');
    try {
      return { devices: [await createCpuDevice(o.cpu)], refused: [] };
    } catch (e) {
      if (!(e instanceof DeviceUnavailable)) throw e;
      const [reason = ''] = e.message.split('\n  fix: ');
      return { devices: [], refused: [{ id: 'cpu', reason: reason.replace(/^\w+: /, ''), fix: e.fix }] };
    }
  },
  reference: async () => {
    const { createReferenceDevice } = await import('../devices/reference/device.ts');
    return { devices: [createReferenceDevice()], refused: [] };
  },
};

async function openOwn(device: Device, timeoutMs: number): Promise<Opened> {
  const { checkDevice } = await import('./own-device.ts');
  return checked({ devices: [checkDevice(device)], refused: [] }, timeoutMs);
}

const isDevice = (given: DeviceKind | Device): given is Device => typeof given === 'object' && given !== null;

const defaults: readonly DeviceKind[] = ['cuda', 'webgpu', 'cpu'];

/** `timeoutMs`: the longest wait for an answer of a device. */
export async function openDevices(
  options: DeviceOptions,
  timeoutMs: number,
): Promise<{ devices: Device[]; reports: DeviceReport[] }> {
  const kinds = options.devices ?? defaults;
  const unknown = kinds.find((k) => !(isDevice(k) || k in openers));
  if (unknown !== undefined || kinds.length === 0) {
    throw new ArgumentError({
      code: 'UNKNOWN_DEVICE',
      message:
        unknown === undefined
          ? 'createRuntime: the list of devices is empty'
          : `createRuntime: there is no device '${String(unknown)}'`,
      fix: `Use some of ${Object.keys(openers).join(', ')}, or a device of your own.`,
      where: 'createRuntime',
    });
  }
  const apart = isolated(options);
  const opened = await Promise.all(
    kinds.map((k) => {
      if (isDevice(k)) return openOwn(k, timeoutMs);
      const opening = apart.includes(k) ? openApart(k, options, timeoutMs) : openers[k](options, timeoutMs);
      return opening.catch((e: unknown) => notPermitted(k, e));
    }),
  );
  // A GPU emulated on the CPU is slower than the CPU device: it goes last.
  const { wrap = (d: Device) => d } = options;
  const devices = opened.flatMap((o) => o.devices.map(wrap)).sort((a, b) => rank(a) - rank(b));
  checkNames(devices);
  const reports: DeviceReport[] = [
    ...devices.map((d) => ({ id: d.id, open: true, name: d.caps.name, details: d.caps.details })),
    ...opened.flatMap((o) => o.refused.map((r) => ({ ...r, open: false, name: '', details: {} }))),
  ];
  if (devices.length === 0) throw noDevice(reports);
  return { devices, reports };
}

/** Deno asks for permissions: a device that lacks one is left out, with the flag that grants it. */
function notPermitted(id: DeviceKind, error: unknown): Opened {
  if (!isDenied(error)) throw error;
  const { message } = error as Error;
  const flag = /--allow-[\w-]+/.exec(message)?.[0] ?? '--allow-all';
  return { devices: [], refused: [{ id, reason: message, fix: `Run Deno with ${flag}.` }] };
}

export function noDevice(reports: readonly DeviceReport[]): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NO_DEVICE',
    message: `createRuntime: no device could be opened: ${reports.map((r) => `${r.id}: ${r.reason}`).join('; ')}`,
    fix: reports.map((r) => r.fix).join(' '),
    where: 'createRuntime',
  });
}

/** The kinds whose devices live in processes of their own. */
function isolated({ isolation = 'none' }: DeviceOptions): readonly DeviceKind[] {
  const kinds = isolation === 'none' ? [] : isolation === 'process' ? (['cuda', 'webgpu'] as const) : isolation;
  const bad = Array.isArray(kinds) ? kinds.find((k) => !['cuda', 'webgpu', 'cpu'].includes(k)) : String(isolation);
  if (bad === undefined && (isNode() || kinds.length === 0)) return kinds;
  throw new ArgumentError({
    code: 'BAD_OPTION',
    message:
      bad === undefined
        ? 'createRuntime: isolation takes processes, which browsers do not have'
        : `createRuntime: isolation: there is no '${bad}'`,
    fix: "Use 'none', or in Node 'process' or a list of cuda, webgpu, cpu.",
    where: 'createRuntime',
  });
}

async function openApart(kind: DeviceKind, options: DeviceOptions, timeoutMs: number): Promise<Opened> {
  const { openIsolated } = await import('../governor/recovery/isolated/open.ts');
  return checked(await openIsolated(kind as 'cuda' | 'webgpu' | 'cpu', { ...options, timeoutMs }), timeoutMs);
}

/** For devices behind a driver: those that compute wrong are closed and reported, never used. */
async function checked(opened: Opened, timeoutMs: number): Promise<Opened> {
  const devices: Device[] = [];
  const refused = [...opened.refused];
  for (const device of opened.devices) {
    const reason = await selfCheck(device, timeoutMs).then(
      (wrong) => wrong && `it computes wrong: ${wrong}`,
      (e: unknown) => `its first computation failed: ${e instanceof Error ? e.message.split('\n')[0] : e}`,
    );
    if (reason === null) devices.push(device);
    else {
      await closeQuietly(device);
      refused.push({ id: device.id, reason, fix: 'Update the GPU driver, or use another device.' });
    }
  }
  return { devices, refused };
}

const rank = (d: Device): number => (d.caps.details.software === true ? 1 : 0);

/** Two devices of one runtime cannot share a name: work is placed by it. */
function checkNames(devices: readonly Device[]): void {
  const twice = devices.find((d, i) => devices.findIndex((e) => e.id === d.id) !== i);
  if (!twice) return;
  throw new ArgumentError({
    code: 'DEVICE_TWICE',
    message: `createRuntime: there are two devices called '${twice.id}'`,
    fix: "Give each a name of its own, such as createCpuDevice({ id: 'cpu:1' }).",
    where: 'createRuntime',
  });
}
