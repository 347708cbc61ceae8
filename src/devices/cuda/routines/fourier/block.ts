// Transforms that a block does together: each stage in registers, and shared memory between two of them.
//
// Items of work, such as the butterflies of a stage, are numbered over all transforms of the block and handed out to its threads one
// after the other. Every exchange hands all values out anew, so stages may number their items differently: rows come in along
// themselves and go out across.

import type { Kit, SharedLater } from '../kit.ts';
import { butterfly } from './butterflies.ts';
import type { Complex, ComplexMath } from './complex.ts';
import { both, type Lines, type Source, writeLine } from './lines.ts';
import {
  type Access,
  type Block,
  type Order,
  type Places,
  placesFor,
  type Stage,
  sharedBytes,
  stagesOf,
} from './plan.ts';
import { loadPair, type Tables } from './tables.ts';

export interface Item {
  /** Which transform of the block, and which of its items: registers. */
  readonly transform: string;
  readonly item: string;
  /** Whether there is such an item; null if there always is. */
  readonly inside: string | null;
}

/** An address in shared memory, and how many bytes behind it each value lies. */
export interface Slot {
  readonly address: string;
  readonly behind: readonly number[];
  readonly inside: string | null;
}

/** What threads hold before an exchange or want after it. */
interface Side {
  readonly items: readonly Item[];
  /** How the first warp goes about it. */
  readonly access: Access;
  /** Positions that lie together: there may be gaps between stretches of so many. */
  readonly stretch: number;
  readonly slot: (item: Item, places: Places) => Slot;
}

type Held = readonly (readonly Complex[])[];
type Change = (value: Complex, transform: string, position: string) => Complex;

/** Runs of fewer elements than this are read and written through shared memory. */
const shortRun = 8;

export class BlockTransform {
  readonly #kit: Kit;
  readonly #m: ComplexMath;
  readonly #block: Block;
  readonly #tables: Tables;
  readonly #tid: string;
  readonly #stages: readonly Stage[];
  readonly #shared: SharedLater;
  /** Whether anybody may still read shared memory. */
  #used = false;
  /** What each item holds, and where that would go in shared memory. */
  #values: Held = [];
  #held: Side | null = null;
  /** Positions that are read and written: the first ones, or all. */
  readonly #count: number;

  constructor(kit: Kit, m: ComplexMath, block: Block, tables: Tables, count = block.length) {
    this.#count = count;
    this.#kit = kit;
    this.#m = m;
    this.#block = block;
    this.#tables = tables;
    this.#tid = kit.special('tid.x');
    this.#stages = stagesOf(block.length);
    this.#shared = kit.sharedLater();
  }

  /** Reads, transforms, and holds the frequencies, in the order in which they shall go out. */
  run(source: Source, from: Order, to: Order): void {
    const [first, ...others] = this.#stages as [Stage, ...Stage[]];
    if (from === 'along' && first.m < shortRun) {
      this.#held = this.#singles();
      this.#values = this.#read(source, this.#held.items, [0]);
      this.#stage(first, to, null);
    } else this.#stage(first, from, source);
    for (const stage of others) this.#stage(stage, to, null);
  }

  /** Transforms what is held once more, as `run` left it. */
  again(): void {
    for (const stage of this.#stages) this.#stage(stage, 'along', null);
  }

  /** Changes what is held. */
  change(change: Change): void {
    const { s } = this.#stages.at(-1)!;
    this.#values = this.#held!.items.map(({ transform, item }, i) =>
      this.#values[i]!.map((v, k) => change(v, transform, this.#behind(item, k * s))),
    );
  }

