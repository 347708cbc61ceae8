// The backend object that TF.js's engine talks to: data under ids, reference counts, reads.
//
// Cheap to make and to dispose of: TF.js makes a new one after every reset of its engine. The runtime and the counts of
// kernels are the session's, and outlive it. A result is a lazy tensor under a new data id; nothing runs before a read or
// a flush.

import type { KernelBackend } from '@tensorflow/tfjs-core';
import { ArgumentError, type DType, type Tensor } from '../index.ts';
import { asArray, halves, isNumeric, merged, type NumericType, numberIn, ours, typeInTfjs } from './convert.ts';
import { type DeviceMemory, memoryOf } from './memory.ts';
import { onHost } from './on-host.ts';
import type { Pending } from './pending.ts';
import type { Session } from './session.ts';
import { type Source, sameShape, shaped } from './source.ts';
import { Entry, Store } from './store.ts';
import { type KernelTime, timeOf } from './time.ts';
import { Turn } from './turn.ts';
import type { BackendValues, ComplexPair, DataId, DataType, TensorInfo } from './types.ts';

/** Host copies up to this many elements stay beside the device's: a read of them, or a routed kernel, then waits for nothing. */
const keptElements = 1024;

export class ForgeBackend implements KernelBackend, Source {
  readonly session: Session;
  readonly pending: Pending;
  /** The calls since the last flush. */
  turn: Turn;
  /** A kernel looked at values in host memory. */
  looked = false;
  readonly #data: Store;
  /** What was put and does not wait yet. */
  #put: Entry[] = [];
  /** How often the variable whose value was disposed of last had been assigned. */
  #replaced = 0;

  constructor(session: Session, pending: Pending) {
    this.session = session;
    this.pending = pending;
    this.turn = new Turn(this, session.steps);
    pending.onFlush = () => this.#endTurn();
    this.#data = new Store(session.tf, this);
  }

  // Writing.

  write(values: BackendValues, shape: readonly number[], dtype: DataType): DataId {
    return this.#data.add(this.#written(values, shape, dtype));
  }

  move(id: DataId, values: BackendValues, shape: readonly number[], dtype: DataType, refCount: number): void {
    const entry = this.#written(values, shape, dtype);
    entry.refs = refCount;
    this.#data.move(id, entry);
  }

