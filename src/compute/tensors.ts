// The tensors that the facade handed out, and how they outlive the runtime they were made in.
//
// A tensor belongs to one runtime for ever. When a station is left, the bytes of its tensors are brought to host memory (a
// runtime that lost its device still has what it kept there), and the handle that the caller holds stands for them from then on: `resolve` makes a tensor of the new
// station at the first use and remembers it. What could not be saved is lost and says so; nothing ever turns into zeros.

import type { DType } from '../base/dtype.ts';
import { type Shape, show } from '../base/shape.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { later } from './clock.ts';
import { DisposedError, InvalidArgumentError, TensorLostError } from './errors.ts';
import type { Station } from './station.ts';

interface Entry {
  readonly handle: WeakRef<Tensor>;
  readonly dtype: DType;
  readonly shape: Shape;
  /** The bytes in host memory. */
  copy: Uint8Array | null;
  /** The tensor that holds the bytes now, if that is not the handle. */
  current: Tensor | null;
  /** Where the handle, or `current`, lives; null while the bytes are in host memory alone. */
  station: Station | null;
  lost: string | null;
}

/** The longest wait for the bytes of a tensor whose device may be gone, in ms. */
const patienceMs = 5000;
const maxYoung = 512;

export class TensorBook {
  readonly #young: { readonly tensor: Tensor; readonly station: Station }[] = [];
  readonly #entries = new Set<Entry>();
  readonly #byHandle = new WeakMap<Tensor, Entry>();
  readonly #collected: FinalizationRegistry<Entry>;
  #sweepAt = 1024;

  constructor() {
    this.#collected = new FinalizationRegistry((entry) => this.#drop(entry));
  }

  /**
   * Remembers a tensor of a station. For the current turn of the event loop it is only noted: most results live no longer, and
   * a weak reference costs more than many an operation.
   */
  track(tensor: Tensor, station: Station): Tensor {
    if (this.#young.length === 0) later(() => this.#settle());
    else if (this.#young.length >= maxYoung) this.#settle();
    this.#young.push({ tensor, station });
    return tensor;
  }

  /** Handles that are alive. */
  live(): number {
    this.sweep();
    let n = 0;
    for (const e of this.#entries) if (e.lost === null) n++;
    return n;
  }

  /** The device a tensor's bytes are on, as far as the facade made it; 'host' between two devices. */
  deviceOf(tensor: Tensor): string | null {
    this.#settle();
    const entry = this.#byHandle.get(tensor);
    if (!entry) return null;
    if (!entry.station) return 'host';
    const holder = entry.current ?? tensor;
    // A station's runtime may have more than one device.
    return (holder.disposed ? null : holder.node.storage?.place?.id) ?? entry.station.id;
  }

  /** The tensor that stands for a handle on a station, brought there if need be. */
  resolve(tensor: Tensor, station: Station, operation: string): Tensor {
    if (tensor.disposed) throw disposedTensor(tensor, operation);
    if (tensor.host === station.host) return tensor;
    this.#settle();
    const entry = this.#byHandle.get(tensor);
    if (!entry) throw foreign(tensor, operation);
    if (entry.lost !== null) throw lostTensor(tensor, operation, entry.lost);
    if (entry.current && entry.station === station && !entry.current.disposed) return entry.current;
    if (!entry.copy) throw lostTensor(tensor, operation, 'its device is gone');
    const { runtime } = station;
    const made = runtime.fromBytes(entry.copy, entry.dtype, entry.shape);
    // The facade holds it, not the scope that happens to be open.
    made.host.forget(made);
    entry.current = made;
    entry.station = station;
    this.#collected.register(tensor, entry, entry);
    return made;
  }

  /** Brings everything of a station to host memory, as far as its runtime still has it. */
  async leave(station: Station): Promise<{ restored: number; lost: number }> {
    this.sweep();
    let [restored, lost] = [0, 0];
    for (const entry of [...this.#entries]) {
      if (entry.station !== station) continue;
      const holder = entry.current ?? entry.handle.deref();
      if (holder) {
        try {
          entry.copy = await withDeadline(holder.bytes(), patienceMs, { what: `bytes of ${holder}` });
        } catch {
          // Whatever stopped it: the bytes are not to be had.
        }
      }
      entry.current?.dispose();
      entry.current = null;
      entry.station = null;
      if (entry.copy) restored++;
      else {
        entry.lost = `${station.id} was lost, and no copy was in host memory`;
        lost++;
      }
    }
    return { restored, lost };
  }

  /** Forgets handles that were disposed or collected, and frees what stood for them. */
  sweep(): void {
    this.#settle();
    this.#sweep();
  }

  #sweep(): void {
    for (const entry of [...this.#entries]) {
      const handle = entry.handle.deref();
      if (!handle || handle.disposed) this.#drop(entry);
    }
    this.#sweepAt = Math.max(1024, 2 * this.#entries.size);
  }

  /** Disposes every tensor that was handed out. */
  clear(): void {
    this.#settle();
    for (const entry of [...this.#entries]) {
      entry.handle.deref()?.dispose();
      this.#drop(entry);
    }
  }

  #settle(): void {
    for (const { tensor, station } of this.#young.splice(0)) {
      if (tensor.disposed) continue;
      const { dtype, shape } = tensor;
      const handle = new WeakRef(tensor);
      const entry: Entry = { handle, dtype, shape, copy: null, current: null, station, lost: null };
      this.#entries.add(entry);
      this.#byHandle.set(tensor, entry);
    }
    if (this.#entries.size >= this.#sweepAt) this.#sweep();
  }

  #drop(entry: Entry): void {
    if (!this.#entries.delete(entry)) return;
    entry.current?.dispose();
    entry.current = null;
    entry.copy = null;
    this.#collected.unregister(entry);
  }
}

const disposedTensor = (tensor: Tensor, operation: string): DisposedError =>
  new DisposedError({
    message: `${operation}: ${tensor} was disposed`,
    operation,
    hint: 'Dispose a tensor after its last use.',
  });

const lostTensor = (tensor: Tensor, operation: string, why: string): TensorLostError =>
  new TensorLostError({
    message: `${operation}: the data of ${tensor.dtype} ${show(tensor.shape)} did not survive: ${why}`,
    operation,
    hint: "Make it again, or keep uploads in host memory: DeviceManager.create({ runtime: { recovery: { keep: 'all' } } }).",
  });

const foreign = (tensor: Tensor, operation: string): InvalidArgumentError =>
  new InvalidArgumentError({
    message: `${operation}: ${tensor} belongs to another runtime`,
    operation,
    hint: 'Bring its data here first: transferToGPU(await tensor.data(), { shape: tensor.shape }).',
  });
