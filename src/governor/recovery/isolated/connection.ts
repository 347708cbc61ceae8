// The parent's end of the conversation with a device's process: asking, waiting, and noticing its end. Commands go out through
// `Sender`, records come in through `Inbox`.
//
// A wait ends with the answer, with an error of the device, or with DeviceLost: when the process has ended, when it says
// that its device is lost, or when nothing at all has come from it for `timeoutMs` while something was awaited.

import { idle } from '../../../base/platform.ts';
import { timer } from '../../../base/timer.ts';
import type { DeviceLoss } from '../../../devices/device.ts';
import { DeviceLost, type ForgeError } from '../../../errors.ts';
import { Books } from './books.ts';
import { Inbox, type Incoming } from './inbox.ts';
import { down, up } from './records.ts';
import { Sender } from './sender.ts';
import { ChildHost, type ChildSpec } from './spawn.ts';
import { type PackedError, unpackError } from './wire.ts';

/** An answer that is awaited. */
interface Request {
  readonly settle: (value: Uint8Array | string | null) => void;
  readonly fail: (error: ForgeError) => void;
  /** For reads: where the bytes go, and how many have come. */
  readonly into: Uint8Array | null;
  filled: number;
}

/** How long a synchronous wait looks at the file before it sleeps between looks, in ms. */
const eagerMs = 0.2;
/** How old figures of memory may be, in ms. */
const staleMs = 50;
/** How long a child may take to close by itself, in ms. */
const closeMs = 1500;
/** Room in the shared file that the wish to close takes at most, with what is collected. */
const closeBytes = 64 << 10;
/** How long a wait without the event loop bears with a child that a signal has stopped, in ms. */
const stoppedMs = 1000;

export class Connection {
  readonly host: ChildHost;
  readonly out: Sender;
  readonly books = new Books();
  readonly lost: Promise<DeviceLoss>;
  /** The text of the child's first record. */
  readonly hello: Promise<string>;
  readonly #name: string;
  readonly #openMs: number;
  readonly #timeoutMs: number;
  readonly #requests = new Map<number, Request>();
  readonly #inbox = new Inbox();
  readonly #sleeper = new Int32Array(new SharedArrayBuffer(4));
  #next = 1;
  #loss: DeviceLoss | null = null;
  #tellLost: (loss: DeviceLoss) => void = () => {};
  #greet: { resolve: (text: string) => void; reject: (e: unknown) => void } = { resolve: () => {}, reject: () => {} };
  #greeted = false;
  #closing = false;
  #progress = 0;
  #refreshed = 0;
  #alarm: ReturnType<typeof setTimeout> | null = null;
  #ended: () => void = () => {};

