// Finds and opens WebGPU devices: `navigator.gpu` where a browser has one, Dawn in Node. Never throws; what cannot be
// opened is listed with the reason and what would help.

import { isNode } from '../../base/platform.ts';
import { ArgumentError, DeviceUnavailable } from '../../errors.ts';
import type { Device } from '../device.ts';
import { dtypesOf, WebGpuDevice } from './device.ts';
import { messageOf } from './errors.ts';
import type { Environment } from './node.ts';
import type { Traits } from './plan.ts';
import type { GpuKernels } from './render.ts';
import { mayShareLayouts } from './shared-layouts.ts';
import { nativeOps } from './wgsl/ops.ts';

/** An implementation of WebGPU, such as `navigator.gpu`. Said in words of its own: projects for Node have no types of WebGPU. */
export interface WebGpu {
  requestAdapter(options?: object): Promise<unknown>;
}

export interface WebGpuOptions {
  /** A WebGPU implementation to use instead of the one found. */
  readonly gpu?: WebGpu;
  readonly powerPreference?: 'low-power' | 'high-performance';
  /** Memory the device may use, in bytes. WebGPU does not tell; without this a cautious figure is assumed. */
  readonly memoryBytes?: number;
  /** Which plans to use: those for GPUs or those for software adapters. Default: what the adapter is. */
  readonly plans?: 'gpu' | 'software';
  /** Time marks with timestamp queries where the adapter has them. Default: yes. */
  readonly timestamps?: boolean;
  /** In Node, toggles of Dawn to enable, such as `vulkan_enable_f16_on_nvidia`: there f16 is off unless asked for. */
  readonly dawnToggles?: readonly string[];
}

export interface Refusal {
  readonly id: string;
  readonly reason: string;
  readonly fix: string;
}

export interface Opened {
  readonly devices: Device[];
  readonly refused: Refusal[];
}

const id = 'webgpu:0';

/** Opens the WebGPU device of this browser or Node process. */
export async function openWebGpuDevices(options: WebGpuOptions = {}): Promise<Opened> {
  try {
    const found = await findGpu(options);
    if ('reason' in found) return { devices: [], refused: [{ id, reason: found.reason, fix: found.fix }] };
    return { devices: [await openDevice(found, options)], refused: [] };
  } catch (error) {
    const fix = 'Update the browser or the GPU driver; in Node, npm install webgpu@latest.';
    return { devices: [], refused: [{ id, reason: `WebGPU could not be opened: ${messageOf(error)}`, fix }] };
  }
}

/**
 * Opens a device anew after it was lost: another adapter and GPU device under the same id, with the options of the first. What
 * was on the old one is gone. One attempt: rejects with DeviceUnavailable where no adapter answers (yet).
 */
export async function reopenWebGpuDevice(device: Device): Promise<Device> {
  if (device instanceof WebGpuDevice) return device.reopen();
  throw new ArgumentError({
    code: 'WRONG_DEVICE',
    message: `${device.id} is not a WebGPU device`,
    fix: 'Use the reopen() of the device itself, where it has one.',
    where: 'reopenWebGpuDevice',
  });
}

/** From where the device came before, or, where that has gone with it (a driver that was reset), from wherever one is now. */
async function reopen(before: Source, options: WebGpuOptions): Promise<WebGpuDevice> {
  try {
    return await openDevice(before, options).catch(async (error) => {
      const found = await findGpu(options);
      if ('reason' in found || found.gpu === before.gpu) throw error;
      return openDevice(found, options);
    });
  } catch (error) {
    throw new DeviceUnavailable({
      code: 'DEVICE_GONE',
      message: `${id}: could not be opened again after it was lost: ${messageOf(error)}`,
      fix: 'Go on with another device, and try again later.',
      where: id,
      cause: error,
    });
  }
}

interface Source {
  readonly gpu: GPU;
  /** Memory of the host where it is known: a software adapter's own. */
  readonly hostBytes: number | null;
  readonly driver: string | null;
}

async function findGpu(options: WebGpuOptions): Promise<Source | { reason: string; fix: string }> {
  const scope = globalThis as { navigator?: { gpu?: GPU }; process?: Environment & { versions?: { node?: string } } };
  const gpu = (options.gpu as GPU | undefined) ?? scope.navigator?.gpu;
  if (gpu) return { gpu, hostBytes: null, driver: null };
  if (scope.process?.versions?.node) {
    const { openDawn } = await import('./node.ts');
    const found = await openDawn(scope.process, options.powerPreference ?? 'high-performance', options.dawnToggles);
    return found.kind === 'gpu' ? found : { reason: found.reason, fix: found.fix };
  }
  const secure = (globalThis as { isSecureContext?: boolean }).isSecureContext !== false;
  return {
    reason: secure ? 'this browser has no WebGPU (navigator.gpu is missing)' : 'WebGPU exists in secure contexts only',
    fix: secure ? 'Use a current Chrome, Edge, Firefox or Safari.' : 'Serve the page over https, or from localhost.',
  };
}

