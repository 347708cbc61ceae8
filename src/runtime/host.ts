// The runtime as its tensors see it: lifetime, counters, scopes, reading.

import { byteSize, type DType, dtypeInfo, type TypedArray } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError, DisposedError, OutOfMemory } from '../errors.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import { aborted } from '../governor/recovery/errors.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { dropHandle, dropUse, Node, settle } from '../graph/node.ts';
import { Storage } from '../graph/storage.ts';
import { callerLine, callSite, typed } from '../tensor/core.ts';
import type { Handle, TensorHost } from '../tensor/host.ts';
import { Backstop } from './backstop.ts';
import type { Engine } from './engine.ts';
import type { Emitter } from './events.ts';
import { Ledger, type Stats } from './ledger.ts';
import { anywhere, asyncOnly, type Want } from './programs.ts';
import type { Recovery } from './recovery.ts';
import { leave, lent } from './residency.ts';
import { Scope, type ScopeStore } from './scope.ts';

/** Where no device can be lost, tensors up to this many elements live on the JavaScript heap until they are known to hold more. */
const smallElements = 512;

/** How much lazy work may pile up before it is computed. */
const defaultDepth = 256;

/** How a runtime treats its tensors. */
export interface HostSettings {
  readonly development: boolean;
  /** Bytes up to which uploads at a place that can be lost stay in host memory too. */
  readonly keepBytes: number;
  /** Bytes up to which they stay even after the tensor was disposed, while results computed from it live. */
  readonly seedBytes: number;
  /** The longest wait for a device. */
  readonly timeoutMs: number;
}

/** How often bytes may be lost between being computed and being read before a read gives up. */
const mostLosses = 8;

const hostWant: Want = { ...anywhere, wanted: 'host' };
const syncWant: Want = { ...hostWant, sync: true };

export class RuntimeHost implements TensorHost {
  readonly development: boolean;
  readonly ledger = new Ledger();
  maxDepth = defaultDepth;
  /** Bytes from which a tensor remembers the line that made it; Infinity for none. Noting it costs microseconds. */
  siteBytes = Number.POSITIVE_INFINITY;
  activeScopes = 0;
  readonly #events: Emitter;
  readonly #scopes: ScopeStore;
  readonly #backstop: Backstop;
  readonly #settings: HostSettings;
  #engine: Engine | null = null;
  #recovery: Recovery | null = null;
  #places: readonly Place[] = [];
  /** Tensors up to this many elements are freed by the collector alone. */
  #unwatched = 0;
  /** The pins of scopes in progress; a cheap test before looking for one. */
  #pins = 0;

  constructor(settings: HostSettings, events: Emitter, scopes: ScopeStore) {
    this.#settings = settings;
    this.development = settings.development;
    this.#events = events;
    this.#scopes = scopes;
    this.#backstop = new Backstop(({ node, line }) => {
      if (line) this.ledger.leaked(line);
      if (this.#events.has('leak')) this.#events.emit('leak', { shape: node.shape.values, dtype: node.dtype, line });
      if (this.#engine) dropHandle(node);
    });
  }

