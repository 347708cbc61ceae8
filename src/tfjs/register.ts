// registerBackend: puts the backend and its kernels into the user's TF.js.
//
// The user's own modules are passed in, so there is one copy of TF.js's core, whichever package brought it.

import { notMade } from '../base/arguments.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import {
  ArgumentError,
  argumentKinds,
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  runtimeOptions,
  type Stats,
  type Tensor,
} from '../index.ts';
import { ForgeBackend } from './backend.ts';
import type { FloatPrecision } from './convert.ts';
import { dispatch } from './dispatch.ts';
import { kernelNames } from './evaluate.ts';
import { type FlushOptions, Pending } from './pending.ts';
import { hostKernels, Routed } from './routed.ts';
import { Session, type TfjsEvents } from './session.ts';
import type { Tf, TfCpu, TfTensor } from './types.ts';

export interface BackendOptions {
  /** `@tensorflow/tfjs-backend-cpu`: runs the kernels that have no implementation here. */
  readonly cpu?: TfCpu | undefined;
  /** The runtime to use, which stays yours, or options for a new one. */
  readonly runtime?: Runtime | RuntimeOptions | undefined;
  /** Default 'gpuforge'. */
  readonly name?: string | undefined;
  /** TF.js takes the backend with the highest priority if none is set. Default 10. */
  readonly priority?: number | undefined;
  /** When lazy results are computed. */
  readonly flush?: FlushOptions | undefined;
  /** What float32 values are stored in. 'f16' takes half the memory and keeps three digits. Default 'f32'. */
  readonly precision?: FloatPrecision | undefined;
}

export interface BackendReport {
  /** The device that runs the kernels. */
  readonly device: string;
  /** Kernels with an implementation of ours. */
  readonly native: number;
  /** Those of them that ran, and how often. */
  readonly ran: Readonly<Record<string, number>>;
  /** Kernels that ran on TF.js's CPU backend, and how often. */
  readonly routed: Readonly<Record<string, number>>;
  /** Kernels that were asked for and that nothing could run. */
  readonly missing: readonly string[];
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

  /** @internal Use `registerBackend`. */
  constructor(
    session: Session,
    owned: boolean,
    current: () => ForgeBackend | null = notMade('TfjsBackend', 'await registerBackend(tf, { cpu })'),
  ) {
    this.name = session.name;
    this.#session = session;
    this.#owned = owned;
    this.#current = current;
  }

  /** The runtime behind it, for ops of gpuforge's own. */
  get runtime(): Runtime {
    return this.#session.rt;
  }

