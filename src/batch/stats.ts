// Counts of batches: how many ran, with how many items, for how long, by operation. Every batch is counted once, where it ran.

import { argumentsOf, checkMethods } from '../base/signatures.ts';
import { type BusEvents, EventBus } from '../index.ts';

export interface OperationCounts {
  readonly calls: number;
  readonly items: number;
  readonly totalMs: number;
  readonly failures: number;
  /** Where the last batch ran; null where that is nobody's business (functions of the host). */
  readonly device: string | null;
}

export interface BatchCounts {
  readonly totalBatchOps: number;
  readonly totalItemsProcessed: number;
  /** 0 before the first. */
  readonly avgBatchSize: number;
  readonly totalTimeMs: number;
  /** Per batch, and per item; 0 before the first. */
  readonly avgTimeMs: number;
  readonly avgPerItemMs: number;
  readonly operations: Readonly<Record<string, OperationCounts>>;
}

type Row = { -readonly [K in keyof OperationCounts]: OperationCounts[K] };

const empty = (): Row => ({ calls: 0, items: 0, totalMs: 0, failures: 0, device: null });

export class BatchStatistics {
  readonly #byOperation = new Map<string, Row>();
  readonly #events = new EventBus<BatchEvents>(['batch', 'error'], 'onBatch');

  constructor() {
    // biome-ignore lint/complexity/noArguments: any is refused.
    takes(...arguments);
  }

  /** @internal A batch of so many items took so long, there if that is known by now. */
  done(operation: string, items: number, ms: number, device?: string | null): void {
    const row = this.#row(operation);
    if (device !== undefined) row.device = device;
    row.calls++;
    row.items += items;
    row.totalMs += ms;
    if (this.#events.heard.batch)
      this.#events.emit('batch', { kind: 'done', operation, items, ms, device: row.device });
  }

  /** @internal Where batches of an operation run. */
  ranOn(operation: string, device: string | null): void {
    this.#row(operation).device = device;
  }

  /** @internal A batch failed, or did not fit. */
  failed(operation: string): void {
    const row = this.#row(operation);
    row.failures++;
    if (this.#events.heard.batch)
      this.#events.emit('batch', { kind: 'failed', operation, items: 0, ms: 0, device: row.device });
  }

  /** Calls back after each batch; returns what ends it. */
  onBatch(listener: (event: BatchEvent) => void): () => void {
    return this.#events.on('batch', listener);
  }

  counts(): BatchCounts {
    const rows = [...this.#byOperation];
    const sum = (of: (row: Row) => number): number => rows.reduce((n, [, r]) => n + of(r), 0);
    const [calls, items, ms] = [sum((r) => r.calls), sum((r) => r.items), sum((r) => r.totalMs)];
    return {
      totalBatchOps: calls,
      totalItemsProcessed: items,
      avgBatchSize: calls === 0 ? 0 : items / calls,
      totalTimeMs: ms,
      avgTimeMs: calls === 0 ? 0 : ms / calls,
      avgPerItemMs: items === 0 ? 0 : ms / items,
      operations: Object.fromEntries(rows.map(([name, row]) => [name, { ...row }])),
    };
  }

  /** Two lines of totals and headings, then one for each operation. */
  print(write: (line: string) => void): void {
    const { totalBatchOps, totalItemsProcessed, avgBatchSize, operations } = this.counts();
    write(`batch operations ${totalBatchOps}   items ${totalItemsProcessed}   mean size ${avgBatchSize.toFixed(1)}`);
    write('operation  calls  items  total ms  ms/item  device');
    for (const [name, { calls, items, totalMs, device }] of Object.entries(operations)) {
      const cells = [
        `${calls}`.padStart(5),
        `${items}`.padStart(5),
        totalMs.toFixed(2).padStart(8),
        (items === 0 ? 0 : totalMs / items).toFixed(4).padStart(7),
      ];
      write(`${name.padEnd(9)}  ${cells.join('  ')}  ${device ?? '-'}`);
    }
  }

  reset(): void {
    this.#byOperation.clear();
  }

  #row(operation: string): Row {
    let row = this.#byOperation.get(operation);
    if (!row) this.#byOperation.set(operation, (row = empty()));
    return row;
  }
}

interface BatchEvents extends BusEvents {
  readonly batch: BatchEvent;
}

/** A batch has ended. */
export interface BatchEvent {
  readonly kind: 'done' | 'failed';
  readonly operation: string;
  readonly items: number;
  readonly ms: number;
  readonly device: string | null;
}

const takes = argumentsOf('BatchStatistics', '');
checkMethods(BatchStatistics.prototype, { 'counts reset': '', onBatch: 'listener:function', print: 'write:function' });
