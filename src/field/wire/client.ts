// A client of the field server: sensor values out, motors back, with times and a limited number of reconnects.

import { connect as openSocket, type Socket } from 'node:net';
import { checkMethods } from '../../base/signatures.ts';
import { ForgeError } from '../../index.ts';
import {
  decodeError,
  decodeValues,
  encodeFrame,
  encodeValues,
  errorCodes,
  type Frame,
  FrameReader,
  type FrameType,
} from './frames.ts';
import { decodeWelcome, encodeHello, type Hello, type Welcome } from './handshake.ts';
import { clientMakers, clientSignatures, wireKinds } from './signatures.ts';

/** What helps, by the server's number. */
const fixes: Readonly<Record<number, string>> = {
  0: 'See whether the server runs (gpuforge field serve), and connect again with its host and port.',
  [errorCodes.sensorCount]: 'Connect with as many sensors as the field has.',
  [errorCodes.motorCount]: 'Connect with as many motors as the field has.',
  [errorCodes.wrongToken]: 'Give the token that the server was started with.',
  [errorCodes.unknownField]: 'Give the name of a field that the server shares, or none.',
};

/** The server said no, or nothing. */
export class FieldWireError extends ForgeError {
  override name = 'FieldWireError';
  static override readonly code: string = 'FIELD_WIRE';
  /** The server's number; 0 where it said nothing. */
  readonly number: number;

  constructor(number: number, text: string) {
    const fix = fixes[number] ?? 'docs/field-wire.md lists what the numbers mean.';
    super({ where: 'FieldClient', message: `FieldClient: ${text}`, fix });
    this.number = number;
  }
}

export interface ClientOptions {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly sensors: number;
  readonly motors: number;
  readonly token?: string | undefined;
  readonly field?: string | undefined;
  readonly hardware?: number | undefined;
  /** How long a connection and a reply may take. Default 10 s. */
  readonly replyMs?: number | undefined;
  /** How often a lost connection is made anew. Default 3. */
  readonly reconnects?: number | undefined;
}

interface Waiting {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: Error) => void;
}

export class FieldClient implements AsyncDisposable {
  readonly #options: ClientOptions;
  #socket: Socket | null = null;
  /** A connection that is being made; all who need it wait for the same one. */
  #opening: { readonly done: Promise<void>; readonly socket: Socket } | null = null;
  #reader = new FrameReader();
  #welcome: Welcome | null = null;
  #sequence = 0;
  #left: number;
  #closed = false;
  readonly #waiting = new Map<number, Waiting>();
  readonly #latencies: number[] = [];

  private constructor(options: ClientOptions) {
    this.#options = options;
    this.#left = options.reconnects ?? 3;
  }

  /** Connects to a field server, and agrees with it on sensors and motors. */
  static async connect(options: ClientOptions): Promise<FieldClient> {
    const client = new FieldClient(options);
    await client.#connected();
    return client;
  }

  /** What the server said of the field. */
  get welcome(): Welcome {
    return this.#welcome!;
  }

  /** Round trips in milliseconds: the last thousand. */
  get latencies(): readonly number[] {
    return this.#latencies;
  }

  /** One cycle: sensor values, optionally with a reward behind them. */
  async getAction(values: ArrayLike<number>): Promise<Float32Array> {
    if (this.#closed) throw new FieldWireError(0, 'it was closed');
    if (!this.#socket && !this.#opening && this.#left-- <= 0)
      throw new FieldWireError(0, 'the connection is lost, and was made anew often enough');
    if (!this.#socket || this.#opening) await this.#connected();
    const start = performance.now();
    const reply = await this.#ask('sensors', encodeValues(values));
    this.#latencies.push(performance.now() - start);
    if (this.#latencies.length > 1000) this.#latencies.shift();
    return decodeValues(reply.payload);
  }

  async ping(): Promise<number> {
    const start = performance.now();
    await this.#ask('ping', new Uint8Array(0));
    return performance.now() - start;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#opening?.socket.destroy(new Error('it was closed'));
    this.#socket?.destroy();
    this.#lose(new FieldWireError(0, 'it was closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #connected(): Promise<void> {
    if (this.#opening) return this.#opening.done;
    const socket = this.#dial();
    const done = this.#open(socket).finally(() => {
      this.#opening = null;
    });
    this.#opening = { done, socket };
    return done;
  }

  /** A connection that is being made, for as long as a reply may take. */
  #dial(): Socket {
    const { port = 9999, host = '127.0.0.1' } = this.#options;
    const socket = openSocket({ port, host, noDelay: true });
    socket.setTimeout(this.#replyMs, () => socket.destroy(new Error(`no answer within ${this.#replyMs} ms`)));
    return socket;
  }

  async #open(socket: Socket): Promise<void> {
    const { port = 9999, host = '127.0.0.1' } = this.#options;
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => resolve());
      socket.once('error', (e) => reject(new FieldWireError(0, `${host}:${port}: ${e.message}`)));
    });
    socket.setTimeout(0);
    this.#socket = socket;
    this.#reader = new FrameReader();
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket === socket) this.#lose(new FieldWireError(0, 'the server closed the connection'));
    });
    const hello: Partial<Hello> & Pick<Hello, 'sensors' | 'motors'> = {
      sensors: this.#options.sensors,
      motors: this.#options.motors,
      ...(this.#options.token === undefined ? {} : { token: this.#options.token }),
      ...(this.#options.field === undefined ? {} : { field: this.#options.field }),
      ...(this.#options.hardware === undefined ? {} : { hardware: this.#options.hardware }),
    };
    const reply = await this.#ask('handshake', encodeHello(hello)).catch((e: unknown) => {
      socket.destroy();
      throw e;
    });
    this.#welcome = decodeWelcome(reply.payload);
    if (this.#welcome) return;
    socket.destroy();
    throw new FieldWireError(0, `what answers at ${host}:${port} is no field server`);
  }

  get #replyMs(): number {
    return this.#options.replyMs ?? 10_000;
  }

  async #ask(type: FrameType, payload: Uint8Array): Promise<Frame> {
    const socket = this.#socket;
    if (!socket) throw new FieldWireError(0, this.#closed ? 'it was closed' : 'the connection is lost');
    const sequence = ++this.#sequence >>> 0;
    return new Promise<Frame>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(sequence);
        reject(new FieldWireError(0, `no reply within ${this.#replyMs} ms`));
      }, this.#replyMs);
      const done =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          this.#waiting.delete(sequence);
          then(value);
        };
      this.#waiting.set(sequence, { resolve: done(resolve), reject: done(reject) });
      socket.write(encodeFrame(type, sequence, payload));
    });
  }

  #receive(bytes: Uint8Array): void {
    const { frames, error } = this.#reader.push(bytes);
    for (const frame of frames) {
      if (frame.type !== 'error') {
        this.#waiting.get(frame.sequence)?.resolve(frame);
        continue;
      }
      const { code, text } = decodeError(frame.payload);
      const said = new FieldWireError(code, `${text} (${code})`);
      const asked = this.#waiting.get(frame.sequence);
      if (asked) asked.reject(said);
      else this.#lose(said);
    }
    if (error) this.#socket?.destroy();
  }

  #lose(error: Error): void {
    this.#socket = null;
    for (const w of [...this.#waiting.values()]) w.reject(error);
  }
}

checkMethods(FieldClient.prototype, clientSignatures, wireKinds);
checkMethods(FieldClient, clientMakers, wireKinds);
