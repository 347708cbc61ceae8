// Device memory over virtual addresses: a heap whose holes give their memory to whoever needs it.
//
// Two ranges of addresses, one for small blocks and one for the rest, are filled with physical memory piece by piece. A block is
// the best fit among what is filled and free; only when nothing fits is the driver asked. Then more addresses are
// filled where that takes the least memory, and whole pieces that lie idle elsewhere are emptied first if the
// pool would hold notably more than was ever in use: fragments cost addresses, of which there are plenty, not memory.
// Does not know streams: the caller says when a block may be handed out again.

import { SplitArena } from './split-arena.ts';
import { type Stretch, type Stretches, unit } from './stretches.ts';

export type { Arena } from './split-arena.ts';

/** Addresses and the memory behind them. Sizes and addresses are multiples of the granule. */
export interface VirtualMemory {
  readonly granule: number;
  /** A range of addresses without memory, or 0 if there is none. */
  reserve(bytes: number): number;
  unreserve(address: number, bytes: number): void;
  /** Physical memory at an address: its handle, or 0 if there is no room. */
  map(address: number, bytes: number): number;
  /** Makes mapped memory usable; false if that failed. */
  enable(address: number, bytes: number): boolean;
  unmap(address: number, bytes: number, handle: number): void;
}

/** Filled in advance of need: this share of what is in use, but no more than a fixed amount. */
const headroom = 0.02;
const mostHeadroom = 64 * 2 ** 20;
const largestPiece = 32 * 2 ** 20;

/** Of the device, what may be held beyond the usual bound: so little is not worth the driver's time in every round of a loop. */
const negligible = 1 / 512;

interface Piece {
  readonly bytes: number;
  readonly handle: number;
}

export interface ArenaOptions {
  /** Bytes of the device: the ranges of addresses are made several times as large. */
  readonly total: number;
  /** Waits until nobody uses idle blocks any more; called before their memory is given back. */
  readonly settle: () => void;
}

export class VirtualArena extends SplitArena {
  readonly #memory: VirtualMemory;
  readonly #settle: () => void;
  readonly #negligible: number;
  readonly #ranges: { readonly address: number; readonly bytes: number }[] = [];
  readonly #pieces = new Map<number, Piece>();