  attach(engine: Engine, recovery: Recovery, places: readonly Place[]): void {
    this.#engine = engine;
    this.#recovery = recovery;
    this.#places = places;
    this.#unwatched = places.some((p) => p.mortal) ? 0 : smallElements;
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

  get engine(): Engine {
    if (!this.#engine) throw closed('runtime');
    return this.#engine;
  }

  close(): void {
    this.#engine = null;
  }

  checkOpen(where: string): void {
    if (!this.#engine) throw closed(where);
  }

  adopt(tensor: Handle, node: Node): void {
    if (node.size * 8 >= this.siteBytes && !node.site) this.#markSite(node);
    if (node.tracked || node.size > this.#unwatched)
      this.#backstop.add(tensor, node, this.development ? callerLine() : '');
    if (this.activeScopes > 0) this.#scopes.current()?.add(tensor);
  }

  #markSite(node: Node): void {
    if (node.size * byteSize(node.dtype) < this.siteBytes) return;
    // The stack is only looked at if somebody asks for it.
    node.site = this.development ? callerLine() : callSite();
    if (node.storage) node.storage.site ??= node.site;
  }

  forget(tensor: Handle): void {
    this.#backstop.remove(tensor);
    if (this.activeScopes > 0) this.#scopes.current()?.delete(tensor);
  }

  stats(): Stats {
    this.#backstop.settle();
    return this.ledger.snapshot(this.#backstop.count);
  }

  dropHandle(node: Node): void {
    dropHandle(node);
  }

  compute(nodes: readonly Node[]): void {
    this.engine.compute(nodes, this.#pins > 0 ? this.want(anywhere) : anywhere);
  }

  /** What is asked of a place, with the device the current scope is pinned to. */
  want(base: Want): Want {
    const pin = this.#pins > 0 ? this.#scopes.current()?.place : undefined;
    return pin ? { ...base, pin, pinned: true } : base;
  }

  readSync(node: Node): TypedArray {
    const { engine } = this;
    const { feedback } = engine;
    const start = feedback.wanted ? performance.now() : 0;
    let want = this.#pins > 0 ? this.want(syncWant) : syncWant;
    for (let attempt = 0; ; attempt++) {
      const ran = !node.storage || node.storage.lost ? engine.compute([node], want) : null;
      const place = this.#readable(node.storage!);
      try {
        const data = this.#readNow(node, place);
        if (place) this.#recovery!.succeeded(place);
        if (ran && feedback.wanted && attempt === 0) feedback.call(ran, performance.now() - start);
        return data;
      } catch (e) {
        want = this.#recovery!.next(e, place, want, attempt, true);
        if (!leave(node, place, want.unreadable)) throw e;
      }
    }
  }

  /** The place from which bytes are read synchronously, if there is one. */
  #readable(storage: Storage): Place | null {
    const { place } = storage;
    return place?.caps.syncRead ? place : (storage.places.find((p) => p.caps.syncRead) ?? null);
  }

  #readNow(node: Node, place: Place | null): TypedArray {
    const storage = node.storage!;
    const length = node.size * byteSize(node.dtype);
    if (storage.lent) throw lent(node, 'read');
    if (!place) {
      if (storage.host) return typed(storage.host.slice(0, length), node.dtype);
      throw asyncOnly(storage.place?.id ?? 'the device');
    }
    const { device } = place;
    const buffer = storage.on(place)!;
    if (!this.development && !this.#listening) {
      this.ledger.waits++;
      return (
        device.readTyped?.(buffer, node.dtype, 0, node.size) ?? typed(device.readSync!(buffer, 0, length), node.dtype)
      );
    }
    const start = performance.now();
    const bytes = device.readSync!(buffer, 0, length);
    this.#waited(device.id, start, callerLine());
    if (this.#events.heard.download) this.#downloaded(place, bytes, start);
    return typed(bytes, node.dtype);
  }

  async read(node: Node, signal?: AbortSignal, into?: Uint8Array): Promise<Uint8Array> {
    const line = this.development || this.#listening ? callerLine() : '';
    const start = performance.now();
    // Disposing the tensor while its data is awaited must not pull the bytes away.
    node.uses++;
    try {
      let want = this.want(hostWant);
      for (let attempt = 0; ; attempt++) {
        let place: Place | null = null;
        try {
          const ready = node.storage && !node.storage.lost;
          const ran = ready ? null : await this.engine.computeAsync([node], want, signal);
          // Lost again while this was waited for.
          if (node.storage!.lost && attempt < mostLosses) continue;
          place = node.storage!.place;
          const bytes = await this.#readLater(node, signal, into);
          this.#waited(place?.id ?? 'host', start, line);
          if (place) this.#recovery!.succeeded(place);
          if (ran && attempt === 0) this.engine.feedback.call(ran, performance.now() - start);
          return bytes;
        } catch (e) {
          // Computing has tried what there was to try.
          if (!place) throw e;
          // A device that found out late that it had no room has filled these bytes with nothing.
          if (e instanceof OutOfMemory && place.mortal && node.lineage) node.storage?.dropCopy(place);
          want = await this.#recovery!.nextAsync(e, place, want, attempt, signal, true);
          if (!leave(node, place, want.unreadable)) throw e;
        }
      }
    } finally {
      dropUse(node);
    }
  }

  async #readLater(node: Node, signal: AbortSignal | undefined, into: Uint8Array | undefined): Promise<Uint8Array> {
    const storage = node.storage!;
    const length = node.size * byteSize(node.dtype);
    if (storage.lent) throw lent(node, 'read');
    const { place, buffer } = storage;
    if (storage.checks) await this.engine.checks.verify(storage);
    if (!place) return into ? fill(into, storage.host!.subarray(0, length)) : storage.host!.slice(0, length);
    const { device } = place;
    const what = `read of ${length} bytes (${place.id})`;
    const start = this.#events.heard.download ? performance.now() : 0;
    const reading = device.read(buffer!, 0, length, into);
    const bytes = await (place.mortal || signal
      ? withDeadline(reading, this.#settings.timeoutMs, { what, signal })
      : reading);
    if (start > 0 && this.#events.heard.download) this.#downloaded(place, bytes, start);
    if (!into || bytes === into) return bytes;
    fill(into, bytes);
    device.returnRead?.(bytes);
    return into;
  }

  /** Whether somebody hears of reads. */
  get #listening(): boolean {
    return this.#events.heard.wait || this.#events.heard.download;
  }

  #waited(device: string, start: number, line: string): void {
    const ms = performance.now() - start;
    this.ledger.waited(line, ms);
    if (this.#events.heard.wait) this.#events.emit('wait', { device, start, ms, line, why: 'read' });
  }

  #downloaded(place: Place, bytes: Uint8Array, start: number): void {
    const pinned = place.alive && (place.device.isPinned?.(bytes) ?? false);
    this.engine.dispatch.moved('download', place.id, 'host', bytes.byteLength, start, pinned);
  }

  upload(bytes: Uint8Array, dtype: DType, shape: Shape, pin: Place | null = null): Node {
    const { engine, ledger } = this;
    const { byteLength } = bytes;
    const at = pin ?? (this.#pins > 0 ? (this.#scopes.current()?.place ?? null) : null);
    const node = new Node('leaf', dtype, internInts(shape), [], noInts);
    const now = ++ledger.storages.now;
    let want: Want = { ...anywhere, pin: at, pinned: at !== null };
    for (let attempt = 0; ; attempt++) {
      const place = engine.programs.home(1 << dtypeInfo[dtype].id, byteLength, at, want.excluded);
      try {
        const buffer = place.allocate(byteLength);
        try {
          engine.dispatch.upload(place, buffer, bytes);
        } catch (e) {
          place.release(buffer);
          throw e;
        }
        const storage = new Storage(place, buffer, ledger.storages);
        if (pin) storage.pin = pin;
        storage.lastUse = now;
        if (place.mortal && byteLength <= this.#settings.keepBytes) {
          storage.keepOnHost(bytes.slice());
          storage.hostKept = true;
          if (byteLength <= this.#settings.seedBytes) node.seed = storage.host;
        }
        settle(node, storage);
        return node;
      } catch (e) {
        want = this.#recovery!.next(e, place, want, attempt);
      }
    }
  }

  async move(node: Node, device: string, signal?: AbortSignal): Promise<void> {
    const { engine } = this;
    const place = this.place(device, 'to');
    let want = anywhere;
    if (signal?.aborted) throw aborted(`move to ${place.id}`, signal);
    for (let attempt = 0; !node.storage?.on(place); attempt++) {
      try {
        if (!node.storage || node.storage.lost) await engine.computeAsync([node], want, signal);
        const what = `move of ${node.size * byteSize(node.dtype)} bytes to ${place.id}`;
        await withDeadline(engine.residency.bringAsync(node, place), this.#settings.timeoutMs, { what, signal });
        engine.residency.bring(node, place);
      } catch (e) {
        const read = engine.residency.failedRead(e);
        want = await this.#recovery!.nextAsync(e, read?.place ?? place, want, attempt, signal, read !== null);
        // Nowhere else will do; what is not to be read where it is may be computed again.
        if ((want.excluded & place.bit) !== 0 || (read && !leave(node, read.place, want.unreadable))) throw e;
      }
    }
    const storage = node.storage!;
    for (const other of storage.places) if (other !== place) storage.dropCopy(other);
    storage.pin = place;
  }

  /** Waits until a device has finished what was enqueued, within the time limit. */
  finished(place: Place, signal: AbortSignal | undefined): Promise<void> {
    let done = place.device.mark(false).whenDone();
    if (this.#events.heard.wait) done = this.#tellFlush(done, place.id, callerLine());
    if (this.#recovery!.doubts(place)) done = done.then(() => this.#recovery!.succeeded(place));
    if (!place.mortal && !signal) return done;
    const ms = place.mortal ? this.#settings.timeoutMs : Number.POSITIVE_INFINITY;
    return withDeadline(done, ms, { what: `flush (${place.id})`, signal });
  }

  async #tellFlush(done: Promise<void>, device: string, line: string): Promise<void> {
    const start = performance.now();
    await done;
    const ms = performance.now() - start;
    this.#events.emit('wait', { device, start, ms, line, why: 'flush' });
  }

  /** A state of a recurrence was computed again. */
  readonly recomputed = (steps: number): void => {
    if (this.#events.has('recompute')) this.#events.emit('recompute', { steps });
  };

  /** Runs a body whose tensors stand for values that are not known yet. */
  tracing<T>(body: () => T): T {
    const depth = this.maxDepth;
    this.maxDepth = Number.POSITIVE_INFINITY;
    try {
      return body();
    } finally {
      this.maxDepth = depth;
    }
  }

  /** Runs a body in a scope; works for plain and for async bodies. With a place, everything inside is computed there. */
  scope<T>(body: () => T, place: Place | null = null): T {
    const scope = new Scope(this.#scopes.current(), place);
    this.activeScopes++;
    if (place) this.#pins++;
    const finish = (result: unknown): void => {
      this.activeScopes--;
      if (place) this.#pins--;
      scope.end(result);
    };
    let result: T;
    try {
      result = this.#scopes.run(scope, body);
    } catch (e) {
      finish(undefined);
      throw e;
    }
    if (result instanceof Promise) {
      return result.then(
        (value) => {
          finish(value);
          return value;
        },
        (error) => {
          finish(undefined);
          throw error;
        },
      ) as T;
    }
    finish(result);
    return result;
  }
}

function fill(into: Uint8Array, bytes: Uint8Array): Uint8Array {
  into.set(bytes);
  return into;
}

function closed(where: string): DisposedError {
  return new DisposedError({
    code: 'RUNTIME_CLOSED',
    message: `${where}: the runtime is closed`,
    fix: 'Create a new one with createRuntime().',
    where,
  });
}
