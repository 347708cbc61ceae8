// The backend as its user holds it: what it did, tensors in and out, its end.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import { ArgumentError, argumentKinds, type Runtime, type Stats, type Tensor } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { kernelNames } from './evaluate.ts';
import type { Session, TfjsEvents } from './session.ts';
import type { TfTensor } from './types.ts';

export interface BackendReport {
  /** The first device that is open. It runs the kernels, unless the runtime has a router that chooses among several. */
  readonly device: string;
  /** Kernels with an implementation of ours. */
  readonly native: number;
  /** Those of them that ran, and how often. */
  readonly ran: Readonly<Record<string, number>>;
  /** Kernels that ran on TF.js's CPU backend, and how often. */
  readonly routed: Readonly<Record<string, number>>;
  /** Kernels that were asked for and that nothing could run. */
  readonly missing: readonly string[];
  /** What is wrong though it works: packages of different versions. */
  readonly warnings: readonly string[];
  /** Turns of calls that came again and that one program computed, without their ops being put together anew. */
  readonly repeated: number;
  /** Results that wait to be computed. */
  readonly pendingOps: number;
  readonly numDataIds: number;
  readonly runtime: Stats;
}

/** The backend as its user holds it. */
export class TfjsBackend {
  readonly name: string;
  readonly #session: Session;
  readonly #owned: boolean;
  readonly #current: () => ForgeBackend | null;
  readonly #forget: (backend: TfjsBackend) => boolean;

  /** @internal Use `registerBackend`. */
  constructor(
    session: Session,
    owned: boolean,
    current: () => ForgeBackend | null = notMade('TfjsBackend', 'await registerBackend(tf, { cpu })'),
    forget: (backend: TfjsBackend) => boolean = () => false,
  ) {
    this.name = session.name;
    this.#session = session;
    this.#owned = owned;
    this.#current = current;
    this.#forget = forget;
  }

  /** The runtime behind it, for ops of gpuforge's own. */
  get runtime(): Runtime {
    return this.#session.rt;
  }

  report(): BackendReport {
    const { rt, native, routed, missing, warnings, repeated } = this.#session;
    const ran = new Map([...native].flatMap(([k, { times }]) => (times > 0 ? [[k, times] as const] : [])));
    const counts = (map: ReadonlyMap<string, number>) => Object.fromEntries([...map].sort((a, b) => b[1] - a[1]));
    const current = this.#current();
    return {
      device: rt.devices().find((d) => d.open)?.id ?? 'none',
      native: kernelNames.length,
      ran: counts(ran),
      routed: counts(routed),
      missing: [...missing],
      warnings: [...warnings],
      repeated,
      pendingOps: current?.pending.size ?? 0,
      numDataIds: current?.numDataIds() ?? 0,
      runtime: rt.stats(),
    };
  }

  /** Listens to `routed` (a kernel ran on TF.js's CPU backend for the first time) and `warning`. */
  on<K extends keyof TfjsEvents & string>(kind: K, listener: (event: TfjsEvents[K]) => unknown): () => void {
    return this.#session.events.on(kind, listener);
  }

  /** The data of a TF.js tensor as a tensor of ours, without a copy. Each is disposed of by itself. */
  toTensor(t: TfTensor): Tensor {
    const { tf } = this.#session;
    if (!(t instanceof tf.Tensor)) throw notATensor(t);
    return this.#use('toTensor').tensorOf(t).clone().keep();
  }

  /** A tensor of ours as a TF.js tensor, without a copy. Each is disposed of by itself. */
  fromTensor(t: Tensor): TfTensor {
    if (!this.#session.rt.owns(t)) throw foreignTensor(t);
    const backend = this.#use('fromTensor');
    const info = backend.put(t.clone());
    backend.wait();
    return this.#session.tf.engine().makeTensorFromTensorInfo(info, backend);
  }

  /** Removes the backend from TF.js and closes the runtime, unless you brought it. */
  async close(): Promise<void> {
    const { tf, name, rt } = this.#session;
    if (this.#forget(this)) {
      // Unless its user did that already.
      if (tf.findBackendFactory(name)) tf.removeBackend(name);
      for (const kernel of tf.getKernelsForBackend(name)) tf.unregisterKernel(kernel.kernelName, name);
    }
    this.#session.steps.clear();
    if (this.#owned) await rt.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #use(where: string): ForgeBackend {
    const current = this.#current();
    if (current) return current;
    throw new ArgumentError({
      code: 'BACKEND_NOT_SET',
      message: `${where}: '${this.name}' is not in use`,
      fix: `await tf.setBackend('${this.name}') first.`,
      where,
    });
  }
}

const notATensor = (t: unknown): ArgumentError => {
  const foreign = typeof t === 'object' && t !== null && 'dataId' in t;
  return new ArgumentError({
    code: foreign ? 'TWO_CORES' : 'NOT_A_TENSOR',
    message: foreign
      ? 'toTensor: this tensor comes from another copy of TF.js than the one the backend is registered in'
      : 'toTensor: this is not a TF.js tensor',
    fix: foreign
      ? 'Import TF.js from one package everywhere (npm ls @tensorflow/tfjs-core shows the copies).'
      : 'Pass a tf.Tensor.',
    where: 'toTensor',
  });
};

const foreignTensor = (t: Tensor): ArgumentError =>
  new ArgumentError({
    code: 'FOREIGN_TENSOR',
    message: `fromTensor: ${String(t)} belongs to another runtime`,
    fix: 'Make it with backend.runtime.',
    where: 'fromTensor',
  });

checkMethods(
  TfjsBackend.prototype,
  { report: '', close: 'async', on: 'event:own listener:own', toTensor: 't:own', fromTensor: 't:tensor' },
  argumentKinds,
);
