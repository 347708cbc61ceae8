// Transfers: bytes to the device and back, waited for, timed, tried again where that helps.

import { byteSize, type DType, type HostArrays } from '../base/dtype.ts';
import { type Shape, show, sizeOf } from '../base/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Context } from './context.ts';
import { InvalidArgumentError } from './errors.ts';
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

export async function transferTo(ctx: Context, data: ArrayBufferView, options: TransferOptions): Promise<Tensor> {
  const operation = 'transferToGPU';
  ctx.checkOpen(operation);
  const shape = checkInput(data, options, operation);
  return ctx.recovery.run(
    { operation, signal: options.signal, otherwise: 'transfer', reclaim: once(ctx) },
    async (station) => {
      const tensor = await upload(ctx, station, data, shape, options.dtype);
      ctx.book.track(tensor, station);
      return tensor;
    },
  );
}

/** A tensor whose bytes have arrived. */
export async function upload(
  ctx: Context,
  station: Station,
  data: ArrayBufferView,
  shape: Shape,
  dtype: DType | undefined,
): Promise<Tensor> {
  const { runtime, device } = station;
  const start = ctx.clock.now();
  let tensor: Tensor | null = null;
  const record = (failed: boolean): void => {
    const ms = ctx.clock.now() - start;
    const bytes = tensor ? tensor.size * byteSize(tensor.dtype) : data.byteLength;
    ctx.timeline.add({ kind: 'upload', name: 'upload', device: station.id, ms, bytes, source: 'host', failed });
  };
  try {
    tensor = runtime.tensor(data, shape, dtype === undefined ? {} : { dtype });
    const mark = device.mark();
    if (!mark.done()) await mark.whenDone();
    record(false);
    return tensor;
  } catch (e) {
    tensor?.dispose();
    record(true);
    throw e;
  }
}

export async function transferFrom<D extends DType>(ctx: Context, tensor: Tensor<D>): Promise<HostArrays[D]> {
  const operation = 'transferFromGPU';
  ctx.checkOpen(operation);
  return ctx.recovery.run({ operation, otherwise: 'transfer', reclaim: once(ctx) }, (station) => {
    const here = ctx.book.resolve(tensor as unknown as Tensor, station, operation) as unknown as Tensor<D>;
    return download(ctx, station, here);
  });
}

/** The elements of a tensor. The time of work that is still to be done is not counted as a transfer. */
export async function download<D extends DType>(
  ctx: Context,
  station: Station,
  tensor: Tensor<D>,
): Promise<HostArrays[D]> {
  const bytes = tensor.size * byteSize(tensor.dtype);
  if (!tensor.node.storage) await ctx.computing(station, 'pending', bytes, () => tensor.compute());
  const start = ctx.clock.now();
  const record = (failed: boolean): void => {
    const ms = ctx.clock.now() - start;
    ctx.timeline.add({ kind: 'download', name: 'download', device: station.id, ms, bytes, source: 'host', failed });
  };
  try {
    const data = await tensor.data();
    record(false);
    return data;
  } catch (e) {
    record(true);
    throw e;
  }
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
