// The whole way of a dataset: host → device → operation → host, in chunks, streamed. How a chunk travels is in pipeline.ts;
// here are the sizes of chunks, what happens when one fails, and the report.

import { shown } from '../base/arguments.ts';
import { promiseOf } from '../base/callbacks.ts';
import type { Way } from '../batch/degradation.ts';
import { type BatchOp, checkOp, nameOf, ops } from '../batch/ops.ts';
import { type RecordArray, RecordReader, type Records } from '../batch/reader.ts';
import { ChunkSizer } from '../batch/sizer.ts';
import { errorOf } from '../batch/thrown.ts';
import { ArgumentError, ForgeError, OutOfMemory, throwIfAborted, withDeadline } from '../index.ts';
import { sizeClass } from '../profile/statistics.ts';
import type { Context, Site } from './context.ts';
import { Pipeline, type Result } from './pipeline.ts';

export type DatasetInput = RecordArray | Iterable<RecordArray> | AsyncIterable<RecordArray>;

export interface DatasetOptions {
  /** Elements per record, if the data is one array. */
  readonly recordLength?: number | undefined;
  /** What is computed of each record. Default: the mean of squares. */
  readonly op?: BatchOp | undefined;
  /** Records per chunk: a number, or as many as turn out best (the default). */
  readonly chunkSize?: number | 'adaptive' | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number) => void) | undefined;
  /**
   * Takes the results of each chunk, the first of them that of record `first`, instead of keeping all of them: there may be more than
   * memory. A promise is waited for, and what it fails with ends the call.
   */
  readonly onResults?: ((results: readonly Result[], first: number) => unknown) | undefined;
}

export interface StageTimes {
  readonly upload: number;
  readonly compute: number;
  readonly download: number;
  /** Wall time of the whole call; less than the sum of the stages where they overlap. */
  readonly total: number;
}

export interface DatasetReport {
  readonly records: number;
  readonly chunks: number;
  readonly device: string;
  readonly times: StageTimes;
  /** Whether stages of different chunks ran at the same time. */
  readonly overlapped: boolean;
  /** One array per record, in their order; empty where `onResults` took them. */
  readonly results: readonly Result[];
}

const startBytes = 8 << 20;
/** The share of free memory that the records of one chunk may take, and what they may take at most: more makes nothing faster. */
const memoryShare = 1 / 8;
const mostBytes = 64 << 20;

export async function runDataset(ctx: Context, data: DatasetInput, options: DatasetOptions): Promise<DatasetReport> {
  const operation = 'processDataset';
  ctx.checkOpen(operation);
  const { op = 'meanSquare', chunkSize = 'adaptive', signal } = options;
  checkOp(op, operation);
  if (chunkSize !== 'adaptive' && !(Number.isSafeInteger(chunkSize) && chunkSize > 0)) {
    throw refuse(`chunkSize is ${chunkSize}`, "Use a whole number above 0, or 'adaptive'.");
  }
  throwIfAborted(signal, operation);
  // Only what a source gives may change while it waits: a list is the caller's, who leaves it alone until the call has ended.
  const copies = !ArrayBuffer.isView(data) && !Array.isArray(data);
  return new Dataset(ctx, op, chunkSize, options).run(recordsOf(data, options), copies);
}

class Dataset {
  readonly #ctx: Context;
  readonly #op: BatchOp;
  readonly #chunkSize: number | 'adaptive';
  readonly #options: DatasetOptions;
  readonly #results: Result[] = [];
  /** Records whose results are made. */
  #done = 0;
  readonly #name: string;
  #sizer: ChunkSizer | null = null;
  /** Of the first record; chunks of records of about this size are compared with each other. */
  #itemBytes = 1;
  /** Where and how large the next chunk is; null where slow-downs are not handled, or nobody knows yet. */
  #way: Way | null = null;
  #device = 'none';
  #chunks = 0;
  #overlapped = false;

