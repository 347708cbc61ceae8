// One chunk of records on one device: uploads run ahead of computations, downloads behind them.
//
// A download is asked for as soon as its computation is enqueued, before the next one is: so the device copies one result while it
// computes the next, however busy the host is meanwhile.
//
// Records of one length travel as blocks of rows. The number of rows in a block follows from the length of a record and the
// device alone, and a last block is filled up: the order of a row's sum depends on how many rows are summed together, so this
// is what makes results the same bits for any size of chunk.

import { isWide } from '../batch/groups.ts';
import { type BatchOp, nameOf, ops } from '../batch/ops.ts';
import type { RecordArray } from '../batch/reader.ts';
import type { DType, HostArrays, Tensor } from '../index.ts';
import type { Context, Site } from './context.ts';
import type { Station } from './station.ts';
import { upload } from './transfer.ts';

export type Result = HostArrays[keyof HostArrays];

/** Elements of a block: enough to keep the device busy with one launch. */
const blockElements: Readonly<Record<Station['kind'], number>> = { cpu: 1 << 16, gpu: 1 << 18 };

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

const arrays: Readonly<Partial<Record<DType, new (length: number) => Result>>> = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  u8: Uint8Array,
};

/**
 * Memory for a result that is kept. Reads may give memory from which transfers are fastest: it is scarce, and more of it takes longer
 * to get than the transfer.
 */
function ownArray({ dtype, size }: Tensor): Result | undefined {
  const Class = arrays[dtype];
  return Class && new Class(size);
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
    let downloads = 0;
    const reads: Promise<Result>[] = [];
    const fetch = async (out: Tensor, block: Block, reading: Promise<Result>): Promise<void> => {
      downloads++;
      // It was asked for before; its time counts from the end of the computation.
      const data = await this.#ctx.copying(this.#where(out), 'download', out.nbytes, () => reading);
      downloads--;
      reads.splice(reads.indexOf(reading), 1);
      const per = block.rows === null ? data.length : data.length / block.rows;
      block.positions.forEach((p, row) => {
        results[p] = block.rows === null ? data : data.slice(row * per, (row + 1) * per);
      });
      held.delete(out);
      out.dispose();
    };
    // Told when they are awaited; until then they must not count as unhandled.
    const quietly = <T>(work: Promise<T>): Promise<T> => {
      work.catch(() => {});
      return work;
    };
    const bring = async (block: Block): Promise<Tensor> => {
      const input = await this.#upload(records, block);
      held.add(input);
      return input;
    };
    const canOverlap = this.#site.station.kind === 'gpu';
    /** Blocks that are on their way to the device, and how many have set out. */
    const ahead: Promise<Tensor>[] = [];
    let sent = 0;
    const send = (most: number): void => {
      while (ahead.length < most && sent < blocks.length) ahead.push(quietly(bring(blocks[sent++]!)));
    };
    let [behind, computed]: [Promise<void>, Promise<void>] = [Promise.resolve(), Promise.resolve()];
    /** When a block is computed its input goes, and its results set out, behind those of the block before. */
    const finish = async (work: Computing, input: Tensor, block: Block, reading: Promise<Result>): Promise<void> => {
      if (work.done) await work.done;
      held.delete(input);
      input.dispose();
      if (canOverlap && (ahead.length > 0 || downloads > 0)) this.overlapped = true;
      await behind;
      behind = quietly(fetch(work.out, block, reading));
    };
    try {
      let untold = 0;
      for (const block of blocks) {
        // A copy starts behind the work that was enqueued before it. So that it runs beside the work on this block, the next
        // block sets out before that; the one after it does while the device computes, which hides the time of the host too.
        send(canOverlap ? 2 : 1);
        const input = await ahead.shift()!;
        const work = this.#compute(input, block);
        held.add(work.out);
        if (work.done) quietly(work.done);
        const reading = quietly(work.out.data({ into: block.rows === null ? ownArray(work.out) : undefined }));
        reads.push(reading);
        if (canOverlap) send(2);
        untold += input.nbytes;
        await computed;
        computed = quietly(finish(work, input, block, reading));
        // The source of the records, and everybody else, gets a turn between large pieces.
        if (untold >= turnBytes) {
          await this.#ctx.clock.turn();
          untold = 0;
        }
      }
      await computed;
      await behind;
      return results;
    } finally {
      await Promise.allSettled([...ahead, computed]);
      await Promise.allSettled([behind, ...reads]);
      for (const t of held) t.dispose();
    }
  }

  async #upload(records: readonly RecordArray[], block: Block): Promise<Tensor> {
    const first = records[block.positions[0]!]!;
    if (block.rows === null) return upload(this.#ctx, this.#site, first, [first.length], undefined);
    const length = first.length;
    const bytes = new Uint8Array(block.rows * first.byteLength);
    block.positions.forEach((p, row) => {
      const r = records[p]!;
      bytes.set(new Uint8Array(r.buffer, r.byteOffset, r.byteLength), row * first.byteLength);
    });
    const packed = new (first.constructor as new (buffer: ArrayBuffer) => RecordArray)(bytes.buffer);
    return upload(this.#ctx, this.#site, packed, [block.rows, length], undefined);
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
