// The part of a tensor that is not an op: identity, lifetime, reading.
//
// Classes above this one keep helpers `private`, not `#`: methods with a # are installed on every instance, and tensors are
// made by the million.

import { isDetached, notMade, shown } from '../base/arguments.ts';
import { byteSize, type DType, dtypeInfo, type HostArrays, type TypedArray } from '../base/dtype.ts';
import { type Shape, show } from '../base/shape.ts';
import { ArgumentError, DisposedError } from '../errors.ts';
import { addHandle, addUse, dropHandle, dropUse } from '../graph/holding.ts';
import type { Ints } from '../graph/intern.ts';
import type { Node } from '../graph/node.ts';
import type { Site } from '../graph/storage.ts';
import type { TensorHost } from './host.ts';
import { toHostArray, widen } from './host-array.ts';
import { jsonNumber, printed } from './print.ts';
import type { Tensor } from './tensor.ts';

/** A tensor's elements as nested arrays; a plain value for rank 0. */
export type Nested = number | bigint | boolean | Nested[];

/** One element of a tensor. */
export type ItemOf<D extends DType> = HostArrays[D][number];

/** For everything that can take long. */
export interface WaitOptions {
  /** Ends the wait with an error; the work itself goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** For reading. */
export interface ReadOptions<A> extends WaitOptions {
  /** An array of the same type and length to read into, instead of a fresh one. What it holds after an error is undefined. */
  readonly into?: A | undefined;
}

/** What a tensor that was disposed of still says of itself. It keeps nothing of what the tensor was computed from. */
class Spent {
  readonly dtype: DType;
  readonly shape: Ints;

  constructor({ dtype, shape }: Node) {
    this.dtype = dtype;
    this.shape = shape;
  }

  get size(): number {
    return this.shape.product;
  }
}

export abstract class TensorCore<D extends DType = DType> {
  readonly #host: TensorHost;
  #node: Node | Spent;
  #disposed: false | true | string = false;
  /** For the library's own layers. */
  guard: object | null = null;

  /** @internal Tensors are made by a runtime: `rt.tensor(…)`. */
  constructor(host: TensorHost, node: Node = notMade('Tensor', 'rt.tensor(data)')) {
    this.#host = host;
    this.#node = node;
    addHandle(node);
    host.adopt(this, node);
    if (node.depth > host.maxDepth) this.cut();
  }

  /** Whether a value is a tensor, of any runtime. For the library's own layers. */
  static is(value: unknown): value is TensorCore {
    return typeof value === 'object' && value !== null && #host in value;
  }

  /** Computes what has piled up. If that fails nobody gets to hold this tensor. */
  private cut(): void {
    try {
      this.#host.computeOne(this.node);
    } catch (e) {
      this.dispose();
      throw e;
    }
  }

  /** The type of the elements. */
  get dtype(): D {
    return this.#node.dtype as D;
  }

  /** The length of each axis. */
  get shape(): Shape {
    return this.#node.shape.values;
  }

  /** Number of axes. */
  get rank(): number {
    return this.#node.shape.values.length;
  }

  /** Number of elements. */
  get size(): number {
    return this.#node.size;
  }

  /** Bytes of the elements. */
  get nbytes(): number {
    return this.#node.size * byteSize(this.#node.dtype);
  }

  /** It was freed and cannot be used any more. */
  get disposed(): boolean {
    return this.#disposed !== false;
  }

  /**
   * The device that holds its bytes now; null if it is not computed yet, or is in host memory alone.
   * @example rt.tensor([1, 2]).device // → 'cpu'
   * @example rt.ones([2]).add(1).device // → null
   */
  get device(): string | null {
    return this.node.storage?.place?.id ?? null;
  }

  /** The values are known: nothing is left to be computed. */
  get computed(): boolean {
    const { storage } = this.node;
    return storage !== null && !storage.lost;
  }

  /** The values went with a lost device, and nothing was kept from which they could be made again. */
  get lost(): boolean {
    return this.#disposed === false && this.#host.lost(this.node);
  }

  /**
   * A second handle of the same values: each is disposed of by itself.
   * @example rt.tensor([1, 2]).clone() // → [1, 2]
   */
  clone(): this {
    return this.make(this.node) as unknown as this;
  }

