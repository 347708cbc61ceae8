// registerBackend: puts the backend and its kernels into the user's TF.js.
//
// The user's own modules are passed in, so there is one copy of TF.js's core, whichever package brought it.

import { checked } from '../base/signatures.ts';
import {
  ArgumentError,
  argumentKinds,
  createRuntime,
  nextTurn,
  type Runtime,
  type RuntimeOptions,
  runtimeOptions,
} from '../index.ts';
import { ForgeBackend } from './backend.ts';
import type { FloatPrecision } from './convert.ts';
import { dispatch } from './dispatch.ts';
import { kernelNames } from './evaluate.ts';
import { TfjsBackend } from './handle.ts';
import { type FlushOptions, Pending } from './pending.ts';
import { hostKernels, Routed } from './routed.ts';
import { Session } from './session.ts';
import type { Tf, TfCpu } from './types.ts';

export interface BackendOptions {
  /** `@tensorflow/tfjs-backend-cpu`: runs the kernels that have no implementation here. */
  readonly cpu?: TfCpu | undefined;
  /** The runtime to use, which stays yours, or options for a new one. A new one runs everything on its first device, unless you say `routing`. */
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

/**
 * A TF.js program has one backend, and that has one device: the first that there is. Its calls keep the host busy anyway, so a GPU that
 * works beside it is worth more than the shortest way to each result; and nobody waits until all devices are measured.
 */
const oneDevice = { mode: 'off' } as const;

/** Opens the runtime, unless it is given, and registers the kernels. */
async function open(tf: Tf, name: string, options: BackendOptions): Promise<Opened> {
  const { cpu, priority = 10, precision = 'f32', runtime: given } = options;
  const owned = !isRuntime(given);
  const rt = owned ? await createRuntime({ ...given, routing: given?.routing ?? oneDevice }) : given;
  try {
    checkPrecision(rt, precision);
  } catch (e) {
    if (owned) await rt.close();
    throw e;
  }
  const session = new Session(tf, cpu ?? null, rt, name, precision);
  const routed = new Routed(session);
  let current: ForgeBackend | null = null;
  /** Whether it was there under its name. */
  const forget = (closed: TfjsBackend): boolean => {
    const names = registered.get(tf.engine());
    return names?.get(name)?.backend === closed && names.delete(name);
  };
  const backend = new TfjsBackend(session, owned, () => current, forget);
  const make = (): ForgeBackend => (current = new ForgeBackend(session, new Pending(rt, options.flush)));
  for (const kernelName of new Set([...kernelNames, ...hostKernels, ...routed.names])) {
    tf.registerKernel({ kernelName, backendName: name, kernelFunc: dispatch(kernelName, session, routed) });
  }
  if (cpu && cpu.version_cpu !== tf.version_core) {
    const message = `@tensorflow/tfjs-backend-cpu is ${cpu.version_cpu}, the core is ${tf.version_core}: use one version`;
    session.warnings.push(message);
    // Nobody can listen before the backend is there.
    nextTurn(() => session.events.emit('warning', { message }));
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