  constructor(spec: ChildSpec, limits: { readonly openMs: number; readonly timeoutMs: number }) {
    this.#name = spec.kind;
    this.#openMs = limits.openMs;
    this.#timeoutMs = limits.timeoutMs;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    this.hello = new Promise((resolve, reject) => {
      this.#greet = { resolve, reject };
    });
    this.hello.catch(() => {});
    this.out = new Sender(
      () => this.host.ring,
      (bytes) => this.#block(() => this.host.ring.room >= bytes, `sending ${bytes} bytes`),
    );
    this.host = new ChildHost(spec, this.#onBell, (how) => {
      this.#ended();
      // What it still said before it ended tells more than how it ended.
      if (!this.#closing) this.#receive();
      this.die(`its process ${how}${this.host.said ? `: ${this.host.said.split('\n').at(-1)}` : ''}`);
    });
    this.host.hold();
    this.#watchTime();
  }

  get isLost(): boolean {
    return this.#loss !== null;
  }

  checkAlive(where: string): void {
    if (this.#loss) throw this.#lostError(where);
  }

  // Asking.

  /** A command with a request, a number and a size; waits for the answer. */
  call(op: number, what: string, second: number, size: number): void {
    this.#now(what, (request) => {
      const at = this.out.begin(op, 24);
      this.out.batch.words[at + 2] = request;
      this.out.batch.words[at + 3] = second;
      this.out.batch.doubles[(at >> 1) + 2] = size;
    });
  }

  callText(op: number, what: string, second: number, text: string): void {
    this.#now(what, (request) => this.out.text(op, request, text, second));
  }

  ask(question: string, what: string): unknown {
    return JSON.parse(this.#now(what, (request) => this.out.text(up.ask, request, question)) as string);
  }

  since(mark: number, earlier: number): number | null {
    const text = this.#now('since', (request) => {
      const at = this.out.begin(up.since, 24);
      this.out.batch.words.set([request, mark, earlier], at + 2);
    });
    return JSON.parse(text as string) as number | null;
  }

  readNow(slot: number, offset: number, length: number, what: string): Uint8Array {
    const into = new Uint8Array(length);
    this.#now(what, (request) => this.#askFor(request, slot, true, offset, length), into);
    return into;
  }

  read(slot: number, offset: number, into: Uint8Array): Promise<Uint8Array> {
    const { length } = into;
    return this.#later((request) => this.#askFor(request, slot, false, offset, length), into) as Promise<Uint8Array>;
  }

  async watch(mark: number, onDone: () => void): Promise<void> {
    await this.#later(
      (request) => {
        const at = this.out.begin(up.watch, 16);
        this.out.batch.words[at + 2] = request;
        this.out.batch.words[at + 3] = mark;
      },
      null,
      onDone,
    );
  }

  /** Asks for new figures of memory if the known ones are old; does not wait for them. */
  refresh(): void {
    const now = performance.now();
    if (now - this.#refreshed < staleMs) return;
    this.#refreshed = now;
    this.out.word(up.report, 0);
    this.pump();
  }

  #askFor(request: number, slot: number, now: boolean, offset: number, length: number): void {
    const at = this.out.begin(up.read, 40);
    const { words, doubles } = this.out.batch;
    words[at + 2] = request;
    words[at + 3] = slot;
    words[at + 4] = now ? 1 : 0;
    doubles[(at >> 1) + 3] = offset;
    doubles[(at >> 1) + 4] = length;
  }

  #later(
    send: (request: number) => void,
    into: Uint8Array | null,
    onDone: () => void = () => {},
  ): Promise<Uint8Array | string | null> {
    return new Promise((resolve, reject) => {
      const number = this.#next++;
      this.host.hold();
      const settle = (value: Uint8Array | string | null): void => {
        this.host.letGo();
        onDone();
        resolve(value);
      };
      const fail = (error: ForgeError): void => {
        this.host.letGo();
        reject(error);
      };
      this.#requests.set(number, { settle, fail, into, filled: 0 });
      if (this.#requests.size === 1) this.#progress = performance.now();
      this.#watchTime();
      send(number);
    });
  }

  #now(what: string, send: (request: number) => void, into: Uint8Array | null = null): Uint8Array | string | null {
    this.checkAlive(what);
    const number = this.#next++;
    let outcome: { value: Uint8Array | string | null } | { error: ForgeError } | null = null;
    const settle = (value: Uint8Array | string | null): void => {
      outcome = { value };
    };
    const fail = (error: ForgeError): void => {
      outcome = { error };
    };
    this.#requests.set(number, { settle, fail, into, filled: 0 });
    send(number);
    this.host.ring.awake = true;
    this.out.flush();
    this.#block(() => outcome !== null, what);
    const known = outcome as unknown as { value: Uint8Array | string | null } | { error: ForgeError };
    if ('error' in known) throw known.error;
    return known.value;
  }

  /** Waits without the event loop. */
  #block(done: () => boolean, what: string): void {
    const { ring } = this.host;
    const start = performance.now();
    this.#progress = start;
    ring.awake = true;
    try {
      for (let naps = 0; ; ) {
        this.#receive();
        if (done()) return;
        if (this.#loss) throw this.#lostError(what);
        const now = performance.now();
        if (now - start < eagerMs) continue;
        if (!this.host.alive()) {
          // What it said last, such as the reason, may still lie in the ring.
          this.#receive();
          if (done()) return;
          this.die('its process has ended');
        } else if (this.host.stoppedMs > stoppedMs) this.die('its process was stopped by a signal');
        else if (now - this.#progress > this.#timeoutMs) this.die(`no answer within ${this.#timeoutMs} ms (${what})`);
        else Atomics.wait(this.#sleeper, 0, 0, Math.min(1, 0.05 * ++naps));
      }
    } finally {
      ring.awake = false;
      if (!this.#loss) {
        ring.settle();
        // Other answers that came while nobody was to be woken.
        if (this.#requests.size > 0) this.#receive();
      }
    }
  }

  // Receiving.

  readonly #onBell = (): void => {
    if (this.#loss) return;
    this.host.ring.settle();
    this.pump();
  };

  /** Sends what is collected and takes what has come; never waits. */
  pump(): void {
    if (this.#loss) return;
    this.out.flush();
    this.#receive();
  }

  #receive(): void {
    if (this.#loss) return;
    const { ring } = this.host;
    ring.look();
    if (ring.available === 0) return;
    this.#progress = performance.now();
    this.#inbox.take(ring, this.#handle, this.#isOver);
  }

  readonly #isOver = (): boolean => this.#loss !== null;

  readonly #handle = (record: Incoming): void => {
    const { number } = record;
    switch (record.op) {
      case down.hello:
        this.#greeted = true;
        // The clock of opening stops; the one of waits starts with the first.
        this.#stopClock();
        this.host.letGo();
        this.#greet.resolve(record.text());
        return;
      case down.data: {
        const request = this.#requests.get(number);
        if (!request?.into) return;
        const [offset, length] = [record.double(2), record.bytes - 24];
        record.body(24, request.into.subarray(offset, offset + length));
        request.filled += length;
        if (request.filled >= request.into.length) this.#finish(number)?.settle(request.into);
        return;
      }
      case down.done:
        this.#finish(number)?.settle(null);
        return;
      case down.text:
        this.#finish(number)?.settle(record.text());
        return;
      case down.error:
        this.#finish(number)?.fail(unpackError(JSON.parse(record.text()) as PackedError));
        return;
      case down.lost:
        this.die((JSON.parse(record.text()) as { reason: string }).reason);
        return;
      case down.report:
        this.books.report(record.double(2), record.double(3), record.double(4), record.double(5));
        this.books.pool = { reserved: record.double(6), inUse: record.double(7), idle: record.double(8) };
        return;
      default:
        throw new Error(`unknown record ${record.op}`);
    }
  };

  #finish(number: number): Request | undefined {
    const request = this.#requests.get(number);
    this.#requests.delete(number);
    return request;
  }

  // The end.

  /** The device is gone: ends the process and tells everybody who waits. */
  die(reason: string): void {
    if (this.#loss) return;
    this.#loss = { reason };
    this.out.close();
    this.#stopClock();
    this.host.kill();
    const error = this.#lostError('wait');
    if (!this.#greeted) {
      this.host.letGo();
      this.#greet.reject(error);
    }
    const waiting = [...this.#requests.values()];
    this.#requests.clear();
    for (const { fail } of waiting) fail(error);
    if (!this.#closing) this.#tellLost(this.#loss);
    this.host.dispose();
  }

  /** Ends a child that has no device. */
  async end(): Promise<void> {
    this.#closing = true;
    this.die('no device');
  }

  /** Lets the child close its device and end; ends it if it takes too long. */
  async close(): Promise<void> {
    if (this.#loss) return;
    const exit = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    this.#closing = true;
    const ending = timer(closeMs, () => this.host.kill());
    this.host.hold();
    try {
      this.host.ring.look();
      // A child that has not read for so long that the file is full will not read this either.
      if (this.host.ring.room < closeBytes) this.host.kill();
      else {
        this.#later((request) => this.out.word(up.close, request), null).catch(() => {});
        this.out.flush();
      }
      await exit;
    } catch {
      this.host.kill();
    } finally {
      clearTimeout(ending);
      this.die('closed while work was in flight');
    }
  }

  /** Watches the time of asynchronous waits; the timer exists only while there are some. */
  #watchTime(): void {
    if (this.#alarm !== null) return;
    const check = (): void => {
      this.#alarm = null;
      if (this.#loss || (this.#requests.size === 0 && this.#greeted)) return;
      const limit = this.#greeted ? this.#timeoutMs : this.#openMs;
      const left = this.#progress + limit - performance.now();
      if (left <= 0) this.die(`no answer within ${limit} ms`);
      else this.#arm(check, left);
    };
    if (this.#progress === 0) this.#progress = performance.now();
    this.#arm(check, this.#greeted ? this.#timeoutMs : this.#openMs);
  }

  #arm(check: () => void, ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    // What is awaited keeps the process alive, the clock does not.
    this.#alarm = idle(timer(ms, check));
  }

  #stopClock(): void {
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#alarm = null;
  }

  #lostError(where: string): DeviceLost {
    const { reason } = this.#loss!;
    return new DeviceLost({
      code: 'DEVICE_LOST',
      message: `${where}: the isolated ${this.#name} device was lost (${reason}); what was on it is gone`,
      fix: 'The runtime opens it anew by itself; elsewhere, call reopen().',
      where,
    });
  }
}