  /** Null if the addresses cannot be had. */
  static open(memory: VirtualMemory, options: ArenaOptions): VirtualArena | null {
    const arena = new VirtualArena(memory, options);
    const whole = roundUp(options.total, memory.granule);
    if (arena.#range(arena.small, whole) && arena.#range(arena.large, 4 * whole)) return arena;
    arena.close();
    return null;
  }

  private constructor(memory: VirtualMemory, { settle, total }: ArenaOptions) {
    super();
    this.#memory = memory;
    this.#settle = settle;
    this.#negligible = roundDown(total * negligible, memory.granule);
  }

  protected override allowed(bytes: number, granule: number): number {
    return Math.max(super.allowed(bytes, granule), this.peakWith(bytes) + this.#negligible);
  }

  override close(): void {
    super.close();
    for (const r of this.#ranges) this.#memory.unreserve(r.address, r.bytes);
    this.#ranges.length = 0;
  }

  #range(map: Stretches, bytes: number): boolean {
    const address = this.#memory.reserve(bytes);
    if (address === 0) return false;
    this.#ranges.push({ address, bytes });
    map.addRegion(address, bytes, 'absent');
    return true;
  }

  protected grow(map: Stretches, units: number): Stretch | null {
    const { granule } = this.#memory;
    const place = cheapest(map, units, granule);
    if (!place) return null;
    const { at, need } = place;
    // What lies beside the place becomes part of the new stretch.
    const neighbours = [at.before, at.after];
    const allowed = this.allowed(units * unit, granule);
    const ahead = roundDown(Math.min(headroom * this.inUse, mostHeadroom), granule);
    const spare = Math.min(ahead, at.bytes - need, roundDown(Math.max(0, allowed - this.held - need), granule));
    if (spare > 0 && this.#fill(at.address, need + spare)) return map.fill(at, (need + spare) / unit);
    if (this.held + need > allowed) this.giveBack(this.held + need - allowed, neighbours);
    if (!this.#fill(at.address, need)) {
      this.giveBack(Number.POSITIVE_INFINITY, neighbours);
      if (!this.#fill(at.address, need)) return null;
    }
    return map.fill(at, need / unit);
  }

  /** Memory for addresses that have none, in pieces that grow with the whole; all or nothing. */
  #fill(address: number, bytes: number): boolean {
    const { granule } = this.#memory;
    const piece = Math.max(granule, Math.min(largestPiece, 2 ** Math.floor(Math.log2(bytes / 8))));
    const made: number[] = [];
    let done = 0;
    while (done < bytes) {
      const size = Math.min(piece, bytes - done);
      const handle = this.#memory.map(address + done, size);
      if (handle === 0) break;
      this.#pieces.set(address + done, { bytes: size, handle });
      made.push(address + done);
      done += size;
    }
    this.held += done;
    if (done === bytes && this.#memory.enable(address, bytes)) return true;
    for (const a of made) this.#drop(a);
    return false;
  }

  #drop(address: number): number {
    const { bytes, handle } = this.#pieces.get(address)!;
    this.#memory.unmap(address, bytes, handle);
    this.#pieces.delete(address);
    this.held -= bytes;
    return bytes;
  }

  /** Empties idle pieces, but not those of `except`. */
  protected giveBack(bytes: number, except: readonly (Stretch | null)[] = []): void {
    const idle = this.idle((s) => s.bytes >= this.#memory.granule && !except.includes(s));
    let left = bytes;
    let settled = false;
    for (const { map, stretch } of idle) {
      if (left <= 0) return;
      const inside = this.#inside(stretch, left);
      if (inside.length === 0) continue;
      if (!settled) this.#settle();
      settled = true;
      let end = 0;
      for (const a of inside) {
        const size = this.#drop(a);
        left -= size;
        end = a + size;
      }
      map.empty(stretch, inside[0]!, end);
    }
  }

  /** The first whole pieces in a stretch, as many as make up `bytes`; they follow each other without a gap. */
  #inside(stretch: Stretch, bytes: number): number[] {
    const { granule } = this.#memory;
    const found: number[] = [];
    let sum = 0;
    let at = roundUp(stretch.address, granule);
    while (at < stretch.end && sum < bytes) {
      const piece = this.#pieces.get(at);
      if (!piece) {
        // The middle of a piece that began before the stretch.
        at += granule;
        continue;
      }
      if (at + piece.bytes > stretch.end) break;
      found.push(at);
      sum += piece.bytes;
      at += piece.bytes;
    }
    return found;
  }
}

/** Where filling makes `units` fit with the least memory: between free neighbours, or at the end of what was used so far. */
function cheapest(map: Stretches, units: number, granule: number): { at: Stretch; need: number } | null {
  let best: { at: Stretch; need: number } | null = null;
  for (const at of map.absent) {
    const before = at.before?.state === 'free' ? at.before.bytes : 0;
    const after = at.after?.state === 'free' ? at.after.bytes : 0;
    const bytes = units * unit;
    const need = roundUp(bytes - before, granule);
    // Only all of it reaches the neighbour behind it.
    const taken = need <= at.bytes ? need : before + at.bytes + after >= bytes ? at.bytes : Number.POSITIVE_INFINITY;
    if (taken === Number.POSITIVE_INFINITY) continue;
    if (!best || taken < best.need || (taken === best.need && at.address < best.at.address)) best = { at, need: taken };
  }
  return best;
}

const roundUp = (n: number, step: number): number => Math.ceil(n / step) * step;
const roundDown = (n: number, step: number): number => Math.floor(n / step) * step;
