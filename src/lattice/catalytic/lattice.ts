// Catalytic methods of a lattice: they work in memory that is full of something else, and leave it exactly as it was. That saves
// memory of known content, not memory as such, and takes more time than the plain method.

import type { BorrowReport, Runtime, Tensor } from '../../index.ts';
import { MiB } from '../base.ts';
import type { BatchOption } from '../batch.ts';
import { LatticeDataWork } from '../data.ts';
import { invalidArgument, oneOf, PathNotFoundError, wholeNumber } from '../errors.ts';
import { Auxiliary } from './auxiliary.ts';
import { WalkKernels } from './kernels.ts';
import { deviceWalks, hostWalks, type PlainWalk } from './plain.ts';
import { type WalkProgram, walkProgram } from './walks.ts';
import { layouts, type WordKind } from './words.ts';

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

/** One walk in borrowed memory: what is wanted, in words of which kind. */
interface Loan extends Omit<WalkProgram, 'words'> {
  readonly where: string;
  readonly wanted: 'u32' | 'wide' | 'gf';
  readonly seed: number;
  readonly buffers: readonly Tensor[] | undefined;
  readonly signal: AbortSignal | undefined;
  readonly plain?: (() => unknown) | undefined;
}

export abstract class LatticeCatalytic extends LatticeDataWork {
  protected borrowed: BorrowReport | null = null;
  readonly #auxiliary = new Auxiliary(this.options.auxMemoryMb * MiB);
  #kernels = new WalkKernels(this.grid, this.mask);
  /** Loans that are not over, and what ends them; made with the first. */
  readonly #loans = new Set<Promise<unknown>>();
  #stop: AbortController | null = null;

