// Catalytic methods of a lattice: they work in memory that is full of something else, and leave it exactly as it was. That saves
// memory of known content, not memory as such, and takes more time than the plain method.

import type { BorrowReport, Runtime, Tensor } from '../../index.ts';
import { MiB } from '../base.ts';
import type { BatchOption } from '../batch.ts';
import { LatticeDataWork } from '../data.ts';
import { invalidArgument, oneOf, PathNotFoundError, wholeNumber } from '../errors.ts';
import { neighborSum } from '../stencil.ts';
import { type WalkProgram, walkProgram } from './walks.ts';
import { freeTensor, layouts, type WordKind, type Words, words } from './words.ts';

export interface WalkOptions extends BatchOption {
  /** `plain` (default): two arrays of its own. `borrow`: none, in memory that is given or in the lattice's auxiliary memory. */
  readonly memory?: 'plain' | 'borrow' | undefined;
  /** Live tensors to borrow: one per array, or two of half the size on devices without 64-bit integers. */
  readonly buffers?: readonly Tensor[] | undefined;
  /** Counts are modulo 2^32 or 2^64 (default). */
  readonly bits?: 32 | 64 | undefined;
  /** Times the plain method too, for the report in `stats().borrowed`. */
  readonly compare?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ObstacleOptions extends BatchOption {
  readonly buffers?: readonly Tensor[] | undefined;
  /** Of the random weights of the edges. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface MemoryNeed {
  readonly pieces: number;
  readonly pieceBytes: number;
}

export abstract class LatticeCatalytic extends LatticeDataWork {
  protected borrowed: BorrowReport | null = null;
  #auxiliary: readonly Tensor[] = [];
  /** Kernels made ready, by kind and seed; the mask is in them. */
  readonly #words = new Map<string, Words>();
  #free: Tensor | null = null;

  /** Walks of `length` steps from s to t, modulo 2^64 or 2^32. Exact counts of shortest paths: `countShortestPaths`. */
  async countWalks(s: number, t: number, length: number, o: WalkOptions = {}): Promise<bigint> {
    const where = 'countWalks';
    this.ends(s, t, where);
    o.batch?.check(this, where);
    wholeNumber(where, 'length', length);
    const { bits = 64, memory = o.buffers ? 'borrow' : 'plain' } = o;
    oneOf(where, 'memory', memory, ['plain', 'borrow']);
    if (bits !== 32 && bits !== 64)
      throw invalidArgument({ where, problem: `bits is ${String(bits)}`, fix: 'Use 32 or 64.' });
    this.addressable(where);
    const rt = await this.session.open(where);
    if (memory === 'plain') return this.#plainWalks(rt, s, t, length, bits);
    const kind = bits === 32 ? 'u32' : 'wide';
    const plain = o.compare ? () => this.#plainWalks(rt, s, t, length, bits) : undefined;
    const [count] = await this.#inBorrowed(
      rt,
      where,
      kind,
      { source: s, target: t, length, lengths: [length] },
      { ...o, plain },
    );
    return count!;
  }

  /**
   * Steps from s to t around blocked vertices, found in borrowed memory: the least length for which a sum over weighted walks is
   * not zero. It may miss a length with a chance of at most length / 2^64.
   */
  async distanceWithObstacles(s: number, t: number, o: ObstacleOptions = {}): Promise<number> {
    const where = 'distanceWithObstacles';
    this.ends(s, t, where);
    o.batch?.check(this, where);
    const seed = wholeNumber(where, 'seed', o.seed ?? 0);
    this.addressable(where);
    const rt = await this.session.open(where);
    if (s === t) return 0;
    const most = this.vertices - 1;
    let known = 0;
    for (let length = Math.min(most, 2); known < most; length = Math.min(most, 2 * length)) {
      const lengths = Array.from({ length: length - known }, (_, i) => known + 1 + i);
      const values = await this.#inBorrowed(rt, where, 'gf', { source: s, target: t, length, lengths }, o, seed);
      const found = values.findIndex((v) => v !== 0n);
      if (found >= 0) return lengths[found]!;
      known = length;
    }
    throw new PathNotFoundError({
      where,
      problem: `there is no path from ${s} to ${t}: no walk of up to ${most} steps`,
      fix: 'Unblock vertices between them with setBlocked().',
    });
  }

  /**
   * The memory that `auxMemoryMb` asked for, in whole words of 8 bytes, filled with random numbers. Allocated when it is first needed,
   * as `pieces` tensors of `pieceBytes` and one of the rest; asking for another division makes it anew.
   */
  async auxiliary(pieces = 0, pieceBytes = 8): Promise<readonly Tensor[]> {
    const where = 'auxiliary';
    const rt = await this.session.open(where);
    wholeNumber(where, 'pieces', pieces);
    const total = 8 * Math.ceil((this.options.auxMemoryMb * MiB) / 8);
    const size = 4 * Math.ceil(wholeNumber(where, 'pieceBytes', pieceBytes, 1) / 4);
    const count = Math.min(pieces, Math.floor(total / size));
    const sizes = [...new Array<number>(count).fill(size), total - count * size].filter((bytes) => bytes > 0);
    if (sizes.join() === this.#auxiliary.map((t) => 4 * t.size).join()) return this.#auxiliary;
    this.#freeAuxiliary();
    this.#auxiliary = this.session.within(rt, 'random_generation', where, () =>
      sizes.map((bytes, i) => rt.random.integers([bytes / 4], { seed: i, high: 2 ** 32, dtype: 'u32' }).compute()),
    );
    this.auxBytes = total;
    return this.#auxiliary;
  }

