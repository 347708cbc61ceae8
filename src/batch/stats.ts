// Counts of batches: how many chunks ran, with how many items, for how long, by operation. Every chunk is counted once, where
// it ran.

export interface OperationCounts {
  readonly calls: number;
  readonly items: number;
  readonly totalMs: number;
  readonly failures: number;
}

export interface BatchCounts {
  readonly totalBatchOps: number;
  readonly totalItemsProcessed: number;
  /** 0 before the first. */
  readonly avgBatchSize: number;
  readonly operations: Readonly<Record<string, OperationCounts>>;
}

export class BatchStatistics {
  readonly #byOperation = new Map<string, { calls: number; items: number; totalMs: number; failures: number }>();

  /** A chunk of so many items took so long. */
  done(operation: string, items: number, ms: number): void {
    const row = this.#row(operation);
    row.calls++;
    row.items += items;
    row.totalMs += ms;
  }

  /** A chunk failed for good, or did not fit. */
  failed(operation: string): void {
    this.#row(operation).failures++;
  }

  counts(): BatchCounts {
    const rows = [...this.#byOperation];
    const calls = rows.reduce((n, [, r]) => n + r.calls, 0);
    const items = rows.reduce((n, [, r]) => n + r.items, 0);
    return {
      totalBatchOps: calls,
      totalItemsProcessed: items,
      avgBatchSize: calls === 0 ? 0 : items / calls,
      operations: Object.fromEntries(rows.map(([name, row]) => [name, { ...row }])),
    };
  }

  reset(): void {
    this.#byOperation.clear();
  }

  #row(operation: string) {
    let row = this.#byOperation.get(operation);
    if (!row) this.#byOperation.set(operation, (row = { calls: 0, items: 0, totalMs: 0, failures: 0 }));
    return row;
  }
}
