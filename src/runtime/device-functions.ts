// The functions of `gpuforge/devices`, with checks of what they are given. The library itself calls them without.

import type { DType } from '../base/dtype.ts';
import { kindTable } from '../base/kinds.ts';
import { checked } from '../base/signatures.ts';
import { isDevice } from '../devices/argument.ts';
import * as clock from '../devices/clock.ts';
import { createCpuDevice as openCpu } from '../devices/cpu/device.ts';
import { openCudaDevices as openCuda } from '../devices/cuda/discover.ts';
import { createReferenceDevice as createReference } from '../devices/reference/device.ts';
import * as reference from '../devices/reference/evaluate.ts';
import { openWebGpuDevices as openWebGpu } from '../devices/webgpu/open.ts';
import * as recovery from '../governor/recovery/self-check.ts';
import * as printing from '../kernel/print.ts';
import * as conformance from './conformance.ts';
import { cpuOptions, cudaOptions, runtimeKinds, webGpuOptions } from './signatures.ts';

const isObject = runtimeKinds.object.is;
const kindOf = (v: unknown): unknown => (isObject(v) ? (v as { kind?: unknown }).kind : undefined);

const isSample = (v: unknown): boolean =>
  isObject(v) && ['before', 'after', 'device'].every((k) => typeof (v as Record<string, unknown>)[k] === 'number');

const kinds = kindTable({
  ...runtimeKinds,
  device: isDevice,
  kernel: { is: (v: unknown) => kindOf(v) === 'kernel', words: 'a kernel' },
  work: { is: (v: unknown) => kindOf(v) === 'kernel' || kindOf(v) === 'routine', words: 'a kernel or a routine' },
  samples: {
    is: (v: unknown) => Array.isArray(v) && v.length > 0 && v.every(isSample),
    words: 'an array of { before, after, device }, with at least one of them',
  },
});

/** Opens the CPU device by itself. */
export const createCpuDevice = checked('createCpuDevice', `async options:${cpuOptions}?`, openCpu, kinds);

/** Opens the NVIDIA GPUs of this machine, and tells why not where there are none. */
export const openCudaDevices = checked('openCudaDevices', `async options:${cudaOptions}?`, openCuda, kinds);

/** Opens the WebGPU device of this browser or Node process, and tells why not where there is none. */
export const openWebGpuDevices = checked('openWebGpuDevices', `async options:${webGpuOptions}?`, openWebGpu, kinds);

/** A device that computes everything by its definition: slow, and right. */
export const createReferenceDevice = checked('createReferenceDevice', '', createReference);

/** Runs a kernel or routine on plain bytes by its definition. Buffers are its inputs, then its outputs. */
export const evaluate: (
  work: Parameters<typeof reference.evaluate>[0],
  buffers: readonly Uint8Array[],
  scalars?: readonly number[],
  types?: readonly DType[],
) => void = checked(
  'evaluate',
  'work:work buffers:bytes[] scalars:number[]? types:dtype[]?',
  reference.evaluate,
  kinds,
);

/** Computes something small on a device; null, or what came out wrong. */
export const selfCheck = checked(
  'selfCheck',
  'async device:device timeoutMs:number? signal:signal?',
  recovery.selfCheck,
  kinds,
);

/** A kernel as text, for debugging. */
export const printKernel = checked('printKernel', 'kernel:kernel', printing.printKernel, kinds);

/** About fifty checks of a device, each passed, failed with the reason, or not claimed. */
export const checkConformance = checked('checkConformance', 'async device:device', conformance.checkConformance, kinds);

/** The clocks as the samples show them together; `host` is the time at which the device's clock showed `device`. */
export const compareClocks = checked('compareClocks', 'samples:samples', clock.compareClocks, kinds);