  /** Walks of `length` steps from s to t, modulo 2^64 or 2^32. Exact counts of shortest paths: `countShortestPaths`. */
  async countWalks(s: number, t: number, length: number, o: WalkOptions = {}): Promise<bigint> {
    const where = 'countWalks';
    this.ends(s, t, where);
    this.wanted(where, o);
    wholeNumber(where, 'length', length);
    const { bits = 64, memory = o.buffers ? 'borrow' : 'plain', signal } = o;
    oneOf(where, 'memory', memory, ['plain', 'borrow']);
    if (bits !== 32 && bits !== 64)
      throw invalidArgument({ where, problem: `bits is ${String(bits)}`, fix: 'Use 32 or 64.' });
    this.addressable(where);
    const { grid, mask } = this;
    const walk: PlainWalk = { grid, mask, source: s, target: t, length, bits, signal };
    if (memory === 'plain') return this.#plainWalks(walk);
    const [count] = await this.#inBorrowed({
      where,
      wanted: bits === 32 ? 'u32' : 'wide',
      source: s,
      target: t,
      length,
      lengths: [length],
      seed: 0,
      buffers: o.buffers,
      signal,
      plain: o.compare ? () => this.#plainWalks(walk) : undefined,
    });
    return count!;
  }

  /**
   * Steps from s to t around blocked vertices, found in borrowed memory: the least length for which a sum over weighted walks is
   * not zero. It may miss a length with a chance of at most length / 2^64.
   */
  async distanceWithObstacles(s: number, t: number, o: ObstacleOptions = {}): Promise<number> {
    const where = 'distanceWithObstacles';
    this.ends(s, t, where);
    this.wanted(where, o);
    const seed = wholeNumber(where, 'seed', o.seed ?? 0);
    this.addressable(where);
    const most = this.vertices - 1;
    const kernels = this.#kernels;
    if (s === t) return 0;
    const { buffers, signal } = o;
    let known = 0;
    for (let length = Math.min(most, 2); known < most; length = Math.min(most, 2 * length)) {
      const lengths = Array.from({ length: length - known }, (_, i) => known + 1 + i);
      const loan: Loan = { where, wanted: 'gf', source: s, target: t, length, lengths, seed, buffers, signal };
      const values = await this.#inBorrowed(loan, kernels);
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
    this.session.check(where);
    wholeNumber(where, 'pieces', pieces);
    wholeNumber(where, 'pieceBytes', pieceBytes, 1);
    const rt = await this.session.open(where);
    return this.#auxiliary.inTurn(async () => this.#divided(rt, pieces, pieceBytes, where));
  }

  protected override get auxBytes(): number {
    return this.#auxiliary.allocated;
  }

  #divided(rt: Runtime, pieces: number, pieceBytes: number, where: string): readonly Tensor[] {
    this.session.check(where);
    return this.#auxiliary.divided(pieces, pieceBytes, (sizes) =>
      this.session.within(rt, 'random_generation', where, () =>
        sizes.map((bytes, i) => rt.random.integers([bytes / 4], { seed: i, high: 2 ** 32, dtype: 'u32' }).compute()),
      ),
    );
  }

  /** In buffers that were given, or in the auxiliary memory when it is free. */
  async #inBorrowed(loan: Loan, kernels = this.#kernels): Promise<bigint[]> {
    const work = async (): Promise<bigint[]> => {
      const rt = await this.session.open(loan.where);
      if (loan.buffers) return this.#borrow(rt, loan, loan.buffers, kernels);
      return this.#auxiliary.inTurn(() => this.#inAuxiliary(rt, loan, kernels));
    };
    const working = kernels.during(work);
    this.#loans.add(working);
    try {
      return await working;
    } finally {
      this.#loans.delete(working);
    }
  }

  async #inAuxiliary(rt: Runtime, loan: Loan, kernels: WalkKernels): Promise<bigint[]> {
    const own = rt.device(this.session.chosen(rt, 'path_finding', loan.where)).caps.dtypes.has('u64');
    const { pieces, pieceBytes } = this.#needed(kindOfWords(loan, own), loan.length);
    const all = this.#divided(rt, pieces, pieceBytes, loan.where);
    try {
      return await this.#borrow(rt, loan, all.slice(0, pieces), kernels);
    } catch (error) {
      // It may be lost with its device: the next work gets other memory.
      this.#auxiliary.free();
      throw error;
    }
  }

  async #borrow(rt: Runtime, loan: Loan, buffers: readonly Tensor[], kernels: WalkKernels): Promise<bigint[]> {
    const { where, length, seed, signal } = loan;
    for (const b of buffers) this.own(rt, b, where);
    if (buffers.length === 0) {
      const own = rt.device(this.session.chosen(rt, 'path_finding', where)).caps.dtypes.has('u64');
      throw this.#tooSmall(loan, this.#needed(kindOfWords(loan, own), length), 'nothing');
    }
    const stop = (this.#stop ??= new AbortController()).signal;
    const { value, report } = await rt.memory.borrow<bigint[]>(
      buffers,
      (memory, clean) => {
        const kind = kindOfWords(loan, memory[0]!.device.caps.dtypes.has('u64'));
        const need = this.#needed(kind, length);
        const fit = memory.filter((m) => m.bytes >= need.pieceBytes);
        if (fit.length < need.pieces) {
          const has = memory.reduce((sum, m) => sum + m.bytes, 0);
          throw this.#tooSmall(loan, need, `${has} bytes in ${memory.length} pieces`);
        }
        const pinned = this.session.scoped(rt, 'path_finding', where);
        return walkProgram({ ...loan, words: kernels.of(rt, pinned, kind, seed) })(fit, clean);
      },
      {
        signal: signal ? AbortSignal.any([signal, stop]) : stop,
        plain: loan.plain,
      },
    );
    this.borrowed = report;
    return value;
  }

  /** Two arrays of its own, on a device that has the words, else on the host. */
  async #plainWalks(walk: PlainWalk): Promise<bigint> {
    const where = 'countWalks';
    const dtype = walk.bits === 32 ? 'u32' : 'u64';
    const rt = await this.session.open(where);
    const host = (): Promise<bigint> => hostWalks(this.graph(where, walk.mask), walk);
    if (!this.session.can(rt, [dtype])) {
      this.session.fellBack(where, this.device ?? 'auto', 'host', `no open device has ${dtype}`);
      return host();
    }
    const onDevice = (): Promise<bigint> =>
      deviceWalks(rt, this.session.scoped(rt, 'path_finding', where, [dtype]), walk);
    return this.session.orOnHost(where, onDevice, host);
  }

  #needed(kind: WordKind, length: number): MemoryNeed {
    const { pieces, spare, bytes } = layouts[kind];
    return { pieces: pieces * (length + 1) + spare, pieceBytes: bytes * this.grid.vertices };
  }

  #tooSmall({ where, buffers }: Loan, { pieces, pieceBytes }: MemoryNeed, has: string): Error {
    return invalidArgument({
      where,
      problem: `the borrowed memory is too small: ${pieces * pieceBytes} bytes are needed, as ${pieces} pieces of ${pieceBytes} bytes at least; there is ${has}`,
      fix: buffers
        ? 'Give more tensors, or larger ones.'
        : 'Raise auxMemoryMb, or give tensors to borrow: { buffers }.',
    });
  }

  protected override forget(): void {
    super.forget();
    this.#kernels.end();
    this.#kernels = new WalkKernels(this.grid, this.mask);
  }

  protected override async stopWork(): Promise<void> {
    if (this.#loans.size > 0) {
      this.#stop?.abort(this.session.disposed('dispose'));
      await Promise.allSettled(this.#loans);
    }
    this.#auxiliary.free();
  }
}

/** Words of 64 bits as the device has them, or in halves. */
const kindOfWords = ({ wanted }: Loan, has64: boolean): WordKind =>
  wanted !== 'wide' ? wanted : has64 ? 'u64' : 'halves';
