// A span of the program: a name, a start, an end, a parent. What devices do while it is the innermost one is booked to it.

import { layerKinds } from '../../base/layer-kinds.ts';
import { checked, checkMethods } from '../../base/signatures.ts';
import type { OpenSpans } from './spans.ts';
import type { Tracked } from './tracked.ts';

/** Memory of the devices while a span is open, in bytes; deep spans share their parent's. */
export interface MemoryUse {
  peak: number;
}

/** The part of a span that its user sees. */
export interface OpenSpan extends Disposable {
  readonly id: number;
  readonly operation: string;
  /** Runs a function inside this span: after an `await` in browsers, or in a callback. */
  run<T>(body: () => T): T;
  /** Ends it; a second time does nothing. `failed` marks it. */
  end(failed?: boolean): void;
  /** How long it took, in ms; null while it is open. */
  readonly durationMs: number | null;
  /** Data about it, kept with what it already has. */
  note(meta: Readonly<Record<string, unknown>>): void;
}

const spanSignatures = { run: 'body:function', end: 'failed:flag?', note: 'meta:plain' };

export class ProfileSpan implements OpenSpan {
  readonly id: number;
  readonly parent: ProfileSpan | undefined;
  readonly operation: string;
  readonly device: string | null;
  readonly start: number;
  readonly memory: MemoryUse | null;
  readonly before: number;
  readonly depth: number;
  meta: Readonly<Record<string, unknown>> | null;
  /** Which arguments it was called with, by identity; null if nobody knows. */
  inputs: string | null = null;
  /** Starts and ends of a generator's steps. */
  steps: number[] | null = null;
  ended = false;
  /** Known when it has ended. */
  endTime = 0;
  after = 0;
  failed = false;
  /** Whoever wants to know at once what devices do for it. */
  tracked: Tracked | null;
  /** Where it stands among the open ones. */
  slot = -1;
  readonly #open: OpenSpans;

  constructor(
    id: number,
    parent: ProfileSpan | undefined,
    operation: string,
    device: string | null,
    meta: Readonly<Record<string, unknown>> | null,
    start: number,
    memory: MemoryUse | null,
    before: number,
    open: OpenSpans,
  ) {
    this.id = id;
    this.parent = parent;
    this.operation = operation;
    this.device = device;
    this.meta = meta;
    this.start = start;
    this.memory = memory;
    this.before = before;
    this.depth = parent ? parent.depth + 1 : 0;
    this.tracked = parent ? parent.tracked : null;
    this.#open = open;
  }

  /** Whether it belongs to these: several profilers may listen to one runtime. */
  of(spans: OpenSpans): boolean {
    return this.#open === spans;
  }

  run<T>(body: () => T): T {
    return this.#open.run(this, body);
  }

  end(failed = false): void {
    this.#open.end(this, failed);
  }

  get durationMs(): number | null {
    return this.ended ? this.endTime - this.start : null;
  }

  note(meta: Readonly<Record<string, unknown>>): void {
    this.meta = { ...this.meta, ...meta };
  }

  [Symbol.dispose](): void {
    this.#open.leave(this);
  }
}

checkMethods(ProfileSpan.prototype, spanSignatures, layerKinds);

/** What a profiler that is off hands out. */
export const noSpan: OpenSpan = Object.freeze({
  id: 0,
  operation: '',
  durationMs: null,
  run: checked('run', spanSignatures.run, <T>(body: () => T): T => body()),
  end: checked('end', spanSignatures.end, () => {}),
  note: checked('note', spanSignatures.note, () => {}, layerKinds),
  [Symbol.dispose]: () => {},
});