  async #inBorrowed(
    rt: Runtime,
    where: string,
    wanted: 'u32' | 'wide' | 'gf',
    walk: Omit<WalkProgram, 'words'>,
    o: WalkOptions & { readonly plain?: (() => unknown) | undefined },
    seed = 0,
  ): Promise<bigint[]> {
    const wide = (has: boolean): WordKind => (wanted !== 'wide' ? wanted : has ? 'u64' : 'halves');
    const own = rt.device(this.session.chosen(rt, 'path_finding', where)).caps.dtypes.has('u64');
    const { pieces, pieceBytes } = this.#needed(wide(own), walk.length);
    const buffers = o.buffers ?? (await this.auxiliary(pieces, pieceBytes)).slice(0, pieces);
    if (o.buffers) for (const b of o.buffers) this.own(rt, b, where);
    if (buffers.length === 0) throw this.#tooSmall(where, { pieces, pieceBytes }, 'nothing', o);
    const { value, report } = await rt.memory.borrow<bigint[]>(
      buffers,
      (memory, clean) => {
        const kind = wide(memory[0]!.device.caps.dtypes.has('u64'));
        const need = this.#needed(kind, walk.length);
        const fit = memory.filter((m) => m.bytes >= need.pieceBytes);
        if (fit.length < need.pieces) {
          const has = memory.reduce((sum, m) => sum + m.bytes, 0);
          throw this.#tooSmall(where, need, `${has} bytes in ${memory.length} pieces`, o);
        }
        return walkProgram({ ...walk, words: this.#wordsOf(rt, kind, seed) })(fit, clean);
      },
      { signal: o.signal, plain: o.plain },
    );
    this.borrowed = report;
    return value;
  }

  #wordsOf(rt: Runtime, kind: WordKind, seed: number): Words {
    const key = `${kind} ${seed}`;
    let known = this.#words.get(key);
    if (known) return known;
    if (this.#words.size >= mostWords) this.#words.clear();
    this.#free ??= this.session.within(rt, 'path_finding', 'countWalks', () => freeTensor(rt, this.grid, this.mask));
    this.#words.set(key, (known = words[kind]({ rt, grid: this.grid, free: this.#free, seed })));
    return known;
  }

  /** Two arrays of its own, on a device that has the words, else on the host. */
  async #plainWalks(rt: Runtime, s: number, t: number, length: number, bits: 32 | 64): Promise<bigint> {
    const where = 'countWalks';
    const dtype = bits === 32 ? 'u32' : 'u64';
    if (!this.session.can(rt, [dtype])) return this.#hostWalks(s, t, length, bits);
    const { vertices, shape } = this.grid;
    const start = bits === 32 ? new Uint32Array(vertices) : new BigUint64Array(vertices);
    start[s] = bits === 32 ? 1 : 1n;
    const count = this.session.within(
      rt,
      'path_finding',
      where,
      () => {
        const free = freeTensor(rt, this.grid, this.mask);
        const spread = (x: Tensor): Tensor => neighborSum(x as Tensor<typeof dtype>);
        const step = free
          ? rt.compile((x: Tensor, f: Tensor) => rt.where(f.notEqual(0), spread(x), 0).cast(dtype))
          : rt.compile((x: Tensor) => spread(x));
        const run = step as unknown as (...args: readonly Tensor[]) => Tensor;
        let x: Tensor = rt.tensor(start, shape);
        for (let i = 0; i < length; i++) {
          const old = x;
          x = free ? run(old, free) : run(old);
          old.dispose();
        }
        step.dispose();
        return x
          .reshape([vertices])
          .slice([[t, t + 1]])
          .compute();
      },
      [dtype],
    );
    const [value] = await count.data();
    count.dispose();
    return BigInt(value!);
  }

  #hostWalks(s: number, t: number, length: number, bits: 32 | 64): bigint {
    const { offsets, neighbors, vertices } = this.graph('countWalks');
    let x = new BigUint64Array(vertices);
    x[s] = 1n;
    for (let i = 0; i < length; i++) {
      const from = x;
      x = new BigUint64Array(vertices).map((_, v) => {
        let sum = 0n;
        for (let e = offsets[v]!; e < offsets[v + 1]!; e++) sum += from[neighbors[e]!]!;
        return BigInt.asUintN(64, sum);
      });
    }
    return BigInt.asUintN(bits, x[t]!);
  }

  #needed(kind: WordKind, length: number): MemoryNeed {
    const { pieces, spare, bytes } = layouts[kind];
    return { pieces: pieces * (length + 1) + spare, pieceBytes: bytes * this.grid.vertices };
  }

  #tooSmall(where: string, { pieces, pieceBytes }: MemoryNeed, has: string, o: WalkOptions): Error {
    return invalidArgument({
      where,
      problem: `the borrowed memory is too small: ${pieces * pieceBytes} bytes are needed, as ${pieces} pieces of ${pieceBytes} bytes at least; there is ${has}`,
      fix: o.buffers
        ? 'Give more tensors, or larger ones.'
        : 'Raise auxMemoryMb, or give tensors to borrow: { buffers }.',
    });
  }

  #freeAuxiliary(): void {
    for (const t of this.#auxiliary) if (!t.disposed) t.dispose();
    this.#auxiliary = [];
    this.auxBytes = 0;
  }

  protected override forget(): void {
    super.forget();
    this.#words.clear();
    this.#free?.dispose();
    this.#free = null;
  }

  override async dispose(): Promise<void> {
    this.#freeAuxiliary();
    await super.dispose();
  }
}

/** Kinds and seeds whose kernels are kept. */
const mostWords = 8;
