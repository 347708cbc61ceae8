// What a TF.js data id stands for.
//
// An entry is its own data id: nothing has to be looked up for it. Only ids that another backend made are in a table, those of data that
// was moved here.

import type { DataStorage, KernelBackend } from '@tensorflow/tfjs-core';
import type { Tensor } from '../index.ts';
import type { Turn } from './turn.ts';
import type { BackendValues, DataId, DataType, TensorInfo, Tf } from './types.ts';

/** The two halves of a complex64 value, each under a data id of its own. */
export interface Parts {
  readonly real: TensorInfo;
  readonly imag: TensorInfo;
}

// Made for every call: fields in one order, and no more than are needed.
export class Entry {
  readonly dtype: DataType;
  refs = 1;
  /** In host memory: what was written, until a kernel takes it to a device; strings stay here. */
  values: BackendValues | null = null;
  /** The lazy tensor; null while the values are in host memory alone, and while a turn puts off the call that makes it. */
  tensor: Tensor | null = null;
  parts: Parts | null = null;
  /** It waits to be computed with others. */
  waits = false;
  /** A variable holds it. */
  variable = false;
  /** How often in a row a variable was assigned up to this value without being computed. */
  age = 0;
  /** The number that was written, in all elements. */
  constant: number | null = null;
  /** That number is another one every time: it is an input like others. */
  varies = false;
  /** The turn it appeared in last, and its number there. */
  turn: Turn | null = null;
  number = 0;
  /** Turns that will read the tensor. */
  holds = 0;
  /** Nobody holds the data id any more. */
  gone = false;
  /** Where it is its own data id. */
  store: Store | null = null;

  constructor(dtype: DataType) {
    this.dtype = dtype;
  }

  /** It is not computed yet: its tensor is lazy, or a turn puts off the call that makes it. */
  get lazy(): boolean {
    if (this.tensor !== null) return !this.tensor.computed;
    return this.values === null && this.parts === null;
  }
}

export class Store {
  readonly #moved: DataStorage<Entry>;
  #own = 0;

  constructor(tf: Tf, backend: KernelBackend) {
    this.#moved = new tf.DataStorage<Entry>(backend, tf.engine());
  }

  get size(): number {
    return this.#own + this.#moved.numDataIds();
  }

  /** An entry as its own id. */
  add(entry: Entry): DataId {
    entry.store = this;
    this.#own++;
    return entry;
  }

  /** Data that comes from another backend, under the id that it has there. */
  move(id: DataId, entry: Entry): void {
    this.#moved.set(id, entry);
  }

  /** Data of another backend is moved here. */
  get(id: DataId): Entry {
    return id instanceof Entry && id.store === this ? id : this.#moved.get(id);
  }

  has(id: DataId): boolean {
    return (id instanceof Entry && id.store === this) || this.#moved.has(id);
  }

  delete(id: DataId): void {
    if (id instanceof Entry && id.store === this) {
      id.store = null;
      this.#own--;
    } else this.#moved.delete(id);
  }
}
