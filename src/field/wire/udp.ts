// Sensor values as datagrams: each is one frame of frames.ts of type `sensors`, and the newest one counts.
//
//   const stream = await receiveSensors({ sensors: 16 });
//   await field.loop({ hz: 20, source: stream.source, sink });
//
// Datagrams get lost, come twice and overtake each other: one that is older than what is there is left out, by its sequence number. What is no
// frame, or holds values that a field would refuse, is counted and left out. Loopback only, unless the senders are named.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { argumentsOf, checked, checkMethods } from '../../base/signatures.ts';
import { FieldConfigError, FieldInputError } from '../errors.ts';
import { inputLimit } from '../input.ts';
import { decodeValues, encodeFrame, encodeValues, FrameReader, mostValues } from './frames.ts';
import { receiveSignature, senderOptions, senderSignatures, streamSignatures, wireKinds } from './signatures.ts';

export interface SensorStreamOptions {
  /** Values in a datagram; one more is taken for the reward. */
  readonly sensors: number;
  /** Default 10002; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. Any other needs `from`. */
  readonly host?: string | undefined;
  /** Addresses whose datagrams are taken. Default: any that reach the host. */
  readonly from?: readonly string[] | undefined;
  /** Values older than this are stale. Default 1,000. */
  readonly staleMs?: number | undefined;
  /** What `source` gives then: the last values, zeros, or an error, which ends a loop. Default 'zero'. */
  readonly onStale?: StalePolicy | undefined;
}

export type StalePolicy = 'hold' | 'zero' | 'stop';

export interface SensorCounts {
  /** Datagrams that were taken. */
  readonly taken: number;
  /** No frame, the wrong number of values, or values that are not finite or out of range. */
  readonly wrong: number;
  /** Older than what was there, or there already. */
  readonly old: number;
  /** From an address that is not named. */
  readonly foreign: number;
}

export interface SensorStream extends AsyncDisposable {
  readonly port: number;
  readonly counts: SensorCounts;
  /** The newest values; what the policy says where they are stale, or before the first ones. */
  readonly source: () => Float32Array;
  close(): Promise<void>;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);
const where = 'receiveSensors';

/** Takes sensor values from a port: of this machine only, unless the senders are named. */
export const receiveSensors: (options: SensorStreamOptions) => Promise<SensorStream> = checked(
  where,
  receiveSignature,
  receive,
  wireKinds,
);

async function receive(options: SensorStreamOptions): Promise<SensorStream> {
  const { sensors, port = 10002, host = '127.0.0.1', from, staleMs = 1000, onStale = 'zero' } = options;
  checkOptions(options);
  const counts = { taken: 0, wrong: 0, old: 0, foreign: 0 };
  let newest = new Float32Array(sensors);
  let [heard, sequence] = [Number.NEGATIVE_INFINITY, 0];
  const stale = (): boolean => performance.now() - heard > staleMs;
  const take = (bytes: Uint8Array, { address }: RemoteInfo): void => {
    if (from && !from.includes(address)) {
      counts.foreign++;
      return;
    }
    const found = sensorFrame(bytes, sensors);
    if (!found) counts.wrong++;
    // A sender that starts anew counts from the beginning: after a pause any number is taken.
    else if (!stale() && !isAfter(found.sequence, sequence)) counts.old++;
    else {
      counts.taken++;
      [newest, heard, sequence] = [found.values, performance.now(), found.sequence];
    }
  };
  const socket = await bound(host, port, take);
  const stream: SensorStream = {
    port: socket.address().port,
    counts,
    source: () => {
      if (!stale() || onStale === 'hold') return newest;
      if (onStale === 'zero') return new Float32Array(sensors);
      throw new FieldInputError({
        where,
        problem: `no sensor values came for ${staleMs} ms`,
        fix: "Start the sender, or use onStale: 'hold' or 'zero'.",
      });
    },
    close: () => closed(socket),
    [Symbol.asyncDispose]: () => closed(socket),
  };
  checkMethods(stream, streamSignatures);
  return stream;
}

