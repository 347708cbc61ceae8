// One client of a field server: its frames one after the other, its field, and what it may do before the handshake.

import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { Rate } from '../../base/rate.ts';
import { DeviceLost, ForgeError } from '../../index.ts';
import { FieldConfigError, FieldInputError, FieldStateError } from '../errors.ts';
import { createField, type Field } from '../field.ts';
import type { FieldOptions } from '../options.ts';
import {
  closesConnection,
  decodeValues,
  encodeError,
  encodeFrame,
  encodeValues,
  errorCodes,
  type Frame,
  FrameReader,
  version,
  type WireErrorName,
} from './frames.ts';
import { capabilities, decodeHello, encodeWelcome } from './handshake.ts';
import { type ClientInfo, WatchedField } from './watch.ts';

export interface ServeOptions {
  /** Default 9999; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Default: loopback only. Any other needs a token. */
  readonly host?: string | undefined;
  readonly token?: string | undefined;
  /** Options of the fields; sensors and motors come with the handshake. */
  readonly field?: FieldOptions | undefined;
  /** Fields that connections may share, by name. They stay yours. */
  readonly shared?: Readonly<Record<string, Field>> | undefined;
  /** Most requests per second of a connection; told to clients. Default 1000. */
  readonly hz?: number | undefined;
  /** A handshake must come, and a frame that began must end, within this. Default 60 s. */
  readonly receiveMs?: number | undefined;
  /** Default 64. */
  readonly connections?: number | undefined;
}

/** What all connections of a server count together. */
export interface Served {
  cycles: number;
  closing: boolean;
  accepted: number;
  refused: number;
  bytesIn: number;
  bytesOut: number;
  readonly errors: Record<string, number>;
  readonly shared: ReadonlyMap<string, WatchedField>;
}

/** Requests of a connection that may wait for the one before. */
const mostWaiting = 4;
const receiveMs = 60_000;
/** Bytes that a client may leave unread. */
const mostUnread = 1 << 20;
/** A connection that is silent for so long is asked whether the other side is still there: a robot may lose its power. */
const keepAliveMs = 30_000;

export class Connection {
  readonly #socket: Socket;
  readonly #options: ServeOptions;
  readonly #state: Served;
  readonly #id: string;
  readonly #gone: () => void;
  readonly #reader = new FrameReader();
  #watched: WatchedField | null = null;
  #ownsField = false;
  #info: Omit<ClientInfo, 'cycles'> | null = null;
  #cycles = 0;
  #waiting: Frame[] = [];
  #busy = false;
  #shook = false;
  #ended: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Until the handshake. */
  readonly #stranger: NodeJS.Timeout;
  readonly #rate: Rate;

