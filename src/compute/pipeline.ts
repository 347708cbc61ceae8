// One chunk of records on one device: uploads run ahead of computations, downloads behind them.
//
// A download is asked for as soon as its computation is enqueued, before the next one is: so the device copies one result while it
// computes the next, however busy the host is meanwhile.
//
// Records of one length travel as blocks of rows. The number of rows in a block follows from the length of a record and the
// device alone, and a last block is filled up: the order of a row's sum depends on how many rows are summed together, so this
// is what makes results the same bits for any size of chunk.

import { dtypeInfo } from '../base/dtype.ts';
import { isWide } from '../batch/groups.ts';
import { type BatchOp, nameOf, ops } from '../batch/ops.ts';
import type { RecordArray } from '../batch/reader.ts';
import type { HostArrays, Shape, Tensor } from '../index.ts';
import type { Context, Site } from './context.ts';
import type { Station } from './station.ts';

export type Result = HostArrays[keyof HostArrays];

/** Elements of a block: enough to keep the device busy with one launch. */
const blockElements: Readonly<Record<Station['kind'], number>> = { cpu: 1 << 16, gpu: 1 << 18 };

/** Blocks that a GPU has beside the one whose end is waited for: it goes on while the host is told late, or copies results. */
const mostAhead = 3;

/** After so many bytes the event loop turns. */
const turnBytes = 1 << 20;

/** Positions of a chunk's records that travel together. */
interface Block {
  readonly positions: readonly number[];
  /** Rows with the filling; null for records that travel alone. */
  readonly rows: number | null;
}

/** A computation that is enqueued: its result, and its end; null if that is past. */
interface Computing {
  readonly out: Tensor;
  readonly done: Promise<void> | null;
}

/**
 * Memory for a result that is kept. Reads may give memory from which transfers are fastest: it is scarce, and more of it takes longer
 * to get than the transfer.
 */
function ownArray({ dtype, size }: Tensor): Result | undefined {
  // Halves are read as f32.
  if (dtype === 'f16' || dtype === 'bf16') return undefined;
  const { storage, bytes } = dtypeInfo[dtype];
  return new storage(new ArrayBuffer(size * bytes)) as Result;
}

export class Pipeline {
  readonly #ctx: Context;
  readonly #site: Site;
  readonly #op: BatchOp;
  busyMs = 0;
  overlapped = false;

  constructor(ctx: Context, site: Site, op: BatchOp) {
    this.#ctx = ctx;
    this.#site = site;
    this.#op = op;
  }

  async process(records: readonly RecordArray[]): Promise<Result[]> {
    const results = new Array<Result>(records.length);
    const held = new Set<Tensor>();
    const blocks = this.#blocks(records);
    const canOverlap = this.#site.station.kind === 'gpu';
    /** The ends of blocks that the device has, oldest first. */
    const pending: Promise<void>[] = [];
    const bring = (block: Block): Tensor => {
      const input = this.#upload(records, block);
      held.add(input);
      return input;
    };
    /** When a block is computed its input goes; its results were asked for before, and are handed out. */
    const finish = async (work: Computing, input: Tensor, block: Block, reading: Promise<Result>): Promise<void> => {
      const { out } = work;
      try {
        if (work.done) await work.done;
      } catch (error) {
        // It was asked for, and holds what it reads.
        await reading.catch(() => {});
        throw error;
      }
      held.delete(input);
      input.dispose();
      // The time of a copy counts from the end of the computation.
      const data = await this.#ctx.copying(this.#where(out), 'download', out.nbytes, () => reading);
      const per = block.rows === null ? data.length : data.length / block.rows;
      block.positions.forEach((p, row) => {
        results[p] = block.rows === null ? data : data.slice(row * per, (row + 1) * per);
      });
      held.delete(out);
      out.dispose();
    };
    try {
      let untold = 0;
      let next: Tensor | null = null;
      for (const [i, block] of blocks.entries()) {
        const input: Tensor = next ?? bring(block);
        // Where copies keep to the order of all work, the next block sets out before the work that it is to overlap with.
        next = canOverlap && i + 1 < blocks.length ? bring(blocks[i + 1]!) : null;
        const work = this.#compute(input, block);
        held.add(work.out);
        const reading = work.out.data({ into: block.rows === null ? ownArray(work.out) : undefined });
        // Told when they are awaited; until then they must not count as unhandled.
        for (const told of [work.done, reading]) told?.catch(() => {});
        if (canOverlap && (next || pending.length > 0)) this.overlapped = true;
        const ends = finish(work, input, block, reading);
        ends.catch(() => {});
        pending.push(ends);
        while (pending.length > (canOverlap ? mostAhead : 0)) await pending.shift();
        untold += input.nbytes;
        // The source of the records, and everybody else, gets a turn between large pieces.
        if (untold >= turnBytes) {
          await this.#ctx.clock.turn();
          untold = 0;
        }
      }
      for (const ends of pending) await ends;
      return results;
    } finally {
      await Promise.allSettled(pending);
      for (const t of held) t.dispose();
    }
  }

