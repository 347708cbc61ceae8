// The runtime as its tensors see it: lifetime, counters, scopes, reading.

import { byteSize, type DType, dtypeInfo, type TypedArray } from '../base/dtype.ts';
import type { Shape } from '../base/shape.ts';
import { DeviceUnavailable, DisposedError } from '../errors.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { dropHandle, dropUse, Node, settle } from '../graph/node.ts';
import { Storage } from '../graph/storage.ts';
import { callerLine, typed } from '../tensor/core.ts';
import type { Handle, Host } from '../tensor/host.ts';
import type { Engine } from './engine.ts';
import type { Emitter } from './events.ts';
import { Ledger, type Stats } from './ledger.ts';
import { Scope, type ScopeStore } from './scope.ts';

/** Tensors below this many elements live on the JavaScript heap until they are known to hold more. */
const smallElements = 512;

/** How much lazy work may pile up before it is computed. */
const defaultDepth = 256;

/** A tensor that was just made. Registering each for collection would cost more than most ops: many are disposed at once. */
interface Young {
  readonly tensor: Handle;
  readonly node: Node;
  readonly line: string;
}

const maxYoung = 512;

interface Held {
  readonly node: Node;
  readonly line: string;
}

export class RuntimeHost implements Host {
  readonly development: boolean;
  readonly ledger = new Ledger();
  maxDepth = defaultDepth;
  activeScopes = 0;
  readonly #events: Emitter;
  readonly #scopes: ScopeStore;
  readonly #backstop: FinalizationRegistry<Held>;
  readonly #young: Young[] = [];
  #engine: Engine | null = null;

  constructor(development: boolean, events: Emitter, scopes: ScopeStore) {
    this.development = development;
    this.#events = events;
    this.#scopes = scopes;
    this.#backstop = new FinalizationRegistry(({ node, line }) => {
      this.ledger.tensors--;
      if (line) this.ledger.leaked(line);
      if (this.#events.has('leak')) this.#events.emit('leak', { shape: node.shape.values, dtype: node.dtype, line });
      if (this.#engine) dropHandle(node);
    });
  }

  attach(engine: Engine): void {
    this.#engine = engine;
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
    // Small values need no backstop: the collector frees all of them by itself.
    if (node.tracked || node.size > smallElements) {
      if (this.#young.length === 0) queueMicrotask(this.#settle);
      else if (this.#young.length >= maxYoung) this.#settle();
      this.#young.push({ tensor, node, line: this.development ? callerLine() : '' });
    }
    if (this.activeScopes > 0) this.#scopes.current()?.add(tensor);
  }

  forget(tensor: Handle): void {
    if (this.#backstop.unregister(tensor)) this.ledger.tensors--;
    if (this.activeScopes > 0) this.#scopes.current()?.delete(tensor);
  }

  /** Gives the tensors that outlived their making to the backstop. */
  readonly #settle = (): void => {
    for (const { tensor, node, line } of this.#young.splice(0)) {
      // Disposed meanwhile, or a state of a recurrence that was given up: nothing to free.
      if (tensor.disposed || (!node.storage && node.sources.length === 0)) continue;
      this.#backstop.register(tensor, { node, line }, tensor);
      this.ledger.tensors++;
    }
  };

  stats(): Stats {
    this.#settle();
    return this.ledger.snapshot();
  }

  dropHandle(node: Node): void {
    dropHandle(node);
  }

  compute(nodes: readonly Node[]): void {
    this.engine.compute(nodes);
  }

  readSync(node: Node): TypedArray {
    const { engine } = this;
    if (!node.storage) engine.compute([node]);
    const { device, buffer } = node.storage!;
    if (!device.readSync) throw asyncOnly(device.id);
    const length = node.size * byteSize(node.dtype);
    if (!this.development && !this.#events.has('read')) {
      this.ledger.waits++;
      return (
        device.readTyped?.(buffer, node.dtype, 0, node.size) ?? typed(device.readSync(buffer, 0, length), node.dtype)
      );
    }
    const start = performance.now();
    const bytes = device.readSync(buffer, 0, length);
    this.#waited(device.id, length, start, callerLine());
    return typed(bytes, node.dtype);
  }

  async read(node: Node): Promise<Uint8Array> {
    const { engine } = this;
    const line = this.development || this.#events.has('read') ? callerLine() : '';
    const start = performance.now();
    // Disposing the tensor while its data is awaited must not pull the bytes away.
    node.uses++;
    try {
      if (!node.storage) await engine.computeAsync([node]);
      const storage = node.storage!;
      if (storage.checks) await engine.verify(storage);
      const bytes = await storage.device.read(storage.buffer, 0, node.size * byteSize(node.dtype));
      this.#waited(storage.device.id, bytes.byteLength, start, line);
      return bytes;
    } finally {
      dropUse(node);
    }
  }

  #waited(device: string, bytes: number, start: number, line: string): void {
    const ms = performance.now() - start;
    this.ledger.waited(line, ms);
    if (this.#events.has('read')) this.#events.emit('read', { device, bytes, ms, line });
  }

  upload(bytes: Uint8Array, dtype: DType, shape: Shape): Node {
    const { engine } = this;
    const device = engine.home(1 << dtypeInfo[dtype].id);
    const buffer = engine.allocate(device, bytes.byteLength);
    if (bytes.byteLength > 0) device.write(buffer, bytes);
    if (this.#events.has('upload')) this.#events.emit('upload', { device: device.id, bytes: bytes.byteLength });
    const node = new Node('leaf', dtype, internInts(shape), [], noInts);
    settle(node, new Storage(device, buffer, this.ledger));
    return node;
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

  /** Runs a body in a scope; works for plain and for async bodies. */
  scope<T>(body: () => T): T {
    const scope = new Scope(this.#scopes.current());
    this.activeScopes++;
    const finish = (result: unknown): void => {
      this.activeScopes--;
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

function closed(where: string): DisposedError {
  return new DisposedError({
    code: 'RUNTIME_CLOSED',
    message: `${where}: the runtime is closed`,
    fix: 'Create a new one with createRuntime().',
    where,
  });
}

function asyncOnly(device: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NO_SYNC_READ',
    message: `${device} cannot be read synchronously`,
    fix: 'Use `await tensor.data()`.',
    where: device,
  });
}
