// Transfers: bytes to the device and back, waited for and timed.

import { ArgumentError, byteSize, type DType, type HostArrays, type Maybe, type Shape, type Tensor } from '../index.ts';
import { type Context, promised, type Site } from './context.ts';

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
    const made = ctx.run({ operation, signal, otherwise: 'transfer' }, (site) => upload(ctx, site, data, shape, dtype));
    const handedOut = (tensor: Tensor): Tensor => {
      ctx.handOut([tensor], operation);
      return tensor;
    };
    return made instanceof Promise ? made.then(handedOut) : handedOut(made);
  });
}

/** A tensor whose bytes have arrived. */
export function upload(
  ctx: Context,
  { station, device, run }: Site,
  data: ArrayBufferView,
  shape: Shape,
  dtype: DType | undefined,
): Maybe<Tensor> {
  const { runtime } = station;
  const bytes = dtype === undefined ? data.byteLength : sizeOf(shape) * byteSize(dtype);
  return ctx.copying(device ?? station.id, 'upload', bytes, () => {
    const tensor = run(() => runtime.tensor(data, shape, dtype === undefined ? {} : { dtype }) as Tensor);
    const mark = runtime.device(tensor.device ?? station.id).mark(false);
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
    ctx.run({ operation, otherwise: 'transfer' }, (site) => {
      ctx.checkTensor(tensor as unknown as Tensor, site.station, operation);
      return download(ctx, site, tensor);
    }),
  );
}

/** The elements of a tensor, in an array if one is given. The time of work that is still to be done is not counted as a transfer. */
export function download<D extends DType>(
  ctx: Context,
  site: Site,
  tensor: Tensor<D>,
  into?: HostArrays[D],
): Maybe<HostArrays[D]> {
  const from = tensor.device ?? site.device ?? site.station.id;
  const copy = (): Maybe<HostArrays[D]> => ctx.copying(from, 'download', tensor.nbytes, () => tensor.data({ into }));
  if (tensor.computed || tensor.lost) return copy();
  const lazy = tensor as unknown as Tensor;
  const pending = ctx.computing(site, 'pending', tensor.nbytes, () => [site.run(() => lazy.compute())]);
  return pending instanceof Promise ? pending.then(copy) : copy();
}

const sizeOf = (shape: Shape): number => shape.reduce((n, d) => n * d, 1);

function checkInput(data: ArrayBufferView, options: TransferOptions, operation: string): Shape {
  const refuse = (message: string, fix: string): ArgumentError =>
    new ArgumentError({ message: `${operation}: ${message}`, where: operation, fix });
  if (!ArrayBuffer.isView(data) || data instanceof DataView) {
    const kind = data === null ? 'null' : Array.isArray(data) ? 'an array' : typeof data;
    throw refuse(`the data is ${kind}`, 'Give a typed array: Float32Array.from(data).');
  }
  const { length } = data as unknown as Lengthy;
  const shape = options.shape ?? [length];
  const whole = Array.isArray(shape) && shape.every((d) => Number.isSafeInteger(d) && d >= 0);
  if (whole && sizeOf(shape) === length) return shape;
  throw refuse(
    whole
      ? `the shape [${shape.join(', ')}] has ${sizeOf(shape)} elements, the data ${length}`
      : `the shape ${String(shape)} is not a list of whole numbers`,
    'Give as many values as the shape has elements.',
  );
}
