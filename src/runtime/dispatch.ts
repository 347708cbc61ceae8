// The way to the devices: launches, replays and uploads go through here, and whoever listens is told.
//
// Without listeners a call is handed on as it is: no clock is read and nothing is built.

import type { DeviceBuffer, Program, Recording } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Estimate } from '../kernel/kernel.ts';
import type { Engine } from './engine.ts';
import type { Emitter } from './events.ts';
import type { Executable } from './executable.ts';
import { nowhere } from './issuing.ts';
import type { Ledger } from './ledger.ts';
import type { Called } from './signature.ts';
import type { Spans } from './spans.ts';

/** The program a launch belongs to. */
export interface Numbered {
  readonly id: number;
  readonly place: Place;
  readonly programs: readonly Program[];
}

export class Dispatch {
  readonly #events: Emitter;
  readonly #ledger: Ledger;
  readonly #spans: Spans;
  /** The compiled function whose launches are being enqueued one by one. */
  #replay: number | null = null;
  /** What launches are called instead of by what they do. */
  #name: string | null = null;
  /** Where the tensors of the coming launches were made; whoever launches says so first. */
  issuedIn: readonly unknown[] = nowhere;

  constructor(events: Emitter, ledger: Ledger, spans: Spans) {
    this.#events = events;
    this.#ledger = ledger;
    this.#spans = spans;
  }

  /** Whether launches are to be measured one by one: then compiled functions are not replayed as a whole. */
  get detailed(): boolean {
    return this.#spans.detailed;
  }

  /** Whether somebody wants to hear of launches, transfers or waits, or of their times. */
  get heard(): boolean {
    const { launch, replay, upload, download, wait } = this.#events.heard;
    return launch || replay || upload || download || wait || this.#spans.on;
  }

  launch(
    place: Place,
    program: Program,
    buffers: readonly DeviceBuffer[],
    scalars: readonly number[],
    estimate: Estimate,
    of: number,
  ): void {
    this.#ledger.launches++;
    place.launches++;
    const events = this.#events;
    if (!events.heard.launch && !this.#spans.on) {
      place.device.launch(program, buffers, scalars);
      return;
    }
    const id = events.nextId();
    const start = performance.now();
    if (this.#spans.measures(place)) {
      place.device.launch(program, buffers, scalars, id);
      this.#spans.enqueued(place, id, start);
    } else place.device.launch(program, buffers, scalars);
    if (!events.heard.launch) return;
    const hostMs = performance.now() - start;
    const name = this.#name ?? program.name;
    const { issuedIn } = this;
    events.emit('launch', {
      id,
      name,
      device: place.id,
      start,
      hostMs,
      estimate,
      program: of,
      replay: this.#replay,
      issuedIn,
      line: this.#spans.line(of),
    });
  }

  /** A call of a compiled function whose steps the engine launches one by one, on buffers that become its own. */
  stepwise(
    executable: Executable,
    called: Called,
    engine: Engine,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
  ): (DeviceBuffer | undefined)[] {
    const { heard } = this.#events;
    if (!heard.replay && !heard.launch) return engine.launch(executable, buffers, scalars);
    return this.#told(executable, called, false, (id) => {
      const [replay, name] = [this.#replay, this.#name];
      this.#replay = id;
      this.#name = called.kernel ? called.name : null;
      try {
        return engine.launch(executable, buffers, scalars);
      } finally {
        this.#replay = replay;
        this.#name = name;
      }
    });
  }

  /** A call of a compiled function as one recording. */
  replay(
    executable: Numbered,
    called: Called,
    recording: Recording,
    buffers: readonly DeviceBuffer[],
    scalars: readonly number[],
  ): void {
    this.#ledger.launches += executable.programs.length;
    executable.place.launches += executable.programs.length;
    if (!this.#events.heard.replay && !this.#spans.on) {
      recording.replay(buffers, scalars);
      return;
    }
    const { place } = executable;
    this.#told(executable, called, true, (id, start) => {
      const measured = this.#spans.measures(place);
      recording.replay(buffers, scalars, measured ? id : undefined);
      if (measured) this.#spans.enqueued(place, id, start);
    });
  }

  /** Fills a buffer with bytes of the host. */
  upload(place: Place, buffer: DeviceBuffer, bytes: Uint8Array): void {
    const events = this.#events;
    const { byteLength } = bytes;
    if (!events.heard.upload) {
      if (byteLength > 0) place.device.write(buffer, bytes);
      return;
    }
    const start = performance.now();
    if (byteLength > 0) place.device.write(buffer, bytes);
    this.moved('upload', 'host', place.id, byteLength, start, place.device.isPinned?.(bytes) ?? false);
  }

  /** Tells of a transfer that ended now. Only for those who looked whether anybody listens. */
  moved(
    kind: 'upload' | 'download' | 'move',
    from: string,
    to: string,
    bytes: number,
    start: number,
    pinned: boolean,
  ): void {
    const device = kind === 'download' ? from : to;
    const ms = performance.now() - start;
    this.#events.emit(kind, { id: this.#events.nextId(), device, from, to, bytes, start, ms, pinned });
  }

  #told<T>(
    { id: program, place, programs }: Numbered,
    { name, kernel }: Called,
    recorded: boolean,
    run: (id: number, start: number) => T,
  ): T {
    const id = this.#events.nextId();
    // Nobody but a listener and a recording wants to know.
    const start = recorded || this.#events.heard.replay ? performance.now() : 0;
    const result = run(id, start);
    if (this.#events.heard.replay) {
      const hostMs = performance.now() - start;
      const kernels = programs.map((p) => (kernel ? name : p.name));
      const { issuedIn } = this;
      this.#events.emit('replay', {
        id,
        name,
        device: place.id,
        start,
        hostMs,
        program,
        kernels,
        recorded,
        issuedIn,
      });
    }
    return result;
  }
}