  report(): BackendReport {
    const { rt, native, routed, missing, repeated } = this.#session;
    const ran = new Map([...native].flatMap(([k, { times }]) => (times > 0 ? [[k, times] as const] : [])));
    const counts = (map: ReadonlyMap<string, number>) => Object.fromEntries([...map].sort((a, b) => b[1] - a[1]));
    const current = this.#current();
    return {
      device: rt.devices().find((d) => d.open)?.id ?? 'none',
      native: kernelNames.length,
      ran: counts(ran),
      routed: counts(routed),
      missing: [...missing],
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
    if (registered.get(tf.engine())?.get(name)?.backend === this) {
      registered.get(tf.engine())!.delete(name);
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

interface Registered {
  readonly options: BackendOptions;
  /** The same for all who ask while it is being opened. */
  readonly opening: Promise<Opened>;
  /** Null until it is open. */
  backend: TfjsBackend | null;
}

interface Opened {
  readonly backend: TfjsBackend;
  /** Tells TF.js how the backend object is made: also again, after `tf.removeBackend`. */
  readonly tell: () => void;
}

/** Per engine of TF.js: what was registered under which name. */
const registered = new WeakMap<object, Map<string, Registered>>();

/**
 * Registers a TF.js backend that runs on gpuforge.
 *
 * ```ts
 * import * as tf from '@tensorflow/tfjs-core';
 * import * as cpu from '@tensorflow/tfjs-backend-cpu';
 * import { registerBackend } from 'gpuforge/tfjs';
 *
 * await registerBackend(tf, { cpu });
 * await tf.setBackend('gpuforge');
 * ```
 */
export const registerBackend: (tf: Tf, options?: BackendOptions) => Promise<TfjsBackend> = checked(
  'registerBackend',
  `async tf:own options:{cpu:cpu,runtime:runtime|{devices:device[],${runtimeOptions}},name:own,priority:number,flush:{auto:flag,results:number,assigns:number},precision:own}?`,
  register,
  {
    ...argumentKinds,
    cpu: {
      is: (v: unknown) => argumentKinds.object.is(v) && 'MathBackendCPU' in (v as object),
      words: "all of the CPU backend: import * as cpu from '@tensorflow/tfjs-backend-cpu'",
    },
  },
);

async function register(tf: Tf, options: BackendOptions = {}): Promise<TfjsBackend> {
  checkCore(tf);
  const { name = 'gpuforge' } = options;
  checkName(name);
  const engine = tf.engine();
  if (!registered.has(engine)) registered.set(engine, new Map());
  const names = registered.get(engine)!;
  const known = names.get(name);
  if (known) {
    if (!sameOption(known.options, options))
      throw taken('ALREADY_REGISTERED', `'${name}' is registered with other options`);
    const { backend, tell } = await known.opening;
    if (!tf.findBackendFactory(name)) tell();
    return backend;
  }
  if (tf.findBackendFactory(name)) throw taken('BAD_NAME', `TF.js has another backend that is called '${name}'`);
  const entry: Registered = { options, opening: open(tf, name, options), backend: null };
  names.set(name, entry);
  try {
    const { backend, tell } = await entry.opening;
    tell();
    return (entry.backend = backend);
  } catch (e) {
    names.delete(name);
    throw e;
  }
}

/** Opens the runtime, unless it is given, and registers the kernels. */
async function open(tf: Tf, name: string, options: BackendOptions): Promise<Opened> {
  const { cpu, priority = 10, precision = 'f32', runtime: given } = options;
  const owned = !isRuntime(given);
  const rt = owned ? await createRuntime(given) : given;
  try {
    checkPrecision(rt, precision);
  } catch (e) {
    if (owned) await rt.close();
    throw e;
  }
  const session = new Session(tf, cpu ?? null, rt, name, precision);
  const routed = new Routed(session);
  let current: ForgeBackend | null = null;
  const backend = new TfjsBackend(session, owned, () => current);
  const make = (): ForgeBackend => (current = new ForgeBackend(session, new Pending(rt, options.flush)));
  for (const kernelName of new Set([...kernelNames, ...hostKernels, ...routed.names])) {
    tf.registerKernel({ kernelName, backendName: name, kernelFunc: dispatch(kernelName, session, routed) });
  }
  if (cpu && cpu.version_cpu !== tf.version_core) {
    session.events.emit('warning', {
      message: `@tensorflow/tfjs-backend-cpu is ${cpu.version_cpu}, the core is ${tf.version_core}: use one version`,
    });
  }
  return { backend, tell: () => tf.registerBackend(name, make, priority) };
}

const isRuntime = (given: BackendOptions['runtime']): given is Runtime => given !== undefined && 'scope' in given;

/** Whether options say the same: tables and lists by what is in them, everything else by identity. What is undefined was left out. */
function sameOption(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isTable(a) || !isTable(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => sameOption(a[key], b[key]));
}

const isTable = (v: unknown): v is Record<string, unknown> =>
  Array.isArray(v) || (typeof v === 'object' && v !== null && Object.getPrototypeOf(v) === Object.prototype);

const taken = (code: string, problem: string): ArgumentError =>
  new ArgumentError({
    code,
    message: `registerBackend: ${problem}`,
    fix: 'Close that backend first, or give another name.',
    where: 'registerBackend',
  });

const needed = [
  'registerBackend',
  'findBackendFactory',
  'registerKernel',
  'getKernelsForBackend',
  'engine',
  'DataStorage',
  'backend_util',
] as const;

function checkCore(tf: Tf): void {
  const given: object = typeof tf === 'object' && tf !== null ? tf : {};
  const lacks = needed.filter((key) => !(key in given));
  if (lacks.length > 0) {
    throw new ArgumentError({
      code: 'NOT_TFJS',
      message: `registerBackend: the first argument is not TF.js: it has no ${lacks.join(', ')}`,
      fix: "import * as tf from '@tensorflow/tfjs-core' (or '@tensorflow/tfjs'), and pass tf.",
      where: 'registerBackend',
    });
  }
  if (!/^4\./.test(tf.version_core)) {
    throw new ArgumentError({
      code: 'TFJS_VERSION',
      message: `registerBackend: TF.js ${tf.version_core} is not supported`,
      fix: 'Use @tensorflow/tfjs-core 4.x.',
      where: 'registerBackend',
    });
  }
}

function checkName(name: string): void {
  if (typeof name === 'string' && name.length > 0 && !name.includes('_')) return;
  throw new ArgumentError({
    code: 'BAD_NAME',
    message: `registerBackend: '${String(name)}' cannot be the name of a backend`,
    fix: 'Use a name without an underscore: TF.js splits at it.',
    where: 'registerBackend',
  });
}

function checkPrecision(rt: Runtime, precision: FloatPrecision): void {
  if (precision === 'f32') return;
  const known = precision === 'f16';
  const open = rt.devices().filter((d) => d.open);
  if (known && open.some(({ id }) => rt.device(id).caps.dtypes.has('f16'))) return;
  throw new ArgumentError({
    code: known ? 'UNSUPPORTED_DTYPE' : 'BAD_OPTION',
    message: known
      ? `registerBackend: none of the devices (${open.map((d) => d.id).join(', ')}) has f16`
      : `registerBackend: precision is '${String(precision)}'`,
    fix: "Use precision: 'f32', or leave it out.",
    where: 'registerBackend',
  });
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