  /** On its way when this returns: what reads it comes behind it. */
  #upload(records: readonly RecordArray[], block: Block): Tensor {
    const first = records[block.positions[0]!]!;
    if (block.rows === null) return this.#sent(first, [first.length]);
    const length = first.length;
    const bytes = new Uint8Array(block.rows * first.byteLength);
    block.positions.forEach((p, row) => {
      const r = records[p]!;
      bytes.set(new Uint8Array(r.buffer, r.byteOffset, r.byteLength), row * first.byteLength);
    });
    const packed = new (first.constructor as new (buffer: ArrayBuffer) => RecordArray)(bytes.buffer);
    return this.#sent(packed, [block.rows, length]);
  }

  #sent(data: RecordArray, shape: Shape): Tensor {
    const { station, device, run } = this.#site;
    const send = (): Tensor => run(() => station.runtime.tensor(data, shape) as Tensor);
    return this.#ctx.copying(device ?? station.id, 'upload', data.byteLength, send) as Tensor;
  }

  #compute(input: Tensor, block: Block): Computing {
    const op = this.#op;
    const { station, device, run } = this.#site;
    const at = device ?? station.id;
    const { runtime } = station;
    const made: Tensor[] = [];
    const work = (): Tensor[] => {
      const [out] =
        typeof op === 'string' && block.rows !== null
          ? runtime.scope(() => [ops[op].run(input, isWide(runtime, at), true).compute()])
          : this.#ctx.groups(station, at).run([input], op);
      made.push(out!);
      return made;
    };
    const done = this.#ctx.computing(this.#site, nameOf(op), input.nbytes, () => run(work));
    const tell = ({ ms }: { ms: number }): void => {
      this.busyMs += ms;
    };
    if (done instanceof Promise) return { out: made[0]!, done: done.then(tell) };
    tell(done);
    return { out: made[0]!, done: null };
  }

  #where(tensor: Tensor): string {
    return tensor.device ?? this.#site.device ?? this.#site.station.id;
  }

  /** Records of one length and type together, in blocks; a function gets each record by itself. */
  #blocks(records: readonly RecordArray[]): Block[] {
    if (typeof this.#op === 'function') return records.map((_, i) => ({ positions: [i], rows: null }));
    const kinds = new Map<string, number[]>();
    records.forEach((r, i) => {
      const key = `${r.constructor.name} ${r.length}`;
      const list = kinds.get(key);
      if (list) list.push(i);
      else kinds.set(key, [i]);
    });
    const blocks: Block[] = [];
    for (const positions of kinds.values()) {
      const { length } = records[positions[0]!]!;
      const rows = Math.max(1, Math.floor(blockElements[this.#site.station.kind] / Math.max(1, length)));
      if (rows === 1 || length === 0) {
        for (const p of positions) blocks.push({ positions: [p], rows: null });
        continue;
      }
      for (let at = 0; at < positions.length; at += rows)
        blocks.push({ positions: positions.slice(at, at + rows), rows });
    }
    return blocks;
  }
}