  /** Writes what is held: each value at its own place. */
  write(sink: Lines, change: Change = (v) => v): void {
    const { s, radix } = this.#stages.at(-1)!;
    const { order } = this.#held!.access;
    if (order === 'along' && s < shortRun && this.#block.length > 1) {
      const side = this.#singles();
      this.#values = this.#exchanged([side])[0]!;
      this.#held = side;
      this.#store(sink, [0], change);
      return;
    }
    this.#store(
      sink,
      Array.from({ length: radix }, (_, k) => k * s),
      change,
    );
  }

  /** Pairs of frequencies k and length - k, for k up to half of the length, each by one thread. */
  opposites(use: (item: Item, here: Complex, there: Complex) => void): void {
    const { bytes } = this.#block;
    const length = this.#count;
    const { b } = this.#kit;
    const each = Math.floor(length / 2) + 1;
    const items = this.#items('along', each);
    const side = (mirrored: boolean): Side => ({
      items,
      access: { order: 'along', each, position: (i) => (mirrored ? (length - i) % length : i) },
      stretch: length,
      slot: ({ transform, item, inside }, places) => {
        const back = b.def('r', 'sub.u32', length, item);
        const at = mirrored ? b.def('r', 'selp.b32', 0, back, b.def('p', 'setp.eq.u32', item, 0)) : item;
        return { address: this.#address(transform, at, places, bytes), behind: [0], inside };
      },
    });
    const [here, there] = this.#exchanged([side(false), side(true)]);
    for (const [i, item] of items.entries()) use(item, here![i]![0]!, there![i]![0]!);
  }

  #store(sink: Lines, behind: readonly number[], change: Change): void {
    const kit = this.#kit;
    this.#held!.items.forEach(({ transform, item, inside }, i) => {
      const at = behind.map((far) => this.#behind(item, far));
      const values = this.#values[i]!.map((v, k) => change(v, transform, at[k]!));
      const exists = both(kit, inside, sink.exists(transform));
      if (this.#count === this.#block.length) {
        writeLine(kit, this.#m, sink, transform, item, behind, values, exists);
        return;
      }
      values.forEach((v, k) => {
        if (behind[k]! >= this.#count) return;
        const counts = both(kit, exists, kit.b.def('p', 'setp.lt.u32', at[k]!, this.#count));
        writeLine(kit, this.#m, sink, transform, item, [behind[k]!], [v], counts);
      });
    });
  }

  #behind(item: string, far: number): string {
    return far === 0 ? item : this.#kit.b.def('r', 'add.u32', item, far);
  }

  #read(source: Source, items: readonly Item[], behind: readonly number[]): Held {
    return items.map(({ transform, item, inside }) => {
      const exists = both(this.#kit, inside, source.exists(transform));
      return source.read(transform, item, behind, exists);
    });
  }

  /** One value after the other. */
  #singles(): Side {
    const { length, bytes } = this.#block;
    return {
      items: this.#items('along', length),
      access: { order: 'along', each: length, position: (i) => i },
      stretch: length,
      slot: ({ transform, item, inside }, places) => ({
        address: this.#address(transform, item, places, bytes),
        behind: [0],
        inside,
      }),
    };
  }

  #stage(stage: Stage, order: Order, source: Source | null): void {
    const { radix, m, s } = stage;
    const each = this.#block.length / radix;
    const { b } = this.#kit;
    const side = this.#reads(stage, order);
    const { items } = side;
    this.#values = source
      ? this.#read(
          source,
          items,
          Array.from({ length: radix }, (_, j) => j * each),
        )
      : this.#exchanged([side])[0]!;
    const roots = m > 1 ? b.def('d', 'mov.u64', this.#tables.ofStage(stage)) : null;
    this.#values = items.map(({ item, inside }, i) => {
      const made = butterfly(this.#m, this.#values[i]!);
      if (!roots) return made;
      const p = s === 1 ? item : b.def('r', 'div.u32', item, s);
      // Items that do not exist read some root as well.
      const some = inside ? b.def('r', 'min.u32', p, m - 1) : p;
      return made.map((v, k) =>
        k === 0 ? v : this.#m.times(v, loadPair(this.#kit, this.#m, roots, some, (k - 1) * m)),
      );
    });
    this.#held = this.#writes(stage, order, items);
  }

  /** How a stage leaves its values: at (p·r + k)·s + q, where item = p·s + q. */
  #writes({ radix, s }: Stage, order: Order, items: readonly Item[]): Side {
    const { bytes } = this.#block;
    const each = this.#block.length / radix;
    const { b } = this.#kit;
    const first = (i: number): number => Math.floor(i / s) * radix * s + (i % s);
    return {
      items,
      access: { order, each, position: first },
      stretch: radix * s,
      slot: ({ transform, item, inside }, places) => {
        const p = b.def('r', 'div.u32', item, s);
        const q = b.def('r', 'rem.u32', item, s);
        const at = s === 1 ? b.def('r', 'mul.lo.u32', item, radix) : b.def('r', 'mad.lo.u32', p, radix * s, q);
        return {
          address: this.#address(transform, at, places, bytes),
          behind: Array.from({ length: radix }, (_, k) => k * s * places.step * bytes),
          inside,
        };
      },
    };
  }

  /** How a stage takes its values: at j·m·s + item. */
  #reads({ radix, m, s }: Stage, order: Order): Side {
    const { bytes } = this.#block;
    const each = m * s;
    return {
      items: this.#items(order, each),
      access: { order, each, position: (i) => i },
      stretch: s,
      slot: ({ transform, item, inside }, places) => ({
        address: this.#address(transform, item, places, bytes),
        // Gaps come behind whole stretches, of which `each` is a multiple; or there are none.
        behind: Array.from(
          { length: radix },
          (_, j) => j * (each * places.step + (each / places.stretch) * places.gap) * bytes,
        ),
        inside,
      }),
    };
  }

  #items(order: Order, each: number): Item[] {
    const { transforms, threads } = this.#block;
    const { b } = this.#kit;
    const total = transforms * each;
    return Array.from({ length: Math.ceil(total / threads) }, (_, i) => {
      const n = i === 0 ? this.#tid : b.def('r', 'add.u32', this.#tid, i * threads);
      const inside = (i + 1) * threads > total ? b.def('p', 'setp.lt.u32', n, total) : null;
      if (transforms === 1) return { transform: b.def('r', 'mov.u32', 0), item: n, inside };
      const by = order === 'along' ? each : transforms;
      const [over, left] = [b.def('r', 'div.u32', n, by), b.def('r', 'rem.u32', n, by)];
      return order === 'along' ? { transform: over, item: left, inside } : { transform: left, item: over, inside };
    });
  }

  #address(transform: string, position: string, { apart, step, stretch, gap }: Places, bytes: number): string {
    const { b } = this.#kit;
    let at = b.def('r', 'mad.lo.u32', position, step * bytes, this.#shared.base);
    if (gap > 0) at = b.def('r', 'mad.lo.u32', b.def('r', 'div.u32', position, stretch), gap * bytes, at);
    return this.#block.transforms === 1 ? at : b.def('r', 'mad.lo.u32', transform, apart * bytes, at);
  }

  /** Everybody writes what it holds; then everybody reads what it wants. */
  #exchanged(sides: readonly Side[]): Held[] {
    const kit = this.#kit;
    const { b } = kit;
    const m = this.#m;
    const held = this.#held!;
    const order = held.access.order === 'across' && sides[0]!.access.order === 'across' ? 'across' : 'along';
    const places = placesFor(
      this.#block,
      order,
      held.stretch,
      [held.access, ...sides.map((s) => s.access)],
      sharedBytes / m.bytes,
    );
    const writes = held.items.map((item) => held.slot(item, places));
    const reads = sides.map((side) => side.items.map((item) => side.slot(item, places)));
    const made = reads.map((slots) =>
      slots.map(({ behind }) => behind.map(() => ({ re: m.register(), im: m.register() }))),
    );
    const store = (part: 're' | 'im', more: number): void => {
      writes.forEach(({ address, behind, inside }, i) => {
        behind.forEach((far, k) => {
          const only = inside ? `@${inside} ` : '';
          b.emit(`${only}st.shared.${m.type} [${address}+${far + more}], ${this.#values[i]![k]![part]}`);
        });
      });
    };
    const load = (part: 're' | 'im', more: number): void => {
      reads.forEach((slots, side) => {
        slots.forEach(({ address, behind, inside }, i) => {
          behind.forEach((far, k) => {
            const only = inside ? `@${inside} ` : '';
            b.emit(`${only}ld.shared.${m.type} ${made[side]![i]![k]![part]}, [${address}+${far + more}]`);
          });
        });
      });
    };
    if (this.#used) kit.sync();
    this.#used = true;
    const apart = places.size * m.bytes;
    const together = 2 * apart <= sharedBytes;
    this.#shared.hold(together ? 2 * apart : apart);
    if (together) {
      store('re', 0);
      store('im', apart);
      kit.sync();
      load('re', 0);
      load('im', apart);
      return made;
    }
    store('re', 0);
    kit.sync();
    load('re', 0);
    kit.sync();
    store('im', 0);
    kit.sync();
    load('im', 0);
    return made;
  }
}
