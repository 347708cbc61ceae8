// Batches while somebody looks: what runs, how fast, at which sizes. Totals are the processors' own; rates and sizes are counted here.

import { Newest } from '../../base/newest.ts';
import type { BatchCounts, BatchEvent } from '../../batch/index.ts';
import type { BatchView } from '../types.ts';

/** A BatchProcessor, or what has its statistics. */
export interface BatchSource {
  stats(): BatchCounts & { readonly size?: number | null };
  onBatch(listener: (event: BatchEvent) => void): () => void;
}

const shownBatches = 20;
const rateMs = 10_000;
const mostSizes = 200;

interface Size {
  readonly operation: string;
  readonly items: number;
  batches: number;
  ms: number;
}

export class BatchWatch {
  readonly name: string;
  readonly #source: BatchSource;
  readonly #recent = new Newest<BatchEvent & { readonly time: number }>(500);
  readonly #sizes = new Map<string, Size>();
  #stop: (() => void) | null = null;

  constructor(name: string, source: BatchSource) {
    this.name = name;
    this.#source = source;
  }

  start(): void {
    this.#stop ??= this.#source.onBatch((event) => this.#ended(event));
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
    this.#recent.clear();
  }

  view(now: number): BatchView {
    const stats = this.#source.stats();
    const last = this.#recent.list().filter((b) => b.time > now - rateMs);
    const items = last.reduce((sum, b) => sum + b.items, 0);
    return {
      name: this.name,
      batches: stats.totalBatchOps,
      items: stats.totalItemsProcessed,
      meanSize: stats.totalBatchOps > 0 ? stats.avgBatchSize : null,
      limit: stats.size ?? null,
      itemsPerSecond: this.#stop && this.#recent.size > 0 ? (1000 * items) / rateMs : null,
      operations: Object.entries(stats.operations).map(([operation, row]) => ({ operation, ...row })),
      recent: this.#recent.last(shownBatches),
      sizes: [...this.#sizes.values()]
        .map(({ operation, items: n, batches, ms }) => ({
          operation,
          items: n,
          batches,
          msPerItem: ms / (n * batches),
        }))
        .sort((a, b) => a.operation.localeCompare(b.operation) || a.items - b.items),
    };
  }

  #ended(event: BatchEvent): void {
    this.#recent.push({ ...event, time: Date.now() });
    if (event.kind !== 'done' || event.items === 0) return;
    const key = `${event.operation} ${event.items}`;
    let size = this.#sizes.get(key);
    if (!size) {
      if (this.#sizes.size >= mostSizes) return;
      this.#sizes.set(key, (size = { operation: event.operation, items: event.items, batches: 0, ms: 0 }));
    }
    size.batches++;
    size.ms += event.ms;
  }
}