/** Sends sensor values to `receiveSensors`. */
export class SensorSender implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #to: { readonly port: number; readonly host: string };
  #sequence = 0;

  constructor(options: { readonly port?: number; readonly host?: string } = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    const { port = 10002, host = '127.0.0.1' } = options;
    this.#to = { port, host };
    this.#socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    this.#socket.unref();
  }

  /** Resolves when the datagram was handed to the system, not when it was read. */
  send(values: ArrayLike<number>): Promise<void> {
    this.#sequence = (this.#sequence + 1) >>> 0;
    const frame = encodeFrame('sensors', this.#sequence, encodeValues(values));
    const { port, host } = this.#to;
    return new Promise((resolve, reject) => {
      const refuse = (problem: string): void => reject(unsent(host, port, problem));
      if (values.length > mostValues) return refuse(`it has ${values.length} values, of at most ${mostValues}`);
      try {
        this.#socket.send(frame, port, host, (error) => (error ? refuse(error.message) : resolve()));
      } catch {
        refuse('the sender was closed');
      }
    });
  }

  close(): Promise<void> {
    return closed(this.#socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const takes = argumentsOf('SensorSender', senderOptions, wireKinds);
checkMethods(SensorSender.prototype, senderSignatures, wireKinds);

const unsent = (host: string, port: number, why: string): FieldConfigError =>
  new FieldConfigError({
    where: 'SensorSender.send',
    problem: `a datagram to port ${port} of ${host} could not be sent: ${why}`,
    fix: 'Use a sender that is open, a host and a port that can be reached, and fewer values.',
  });

/** Whether a sequence number is the later one, by the shorter way around 2^32. */
const isAfter = (a: number, b: number): boolean => a !== b && (a - b) >>> 0 < 2 ** 31;

/** The values of a datagram that is one whole frame of sensors a field takes; null for anything else. */
function sensorFrame(
  bytes: Uint8Array,
  sensors: number,
): { sequence: number; values: Float32Array<ArrayBuffer> } | null {
  const reader = new FrameReader();
  const { frames, error } = reader.push(bytes);
  const [frame] = frames;
  if (error || frames.length !== 1 || reader.waiting || frame?.type !== 'sensors') return null;
  const values = Float32Array.from(decodeValues(frame.payload));
  const right = values.length === sensors || values.length === sensors + 1;
  return right && values.every((v) => Math.abs(v) <= inputLimit) ? { sequence: frame.sequence, values } : null;
}

function checkOptions({
  sensors,
  host = '127.0.0.1',
  from,
  staleMs = 1000,
  onStale = 'zero',
}: SensorStreamOptions): void {
  const refuse = (problem: string, fix: string): never => {
    throw new FieldConfigError({ where, problem, fix });
  };
  if (!Number.isSafeInteger(sensors) || sensors < 1 || sensors > 1023)
    refuse(`sensors is ${String(sensors)}`, 'Use a whole number from 1 to 1023.');
  if (!(staleMs > 0)) refuse(`staleMs is ${String(staleMs)}`, 'Use a number of milliseconds above 0.');
  if (!['hold', 'zero', 'stop'].includes(onStale)) refuse(`onStale is '${onStale}'`, "Use 'hold', 'zero' or 'stop'.");
  if (!loopback.has(host) && !from?.length)
    refuse(
      `the host ${host} can be reached from other machines, and no sender is named`,
      'Name the senders: from: [address], or leave the host out.',
    );
}

function bound(host: string, port: number, take: (bytes: Uint8Array, from: RemoteInfo) => void): Promise<Socket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  return new Promise((resolve, reject) => {
    socket.once('error', (e) => {
      socket.close();
      reject(
        new FieldConfigError({
          where,
          problem: `port ${port} of ${host} cannot be had: ${e.message}`,
          fix: 'Give another port, or 0 for a free one.',
        }),
      );
    });
    socket.bind(port, host, () => {
      socket
        .removeAllListeners('error')
        .on('error', () => {})
        .on('message', take)
        .unref();
      resolve(socket);
    });
  });
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    try {
      socket.close(() => resolve());
    } catch {
      // It was closed before.
      resolve();
    }
  });
