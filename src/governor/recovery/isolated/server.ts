// The child's side: takes commands from the ring and carries them out on a device, in order.
//
// It looks at the ring for a moment after the last command before it sleeps, so that a parent that asks again at once
// needs no bell. Reads that the parent waits for are done at once where the device can; others run beside later commands.

import type { Device } from '../../../devices/device.ts';
import { DeviceLost, ForgeError } from '../../../errors.ts';
import { Outbox } from './outbox.ts';
import { aligned, chunkBytes, down, up } from './records.ts';
import type { Ring } from './ring.ts';
import { type RecordedStep, Table } from './table.ts';
import { packCaps, packError, unpackWork } from './wire.ts';

/** How long the ring is looked at after the last command, in ms. */
const attentiveMs = 0.15;
/** The least time between two reports of memory, in ms: asking a driver is not free. */
const reportMs = 20;

/** Turns of the event loop in which room for answers is looked for without a pause. */
const patientTurns = 1000;

const decoder = new TextDecoder();

export class DeviceServer {
  readonly #device: Device;
  readonly #ring: Ring;
  readonly #outbox: Outbox;
  readonly #table: Table;
  readonly #onClose: () => void;
  #memory = new ArrayBuffer(chunkBytes + 128 * 1024);
  #inbox = new Uint8Array(this.#memory);
  #words = new Uint32Array(this.#memory);
  #doubles = new Float64Array(this.#memory);
  #last = 0;
  #reported = -reportMs;
  #asleep = false;
  #stopped = false;
  #idleTurns = 0;

  constructor(device: Device, ring: Ring, onClose: () => void) {
    this.#device = device;
    this.#ring = ring;
    this.#onClose = onClose;
    this.#outbox = new Outbox(ring);
    this.#table = new Table(device);
    device.lost.then((loss) => this.lost(loss.reason));
  }

  start(): void {
    const device = this.#device;
    const features = {
      record: Boolean(device.record),
      telemetry: Boolean(device.telemetry),
      pool: Boolean(device.pool),
    };
    this.#report();
    this.#outbox.text(down.hello, 0, JSON.stringify({ id: device.id, caps: packCaps(device.caps), features }));
    this.#ring.awake = true;
    this.#ring.settle();
    this.#loop();
  }

  /** The parent rang. */
  woken(bells: number): void {
    this.#ring.heard(bells);
    if (!this.#asleep) return;
    this.#asleep = false;
    this.#ring.awake = true;
    this.#ring.settle();
    this.#loop();
  }

  /** The device is gone: says so, and does nothing any more. */
  lost(reason: string): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#outbox.text(down.lost, 0, JSON.stringify({ reason }));
  }