  constructor(ctx: Context, op: BatchOp, chunkSize: number | 'adaptive', options: DatasetOptions) {
    this.#ctx = ctx;
    this.#op = op;
    this.#chunkSize = chunkSize;
    this.#options = options;
    this.#name = `dataset ${nameOf(op)}`;
  }

  async run(records: Records, copies: boolean): Promise<DatasetReport> {
    const { clock, timeline } = this.#ctx;
    const start = clock.now();
    const stages = { upload: 0, compute: 0, download: 0 };
    const off = timeline.onSpan((s) => {
      stages[s.kind] += s.ms;
    });
    const check = (record: unknown, index: number): RecordArray => checkRecord(record, index, this.#op);
    const reader = new RecordReader(records, clock, check, copies);
    try {
      await this.#stream(reader);
    } finally {
      off();
      await reader.close();
    }
    return {
      records: this.#done,
      chunks: this.#chunks,
      device: this.#device,
      times: { ...stages, total: clock.now() - start },
      overlapped: this.#overlapped,
      results: this.#results,
    };
  }

  async #stream(reader: RecordReader): Promise<void> {
    const { signal, onProgress, onResults } = this.#options;
    // The first record tells how many make a chunk.
    const size = (): number => this.#size(reader.first);
    const whole = this.#chunkSize !== 'adaptive';
    for (;;) {
      this.#way = this.#nextWay();
      const chunk = await reader.take(size, whole, signal);
      if (chunk.length === 0) return;
      reader.readAhead(chunk.length + size());
      const made = await this.#chunk(chunk);
      const first = this.#done;
      reader.drop(made.length);
      this.#done += made.length;
      if (made.length > 0) {
        if (onResults) await this.#heard(onResults(made, first));
        else for (const r of made) this.#results.push(r);
        await this.#heard(onProgress?.(this.#done));
      }
      await this.#ctx.clock.turn();
      throwIfAborted(signal, 'processDataset');
    }
  }

  /** Waits for a listener, until the caller gives up. */
  async #heard(told: unknown): Promise<void> {
    const { signal } = this.#options;
    const telling = promiseOf(told);
    if (telling) await withDeadline(telling, Number.POSITIVE_INFINITY, { what: 'processDataset', signal });
  }

  /** Records of the next chunk; known better once there is a first record. */
  #size(first: RecordArray | undefined): number {
    if (!first) return 1;
    if (!this.#sizer) {
      const { devices, sizes } = this.#ctx;
      const bytes = Math.max(1, first.byteLength);
      this.#itemBytes = bytes;
      const free = devices.current?.device?.memory().free ?? 2 ** 30;
      const adaptive = this.#chunkSize === 'adaptive';
      const start = adaptive ? Math.max(1, Math.min(100, Math.floor(startBytes / bytes))) : (this.#chunkSize as number);
      const most = adaptive ? Math.max(1, Math.floor(Math.min(mostBytes, free * memoryShare) / bytes)) : undefined;
      this.#sizer = sizes.of(
        `${this.#name} ${sizeClass(bytes)} ${this.#chunkSize}`,
        () => new ChunkSizer({ start, grow: adaptive, most }),
      );
      this.#way = this.#nextWay();
    }
    return Math.max(1, Math.floor(this.#sizer.next(Number.MAX_SAFE_INTEGER) * (this.#way?.scale ?? 1)));
  }

  #nextWay(): Way | null {
    const { devices, degradation } = this.#ctx;
    const home = this.#sizer && devices.station?.id;
    return home && degradation ? degradation.way(home, this.#name, this.#itemBytes) : null;
  }

  /** The results of a chunk: none if it did not fit and must be tried smaller. */
  async #chunk(records: readonly RecordArray[]): Promise<readonly Result[]> {
    const { clock, pacer, devices, stats, degradation } = this.#ctx;
    const { signal } = this.#options;
    const way = this.#way;
    const away = way && way.device !== way.home ? way : null;
    const start = clock.now();
    const operation = 'processDataset';
    let busy = 0;
    let made: readonly Result[];
    try {
      const otherwise = typeof this.#op === 'string' ? 'kernel' : undefined;
      // Records come from the host: where the device has become slow, they go to another as they would have gone there.
      const task = { operation, signal, otherwise, divisible: records.length > 1, device: away?.device } as const;
      made = await this.#ctx.run(task, async (site) => {
        const { out, busyMs } = await this.#process(site, records, way);
        busy = busyMs;
        return out;
      });
    } catch (error) {
      stats.failed(operation);
      if (away) degradation!.failed(away);
      if (error instanceof OutOfMemory && records.length > 1) {
        this.#sizer!.failed(records.length);
        return [];
      }
      throw error instanceof ForgeError ? error : wrapped(error, this.#done);
    }
    const ms = clock.now() - start;
    this.#chunks++;
    stats.done(operation, records.length, ms);
    // Only chunks at home tell the size that suits it.
    if (!away) this.#sizer!.succeeded(records.length, ms);
    devices.signals.emit('chunk', { operation, size: records.length, ms });
    const rest = pacer.rest(busy, signal);
    if (rest) await rest;
    return made;
  }

  async #process(
    site: Site,
    records: readonly RecordArray[],
    way: Way | null,
  ): Promise<{ readonly out: Result[]; readonly busyMs: number }> {
    const { clock, degradation, devices } = this.#ctx;
    const run = new Pipeline(this.#ctx, site, this.#op);
    const start = clock.now();
    const out = await run.process(records);
    this.#device = site.device ?? site.station.id;
    this.#overlapped ||= run.overlapped;
    const bytes = records.reduce((n, r) => n + r.byteLength, 0);
    if (way && way.device === site.device)
      degradation!.note(way, bytes, clock.now() - start, () => devices.station?.others[0]);
    return { out, busyMs: run.busyMs };
  }
}

