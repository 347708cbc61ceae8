// The spans that are open, and those that have ended.
//
// Beginning and ending one is all that happens while the program runs: no sums, no sorting. What follows from the records is
// computed when somebody asks (analyse/).

import { Newest } from '../../base/newest.ts';
import { createContext, type SpanContext } from './context.ts';
import { type MemoryUse, ProfileSpan } from './span.ts';

/** Spans deeper than this share the memory peak of their parent. */
const deepest = 64;

export class OpenSpans {
  readonly ended: Newest<ProfileSpan>;
  /** Told when a span ends. */
  onEnd: ((span: ProfileSpan) => void) | null = null;
  /** What everything is in that is in nothing else. */
  base: ProfileSpan | undefined;
  /** Spans whose parent could not be known. */
  orphans = 0;
  readonly #context: SpanContext<ProfileSpan>;
  /** Those that keep a memory peak of their own, in no order. */
  readonly #watching: ProfileSpan[] = [];
  #open = 0;
  #id = 0;
  #live: number | null = null;

  constructor(capacity: number, context: SpanContext<ProfileSpan> = createContext()) {
    this.ended = new Newest(capacity);
    this.#context = context;
  }

  get open(): number {
    return this.#open;
  }

  /** The innermost span around the running code. One that ended is never it: work goes to the one around. */
  current(): ProfileSpan | undefined {
    let span = this.#context.current();
    while (span?.ended) span = span.parent;
    return span ?? (this.base?.ended ? undefined : this.base);
  }

  begin(operation: string, device: string | null, meta: Readonly<Record<string, unknown>> | null): ProfileSpan {
    const parent = this.current();
    if (parent === undefined && this.#open > 0 && !this.#context.asynchronous) this.orphans++;
    const live = this.#live;
    const shares = parent !== undefined && parent.depth >= deepest;
    const memory: MemoryUse | null = live === null ? null : shares ? parent.memory : { peak: live };
    const span = new ProfileSpan(
      ++this.#id,
      parent,
      operation,
      device,
      meta,
      performance.now(),
      memory,
      live ?? 0,
      this,
    );
    this.#open++;
    if (memory && !shares) span.slot = this.#watching.push(span) - 1;
    return span;
  }

  run<T>(span: ProfileSpan, body: () => T): T {
    return this.#context.run(span, body);
  }

  /** What follows is in this span until it is left. */
  enter(span: ProfileSpan): void {
    this.#context.enter(span);
  }

  leave(span: ProfileSpan): void {
    this.end(span, false);
    if (this.#context.current() === span) this.#context.enter(span.parent);
  }

  end(span: ProfileSpan, failed: boolean): void {
    if (span.ended) return;
    span.endTime = performance.now();
    span.ended = true;
    span.failed = failed;
    span.after = this.#live ?? 0;
    this.#open--;
    if (span.slot >= 0) {
      const last = this.#watching.pop()!;
      if (last !== span) {
        this.#watching[span.slot] = last;
        last.slot = span.slot;
      }
    }
    this.ended.push(span);
    this.onEnd?.(span);
  }

  /** Live bytes of all devices together; null while nobody tells them. */
  memory(live: number | null): void {
    this.#live = live;
    if (live === null) return;
    const watching = this.#watching;
    for (let i = 0; i < watching.length; i++) {
      const { memory } = watching[i]!;
      if (live > memory!.peak) memory!.peak = live;
    }
  }

  clear(): void {
    this.ended.clear();
    this.orphans = 0;
  }
}
