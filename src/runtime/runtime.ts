// The runtime: it computes, explains and watches; making tensors is below it, opening it is in create.ts.

import { byteSize, type DType, type HostArrays } from '../base/dtype.ts';
import { type OperationType, operationTypes } from '../base/operations.ts';
import { checkShape } from '../base/shape.ts';
import { checkMethods } from '../base/signatures.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { RuntimeMemory } from '../governor/memory/runtime-memory.ts';
import type { Maybe } from '../governor/recovery/attempt.ts';
import type { Health } from '../governor/recovery/health.ts';
import { closeQuietly } from '../governor/recovery/loss.ts';
import type { OpenRouter } from '../governor/routing/open.ts';
import type { Router } from '../governor/routing/router.ts';
import { nodeOf, TensorCore, type WaitOptions } from '../tensor/core.ts';
import { hostMemory, typed } from '../tensor/host-array.ts';
import { Random } from '../tensor/random.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type AttemptOptions, type AttemptWork, attempt } from './attempt.ts';
import { type CompileArgument, type Compiled, type CompileResult, compile } from './compile.ts';
import type { DeviceReport } from './devices.ts';
import type { Engine } from './engine.ts';
import { type Emitter, type EventName, eventNames, type Listener } from './events.ts';
import { type Explanation, explain } from './explain.ts';
import type { Governor } from './governor.ts';
import type { RuntimeHost } from './host.ts';
import { type InPlaceKernel, inPlaceKernel, type MemoryLayout } from './in-place.ts';
import { type KernelInput, type KernelOptions, type KernelValue, kernel, type UserKernel } from './kernel.ts';
import type { Stats } from './ledger.ts';
import type { LoopOptions, LoopResult, LoopState } from './loop.ts';
import { TensorMaking, type TensorOptions } from './making.ts';
import { RuntimeMark } from './mark.ts';
import { lostPin } from './placement-errors.ts';
import { type RawOptions, rawKernel } from './raw.ts';
import { notAName, unknownOperation } from './refusals.ts';
import type { ResetReport } from './reset.ts';
import { opaque } from './scope.ts';
import { makingSignatures, memorySignatures, runtimeKinds, runtimeSignatures } from './signatures.ts';
import { type RuntimeSnapshot, takeRuntimeSnapshot } from './snapshot.ts';
import type { SpanMode, Spans } from './spans.ts';
import { anywhere } from './want.ts';

export type { TensorOptions, UploadOptions } from './making.ts';

export interface ScopeOptions {
  /** Everything inside is computed there. */
  readonly device?: DeviceId | undefined;
  /** The name under which the router counts the work inside, and learns its times. */
  readonly op?: OperationType | undefined;
  /** What the work inside is called: launches of tensors made inside say so (`issuedIn`), wherever they are computed. */
  readonly name?: string | undefined;
}

export class Runtime extends TensorMaking {
  /** Counter-based random numbers, the same on every device. */
  readonly random: Random;
  /** Where work goes and why: predictions, statistics, decisions by name and size. */
  readonly routing: Router;
  /** Memory of all devices: pressure, statistics, clean-up, pool, borrowing. */
  readonly memory: RuntimeMemory;
  readonly #engine: Engine;
  readonly #governor: Governor;
  readonly #routed: OpenRouter;
  readonly #reports: readonly DeviceReport[];
  readonly #events: Emitter;
  readonly #spans: Spans;
  readonly #resets = new Map<Place, Promise<ResetReport>>();
  #closed = false;

  /** Use `createRuntime`. */
  constructor(
    host: RuntimeHost,
    engine: Engine,
    governor: Governor,
    routed: OpenRouter,
    reports: readonly DeviceReport[],
    events: Emitter,
    spans: Spans,
    seed: number,
  ) {
    super(host);
    this.#engine = engine;
    this.#governor = governor;
    this.#reports = reports;
    this.#events = events;
    this.#spans = spans;
    this.routing = routed.router;
    this.#routed = routed;
    this.memory = governor.monitor;
    this.random = new Random(host, seed);
    opaque.add(this);
    opaque.add(host);
  }

  /** The health of each device, and what happened to it. */
  get recovery(): Health {
    return this.#governor.health;
  }

