// Two byte rings in one file, between exactly two processes: what one sends the other receives, in order.
//
// The file lies in shared memory where the system has such a folder, and is read and written with plain positional calls,
// so nothing is needed beyond Node. Each side owns one line of counters and reads the other's:
//
//   sent      bytes put into its outgoing ring          seen    bells it has heard
//   received  bytes taken from its incoming ring        awake   it is looking at the file, no bell is needed
//
// A line ends in the sum of its counters, which only grow, so a line read in the middle of being written is noticed. Data
// is written before the counter that announces it. A side that goes to sleep first clears `awake` and then looks once more;
// a side that sends first announces and then looks at `awake`: whichever comes later sees the other.

import { readSync, writeSync } from 'node:fs';

export const ringBytes = 4 << 20;
const lineBytes = 64;
const firstRing = 4096;
export const fileBytes = firstRing + 2 * ringBytes;

interface Counters {
  sent: number;
  received: number;
  seen: number;
  awake: number;
}

export class Ring {
  readonly #fd: number;
  readonly #line: { readonly own: number; readonly other: number };
  readonly #out: number;
  readonly #in: number;
  readonly #own: Counters = { sent: 0, received: 0, seen: 0, awake: 0 };
  readonly #other: Counters = { sent: 0, received: 0, seen: 0, awake: 0 };
  readonly #words = new Float64Array(lineBytes / 8);
  readonly #lineView = new Uint8Array(this.#words.buffer);
  #rung = 0;
  /** Sends one byte that wakes the other side. */
  readonly #bell: () => void;

  constructor(fd: number, side: 'parent' | 'child', bell: () => void) {
    this.#fd = fd;
    const first = side === 'parent';
    this.#line = first ? { own: 0, other: lineBytes } : { own: lineBytes, other: 0 };
    this.#out = firstRing + (first ? 0 : ringBytes);
    this.#in = firstRing + (first ? ringBytes : 0);
    this.#bell = bell;
  }

  /** Bytes that can be sent now, by the last look. */
  get room(): number {
    return ringBytes - (this.#own.sent - this.#other.received);
  }

  /** Bytes that wait here, by the last look. */
  get available(): number {
    return this.#other.sent - this.#own.received;
  }

  /** Looks at the other side's line. */
  look(): void {
    const other = this.#other;
    for (let tries = 0; tries < 1000; tries++) {
      readSync(this.#fd, this.#lineView, 0, lineBytes, this.#line.other);
      const [sent = 0, received = 0, seen = 0, awake = 0, sum = 0] = this.#words;
      if (sum !== sent + received + seen) continue;
      other.sent = sent;
      other.received = received;
      other.seen = seen;
      other.awake = awake;
      return;
    }
  }

  /** Puts bytes into the ring; the caller has made sure that there is room. They count once `announce` is called. */
  put(bytes: Uint8Array, from: number, length: number): void {
    const at = this.#own.sent % ringBytes;
    const first = Math.min(length, ringBytes - at);
    writeAll(this.#fd, bytes, from, first, this.#out + at);
    if (first < length) writeAll(this.#fd, bytes, from + first, length - first, this.#out);
    this.#own.sent += length;
  }

  /** Tells the other side about what was put, and wakes it if it sleeps. */
  announce(): void {
    this.#tell();
    this.look();
    if (this.#other.awake === 0 && this.#other.seen >= this.#rung) {
      this.#rung++;
      this.#bell();
    }
  }

  /** Reads waiting bytes without taking them, starting `skip` bytes in. */
  peek(into: Uint8Array, at: number, length: number, skip = 0): void {
    const from = (this.#own.received + skip) % ringBytes;
    const first = Math.min(length, ringBytes - from);
    readAll(this.#fd, into, at, first, this.#in + from);
    if (first < length) readAll(this.#fd, into, at + first, length - first, this.#in);
  }

  /** Takes bytes: their room may be used again once the line is told. */
  take(bytes: number): void {
    this.#own.received += bytes;
  }

  /** Bells were heard. */
  heard(bells: number): void {
    this.#own.seen += bells;
  }

  set awake(value: boolean) {
    this.#own.awake = value ? 1 : 0;
  }

  /** Tells the other side what was taken and heard, and whether this one is awake. */
  settle(): void {
    this.#tell();
  }

  #tell(): void {
    const { sent, received, seen, awake } = this.#own;
    const w = this.#words;
    w[0] = sent;
    w[1] = received;
    w[2] = seen;
    w[3] = awake;
    w[4] = sent + received + seen;
    writeSync(this.#fd, this.#lineView, 0, lineBytes, this.#line.own);
  }
}

function writeAll(fd: number, bytes: Uint8Array, from: number, length: number, position: number): void {
  for (let done = 0; done < length; ) done += writeSync(fd, bytes, from + done, length - done, position + done);
}

function readAll(fd: number, into: Uint8Array, at: number, length: number, position: number): void {
  for (let done = 0; done < length; ) {
    const n = readSync(fd, into, at + done, length - done, position + done);
    if (n === 0) throw new Error('the shared file ended early');
    done += n;
  }
}
