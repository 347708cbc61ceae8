// The newest events. What happens often is kept apart from what matters, so that a thousand launches never push a lost device out;
// equal work between two looks becomes one entry with a count.

import { Newest } from '../../base/newest.ts';
import type { EventEntry, EventLevel } from '../types.ts';

export interface EventDraft {
  readonly kind: string;
  readonly level: EventLevel;
  readonly runtime: string;
  readonly device: string | null;
  readonly text: string;
}

/** Equal events that come closer together than this become one entry. */
const mergeMs = 1000;

export class EventRing {
  readonly #notable: Newest<EventEntry>;
  readonly #work: Newest<EventEntry>;
  /** Entries that may still grow, by what makes events equal. */
  readonly #open = new Map<string, { entry: { count: number }; readonly time: number }>();
  #seq = 0;

  /** Half of the capacity is for what matters, half for work. */
  constructor(capacity = 10_000) {
    this.#notable = new Newest(capacity / 2);
    this.#work = new Newest(capacity / 2);
  }

  /** The number of the newest entry. */
  get seq(): number {
    return this.#seq;
  }

  add(draft: EventDraft, count = 1, time = Date.now()): EventEntry {
    const entry = { seq: ++this.#seq, time, ...draft, count };
    (draft.level === 'work' ? this.#work : this.#notable).push(entry);
    return entry;
  }

  /** As `add`; if an equal one came a moment ago, its count rises instead. */
  merge(draft: EventDraft, time = Date.now()): void {
    const key = `${draft.kind}\n${draft.runtime}\n${draft.device ?? ''}`;
    const open = this.#open.get(key);
    if (open && time - open.time < mergeMs) open.entry.count++;
    else this.#open.set(key, { entry: this.add(draft, 1, time) as { count: number }, time });
  }

  /** What was told to somebody grows no more. */
  settle(): void {
    this.#open.clear();
  }

  /** Entries after a number, oldest first; at most the newest `most`, and how many were left out. */
  after(seq: number, most = 10_000): { readonly entries: readonly EventEntry[]; readonly skipped: number } {
    if (seq >= this.#seq) return { entries: [], skipped: 0 };
    const found = [...since(this.#notable, seq), ...since(this.#work, seq)].sort((a, b) => a.seq - b.seq);
    const skipped = Math.max(0, found.length - most);
    return { entries: skipped > 0 ? found.slice(skipped) : found, skipped };
  }
}

/** From the newest backwards, so that a look at the last few costs little. */
function* since(list: Newest<EventEntry>, seq: number): Generator<EventEntry> {
  for (const entry of list.backwards()) {
    if (entry.seq <= seq) return;
    yield entry;
  }
}