/** The arrays whose elements have a dtype of their own. */
const recordArrays: readonly unknown[] = [
  Float32Array,
  Float64Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Uint8Array,
];

const isRecord = (v: unknown): v is RecordArray => ArrayBuffer.isView(v) && recordArrays.includes(v.constructor);

function checkRecord(record: unknown, index: number, op: BatchOp): RecordArray {
  if (!isRecord(record)) {
    throw refuse(
      `record ${index} is ${shown(record)}, not a typed array that has a dtype`,
      'Give Float32Arrays or the like.',
    );
  }
  if (record.length === 0 && typeof op === 'string' && ops[op].needsElements) {
    throw refuse(`record ${index} is empty, and ${op} needs elements`, 'Leave empty records out.');
  }
  return record;
}

/** The records one by one. */
function recordsOf(data: DatasetInput, options: DatasetOptions): Records {
  if (ArrayBuffer.isView(data)) {
    const length = options.recordLength;
    if (length === undefined || !Number.isSafeInteger(length) || length < 1 || data.length % length !== 0) {
      throw refuse(
        `recordLength is ${length} for an array of ${data.length} elements`,
        'Give a whole number above 0 that divides the length of the array.',
      );
    }
    return rowsOf(data, length);
  }
  if (typeof data !== 'object' || data === null || !(Symbol.iterator in data || Symbol.asyncIterator in data)) {
    throw refuse(
      `the data is ${data === null ? 'null' : typeof data}`,
      'Give a typed array with recordLength, or arrays.',
    );
  }
  return Symbol.asyncIterator in data ? data[Symbol.asyncIterator]() : data[Symbol.iterator]();
}

function* rowsOf(data: RecordArray, length: number): Generator<RecordArray, void> {
  for (let at = 0; at < data.length; at += length) yield data.subarray(at, at + length) as RecordArray;
}

const refuse = (message: string, fix: string): ArgumentError =>
  new ArgumentError({ message: `processDataset: ${message}`, where: 'processDataset', fix });

function wrapped(thrown: unknown, index: number): Error {
  const error = errorOf(thrown);
  error.message = `processDataset: from record ${index} on: ${error.message}`;
  return error;
}