  /** The lazy node behind this tensor. For the library's own layers. @internal */
  get node(): Node {
    if (this.#disposed !== false) throw usedAfterDispose(this, this.#disposed);
    return this.#node as Node;
  }

  /** The runtime behind this tensor. For the library's own layers. @internal */
  get host(): TensorHost {
    return this.#host;
  }

  /** A tensor of the same runtime for another node. */
  protected make<E extends DType>(node: Node): Tensor<E> {
    const Made = this.constructor as new (host: TensorHost, node: Node) => Tensor<E>;
    return new Made(this.#host, node);
  }

  /** Tensors for nodes that share some of what they are made from: computing the first must not let go of it. */
  protected makeAll(nodes: readonly Node[]): Tensor[] {
    for (const n of nodes) addUse(n);
    const made: Tensor[] = [];
    try {
      for (const n of nodes) made.push(this.make(n));
      return made;
    } catch (e) {
      for (const t of made) t.dispose();
      throw e;
    } finally {
      for (const n of nodes) dropUse(n);
    }
  }

  /** The node of another tensor of the same runtime; null for everything else. */
  protected own(other: unknown): Node | null {
    if (typeof other !== 'object' || other === null || !(#host in other)) return null;
    return other.#host === this.#host ? other.node : null;
  }

  /** Another operand, checked to belong to the same runtime. */
  protected sibling<T extends TensorCore>(other: T, where: string): T {
    if (other.host === this.#host) return other;
    throw foreign(other, where);
  }

  /**
   * Frees this tensor. What was computed from it, or still waits to be, stays valid. Disposing twice does nothing.
   * @example (() => { const t = rt.tensor([1]); t.dispose(); return t.disposed; })() // → true
   */
  dispose(): void {
    // biome-ignore lint/complexity/noArguments: called for every tensor, so it is checked here and not around it.
    if (arguments.length > 0) throw tooMany();
    if (this.#disposed !== false) return;
    const { node } = this;
    this.#disposed = this.#host.development ? callerLine() : true;
    // The collector may take long to find the tensor: until then it must not hold what the node remembers.
    this.#node = new Spent(node);
    this.#host.forget(this, node);
    dropHandle(node);
  }

  /**
   * Takes this tensor out of all scopes: it lives until you dispose of it, also if no scope returns it.
   * @example (() => { let kept; rt.scope(() => { kept = rt.tensor([1]).keep(); }); return kept.disposed; })() // → false
   */
  keep(): this {
    if (this.#disposed !== false) throw usedAfterDispose(this, this.#disposed);
    this.#host.keep(this);
    return this;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /**
   * The elements, in row-major order, as a typed array: a fresh one, or `into`. Runs what is needed and waits for it.
   * @example await rt.tensor([1, 2]).add(1).data() // → [2, 3]
   * @example await rt.tensor([1, 2]).add(1).data({ into: rt.pinned(2) }) // → [2, 3]
   */
  async data(options: ReadOptions<HostArrays[D]> = {}): Promise<HostArrays[D]> {
    const node = this.node;
    const { into, signal } = options;
    if (into === undefined) {
      const read = this.#host.read(node, signal);
      const stored = read instanceof Promise ? await read : read;
      return toHostArray(stored, node.dtype) as HostArrays[D];
    }
    const plain = !widen[node.dtype];
    checkTarget(into, node);
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
    const raw = await this.#host.read(node, signal, plain ? bytes : undefined);
    if (!plain) (into as Float32Array).set(toHostArray(raw, node.dtype) as Float32Array);
    return into;
  }

  /**
   * Moves the tensor to a device and pins it there: what is computed from it runs on that device too.
   * @example (await rt.tensor([1, 2]).to('cpu')).add(1) // → [2, 3]
   */
  async to(device: string, options: WaitOptions = {}): Promise<this> {
    await this.#host.move(this.node, device, options.signal);
    return this;
  }

  /**
   * The elements in storage form, as files hold them: little-endian, row-major, f16 and bf16 as 16 bits.
   * @example (await rt.tensor([1]).bytes()).length // → 4
   */
  async bytes(options: WaitOptions = {}): Promise<Uint8Array> {
    const { buffer, byteOffset, byteLength } = await this.#host.read(this.node, options.signal);
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  }

  /**
   * As `data`, without a promise. Only on devices that can wait synchronously (CPU, CUDA).
   * @example rt.tensor([1, 2]).mul(2).dataSync() // → [2, 4]
   */
  dataSync(): HostArrays[D] {
    const node = this.node;
    return toHostArray(this.#host.readSync(node), node.dtype) as HostArrays[D];
  }

  /**
   * The only element of a tensor of size 1.
   * @example rt.tensor([1, 2, 3]).sum().item() // → 6
   */
  item(): ItemOf<D> {
    if (this.size !== 1) {
      throw new ArgumentError({
        code: 'NOT_A_SCALAR',
        message: `item: a tensor of shape ${show(this.shape)} has ${this.size} elements`,
        fix: 'Reduce it to one element first, or read it with data().',
        where: 'item',
      });
    }
    return this.dataSync()[0]! as ItemOf<D>;
  }

  /**
   * The elements as nested arrays.
   * @example await rt.tensor([[1, 2], [3, 4]]).array() // → [[1, 2], [3, 4]]
   */
  async array(options: WaitOptions = {}): Promise<Nested> {
    return nest(await this.data(options), this.shape, this.dtype);
  }

  /**
   * Computes this tensor now instead of when it is read. Returns at once; the device may still be busy.
   * @example rt.tensor([1]).add(1).compute().dataSync() // → [2]
   */
  compute(): this {
    this.#host.computeOne(this.node);
    return this;
  }

  /**
   * What it is, and its values if they are computed and can be had at once: the first and the last of many. `console.log` shows the same.
   * @example String(rt.tensor([[1, 2], [3, 4]])) // → 'Tensor(f32 [2, 2]) [[1, 2], [3, 4]]'
   * @example String(rt.ones([2]).add(1)) // → 'Tensor(f32 [2], not computed)'
   */
  toString(): string {
    const values = this.#disposed === false && this.computed ? printed(this.node) : '';
    return values ? `${named(this)} ${values}` : named(this);
  }

  /**
   * The values as plain data, for `JSON.stringify`. Reads as `dataSync` does. What JSON has no numbers for is a text: NaN,
   * infinities, and whole numbers beyond 2⁵³.
   * @example JSON.stringify(rt.tensor([1, 2])) // → '{"dtype":"f32","shape":[2],"data":[1,2]}'
   */
  toJSON(_key?: string): { readonly dtype: D; readonly shape: Shape; readonly data: readonly (number | string)[] } {
    const data = Array.from<number | bigint, number | string>(this.dataSync(), jsonNumber);
    return { dtype: this.dtype, shape: this.shape, data };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** What a tensor is, without its values. */
export function named(t: TensorCore): string {
  const state = t.disposed ? ', disposed' : t.computed ? '' : t.lost ? ', lost' : ', not computed';
  return `Tensor(${t.dtype} ${show(t.shape)}${state})`;
}

/** Refuses an array that cannot hold the elements of a node, and nothing else, as they are. */
function checkTarget(into: unknown, { dtype, size, shape }: Node): void {
  const kind = widen[dtype] ? Float32Array : dtypeInfo[dtype].storage;
  if (into instanceof kind && into.length === size && !isDetached(into)) return;
  const length = isDetached(into) ? undefined : (into as Partial<TypedArray> | null)?.length;
  const given = ArrayBuffer.isView(into) ? `${shown(into)}${length === undefined ? '' : ` of ${length}`}` : typeof into;
  throw new ArgumentError({
    code: 'BAD_TARGET',
    message: `data: ${dtype} ${show(shape.values)} does not fit into ${given}`,
    fix: `Give a ${kind.name} of ${size} elements, or leave \`into\` out.`,
    where: 'data',
  });
}

function nest(data: ArrayLike<number | bigint>, shape: Shape, dtype: DType): Nested {
  let at = 0;
  const level = (axis: number): Nested => {
    if (axis === shape.length) {
      const v = data[at++]!;
      return dtype === 'bool' ? v !== 0 : v;
    }
    return Array.from({ length: shape[axis]! }, () => level(axis + 1));
  };
  return level(0);
}

// The folder of this library's files: src/ from here, or the package's one folder of modules. Written without `new URL`: bundlers
// take that for a file to be copied. A script that is no module has no address: then no line is the library's.
const library = (import.meta.url ?? '\0')
  .replace(/^\w+:\/\/[^/]*/, '')
  .replace(/(\/src)\/tensor\/[^/]*$|\/[^/]*$/, '$1/');

/** The first line of the stack outside this library. */
export function callerLine(): string {
  return siteLine(callSite());
}

/** Where the caller is, to be looked at later: `siteLine`. */
export function callSite(): Error {
  const limit = Error.stackTraceLimit;
  // The layers of a tensor's class alone take more than the usual ten frames.
  Error.stackTraceLimit = 40;
  const site = new Error();
  Error.stackTraceLimit = limit;
  return site;
}

/** The first line outside this library of a place in the code. */
export function siteLine(site: Site): string {
  if (typeof site === 'string') return site;
  const lines = site.stack?.split('\n').slice(1) ?? [];
  const outside = lines.find((l) => !l.includes(library) && !l.includes('node:internal'));
  return (outside ?? lines[lines.length - 1] ?? '').trim().replace(/^at /, '');
}

function tooMany(): ArgumentError {
  return new ArgumentError({
    code: 'TOO_MANY_ARGUMENTS',
    message: 'dispose: it takes no arguments',
    fix: 'Call it as dispose().',
    where: 'dispose',
  });
}

/** The node of a tensor that this runtime made; those of other runtimes are refused. */
export function nodeOf(tensor: TensorCore, host: TensorHost, where: string): Node {
  if (tensor.host !== host) throw foreign(tensor, where);
  return tensor.node;
}

/** Refuses an operand that another runtime made. */
function foreign(other: TensorCore, where: string): ArgumentError {
  return new ArgumentError({
    code: 'FOREIGN_TENSOR',
    message: `${where}: the operands belong to different runtimes, among them ${named(other)}`,
    fix: 'Use one runtime for all operands, or copy the data: rt.tensor(await other.data(), other.shape).',
    where,
  });
}

function usedAfterDispose(t: TensorCore, line: true | string): DisposedError {
  const place = typeof line === 'string' ? `; it was disposed at ${line}` : '';
  return new DisposedError({
    code: 'USE_AFTER_DISPOSE',
    message: `${named(t)} was used after it was disposed${place}`,
    fix:
      typeof line === 'string'
        ? 'Dispose it after its last use, or return it from the scope that frees it.'
        : 'Dispose it after its last use. createRuntime({ development: true }) tells the line that disposed it.',
    where: 'tensor',
  });
}