  #written(values: BackendValues, shape: readonly number[], dtype: DataType): Entry {
    const entry = new Entry(dtype);
    if (dtype === 'complex64') {
      const [real, imag] = halves(values as Float32Array).map((half): TensorInfo => {
        return { dataId: this.write(half, shape, 'float32'), shape: [...shape], dtype: 'float32' };
      }) as [TensorInfo, TensorInfo];
      entry.parts = { real, imag };
    } else {
      entry.values = values;
      if (isNumeric(dtype)) entry.constant = numberIn(values);
    }
    return entry;
  }

  // Results of kernels.

  /** A tensor of ours under a new id. The backend owns it from here on. */
  put(made: Tensor): TensorInfo {
    const dtype = typeInTfjs(made.dtype);
    const tensor = this.session.stored(made);
    const entry = new Entry(dtype);
    entry.tensor = tensor.keep();
    this.#put.push(entry);
    return { dataId: this.keep(entry), shape: [...tensor.shape], dtype };
  }

  /** A complex value under three new ids. */
  putComplex({ real, imag }: ComplexPair): TensorInfo {
    const entry = new Entry('complex64');
    entry.parts = { real: this.put(real), imag: this.put(imag) };
    return { dataId: this.keep(entry), shape: [...real.shape], dtype: 'complex64' };
  }

  /** An entry as a data id. */
  keep(entry: Entry): DataId {
    return this.#data.add(entry);
  }

  /** What was put since the last time waits to be computed. */
  wait(): void {
    const results = this.#put;
    this.#put = [];
    this.pending.add(results);
  }

  /** The same data under the same id, for a result of another shape. */
  share(x: TensorInfo, shape: readonly number[]): TensorInfo {
    this.#data.get(x.dataId).refs++;
    return { dataId: x.dataId, shape: [...shape], dtype: x.dtype };
  }

  /** The result of a kernel whose operands are few numbers in host memory; null where they are not. */
  computeOnHost(kernel: string, a: TensorInfo, b: TensorInfo): TensorInfo | null {
    const values = onHost(kernel, a, b, this.#data.get(a.dataId), this.#data.get(b.dataId));
    if (values === null) return null;
    return { dataId: this.write(values, a.shape, 'float32'), shape: a.shape.slice(), dtype: 'float32' };
  }

  // What kernels read.

  /** A convolution reads `x` next. */
  beforeConvolution(x: TensorInfo): void {
    const tensor = this.session.beside ? this.#data.get(x.dataId).tensor : null;
    if (tensor) this.pending.beforeConvolution(tensor);
  }

  /** The tensor of an input, in the shape the kernel sees. It belongs to the backend. */
  tensorOf(x: TensorInfo): Tensor {
    return shaped(this.ready(this.#data.get(x.dataId), x.shape), x.shape);
  }

  /** The tensor of an entry, in the shape it was made in: of `shape`, if it is made now. */
  ready(entry: Entry, shape: readonly number[]): Tensor {
    return entry.values === null ? this.#tensor(entry) : (entry.tensor ??= this.#upload(entry, shape));
  }

  /** The tensor of a result. */
  #tensor(entry: Entry): Tensor {
    if (entry.tensor === null) entry.turn!.build();
    return entry.tensor!;
  }

  entryOf(id: DataId): Entry {
    return this.#data.get(id);
  }

  /** The tensor of a float32 input if there is one, as f32 and in the shape the kernel sees. */
  floats(x: TensorInfo): Tensor | null {
    const { tensor } = this.#data.get(x.dataId);
    return tensor && tensor.dtype === 'f32' && sameShape(tensor.shape, x.shape) ? tensor : null;
  }

  /** A float32 input that is one number in host memory alone; null for everything else. */
  numberOf(x: TensorInfo): number | null {
    const { values, tensor, dtype } = this.#data.get(x.dataId);
    if (tensor !== null || values === null || dtype !== 'float32' || values.length !== 1) return null;
    return Math.fround(Number(values[0]));
  }

  partsOf(x: TensorInfo): ComplexPair {
    const { parts } = this.#data.get(x.dataId);
    if (!parts) return { real: this.tensorOf(x), imag: this.session.rt.zeros(x.shape) };
    return {
      real: this.tensorOf({ ...parts.real, shape: x.shape }),
      imag: this.tensorOf({ ...parts.imag, shape: x.shape }),
    };
  }

  /** The values of an input if they are in host memory; null if they would have to be read. */
  hostOf(x: TensorInfo): BackendValues | null {
    this.looked = true;
    return this.#data.get(x.dataId).values;
  }

  #upload(entry: Entry, shape: readonly number[]): Tensor {
    const { rt } = this.session;
    const dtype = entry.dtype as NumericType;
    const values = asArray(entry.values!, dtype);
    const options: { dtype: DType } = { dtype: dtype === 'float32' ? this.session.floats : ours[dtype] };
    if (values.length > keptElements) entry.values = null;
    // A number is an argument of the kernel, not a buffer.
    const made =
      entry.constant === null ? rt.tensor(values, shape, options) : rt.full(shape, Number(values[0]), options);
    return made.keep();
  }

  // Reading.

  async read(id: DataId): Promise<BackendValues> {
    const entry = this.#data.get(id);
    const { values, parts, dtype } = entry;
    if (parts) {
      const [real, imag] = await Promise.all([this.read(parts.real.dataId), this.read(parts.imag.dataId)]);
      return merged(real as Float32Array, imag as Float32Array);
    }
    if (values) return isNumeric(dtype) ? (asArray(values, dtype) as BackendValues) : values;
    // What is still held now would be computed at the end of the turn anyway.
    if (entry.tensor === null) this.pending.flush();
    const read = (await this.#tensor(entry).data()) as BackendValues;
    // What was waited for once is there when a synchronous call needs it.
    if (!this.session.synchronous) entry.values = read;
    return read;
  }

  readSync(id: DataId): BackendValues {
    const entry = this.#data.get(id);
    const { values, parts, dtype } = entry;
    if (parts) return merged(this.readSync(parts.real.dataId), this.readSync(parts.imag.dataId));
    if (values) return isNumeric(dtype) ? (asArray(values, dtype) as BackendValues) : values;
    this.turn.read(entry);
    return this.session.readNow(this.#tensor(entry)) as BackendValues;
  }

  // Reference counts.

  refCount(id: DataId): number {
    return this.#data.has(id) ? this.#data.get(id).refs : 0;
  }

  /** Called by the engine alone, when a variable takes a value. Kernels `share`. */
  incRef(id: DataId): void {
    const entry = this.#data.get(id);
    entry.refs++;
    entry.variable = true;
    // Weights that begin as ones are other values after the first step.
    if (entry.values !== null && entry.values.length > 1) entry.constant = null;
    this.pending.assigned(entry, this.#replaced);
    this.#replaced = 0;
  }

  disposeData(id: DataId, force = false): boolean {
    if (!this.#data.has(id)) return true;
    const entry = this.#data.get(id);
    entry.refs--;
    if (!force && entry.refs > 0) return false;
    this.#data.delete(id);
    if (entry.variable) this.#replaced = entry.lazy ? entry.age : 0;
    if (entry.parts) {
      this.disposeData(entry.parts.real.dataId, true);
      this.disposeData(entry.parts.imag.dataId, true);
    }
    this.pending.delete(entry);
    entry.gone = true;
    // A disposed tensor that somebody still has in hand keeps its data id.
    entry.values = null;
    if (entry.holds === 0) entry.tensor?.dispose();
    return true;
  }

  /** A turn does not need the tensor of an entry any more. */
  letGo(entry: Entry): void {
    if (--entry.holds === 0 && entry.gone) entry.tensor?.dispose();
  }

  #endTurn(): void {
    if (this.turn.fresh) return;
    const { turn } = this;
    this.turn = new Turn(this, this.session.steps);
    turn.end();
  }

  numDataIds(): number {
    return this.#data.size;
  }

  // The rest of what TF.js asks.

  memory(): DeviceMemory {
    return memoryOf(this.session.rt, this.pending.size);
  }

  timerAvailable(): boolean {
    return true;
  }

  time(work: () => void): Promise<KernelTime> {
    return timeOf(this.session.rt, work, () => this.pending.flush());
  }

  floatPrecision(): 16 | 32 {
    return this.session.floats === 'f16' ? 16 : 32;
  }

  epsilon(): number {
    return this.session.floats === 'f16' ? 1e-3 : 1e-7;
  }

  readToGPU(): never {
    throw noInterchange('dataToGPU');
  }

  createTensorFromGPUData(): never {
    throw noInterchange('tensor');
  }

  dispose(): void {
    this.turn.abandon();
    this.pending.clear();
  }
}

const noInterchange = (where: string): ArgumentError =>
  new ArgumentError({
    code: 'NOT_SUPPORTED',
    message: `${where}: this backend does not exchange raw GPU buffers`,
    fix: 'Use backend.toTensor(t) and backend.fromTensor(t): they share the data with gpuforge without a copy.',
    where,
  });
