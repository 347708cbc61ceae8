// Sensor values as datagrams: the newest counts, and nothing that is wrong reaches a field.

import { createSocket } from 'node:dgram';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { createField, FieldConfigError, FieldInputError } from '../../src/field/index.ts';
import { encodeFrame, encodeValues } from '../../src/field/wire/frames.ts';
import { receiveSensors, SensorSender } from '../../src/field/wire/index.ts';
import { within } from '../support/time.ts';
import { closeAll, runtimeOf } from './devices.ts';

afterAll(closeAll);
afterEach(() => {
  vi.restoreAllMocks();
});

/** Longer than any of these tests takes: what goes stale does so because the clock is put forward. */
const staleMs = 3_600_000;
function putClockForward(): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + staleMs + 1);
}

/** Datagrams come when they come. */
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: within(2000), interval: 5 });

/** Sends bytes as they are. */
async function sendTo(port: number, ...datagrams: readonly Uint8Array[]): Promise<void> {
  const socket = createSocket('udp4');
  for (const bytes of datagrams)
    await new Promise<void>((resolve, reject) => {
      socket.send(bytes, port, '127.0.0.1', (e) => (e ? reject(e) : resolve()));
    });
  await new Promise<void>((resolve) => {
    socket.close(resolve);
  });
}

const frame = (sequence: number, values: readonly number[]): Uint8Array =>
  encodeFrame('sensors', sequence, encodeValues(values));

describe('sensors as datagrams', () => {
  it('drive a loop, and are zeros where none came for a while', async () => {
    await using stream = await receiveSensors({ port: 0, sensors: 2, staleMs });
    await using sender = new SensorSender({ port: stream.port });
    expect([...stream.source()]).toEqual([0, 0]);
    await using field = await createField({
      runtime: await runtimeOf('cpu'),
      device: 'cpu',
      resolution: 4,
      channels: 8,
      sensorDim: 2,
      motorDim: 1,
    });
    // The first cycle takes as long as it takes to compile it.
    await field.step([0, 0]);
    const seen: number[] = [];
    field.on('cycle', ({ sensors }) => seen.push(sensors[0]!));
    await sender.send([0.25, 0.5]);
    await eventually(() => expect(stream.counts.taken).toBe(1));
    await field.loop({ hz: 500, ticks: 3, source: stream.source, sink: () => {} });
    // With a reward behind them.
    await sender.send([0.75, 0.5, 1]);
    await eventually(() => expect([...stream.source()]).toEqual([0.75, 0.5, 1]));
    putClockForward();
    expect([...stream.source()]).toEqual([0, 0]);
    await field.loop({ hz: 50, ticks: 1, source: stream.source, sink: () => {} });
    expect(seen).toEqual([0.25, 0.25, 0.25, 0]);
  });

  it('that are old, doubled, cut, merged, foreign or no numbers are counted and left out', async () => {
    await using stream = await receiveSensors({ port: 0, sensors: 2, staleMs, onStale: 'hold' });
    const { port } = stream;
    const last = 2 ** 32 - 1;
    await sendTo(port, frame(last, [0.1, 0.2]));
    await eventually(() => expect(stream.counts.taken).toBe(1));
    // Numbers go on after the largest.
    await sendTo(port, frame(1, [0.3, 0.4]), frame(1, [9, 9]), frame(last, [9, 9]));
    await eventually(() => expect(stream.counts).toMatchObject({ taken: 2, old: 2 }));
    const whole = frame(2, [1, 2]);
    await sendTo(
      port,
      new Uint8Array(0),
      whole.subarray(0, 20),
      new Uint8Array([...whole, ...whole]),
      new Uint8Array([...whole, 7]),
      whole.with(0, 0),
      frame(3, [1]),
      frame(3, [1, 2, 3, 4]),
      frame(3, [Number.NaN, 0]),
      frame(3, [0, Number.POSITIVE_INFINITY]),
      frame(3, [10.5, 0]),
      encodeFrame('ping', 3, encodeValues([1, 2])),
    );
    await eventually(() => expect(stream.counts.wrong).toBe(11));
    expect([...stream.source()].map((v) => v.toFixed(1))).toEqual(['0.3', '0.4']);
    await using named = await receiveSensors({ port: 0, sensors: 2, from: ['10.0.0.7'] });
    await sendTo(named.port, frame(1, [1, 1]));
    await eventually(() => expect(named.counts).toMatchObject({ foreign: 1, taken: 0 }));
  });

  it('of a sender that starts anew are taken once the old ones are stale', async () => {
    await using stream = await receiveSensors({ port: 0, sensors: 1, staleMs });
    await sendTo(stream.port, frame(500, [1]));
    await eventually(() => expect(stream.counts.taken).toBe(1));
    putClockForward();
    await sendTo(stream.port, frame(1, [2]));
    await eventually(() => expect([...stream.source()]).toEqual([2]));
  });

  it('can end a loop when they stop, hold the last values, and refuse options that make no sense', async () => {
    await using stops = await receiveSensors({ port: 0, sensors: 1, onStale: 'stop' });
    expect(() => stops.source()).toThrow(FieldInputError);
    const bad: [object, RegExp][] = [
      [{ sensors: 0 }, /sensors is 0/],
      [{ sensors: 1.5 }, /sensors is 1.5/],
      [{ sensors: 1, staleMs: 0 }, /staleMs is 0/],
      [{ sensors: 1, onStale: 'guess' }, /onStale is 'guess'/],
      [{ sensors: 1, host: '0.0.0.0' }, /no sender is named/],
      [{ sensors: 1, port: stops.port }, /cannot be had/],
    ];
    for (const [options, reason] of bad) {
      const refused = receiveSensors({ port: 0, ...options } as never);
      await expect(refused).rejects.toThrow(reason);
      await expect(refused).rejects.toThrow(FieldConfigError);
    }
    await stops.close();
    await stops.close();
  });

  it('that cannot be sent are refused by name', async () => {
    await using sender = new SensorSender({ host: 'no.such.host.invalid' });
    await expect(sender.send([1])).rejects.toMatchObject({
      code: 'FIELD_CONFIG',
      message: expect.stringMatching(/no\.such\.host\.invalid could not be sent/),
    });
    const closed = new SensorSender({ port: 1 });
    await expect(closed.send(new Float32Array(1025))).rejects.toThrow(/1025 values, of at most 1024/);
    await closed.close();
    await expect(closed.send([1])).rejects.toThrow(/the sender was closed/);
  });
});
