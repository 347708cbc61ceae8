// The parts of TF.js that are used, as types. The modules themselves are the user's: nothing here imports them.

import type * as cpuBackend from '@tensorflow/tfjs-backend-cpu';
import type * as core from '@tensorflow/tfjs-core';
import type { Tensor } from '../index.ts';

/** `@tensorflow/tfjs-core`, or `@tensorflow/tfjs`, as the user imported it. */
export type Tf = Pick<
  typeof core,
  | 'DataStorage'
  | 'Tensor'
  | 'backend_util'
  | 'broadcast_util'
  | 'engine'
  | 'env'
  | 'findBackendFactory'
  | 'getKernelsForBackend'
  | 'kernel_impls'
  | 'registerBackend'
  | 'registerKernel'
  | 'removeBackend'
  | 'slice_util'
  | 'unregisterKernel'
  | 'util'
  | 'version_core'
>;

/** `@tensorflow/tfjs-backend-cpu`, as the user imported it. */
export type TfCpu = Pick<typeof cpuBackend, 'MathBackendCPU' | 'version_cpu'>;

export type { BackendValues, DataId, DataType, NamedAttrMap, TensorInfo } from '@tensorflow/tfjs-core';
export type TfTensor = core.Tensor;
export type KernelInputs = core.NamedTensorInfoMap;

/** A complex64 value: two f32 tensors of one shape. */
export interface ComplexPair {
  readonly real: Tensor;
  readonly imag: Tensor;
}
