// Kernels without an implementation of ours: TF.js's own CPU kernels, on a private CPU backend.
//
// Inputs are read, the kernel runs, its outputs are written back, and the private ids are freed. Every use is counted.

import { DeviceUnavailable } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { asArray, isNumeric } from './convert.ts';
import type { Session } from './session.ts';
import type { BackendValues, DataId, KernelInputs, NamedAttrMap, TensorInfo } from './types.ts';

/**
 * Kernels of TF.js that stay on the CPU: they work on strings, or the shape of their result depends on values. Known by name,
 * so that without a CPU backend whoever calls one is told what to do.
 */
export const hostKernels = [
  'Draw',
  'NonMaxSuppressionV3',
  'NonMaxSuppressionV4',
  'NonMaxSuppressionV5',
  'RaggedGather',
  'RaggedRange',
  'RaggedTensorToTensor',
  'SparseFillEmptyRows',
  'SparseReshape',
  'SparseSegmentMean',
  'SparseSegmentSum',
  'StaticRegexReplace',
  'StringNGrams',
  'StringSplit',
  'StringToHashBucketFast',
  'Unique',
] as const;

type PrivateBackend = InstanceType<NonNullable<Session['cpu']>['MathBackendCPU']>;
type CpuKernel = (params: {
  inputs: KernelInputs;
  backend: unknown;
  attrs?: NamedAttrMap;
}) => TensorInfo | TensorInfo[];

export class Routed {
  readonly #kernels = new Map<string, CpuKernel>();
  #backend: PrivateBackend | null = null;

  constructor(session: Session) {
    if (!session.cpu) return;
    for (const { kernelName, kernelFunc } of session.tf.getKernelsForBackend('cpu'))
      this.#kernels.set(kernelName, kernelFunc as CpuKernel);
  }

  /** The kernels that can be routed. */
  get names(): readonly string[] {
    return [...this.#kernels.keys()];
  }

  run(
    kernel: string,
    inputs: KernelInputs,
    attrs: NamedAttrMap | undefined,
    backend: ForgeBackend,
    reason: string,
  ): TensorInfo | TensorInfo[] {
    const { session } = backend;
    const run = session.routing ? this.#kernels.get(kernel) : undefined;
    if (!run) {
      session.missing.add(kernel);
      throw notThere(kernel, session, reason);
    }
    const cpu = (this.#backend ??= quietly(session));
    const given: DataId[] = [];
    const lend = (x: TensorInfo): TensorInfo => {
      const dataId = lendValues(cpu, x, readNow(backend, x, kernel));
      given.push(dataId);
      // Some kernels ask for the rank, which tensors have beside their shape.
      return { dataId, shape: x.shape, dtype: x.dtype, rank: x.shape.length } as TensorInfo;
    };
    const made: TensorInfo[] = [];
    try {
      // Some kernels take a list.
      const lent: KernelInputs = Array.isArray(inputs) ? ([] as unknown as KernelInputs) : {};
      for (const [name, x] of Object.entries(inputs)) {
        if (Array.isArray(x)) lent[name] = x.map(lend) as unknown as TensorInfo;
        else if (x) lent[name] = lend(x);
      }
      const out = run({ inputs: lent, backend: cpu, ...(attrs && { attrs }) });
      session.ranRouted(kernel, reason);
      made.push(...[out].flat());
      const back = made.map((x) => takeBack(cpu, backend, x));
      return Array.isArray(out) ? back : back[0]!;
    } finally {
      for (const { dataId } of made) cpu.disposeData(dataId, true);
      for (const dataId of given) cpu.disposeData(dataId, true);
      // A CPU kernel that forgot an id of its own must not make this one grow.
      if (cpu.numDataIds() > 0) this.#backend = null;
    }
  }
}

/** The private backend. Its first write tells Node's users to install another package; not here. */
function quietly({ cpu }: Session): PrivateBackend {
  const backend = new cpu!.MathBackendCPU();
  (backend as unknown as { firstUse: boolean }).firstUse = false;
  return backend;
}

function lendValues(cpu: PrivateBackend, x: TensorInfo, values: BackendValues): DataId {
  if (x.dtype !== 'complex64') return cpu.write(values, x.shape, x.dtype);
  const half = (part: number): TensorInfo => {
    const list = Float32Array.from({ length: values.length / 2 }, (_, i) => Number(values[2 * i + part]));
    return cpu.makeTensorInfo(x.shape, 'float32', list);
  };
  const { dataId } = cpu.makeTensorInfo(x.shape, 'complex64');
  cpu.data.get(dataId).complexTensorInfos = { real: half(0), imag: half(1) };
  return dataId;
}

function takeBack(cpu: PrivateBackend, backend: ForgeBackend, x: TensorInfo): TensorInfo {
  const values = cpu.readSync(x.dataId);
  const own = isNumeric(x.dtype) ? (asArray(values, x.dtype) as BackendValues) : values;
  return { dataId: backend.write(own, x.shape, x.dtype), shape: x.shape, dtype: x.dtype };
}

/** An input in host memory. On a device that cannot be read at once, only what never left it can be had. */
function readNow(backend: ForgeBackend, x: TensorInfo, kernel: string): BackendValues {
  try {
    return backend.readSync(x.dataId);
  } catch (cause) {
    if (!(cause instanceof DeviceUnavailable)) throw cause;
    throw new DeviceUnavailable({
      code: cause.code,
      message: `${kernel} has no kernel of its own here, and its input (${x.dtype} [${x.shape}]) is on a device that cannot be read synchronously`,
      fix: "Read the input first (`await x.data()`) and make a tensor of it, or in Node use createRuntime({ isolation: 'process' }), which can be read synchronously.",
      where: kernel,
      cause,
    });
  }
}

const notThere = (kernel: string, session: Session, reason: string): DeviceUnavailable =>
  new DeviceUnavailable({
    code: 'KERNEL_NOT_AVAILABLE',
    message: `${kernel} has no kernel on '${session.name}' (${reason}), and there is no CPU backend to run it on`,
    fix: 'npm install @tensorflow/tfjs-backend-cpu, import it, and pass it: registerBackend(tf, { cpu }).',
    where: kernel,
  });