  readonly #loop = (): void => {
    if (this.#stopped) return;
    let busy = false;
    try {
      busy = this.#drain();
      this.#outbox.flush();
    } catch (e) {
      this.lost(e instanceof Error ? e.message.split('\n')[0]! : String(e));
      return;
    }
    const now = performance.now();
    if (busy) {
      this.#last = now;
      this.#idleTurns = 0;
    } else this.#idleTurns++;
    if (now - this.#last < attentiveMs) setImmediate(this.#loop);
    else if (this.#outbox.empty) this.#sleep();
    // Answers wait for room, which a parent that is reading makes at once, and one that is busy when it comes to it.
    else if (this.#idleTurns < patientTurns) setImmediate(this.#loop);
    else setTimeout(this.#loop, 1);
  };

  #sleep(): void {
    this.#ring.awake = false;
    this.#ring.settle();
    this.#ring.look();
    if (this.#ring.available > 0) {
      this.#ring.awake = true;
      this.#ring.settle();
      setImmediate(this.#loop);
    } else this.#asleep = true;
  }

  /** Carries out what has arrived. True if there was something. */
  #drain(): boolean {
    const ring = this.#ring;
    ring.look();
    if (ring.available === 0) return false;
    while (ring.available > 0 && !this.#stopped) {
      const length = Math.min(ring.available, this.#inbox.length);
      ring.peek(this.#inbox, 0, length);
      let at = 0;
      while (at + 8 <= length && !this.#stopped) {
        const bytes = this.#words[(at >> 2) + 1]!;
        if (at + aligned(bytes) > length) break;
        this.#execute(at, bytes);
        at += aligned(bytes);
      }
      if (at === 0) this.#grow(aligned(this.#words[1]!));
      ring.take(at);
      ring.settle();
      ring.look();
    }
    return true;
  }

  /** A record that is larger than the inbox: a launch with very many buffers, or a very long kernel. */
  #grow(bytes: number): void {
    this.#memory = new ArrayBuffer(bytes);
    this.#inbox = new Uint8Array(this.#memory);
    this.#words = new Uint32Array(this.#memory);
    this.#doubles = new Float64Array(this.#memory);
  }

  #execute(at: number, bytes: number): void {
    const w = at >> 2;
    const words = this.#words;
    const [op, first, second, third] = [words[w]!, words[w + 2]!, words[w + 3]!, words[w + 4]!];
    const double = (i: number): number => this.#doubles[(at >> 3) + i]!;
    const text = (): string => decoder.decode(this.#inbox.subarray(at + 16, at + bytes));
    const table = this.#table;
    switch (op) {
      case up.allocate:
        table.allocate(first, double(2));
        return;
      case up.allocateNow:
        this.#answer(first, () => {
          const fault = table.allocate(second, double(2));
          this.#report();
          if (!fault) return;
          table.release(second);
          throw fault;
        });
        return;
      case up.release:
        table.release(first);
        return;
      case up.write:
        table.write(first, this.#inbox.subarray(at + 24, at + bytes), double(2), second !== 0);
        return;
      case up.prepare:
        this.#answer(first, () => void table.prepare(second, unpackWork(text())));
        return;
      case up.dropProgram:
        table.dropProgram(first);
        return;
      case up.launch:
      case up.replay: {
        const [buffers, scalars] = [second, third];
        const ids = Array.from(words.subarray(w + 6, w + 6 + buffers));
        const from = aligned(24 + 4 * buffers) >> 3;
        const values =
          scalars === 0 ? [] : Array.from(this.#doubles.subarray((at >> 3) + from, (at >> 3) + from + scalars));
        if (op === up.launch) table.launch(first, ids, values);
        else table.replay(first, ids, values);
        return;
      }
      case up.record:
        table.record(first, JSON.parse(text()) as RecordedStep[]);
        return;
      case up.dropRecording:
        table.dropRecording(first);
        return;
      case up.mark:
        table.mark(first);
        return;
      case up.watch:
        this.#later(first, async () => this.#mark(second)?.whenDone());
        return;
      case up.since:
        this.#tell(first, () => {
          const [mark, earlier] = [this.#mark(second), this.#mark(third)];
          return mark && earlier ? mark.since(earlier) : null;
        });
        return;
      case up.dropMark:
        table.marks[first] = undefined;
        return;
      case up.read:
        this.#read(first, second, third !== 0, double(3), double(4));
        return;
      case up.ask:
        this.#tell(first, () => this.#fact(text()));
        return;
      case up.trim:
        unlessLost(() => this.#device.trim());
        this.#report();
        return;
      case up.report:
        this.#report();
        return;
      case up.close:
        this.#later(first, () => this.#device.close().finally(() => this.#stop()));
        return;
      default:
        throw new Error(`unknown command ${op}`);
    }
  }

  #mark(id: number) {
    const mark = this.#table.marks[id];
    if (mark instanceof ForgeError) throw mark;
    return mark;
  }

  #read(request: number, id: number, now: boolean, offset: number, length: number): void {
    try {
      const buffer = this.#table.readable(id);
      if (now && this.#device.readSync)
        this.#outbox.data(down.data, request, this.#device.readSync(buffer, offset, length));
      else
        this.#device.read(buffer, offset, length).then(
          (bytes) => this.#outbox.data(down.data, request, bytes),
          (e: unknown) => this.#refuse(request, e),
        );
    } catch (e) {
      this.#refuse(request, e);
    }
    if (performance.now() - this.#reported > reportMs) this.#report();
  }

  #fact(question: string): unknown {
    const [what, name = ''] = question.split(' ', 2);
    const facts: Readonly<Record<string, () => unknown>> = {
      telemetry: () => this.#device.telemetry?.() ?? {},
      detail: () => this.#device.caps.details[name],
      source: () => this.#table.program(Number(name)).program.source,
    };
    return facts[what!]?.() ?? null;
  }

  #answer(request: number, work: () => void): void {
    try {
      work();
      this.#outbox.numbers(down.done, request);
    } catch (e) {
      this.#refuse(request, e);
    }
  }

  #tell(request: number, fact: () => unknown): void {
    try {
      this.#outbox.text(down.text, request, JSON.stringify(fact()));
    } catch (e) {
      this.#refuse(request, e);
    }
  }

  #later(request: number, work: () => Promise<void>): void {
    work().then(
      () => this.#outbox.numbers(down.done, request),
      (e: unknown) => this.#refuse(request, e),
    );
  }

  #refuse(request: number, error: unknown): void {
    if (error instanceof DeviceLost) this.lost(error.message.split('\n')[0]!);
    else this.#outbox.text(down.error, request, JSON.stringify(packError(error)));
  }

  #report(): void {
    this.#reported = performance.now();
    unlessLost(() => {
      const { total, free } = this.#device.memory();
      const pool = this.#device.pool?.() ?? { reserved: 0, inUse: 0, idle: 0 };
      const { allocated, released } = this.#table;
      this.#outbox.numbers(down.report, 0, [total, free, allocated, released, pool.reserved, pool.inUse, pool.idle]);
    });
  }

  #stop(): void {
    this.#stopped = true;
    setImmediate(this.#onClose);
  }
}

/** For calls that nobody waits for: what they fail with matters only if it is the end of the device. */
function unlessLost(call: () => void): void {
  try {
    call();
  } catch (e) {
    if (e instanceof DeviceLost) throw e;
  }
}