async function openDevice(source: Source, options: WebGpuOptions): Promise<WebGpuDevice> {
  const powerPreference = options.powerPreference ?? 'high-performance';
  const adapter = await source.gpu.requestAdapter({ powerPreference });
  if (!adapter)
    throw new Error('no adapter: the browser has WebGPU but no GPU it would use; enable hardware acceleration');
  // Plans give the same bits with and without subgroups.
  const wanted: GPUFeatureName[] = ['shader-f16', 'timestamp-query', 'subgroups'];
  const features = wanted.filter((f) => adapter.features.has(f));
  const software = isSoftware(adapter.info);
  const cpu = options.plans ? options.plans === 'software' : software;
  const [gpu, gpuKernels] = await Promise.all([
    adapter.requestDevice({ requiredFeatures: features, requiredLimits: limitsOf(adapter) }),
    cpu ? null : loadGpuKernels(),
  ]);
  const traits: Traits = { ...traitsOf(adapter, gpu, software), cpu };
  const dtypes = dtypesOf(traits.f16);
  const { info } = adapter;
  const memoryBytes = options.memoryBytes ?? assumedMemory(gpu, software, source.hostBytes);
  return new WebGpuDevice({
    id,
    gpu,
    traits,
    gpuKernels,
    memoryBytes,
    sharedLayouts: await mayShareLayouts(gpu),
    timestamps: features.includes('timestamp-query') && options.timestamps !== false,
    caps: {
      name: info.description || info.device || `${info.vendor} ${info.architecture}`.trim() || 'WebGPU',
      dtypes,
      native: nativeOps(dtypes),
      routines: new Set([
        'matmul',
        'sort',
        'scan',
        'scatter',
        'raw',
        ...(gpuKernels ? (['rows', 'attention', 'topk'] as const) : []),
      ]),
      ...gpuKernels?.caps(traits),
      raw: 'wgsl',
      matmulEpilogue: true,
      cheapLaunches: cpu,
      // One binding is kept for scratch.
      maxBuffers: gpu.limits.maxStorageBuffersPerShaderStage - 1,
      maxBufferBytes: Math.min(gpu.limits.maxBufferSize, gpu.limits.maxStorageBufferBindingSize),
      syncRead: false,
      details: {
        vendor: info.vendor,
        architecture: info.architecture,
        software,
        features: features.join(', '),
        memory: options.memoryBytes === undefined ? 'assumed' : 'given',
        ...(source.driver ? { driver: source.driver } : {}),
      },
    },
    waiter: traits.cpu && isNode() ? (await import('./wait.ts')).patientWaiter : null,
    reopen: () => reopen(source, options),
  });
}

async function loadGpuKernels(): Promise<GpuKernels> {
  const [{ onChip }, { ordering }] = await Promise.all([import('./on-chip/index.ts'), import('./ordering/index.ts')]);
  return { ...onChip, ...ordering };
}

const limitNames = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupsPerDimension',
] as const;

/** All the adapter has: WebGPU gives the defaults to those who do not ask. */
function limitsOf(adapter: GPUAdapter): Record<string, number> {
  return Object.fromEntries(limitNames.map((n) => [n, adapter.limits[n]]));
}

const isSoftware = ({ architecture, device, description }: GPUAdapterInfo): boolean =>
  /swiftshader|llvmpipe|lavapipe|basic render/i.test(`${architecture} ${device} ${description}`);

function traitsOf({ info }: GPUAdapter, gpu: GPUDevice, software: boolean): Omit<Traits, 'cpu'> {
  const { limits } = gpu;
  return {
    f16: gpu.features.has('shader-f16'),
    // Barriers of software adapters are dear, but their subgroups are of four.
    subgroup: gpu.features.has('subgroups') ? (info.subgroupMinSize ?? 0) : 0,
    maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
    maxInvocations: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
    workgroupBytes: limits.maxComputeWorkgroupStorageSize,
    exactDivision: software,
    keepsNaN: software,
  };
}

/** Half the host's memory for a software adapter, else twice the largest buffer and at least 1 GiB. */
function assumedMemory(gpu: GPUDevice, software: boolean, hostBytes: number | null): number {
  if (software && hostBytes !== null) return Math.floor(hostBytes / 2);
  return Math.max(2 * gpu.limits.maxBufferSize, 2 ** 30);
}
