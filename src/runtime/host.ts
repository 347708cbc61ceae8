// The runtime as its tensors see it: what a tensor asks goes to lifetime, scopes, transfers or the engine.

import type { DType, TypedArray } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { Mark } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError, DisposedError } from '../errors.ts';
import { Forgotten } from '../governor/memory/forgotten.ts';
import type { Maybe } from '../governor/recovery/attempt.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import { restorable } from '../governor/recovery/revive.ts';
import { dropHandle } from '../graph/holding.ts';
import type { Node } from '../graph/node.ts';
import type { RoutineOp } from '../kernel/kernel.ts';
import type { Handle, TensorHost } from '../tensor/host.ts';
import type { Engine } from './engine.ts';
import type { Emitter } from './events.ts';
import { Issuing } from './issuing.ts';
import { Ledger, type Stats } from './ledger.ts';
import { Lifetime } from './lifetime.ts';
import type { ScopePlaces, ScopeStore } from './scope.ts';
import { Scopes } from './scopes.ts';
import { type TransferSettings, Transfers, toHost, toHostNow } from './transfers.ts';
import { anywhere, type Want } from './want.ts';

/** How much lazy work may pile up before it is computed. */
const defaultDepth = 256;

/** How a runtime treats its tensors. */
export type HostSettings = TransferSettings;

/** What there is while devices are open. */
interface Open {
  readonly engine: Engine;
  readonly recovery: Recovery;
  readonly transfers: Transfers;
}

export class RuntimeHost implements TensorHost {
  readonly development: boolean;
  readonly ledger = new Ledger();
  maxDepth = defaultDepth;
  /** The body of a compiled function is being run to see what it does. */
  traces = false;
  readonly scopes: Scopes;
  readonly issuing: Issuing;
  readonly lifetime: Lifetime;
  readonly #events: Emitter;
  readonly #settings: HostSettings;
  #open: Open | null = null;
  #keys = 0;
  #places: readonly Place[] = [];
  /** What every device has. */
  #routines: ReadonlySet<RoutineOp> = new Set();

  constructor(settings: HostSettings, events: Emitter, scopes: ScopeStore) {
    this.#settings = settings;
    this.development = settings.development;
    this.#events = events;
    this.scopes = new Scopes(scopes);
    this.issuing = new Issuing(this.scopes, events);
    this.lifetime = new Lifetime(settings.development, this.ledger, events, this.scopes, this.issuing);
  }

  attach(engine: Engine, recovery: Recovery, places: readonly Place[]): void {
    const forgotten = new Forgotten(this.ledger.storages, () => this.lifetime.settle());
    const mortal = places.some((p) => p.mortal);
    const parts = { recovery, settings: this.#settings, ledger: this.ledger, events: this.#events, forgotten, mortal };
    this.#open = { engine, recovery, transfers: new Transfers(engine, parts) };
    this.#places = places;
    const [first, ...others] = places.map((p) => p.caps.routines);
    this.#routines = new Set([...(first ?? [])].filter((r) => others.every((o) => o.has(r))));
    this.lifetime.opened(mortal, () => forgotten.manySteps());
  }

  /** The place of a device, by its full name or its kind. */
  place(id: string, where: string): Place {
    const found = this.#places.find((p) => p.id === id) ?? this.#places.find((p) => p.id.split(':')[0] === id);
    if (found) return found;
    throw new ArgumentError({
      code: 'UNKNOWN_DEVICE',
      message: `${where}: '${id}' is not open`,
      fix: `Open devices are ${this.#places.map((p) => p.id).join(', ')}; rt.devices() tells why others are not.`,
      where,
    });
  }

  everywhere(routine: RoutineOp): boolean {
    return this.#routines.has(routine);
  }

  close(): void {
    this.#open = null;
    this.lifetime.close();
  }

  checkOpen(where: string): void {
    if (!this.#open) throw closed(where);
  }

  /** For what launches by itself. */
  opened(): Pick<Open, 'engine' | 'recovery'> {
    return this.#opened();
  }

  #opened(): Open {
    return this.#open ?? closedNow();
  }

  // Lifetime.

  adopt(tensor: Handle, node: Node): void {
    this.lifetime.adopt(tensor, node);
  }

  forget(tensor: Handle, node: Node): void {
    this.lifetime.forget(tensor, node);
  }

  keep(tensor: Handle): void {
    this.scopes.keep(tensor);
  }

  stats(): Stats {
    return this.lifetime.stats();
  }

  dropHandle(node: Node): void {
    dropHandle(node);
  }

  // Computing.

  compute(nodes: readonly Node[]): void {
    this.#opened().engine.compute(nodes, this.want(anywhere));
  }

  computeOne(node: Node): void {
    this.#opened().engine.computeOne(node, this.want(anywhere));
  }

  /** What is asked of a place, with the device the current scope is pinned to. */
  want(base: Want): Want {
    return this.scopes.want(base);
  }

  /** A state of a recurrence was computed again. */
  readonly recomputed = (steps: number): void => {
    if (this.#events.has('recompute')) this.#events.emit('recompute', { steps });
  };

  /** The next of the keys from which random numbers are drawn where no seed is given. */
  nextKey(): number {
    return ++this.#keys;
  }

  /** Runs a body whose tensors stand for values that are not known yet. */
  tracing<T>(body: () => T): T {
    const { maxDepth, traces } = this;
    this.maxDepth = Number.POSITIVE_INFINITY;
    this.traces = true;
    this.issuing.tracing = true;
    try {
      return body();
    } finally {
      this.maxDepth = maxDepth;
      this.traces = traces;
      this.issuing.tracing = traces;
    }
  }

  /** Runs a body in a scope; works for plain and for async bodies. */
  scope<T>(body: () => T, places: ScopePlaces = {}): T {
    return this.scopes.run(body, places);
  }

  // Transfers.

  readSync(node: Node): TypedArray {
    return this.#opened().transfers.readSync(node, this.want(toHostNow));
  }

  read(node: Node, signal?: AbortSignal, into?: Uint8Array): Maybe<TypedArray> {
    return this.#opened().transfers.read(node, this.want(toHost), signal, into);
  }

  upload(bytes: Uint8Array, dtype: DType, shape: Shape, pin: Place | null = null, keep = true): Node {
    return this.#opened().transfers.upload(bytes, dtype, shape, { at: pin, keep }, this.want(anywhere));
  }

  async move(node: Node, device: string, signal?: AbortSignal): Promise<void> {
    return this.#opened().transfers.move(node, this.place(device, 'to'), signal);
  }

  lost(node: Node): boolean {
    return node.storage?.lost === true && !restorable(node, 0);
  }

  /** Waits until devices, by default all, have finished what was enqueued, within the time limit. */
  finished(signal: AbortSignal | undefined, places: readonly Place[] = this.#places): Promise<unknown> {
    return this.#opened().transfers.finished(places, signal);
  }

  /** As `finished`, for what was enqueued up to a mark. */
  reached(place: Place, mark: Mark, signal: AbortSignal | undefined): Promise<void> {
    return this.#opened().transfers.reached(place, mark, signal);
  }
}

function closedNow(): never {
  throw closed('runtime');
}

function closed(where: string): DisposedError {
  return new DisposedError({
    code: 'RUNTIME_CLOSED',
    message: `${where}: the runtime is closed`,
    fix: 'Create a new one with createRuntime().',
    where,
  });
}
