// The wire protocol: frames however they are cut, every error by its number, and a server that random bytes do not harm.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createField } from '../../src/field/index.ts';
import {
  decodeError,
  decodeValues,
  encodeFrame,
  encodeValues,
  errorCodes,
  type Frame,
  FrameReader,
  headerBytes,
  magic,
} from '../../src/field/wire/frames.ts';
import { decodeHello, decodeWelcome, encodeHello, encodeWelcome } from '../../src/field/wire/handshake.ts';
import {
  FieldClient,
  type FieldServer,
  FieldWireError,
  type ServeOptions,
  serveField,
} from '../../src/field/wire/index.ts';
import { ArgumentError, turn } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { anyRate, closeAll, runtimeOf } from './devices.ts';

const rt = await runtimeOf('cpu');
const servers: FieldServer[] = [];
const others: Server[] = [];
afterAll(async () => {
  for (const s of servers) await s.close();
  for (const s of others) s.close();
  await closeAll();
});

const sizes = { sensors: 3, motors: 2 };
const field = { runtime: rt, device: 'cpu', resolution: 4, channels: 8 } as const;
async function serve(more: ServeOptions = {}): Promise<FieldServer> {
  const server = await serveField({ port: 0, hz: anyRate, field, ...more });
  servers.push(server);
  return server;
}

/** That a connection has come or gone is noticed in a later turn. */
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: within(2000), interval: 5 });

/** A raw connection that collects frames. */
class Raw {
  readonly frames: Frame[] = [];
  closed = false;
  readonly #reader = new FrameReader();
  readonly #waits: (() => void)[] = [];