  constructor(id: string, socket: Socket, options: ServeOptions, state: Served, gone: () => void) {
    this.#id = id;
    this.#socket = socket;
    this.#options = options;
    this.#rate = rateOf(options);
    this.#state = state;
    this.#gone = gone;
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => void this.end());
    socket.setKeepAlive(true, keepAliveMs);
    // Strangers who say nothing must not fill the server.
    this.#stranger = setTimeout(() => {
      this.fail('handshakeRequired', 'no handshake came in time', 0);
      void this.end();
    }, options.receiveMs ?? receiveMs);
    this.#stranger.unref();
  }

  /** The field of this connection alone; null if there is none. */
  get own(): WatchedField | null {
    return this.#ownsField ? this.#watched : null;
  }

  /** Who is at the other end; null before the handshake. */
  get info(): ClientInfo | null {
    return this.#info && { ...this.#info, cycles: this.#cycles };
  }

  fail(name: WireErrorName, text: string, sequence: number): void {
    const code = String(errorCodes[name]);
    this.#state.errors[code] = (this.#state.errors[code] ?? 0) + 1;
    this.#send(encodeFrame('error', sequence, encodeError(errorCodes[name], text)));
    if (closesConnection(name)) void this.end();
  }

  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    clearTimeout(this.#stranger);
    this.#waiting = [];
    this.#gone();
    this.#socket.end();
    // What was written may still go out; a client that does not read it is not waited for.
    const timer = setTimeout(() => this.#socket.destroy(), 100);
    timer.unref();
    const own = this.own;
    this.#watched = null;
    await own?.field.dispose();
  }

  #send(bytes: Uint8Array): void {
    if (this.#ended || this.#socket.destroyed) return;
    this.#socket.write(bytes);
    this.#state.bytesOut += bytes.length;
    if (this.#socket.writableLength > mostUnread) this.#socket.destroy();
  }

  #receive(bytes: Uint8Array): void {
    if (this.#ended) return;
    this.#state.bytesIn += bytes.length;
    const { frames, error } = this.#reader.push(bytes);
    for (const frame of frames) this.#take(frame);
    if (error) this.fail(error.name, error.text, error.sequence);
    // A frame has its time from its first byte on, however slowly the others come.
    if (this.#timer && this.#reader.waiting && frames.length === 0) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (!this.#reader.waiting || this.#ended) return;
    this.#timer = setTimeout(
      () => this.fail('cutShort', 'the rest of a frame did not come in time', 0),
      this.#options.receiveMs ?? receiveMs,
    );
    this.#timer.unref();
  }

  #take(frame: Frame): void {
    if (this.#ended) return;
    if (this.#busy) {
      if (this.#waiting.length < mostWaiting) this.#waiting.push(frame);
      else this.fail('tooFast', `${mostWaiting} requests wait already`, frame.sequence);
      return;
    }
    this.#busy = true;
    void this.#answer(frame).finally(() => {
      this.#busy = false;
      const next = this.#waiting.shift();
      if (next) this.#take(next);
    });
  }

  async #answer(frame: Frame): Promise<void> {
    const { type, sequence } = frame;
    try {
      if (this.#state.closing) this.fail('shuttingDown', 'the server ends', sequence);
      else if (type === 'ping') this.#send(encodeFrame('ping', sequence, frame.payload));
      else if (type === 'handshake') await this.#handshake(frame);
      else if (type === 'sensors') await this.#cycle(frame);
      else this.fail('unknownType', `a client does not send frames of type '${type}'`, sequence);
    } catch (e) {
      const [name, text] = wireErrorOf(e);
      this.fail(name, text, sequence);
    }
  }

  async #handshake({ payload, sequence }: Frame): Promise<void> {
    const hello = decodeHello(payload);
    const { token = '', shared = {}, field: options = {} } = this.#options;
    if (this.#shook) return this.fail('secondHandshake', 'there was one already', sequence);
    if (!hello) return this.fail('handshakeRequired', 'the bytes are no handshake', sequence);
    if (hello.least > version || hello.most < version)
      return this.fail('badVersion', `versions ${hello.least} to ${hello.most}; this side speaks ${version}`, sequence);
    if (!sameToken(hello.token, token)) return this.fail('wrongToken', 'the token is wrong', sequence);
    clearTimeout(this.#stranger);
    const known = hello.field ? (Object.hasOwn(shared, hello.field) ? shared[hello.field]! : null) : undefined;
    if (known === null) return this.fail('unknownField', `there is no field '${hello.field.slice(0, 40)}'`, sequence);
    const wanted = known?.options.shape;
    if (wanted ? wanted.sensorDim !== hello.sensors : hello.sensors < 1 || hello.sensors > 1023)
      return this.fail(
        'sensorCount',
        `${hello.sensors} sensors${wanted ? `; the field has ${wanted.sensorDim}` : ''}`,
        sequence,
      );
    if (wanted ? wanted.motorDim !== hello.motors : hello.motors < 1 || hello.motors > 1024)
      return this.fail(
        'motorCount',
        `${hello.motors} motors${wanted ? `; the field has ${wanted.motorDim}` : ''}`,
        sequence,
      );
    let made: Field;
    try {
      made = known ?? (await createField({ ...options, sensorDim: hello.sensors, motorDim: hello.motors }));
    } catch (e) {
      if (e instanceof FieldConfigError)
        return this.fail('sensorCount', (e as Error).message.split('\n')[0]!, sequence);
      throw e;
    }
    if (this.#ended) {
      if (!known) await made.dispose();
      return;
    }
    this.#watched = known ? this.#state.shared.get(hello.field)! : new WatchedField(this.#id, made);
    [this.#ownsField, this.#shook] = [!known, true];
    this.#info = {
      id: this.#id,
      address: this.#socket.remoteAddress ?? '',
      hardware: hello.hardware,
      sensors: hello.sensors,
      motors: hello.motors,
      field: this.#watched.name,
      since: Date.now(),
    };
    const { edges, layout } = made.options.shape;
    const channels = Object.values(layout).reduce((a, b) => a + b, 0);
    const offers =
      capabilities.reward | capabilities.telemetry | (Object.keys(shared).length > 0 ? capabilities.sharedField : 0);
    const welcome = {
      protocol: version,
      dimensions: [...edges, channels] as [number, number, number, number],
      sensors: hello.sensors,
      motors: hello.motors,
      capabilities: hello.capabilities & offers,
      hz: rateLimit(this.#options),
    };
    this.#send(encodeFrame('handshake', sequence, encodeWelcome(welcome)));
  }

  async #cycle({ payload, sequence }: Frame): Promise<void> {
    const watched = this.#watched;
    if (!watched) return this.fail('handshakeRequired', 'sensors came before the handshake', sequence);
    if (!this.#rate.take())
      return this.fail('tooFast', `requests come faster than ${rateLimit(this.#options)} per second`, sequence);
    const begun = performance.now();
    const { field } = watched;
    const { sensorDim } = field.options.shape;
    const values = decodeValues(payload);
    if (values.length !== sensorDim && values.length !== sensorDim + 1)
      return this.fail('sensorCount', `${values.length} values for ${sensorDim} sensors`, sequence);
    const result = await field.step(values);
    this.#state.cycles++;
    this.#cycles++;
    this.#send(encodeFrame('motors', sequence, encodeValues(result.motors)));
    watched.done(result, performance.now() - begun);
  }
}

const rateLimit = ({ hz = 1000 }: ServeOptions): number => hz;

/** A tenth of slack, since clocks are not exact, and what came in 10 ms at once, since networks and busy processes hold requests back. */
function rateOf(options: ServeOptions): Rate {
  const perSecond = rateLimit(options) / 0.9;
  return new Rate(perSecond, perSecond / 100);
}

/** Takes the same time wherever the texts differ. */
function sameToken(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function wireErrorOf(e: unknown): [WireErrorName, string] {
  const text = e instanceof Error ? e.message.split('\n')[0]! : String(e);
  if (e instanceof FieldInputError) return [/finite/.test(e.fix) ? 'notFinite' : 'outOfRange', text];
  if (e instanceof FieldStateError) return ['cellNotFinite', text];
  if (e instanceof DeviceLost) return ['deviceLost', text];
  return [e instanceof ForgeError ? 'cycleFailed' : 'internal', text];
}
