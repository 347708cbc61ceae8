// Transfers: bytes to the device and back, waited for, timed, tried again where that helps.

import { byteSize, type DType, type HostArrays } from '../base/dtype.ts';
import { type Shape, show, sizeOf } from '../base/shape.ts';
import type { DeviceId } from '../devices/device.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Context } from './context.ts';
import { InvalidArgumentError } from './errors.ts';
import { type Maybe, promised } from './recovery.ts';
import type { Station } from './station.ts';

export interface TransferOptions {
  /** Default: one axis of all elements. */
  readonly shape?: Shape | undefined;
  /** Default: the dtype of the array. */
  readonly dtype?: DType | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Lengthy {
  readonly length: number;
}

export function transferTo(ctx: Context, data: ArrayBufferView, options: TransferOptions): Promise<Tensor> {
  const operation = 'transferToGPU';
  const { signal, dtype } = options;
  return promised(() => {
    ctx.checkOpen(operation);
    const shape = checkInput(data, options, operation);
    return ctx.recovery.run({ operation, signal, otherwise: 'transfer', reclaim: once(ctx) }, (station) => {
      const made = upload(ctx, station, data, shape, dtype);
      if (made instanceof Promise) return made.then((tensor) => ctx.book.track(tensor, station));
      return ctx.book.track(made, station);
    });
  });
}

/** A tensor whose bytes have arrived: on the station's device, or another that its runtime has open. */
export function upload(
  ctx: Context,
  station: Station,
  data: ArrayBufferView,
  shape: Shape,
  dtype: DType | undefined,
  at: DeviceId = station.id,
): Maybe<Tensor> {
  const { runtime } = station;
  const bytes = dtype === undefined ? data.byteLength : sizeOf(shape) * byteSize(dtype);
  const make = (): Tensor => runtime.tensor(data, shape, dtype === undefined ? {} : { dtype }) as Tensor;
  return ctx.copying(at, 'upload', bytes, () => {
    const tensor = at === station.id ? make() : runtime.scope({ device: at }, make);
    const mark = runtime.device(at).mark(false);
    if (mark.done()) return tensor;
    return mark.whenDone().then(
      () => tensor,
      (error) => {
        tensor.dispose();
        throw error;
      },
    );
  });
}

export function transferFrom<D extends DType>(ctx: Context, tensor: Tensor<D>): Promise<HostArrays[D]> {
  const operation = 'transferFromGPU';
  return promised(() =>
    ctx.recovery.run({ operation, otherwise: 'transfer', reclaim: once(ctx) }, (station) => {
      const here = ctx.book.resolve(tensor as unknown as Tensor, station, operation) as unknown as Tensor<D>;
      return download(ctx, station, here);
    }),
  );
}

/** The elements of a tensor. The time of work that is still to be done is not counted as a transfer. */
export function download<D extends DType>(
  ctx: Context,
  station: Station,
  tensor: Tensor<D>,
  at: DeviceId = station.id,
): Maybe<HostArrays[D]> {
  const bytes = tensor.size * byteSize(tensor.dtype);
  const copy = (): Maybe<HostArrays[D]> => ctx.copying(at, 'download', bytes, () => tensor.data());
  if (tensor.node.storage) return copy();
  const pending = ctx.computing(station.runtime.device(at), 'pending', bytes, () => tensor.compute());
  return pending instanceof Promise ? pending.then(copy) : copy();
}

/** Gives back what is held for reuse, one time per call. */
export function once(ctx: Context): () => boolean {
  let done = false;
  return () => {
    const station = ctx.devices.current;
    if (done || !station) return false;
    done = true;
    ctx.reclaim(station);
    return true;
  };
}

function checkInput(data: ArrayBufferView, options: TransferOptions, operation: string): Shape {
  if (!ArrayBuffer.isView(data) || data instanceof DataView) {
    throw new InvalidArgumentError({
      message: `${operation}: the data is ${data === null ? 'null' : Array.isArray(data) ? 'an array' : typeof data}`,
      operation,
      hint: 'Give a typed array: Float32Array.from(data).',
    });
  }
  const { length } = data as unknown as Lengthy;
  const shape = options.shape ?? [length];
  const whole = Array.isArray(shape) && shape.every((d) => Number.isSafeInteger(d) && d >= 0);
  if (!whole || sizeOf(shape) !== length) {
    throw new InvalidArgumentError({
      message: whole
        ? `${operation}: the shape ${show(shape)} has ${sizeOf(shape)} elements, the data ${length}`
        : `${operation}: the shape ${String(shape)} is not a list of whole numbers`,
      operation,
      hint: 'Give as many values as the shape has elements.',
    });
  }
  return shape;
}