  private constructor(readonly socket: Socket) {
    socket.on('data', (b) => {
      this.frames.push(...this.#reader.push(b).frames);
      for (const w of this.#waits.splice(0)) w();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      for (const w of this.#waits.splice(0)) w();
    });
  }

  static open(port: number): Promise<Raw> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => resolve(new Raw(socket)));
    });
  }

  async next(): Promise<Frame | null> {
    while (this.frames.length === 0 && !this.closed) await new Promise<void>((r) => this.#waits.push(r));
    return this.frames.shift() ?? null;
  }

  async errorCode(): Promise<number | null> {
    const frame = await this.next();
    return frame?.type === 'error' ? decodeError(frame.payload).code : null;
  }

  async gone(): Promise<void> {
    while (!this.closed) await new Promise<void>((r) => this.#waits.push(r));
  }
}

const hello = (more: Partial<Parameters<typeof encodeHello>[0]> = {}): Uint8Array =>
  encodeFrame('handshake', 7, encodeHello({ ...sizes, ...more }));
const sensors = (values: readonly number[], sequence = 9): Uint8Array =>
  encodeFrame('sensors', sequence, encodeValues(values));

describe('frames', () => {
  it('come out as they went in, however the stream is cut', () => {
    const frames = [
      encodeFrame('sensors', 1, encodeValues([1.5, -2])),
      hello({ token: 'tök', field: 'a' }),
      encodeFrame('ping', 3, new Uint8Array(0)),
    ];
    const stream = Uint8Array.from(frames.flatMap((f) => [...f]));
    for (const piece of [1, 3, 16, 17, 1000]) {
      const reader = new FrameReader();
      const got: Frame[] = [];
      for (let at = 0; at < stream.length; at += piece) got.push(...reader.push(stream.slice(at, at + piece)).frames);
      expect(got.map((f) => [f.type, f.sequence])).toEqual([
        ['sensors', 1],
        ['handshake', 7],
        ['ping', 3],
      ]);
      expect([...decodeValues(got[0]!.payload)]).toEqual([1.5, -2]);
      expect(decodeHello(got[1]!.payload)).toMatchObject({ ...sizes, token: 'tök', field: 'a' });
    }
  });

  it('have the bytes that the protocol says', () => {
    const bytes = sensors([1], 0x01020304);
    expect([...bytes]).toEqual([0x47, 0x46, 0x42, 0x31, 1, 0, 0, 0, 4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    expect(magic).toBe(0x31424647);
    const welcome = {
      protocol: 1,
      dimensions: [32, 32, 32, 64],
      sensors: 16,
      motors: 5,
      capabilities: 5,
      hz: 20,
    } as const;
    expect(decodeWelcome(encodeWelcome(welcome))).toEqual(welcome);
    expect(decodeHello(encodeHello(sizes).slice(0, -1))).toBeNull();
  });
});

describe('the server', () => {
  it('gives a client the motors of its field', async () => {
    const server = await serve({ token: 'secret' });
    await using client = await FieldClient.connect({ port: server.port, ...sizes, token: 'secret' });
    await using same = await createField({ ...field, sensorDim: 3, motorDim: 2 });
    expect(client.welcome).toMatchObject({ dimensions: [4, 4, 4, 8], sensors: 3, motors: 2 });
    for (let t = 0; t < 5; t++) {
      const values = [0.1 * t, -0.2, 0.3, ...(t === 2 ? [0.5] : [])];
      expect(await client.getAction(values)).toEqual((await same.step(Float32Array.from(values))).motors);
    }
    expect(await client.ping()).toBeGreaterThan(0);
    expect(client.latencies).toHaveLength(5);
    await expect(client.getAction([1, 2])).rejects.toMatchObject({ number: 2003 });
    await expect(client.getAction([1, 2, Number.NaN])).rejects.toMatchObject({ number: 3001 });
    await expect(client.getAction([1, 2, 11])).rejects.toMatchObject({ number: 3002 });
    expect(await client.getAction([0, 0, 0])).toHaveLength(2);
  });

  it('names every mistake by its number, and closes after those of framing', async () => {
    const server = await serve({ token: 'secret', shared: {}, connections: 3 });
    const cases: [number, boolean, readonly Uint8Array[]][] = [
      [errorCodes.badMagic, true, [sensors([1]).with(0, 0)]],
      [errorCodes.badVersion, true, [sensors([1]).with(4, 9)]],
      [errorCodes.unknownType, true, [sensors([1]).with(5, 77)]],
      [errorCodes.tooLong, true, [sensors([1]).with(13, 0xff)]],
      [errorCodes.handshakeRequired, false, [sensors([1, 2, 3])]],
      [errorCodes.wrongToken, false, [hello({ token: 'wrong' })]],
      [errorCodes.unknownField, false, [hello({ token: 'secret', field: 'none' })]],
      [errorCodes.sensorCount, false, [hello({ token: 'secret', sensors: 0 })]],
      [errorCodes.motorCount, false, [hello({ token: 'secret', motors: 0 })]],
      [errorCodes.badVersion, true, [hello({ token: 'secret', least: 2, most: 3 })]],
      [errorCodes.unknownType, true, [encodeFrame('motors', 1, encodeValues([1]))]],
    ];
    for (const [code, closes, frames] of cases) {
      const raw = await Raw.open(server.port);
      for (const f of frames) raw.socket.write(f);
      expect(await raw.errorCode()).toBe(code);
      if (closes) await raw.gone();
      else {
        raw.socket.write(encodeFrame('ping', 5, new Uint8Array(0)));
        expect((await raw.next())?.type).toBe('ping');
        raw.socket.destroy();
      }
    }
    const raw = await Raw.open(server.port);
    raw.socket.write(hello({ token: 'secret' }));
    expect((await raw.next())?.type).toBe('handshake');
    raw.socket.write(hello({ token: 'secret' }));
    expect(await raw.errorCode()).toBe(errorCodes.secondHandshake);
    await eventually(() => expect(server.connections).toBe(1));
    const others = [await Raw.open(server.port), await Raw.open(server.port)];
    await eventually(() => expect(server.connections).toBe(3));
    const full = await Raw.open(server.port);
    expect(await full.errorCode()).toBe(errorCodes.serverFull);
    for (const r of [raw, full, ...others]) r.socket.destroy();
  });

  it('refuses a host without a token, and requests above its rate', async () => {
    await expect(serveField({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/no token/);
    const server = await serve({ hz: 1e-6 });
    await using client = await FieldClient.connect({ port: server.port, ...sizes });
    await client.getAction([0, 0, 0]);
    await expect(client.getAction([0, 0, 0])).rejects.toMatchObject({ number: 5002 });
  });

  it('lets clients share a field by name', async () => {
    await using shared = await createField({ ...field, sensorDim: 3, motorDim: 2 });
    const server = await serve({ shared: { arm: shared } });
    await using a = await FieldClient.connect({ port: server.port, ...sizes, field: 'arm' });
    await using b = await FieldClient.connect({ port: server.port, ...sizes, field: 'arm' });
    await Promise.all([a.getAction([0.1, 0.2, 0.3]), b.getAction([0.1, 0.2, 0.3])]);
    expect(shared.cycle).toBe(2);
  });

  it('serves as many clients as it has room for, tells a thousand others so, and has room again when they go', async () => {
    const server = await serve({ connections: 8 });
    const raws: Raw[] = [];
    for (let i = 0; i < 1000; i += 50)
      raws.push(...(await Promise.all(Array.from({ length: 50 }, () => Raw.open(server.port)))));
    const told = await Promise.all(raws.slice(8).map((r) => r.errorCode()));
    expect(new Set(told)).toEqual(new Set([errorCodes.serverFull]));
    expect(server.connections).toBe(8);
    expect(server.view().connections).toMatchObject({ accepted: 1000, refused: 992 });
    for (const r of raws) r.socket.destroy();
    await eventually(() => expect(server.connections).toBe(0));
    await using client = await FieldClient.connect({ port: server.port, ...sizes });
    expect(await client.getAction([0, 0, 0])).toHaveLength(2);
  });

  it('takes frames that come byte by byte, beside a client that is quick', async () => {
    const server = await serve();
    await using quick = await FieldClient.connect({ port: server.port, ...sizes });
    const slow = await Raw.open(server.port);
    for (const byte of [...hello(), ...sensors([0.1, 0.2, 0.3])]) {
      slow.socket.write(Uint8Array.of(byte));
      if (byte % 8 === 0) await quick.getAction([0.1, 0, 0]);
    }
    expect([(await slow.next())?.type, (await slow.next())?.type]).toEqual(['handshake', 'motors']);
    slow.socket.destroy();
  });

  describe('whose time is steered', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });
    /** Sends something, and waits until the server has read it. */
    async function deliver(server: FieldServer, raw: Raw, bytes: Uint8Array): Promise<void> {
      const read = (): number => server.view().connections.bytesIn;
      const wanted = read() + bytes.length;
      raw.socket.write(bytes);
      while (read() < wanted) await turn();
    }
    /** The last words of a connection, which is closed a moment after them. */
    async function ends(raw: Raw): Promise<number | null> {
      const code = await raw.errorCode();
      vi.advanceTimersByTime(200);
      await raw.gone();
      return code;
    }

    it('closes a connection that does not shake hands, or stops within a frame', async () => {
      const server = await serve({ receiveMs: 1000, connections: 1 });
      const stranger = await Raw.open(server.port);
      while (server.connections === 0) await turn();
      vi.advanceTimersByTime(1001);
      expect(await ends(stranger)).toBe(errorCodes.handshakeRequired);
      while (server.connections > 0) await turn();
      // There is room again.
      const other = await Raw.open(server.port);
      other.socket.write(hello());
      expect((await other.next())?.type).toBe('handshake');
      vi.advanceTimersByTime(1200);
      other.socket.write(encodeFrame('ping', 5, new Uint8Array(0)));
      expect((await other.next())?.type).toBe('ping');
      await deliver(server, other, sensors([1]).slice(0, headerBytes + 2));
      vi.advanceTimersByTime(1001);
      expect(await ends(other)).toBe(errorCodes.cutShort);
    });

    it('gives a frame its time from the first byte on, however slowly the others come', async () => {
      const server = await serve({ receiveMs: 1000 });
      const raw = await Raw.open(server.port);
      raw.socket.write(hello());
      expect((await raw.next())?.type).toBe('handshake');
      const frame = sensors(new Array(1000).fill(0));
      for (let at = 0; at < 10; at++) {
        await deliver(server, raw, frame.slice(at, at + 1));
        expect(raw.frames).toEqual([]);
        vi.advanceTimersByTime(101);
      }
      expect(await ends(raw)).toBe(errorCodes.cutShort);
    });
  });

  it('says which port it cannot have', async () => {
    const server = await serve();
    await expect(serveField({ port: server.port })).rejects.toThrow(/port \d+ of 127\.0\.0\.1 cannot be had/);
  });

  it('tells clients when it ends', async () => {
    const server = await serve();
    const client = await FieldClient.connect({ port: server.port, ...sizes, reconnects: 0 });
    await server.close();
    await expect(client.getAction([0, 0, 0])).rejects.toThrow(FieldWireError);
    await expect(client.ping()).rejects.toThrow(/connection is lost/);
    await client.close();
    await expect(client.ping()).rejects.toThrow(/was closed/);
    await expect(client.getAction([0, 0, 0])).rejects.toThrow(/was closed/);
  });

  it('is not harmed by a million random bytes, and serves others meanwhile', async () => {
    const server = await serve();
    await using client = await FieldClient.connect({ port: server.port, ...sizes });
    let seed = 12345;
    const random = (n: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return Math.floor((seed / 2 ** 32) * n);
    };
    let [sent, served] = [0, 0];
    const odd: string[] = [];
    while (sent < 1_000_000) {
      const raw = await Raw.open(server.port);
      // Pure noise, a frame with noise in it, a frame cut short and another one behind it, many frames at once.
      const kind = random(4);
      const noise = Uint8Array.from({ length: 1 + random(20_000) }, () => random(256));
      const frame = hello();
      const pieces = [
        [noise],
        [frame.with(random(frame.length), random(256)), noise],
        [frame.slice(0, random(frame.length)), frame],
        Array.from({ length: 30 }, () => encodeFrame('ping', 1, encodeValues([1]))),
      ][kind]!;
      for (const p of pieces) {
        if (!raw.closed) raw.socket.write(p);
        sent += p.length;
      }
      await new Promise((r) => setTimeout(r, 1));
      for (const f of raw.frames) if (!['error', 'ping', 'handshake'].includes(f.type)) odd.push(f.type);
      raw.socket.destroy();
      served += (await client.getAction([0.1, 0.2, 0.3])).length;
    }
    expect(odd).toEqual([]);
    expect(served).toBeGreaterThan(100);
    await eventually(() => expect(server.connections).toBe(1));
  });

  const seconds = all ? 60 : 2;
  it(`answers a loop at 20 Hz for ${seconds} s within a millisecond of its cycles, beside a client that never reads`, {
    timeout: seconds * 1000 + 30_000,
  }, async () => {
    const shared = await createField({ ...field, sensorDim: 3, motorDim: 2 });
    const server = await serve({ shared: { loop: shared } });
    await using client = await FieldClient.connect({ port: server.port, ...sizes, field: 'loop' });
    const deaf = await Raw.open(server.port);
    deaf.socket.pause();
    deaf.socket.write(hello());
    const [over, late]: [number[], number[]] = [[], []];
    const start = performance.now() + 50;
    for (let tick = 0; tick < 20 * seconds; tick++) {
      const due = start + 50 * tick;
      await new Promise((r) => setTimeout(r, Math.max(0, due - performance.now())));
      const from = performance.now();
      late.push(from - due);
      deaf.socket.write(encodeFrame('ping', tick, new Uint8Array(512)));
      await client.getAction([0.1, 0.2, 0.3]);
      over.push(performance.now() - from - server.view().fields[0]!.last!.state.cycleTimeMs);
    }
    deaf.socket.destroy();
    expect(shared.cycle).toBe(20 * seconds);
    const share = (list: number[], part: number): number =>
      list.toSorted((a, b) => a - b)[Math.floor(part * (list.length - 1))]!;
    // How late timers are tells how much of the machine others have; a quiet one is late by a millisecond or so.
    const busy = Math.max(0, share(late, 0.99) - 1.5);
    const [half, p99] = [share(over, 0.5), share(over, 0.99)];
    console.log(
      `round trip beyond the cycle: median ${half.toFixed(2)}, p99 ${p99.toFixed(2)} ms; timers late by ${share(late, 0.99).toFixed(2)}`,
    );
    expect(half).toBeLessThan(within(1) + busy);
    if (all) expect(p99).toBeLessThan(within(1) + busy);
    await shared.dispose();
  });

  it('does not let a client that never reads hold up another', async () => {
    const server = await serve();
    const deaf = await Raw.open(server.port);
    deaf.socket.pause();
    deaf.socket.write(hello());
    for (let i = 0; i < 200; i++) deaf.socket.write(encodeFrame('ping', i, new Uint8Array(4096)));
    await using client = await FieldClient.connect({ port: server.port, ...sizes });
    for (let i = 0; i < 5; i++) expect(await client.getAction([0.1, 0, 0])).toHaveLength(2);
    deaf.socket.destroy();
  });
});

describe('a client', () => {
  it('that lost its connection makes one new one for all calls that wait, and none after it was closed', async () => {
    const first = await serve();
    const client = await FieldClient.connect({ port: first.port, ...sizes, reconnects: 1 });
    await first.close();
    const server = await serve({ port: first.port });
    // The first call may still find the old connection.
    const values = [0.1, 0.2, 0.3];
    while (server.connections === 0) await Promise.allSettled([1, 2, 3].map(() => client.getAction(values)));
    expect(await Promise.all([1, 2].map(() => client.getAction(values)))).toHaveLength(2);
    expect(server.connections).toBe(1);
    await client.close();
    await expect(client.getAction(values)).rejects.toThrow('it was closed');
    while (server.connections > 0) await turn();
  });

  it('does not wait for ever: for a server that says nothing, and for one that is no field server', async () => {
    const port = async (onConnection: (socket: Socket) => void): Promise<number> => {
      const server = createServer(onConnection);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      others.push(server);
      return (server.address() as { port: number }).port;
    };
    const silent = await port((socket) => socket.on('error', () => {}).resume());
    await expect(FieldClient.connect({ port: silent, ...sizes, replyMs: 20 })).rejects.toThrow('no reply within 20 ms');
    const other = await port((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.write(encodeFrame('handshake', 1, new Uint8Array(3))));
    });
    await expect(FieldClient.connect({ port: other, ...sizes })).rejects.toThrow(/is no field server/);
  });

  it('and a server refuse what a handshake has no room for', async () => {
    const long = 'x'.repeat(256);
    await expect(serveField({ port: 0, token: long })).rejects.toThrow(/at most 255 bytes/);
    await expect(FieldClient.connect({ port: 1, ...sizes, token: long })).rejects.toThrow(/at most 255 bytes/);
    await expect(FieldClient.connect({ port: 1, ...sizes, sensors: 65_539 })).rejects.toThrow(ArgumentError);
    for (const wrong of [{ hz: 0 }, { receiveMs: Number.NaN }, { connections: 0 }])
      await expect(serveField({ port: 0, ...wrong })).rejects.toThrow(ArgumentError);
  });
});