  /**
   * The devices that were found, and for those that are not open the reason.
   * @example rt.devices().some((d) => d.id === 'cpu' && d.open) // → true
   */
  devices(): readonly DeviceReport[] {
    return this.#reports.map((r) => {
      const place = this.#governor.places.find((p) => p.id === r.id);
      if (!place || place.alive) return r;
      return { ...r, open: false, reason: 'it was lost', fix: 'rt.recovery.history() tells what happened.' };
    });
  }

  /**
   * The open devices, as text.
   * @example String(rt) // → Runtime(cpu)
   */
  override toString(): string {
    const open = this.#reports.flatMap((r) => (r.open ? [r.id] : []));
    return `Runtime(${this.#closed ? 'closed' : open.join(', ')})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /**
   * An open device, for the library's own layers and for tests.
   * @example rt.device('cpu').id // → 'cpu'
   */
  device(id: DeviceId): Device {
    return this.host.place(id, 'device').device;
  }

  /**
   * A typed array for `count` elements in host memory from which uploads are fastest. Fill it, then pass it to `rt.tensor`.
   * On devices without such memory it is an ordinary array.
   * @example rt.tensor(rt.pinned(2, { dtype: 'f32' }).fill(3)) // → [3, 3]
   */
  pinned<D extends Exclude<DType, 'f16' | 'bf16'> = 'f32'>(
    count: number,
    options: TensorOptions<D> = {},
  ): HostArrays[D] {
    const dtype = options.dtype ?? 'f32';
    checkShape([count], 'pinned');
    const bytes = count * byteSize(dtype);
    const place = this.#governor.places.find((p) => p.alive && p.device.pinned);
    const memory = place?.device.pinned?.(bytes) ?? hostMemory(bytes, 'pinned');
    return typed(new Uint8Array(memory, 0, bytes), dtype) as HostArrays[D];
  }

  /**
   * Traces a function of tensors once per kind of arguments and replays it after; docs/compile.md says what it freezes.
   * @example rt.compile((x) => x.mul(2).add(1))(rt.tensor([1, 2])) // → [3, 5]
   */
  compile<A extends readonly CompileArgument[], R extends CompileResult>(body: (...args: A) => R): Compiled<A, R> {
    this.host.checkOpen('compile');
    return compile(this.host, this.#engine, body);
  }

  /**
   * Repeats `body` on a state while `condition` holds, on the device: the host waits for it every few rounds only. The
   * result is that of a plain `while` loop.
   * @example (await rt.loop((x) => x.max().less(100), (x) => x.mul(2), rt.tensor([1, 3]))).state // → [64, 192]
   */
  async loop<S extends LoopState>(
    condition: (state: S) => Tensor,
    body: (state: S) => S,
    state: S,
    options: LoopOptions = {},
  ): Promise<LoopResult<S>> {
    this.host.checkOpen('loop');
    // Pages that do not loop do not fetch it.
    const { loop } = await import('./loop.ts');
    return loop(this.host, this.#engine, condition, body, state, options);
  }

  /**
   * A kernel of your own, written as an expression of its inputs and their neighbours. Guaranteed to run as one kernel.
   * Arguments may be numbers too, other ones at each call. It may return an array or an object of tensors. `inPlace` names an input
   * that the call disposes of, and whose memory the result takes over.
   * @example rt.kernel((x) => x.at(-1).add(x.at(1)).mul(0.5))(rt.tensor([1, 2, 3, 4])) // → [3, 2, 3, 2]
   * @example rt.kernel((x: KernelValue, k: number) => [x.mul(k), x.add(k)], { name: 'both' })(rt.tensor([1, 2]), 3) // → [[3, 6], [4, 5]]
   */
  kernel<R extends CompileResult>(
    body: (...inputs: KernelValue[]) => R,
    options?: KernelOptions,
  ): UserKernel<KernelValue[], R>;
  kernel<A extends readonly KernelInput[], R extends CompileResult>(
    body: (...inputs: A) => R,
    options?: KernelOptions,
  ): UserKernel<A, R>;
  kernel<A extends readonly KernelInput[], R extends CompileResult>(
    body: (...inputs: A) => R,
    options: KernelOptions = {},
  ): UserKernel<A, R> {
    this.host.checkOpen('kernel');
    return kernel(this.#engine, this.host, body, options);
  }

  /**
   * A kernel that changes borrowed memory in place: result i of the body replaces value i. For the steps of `rt.memory.borrow`.
   *
   * ```ts
   * const add = rt.inPlaceKernel([a, b], (x, y) => x.add(y.at(1))); // a, b: { dtype, shape }
   * const step = { do: ([m, n]) => add(m, n), undo: ([m, n]) => subtract(m, n) };
   * ```
   */
  inPlaceKernel(
    memory: readonly MemoryLayout[],
    body: (...values: KernelValue[]) => Tensor | readonly Tensor[],
    options: KernelOptions = {},
  ): InPlaceKernel {
    this.host.checkOpen('inPlaceKernel');
    return inPlaceKernel(this.#engine, this.host, this.#governor.places, memory, body, options);
  }

  /**
   * A kernel in PTX or WGSL, run at once on a device that takes the language. For work that ops and `rt.kernel` cannot express.
   *
   * ```ts
   * const double = rt.rawKernel({
   *   entry: 'main',
   *   sources: { wgsl },
   *   outputs: (x) => [{ dtype: 'f32', shape: x.shape }],
   *   grid: (x) => [Math.ceil(x.size / 64)],
   * });
   * const [y] = double([x]);
   * ```
   */
  rawKernel(options: RawOptions): (inputs: readonly Tensor[], scalars?: readonly number[]) => Tensor[] {
    this.host.checkOpen('rawKernel');
    return rawKernel(this.#engine, this.host, this.#governor.places, options);
  }

  /**
   * Computes tensors now, together, as one program where that is possible. Returns at once; the devices may still be busy.
   * @example (() => { const t = rt.ones([2]).add(1); rt.compute(t); return t.computed; })() // → true
   */
  compute(...tensors: readonly Tensor[]): void {
    if (tensors.length > 0) this.host.compute(tensors.map((t) => nodeOf(t, this.host, 'compute')));
  }

  /**
   * Computes tensors now, and waits until every device has finished what was enqueued.
   * @example await rt.flush() // → undefined
   * @example await rt.flush({ signal: AbortSignal.timeout(5000) }, rt.ones([4]).add(1)) // → undefined
   */
  async flush(...tensors: readonly Tensor[]): Promise<void>;
  async flush(options: WaitOptions, ...tensors: readonly Tensor[]): Promise<void>;
  async flush(first?: WaitOptions | Tensor, ...rest: readonly Tensor[]): Promise<void> {
    const signal = first instanceof TensorCore ? undefined : first?.signal;
    const tensors = first instanceof TensorCore ? [first, ...rest] : rest;
    const nodes = tensors.map((t) => nodeOf(t, this.host, 'flush'));
    if (nodes.length > 0) await this.#engine.computeAsync(nodes, this.host.want(anywhere), signal);
    // Asked for before anything is waited for: flags come with the end of the work, not after it.
    const checking = this.#engine.checks.verifyAll();
    checking?.catch(() => {});
    const finished = this.host.finished(signal);
    await (this.#spans.on ? this.#spans.during(finished) : finished);
    if (checking) await checking;
    if (this.#spans.on) await this.#spans.settle();
  }

  /**
   * A point in the work: `await rt.mark()` waits for what was enqueued before it, on all devices, and not for what comes after.
   * Lazy tensors are not enqueued yet: `compute()` them first.
   * @example await rt.mark() // → undefined
   * @example typeof rt.mark().done() // → 'boolean'
   */
  mark(): RuntimeMark {
    this.host.checkOpen('mark');
    return new RuntimeMark(this.host, this.#governor.places);
  }

  /**
   * Runs a function and disposes every tensor it made, except those it returns: by themselves, or in arrays, objects, Maps, Sets
   * and instances of classes. What is only in private fields (#) cannot be seen: call `keep()` on it. Also for async functions.
   * With a device, everything inside is computed there. With an op, the router counts the work inside under that name.
   * @example rt.scope(() => rt.tensor([1]).add(1)) // → [2]
   * @example rt.scope({ device: 'cpu' }, () => rt.tensor([1]).add(1)) // → [2]
   * @example rt.scope({ op: 'graph_algorithm' }, () => rt.tensor([1]).add(1)) // → [2]
   */
  scope<T>(body: () => T): T;
  scope<T>(options: ScopeOptions, body: () => T): T;
  scope<T>(first: (() => T) | ScopeOptions, second?: () => T): T {
    if (typeof first === 'function') return this.host.scope(first);
    const { device, op, name } = first;
    if (name !== undefined && (typeof name !== 'string' || name === '')) throw notAName(name);
    if (op !== undefined && !operationTypes.includes(op)) throw unknownOperation(op);
    const place = device === undefined ? null : this.host.place(device, 'scope');
    return this.host.scope(second!, { place, op, name });
  }

  /**
   * Runs work on one device, and repeats all of it where that can help: after a wait, after making room, when a lost device is
   * back, at last on another device if that is allowed (`fallback`). A scope: what the work makes and does not return is
   * disposed of. Returns at once what the work returns at once.
   * @example rt.attempt({ device: 'cpu' }, ({ device }) => device) // → 'cpu'
   */
  attempt<T>(options: AttemptOptions, work: AttemptWork<T>): Maybe<T> {
    this.host.checkOpen(options.what ?? 'attempt');
    return attempt(this.host, this.#governor.recovery.attempts, options, work);
  }

  /**
   * Builds a device anew. Its tensors are saved to host memory first and come back where they are used; a device that cannot
   * be opened twice in one process is emptied. Callers at the same time share one reset.
   * @example (await rt.reset('cpu')).device // → 'cpu'
   */
  async reset(device: DeviceId): Promise<ResetReport> {
    this.host.checkOpen('reset');
    const place = this.host.place(device, 'reset');
    const { reset } = await import('./reset.ts');
    if (!(await this.#governor.losses.back(place))) throw lostPin(place);
    let running = this.#resets.get(place);
    if (!running) {
      const { storages } = this.host.ledger;
      const finished = (p: Place) => this.host.finished(undefined, [p]);
      running = reset(place, { storages, losses: this.#governor.losses, finished }).finally(() =>
        this.#resets.delete(place),
      );
      this.#resets.set(place, running);
    }
    return running;
  }

  /**
   * Whether a tensor belongs to this runtime.
   * @example rt.owns(rt.ones([2])) // → true
   */
  owns(tensor: Tensor): boolean {
    return tensor.host === this.host;
  }

  /**
   * Which kernels a tensor takes, on which device, and why there. If it is computed already: which kernels have made it.
   * @example rt.explain(rt.ones([4]).add(1).mul(2)).kernels.length // → 1
   */
  explain(tensor: Tensor): Explanation {
    const { places } = this.#governor;
    const reason = (id: string): string =>
      places.length === 1 ? 'the only device' : `the only device that can do it now (${id})`;
    return explain(this.#engine, nodeOf(tensor, this.host, 'explain'), reason);
  }

  /**
   * Counters: live tensors and bytes, launches, programs, waits, leaks.
   * @example rt.stats().launches >= 0 // → true
   */
  stats(): Stats {
    return this.host.stats();
  }

  /**
   * The runtime at this moment as plain data that survives JSON: devices, memory, routing, recovery, counters, programs.
   * The shape is versioned by `schema`; keys are only added to it. Also after `close`.
   * @example rt.snapshot().schema // → 'gpuforge.runtime/1'
   * @example rt.snapshot().devices.some((d) => d.id === 'cpu' && d.open) // → true
   */
  snapshot(): RuntimeSnapshot {
    return takeRuntimeSnapshot({
      governor: this.#governor,
      router: this.routing,
      reports: this.devices(),
      stats: this.stats(),
      events: this.#events,
      cachedPrograms: this.#engine.programs.size,
      spans: this.#spans,
      closed: this.#closed,
    });
  }

  /**
   * Measures when devices are busy: from now on every launch and replay is followed by a `span` event with its times on the
   * host's clock, which fires before the next `rt.flush()` returns. `'detailed'` measures kernels one by one where a device otherwise
   * measures several together, and launches compiled functions step by step: that takes more time. Resolves when the clocks
   * were compared; `false` ends it. Off, which is the default, costs nothing.
   * @example await rt.spans(true) // → undefined
   * @example await rt.spans(false) // → undefined
   */
  async spans(mode: SpanMode): Promise<void> {
    this.host.checkOpen('spans');
    await this.#spans.set(mode);
  }

  /**
   * For profilers: says which piece of work tensors belong to. The runtime calls `current` whenever a tensor is made. What it returns,
   * unless that is null, is in `issuedIn` of the launches and replays that compute the tensor later. Returns a function that ends it.
   * @example rt.attribute(() => 'loading')() // → undefined
   */
  attribute(current: () => unknown): () => void {
    this.host.checkOpen('attribute');
    return this.host.issuing.ask(current);
  }

  /**
   * Listens to an event; returns a function that stops listening. Events nobody listens to cost nothing. A listener that throws
   * becomes an `error` event; the work goes on. docs/events.md lists all events.
   * @example typeof rt.on('launch', () => {}) // → 'function'
   */
  on<K extends EventName>(kind: K, listener: Listener<K>): () => void {
    return this.#events.on(kind, listener);
  }

  /**
   * The names of all events.
   * @example rt.eventNames.includes('launch') // → true
   */
  get eventNames(): readonly EventName[] {
    return eventNames;
  }

  /**
   * Closes all devices. Tensors of this runtime cannot be used afterwards. Closing twice does nothing.
   * @example await (await createRuntime({ devices: ['cpu'] })).close() // → undefined
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.host.close();
    // Whoever listens gets the times of the last work too.
    await this.#spans.settle();
    this.#spans.close();
    this.#routed.save();
    const devices = this.#governor.places.flatMap((p) => (p.alive ? [p.device] : []));
    await Promise.all([this.#governor.close(), ...devices.map(closeQuietly)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

checkMethods(Runtime.prototype, { ...makingSignatures, ...runtimeSignatures }, runtimeKinds);
checkMethods(RuntimeMemory.prototype, memorySignatures, runtimeKinds);
checkMethods(RuntimeMark.prototype, { done: '', whenDone: 'async options:{signal:signal}?' });
