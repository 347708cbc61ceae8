// Data in S3: the signature against AWS's own example and against a server that computes it by itself.

import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ChunkOutcome,
  handlerOf,
  localTransport,
  PermanentFailure,
  readBlob,
  writeBlob,
} from '../../src/batch/index.ts';
import { readS3, s3Address, s3Place, s3Settings, writeS3 } from '../../src/batch/s3.ts';
import { signed } from '../../src/batch/sigv4.ts';

const hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('the signature', () => {
  it('is the one of the example in the documentation of AWS', async () => {
    const headers = await signed(
      {
        method: 'GET',
        url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
        headers: { range: 'bytes=0-9' },
        bodyHash: hex(''),
      },
      { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
      'us-east-1',
      new Date('2013-05-24T00:00:00Z'),
    );
    expect(headers.authorization).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
    expect(headers).toMatchObject({ 'x-amz-date': '20130524T000000Z', range: 'bytes=0-9' });
    expect(headers).not.toHaveProperty('host');
  });
});

describe('addresses', () => {
  const settings = (endpoint?: string) => ({ keys: { id: 'a', secret: 'b' }, region: 'eu-west-1', endpoint });
  it.each([
    ['s3://data/a/b.bin', undefined, 'https://data.s3.eu-west-1.amazonaws.com/a/b.bin'],
    ['s3://my.data/x', undefined, 'https://s3.eu-west-1.amazonaws.com/my.data/x'],
    ['s3://data/x', 'http://localhost:9000/', 'http://localhost:9000/data/x'],
    [
      "s3://data/é ü+(1)?*'#%20",
      undefined,
      'https://data.s3.eu-west-1.amazonaws.com/%C3%A9%20%C3%BC%2B%281%29%3F%2A%27%23%2520',
    ],
    ['s3://data//x//y', undefined, 'https://data.s3.eu-west-1.amazonaws.com//x//y'],
  ])('%s', (uri, endpoint, address) => {
    expect(s3Address(s3Place(uri), settings(endpoint)).href).toBe(address);
  });
  it.each(['s3://data', 's3://data/', 's3:///x', 's3://UP/x', 's3://a/x', 's3://data/a/../b', 's3://data/./b'])(
    '%s is refused for good',
    (uri) => {
      expect(() => s3Place(uri)).toThrow(PermanentFailure);
    },
  );
  it('keys, region and server come from the usual variables', () => {
    const keys = { AWS_ACCESS_KEY_ID: 'i', AWS_SECRET_ACCESS_KEY: 's' };
    expect(s3Settings(keys)).toEqual({
      keys: { id: 'i', secret: 's', token: undefined },
      region: 'us-east-1',
      endpoint: undefined,
    });
    expect(
      s3Settings({ ...keys, AWS_SESSION_TOKEN: 't', AWS_DEFAULT_REGION: 'r', AWS_ENDPOINT_URL: 'http://e' }),
    ).toEqual({ keys: { id: 'i', secret: 's', token: 't' }, region: 'r', endpoint: 'http://e' });
    expect(
      s3Settings({
        ...keys,
        AWS_REGION: 'q',
        AWS_DEFAULT_REGION: 'r',
        AWS_ENDPOINT_URL: 'http://e',
        AWS_ENDPOINT_URL_S3: 'http://s',
      }),
    ).toMatchObject({ region: 'q', endpoint: 'http://s' });
    expect(() => s3Settings({ AWS_ACCESS_KEY_ID: 'i' })).toThrow(/AWS_SECRET_ACCESS_KEY/);
    expect(() => s3Settings({})).toThrow(PermanentFailure);
  });
});

/** A bucket in memory. Requests whose signature, time or body hash is wrong are refused as S3 does. */
const objects = new Map<string, Uint8Array>();
const secret = 'not so secret';
let [failures, asked]: [number[], string[]] = [[], []];
let server: Server;

function signatureOf(request: IncomingMessage): string {
  const [, scope, names] = /Credential=id\/([^,]+), SignedHeaders=([^,]+), /.exec(request.headers.authorization ?? '')!;
  const lines = names!.split(';').map((n) => `${n}:${request.headers[n]}\n`);
  const hash = request.headers['x-amz-content-sha256'] as string;
  const canonical = [request.method, request.url, '', lines.join(''), names, hash].join('\n');
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, hex(canonical)].join('\n');
  const hmac = (key: string | Buffer, value: string): Buffer => createHmac('sha256', key).update(value).digest();
  const key = scope!.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    asked.push(`${request.method} ${request.url}`);
    const refuse = (status: number, code: string): void =>
      void response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
    const failure = failures.shift();
    if (failure !== undefined) return refuse(failure, 'SlowDown');
    const signature = /Signature=([0-9a-f]{64})$/.exec(request.headers.authorization ?? '')?.[1];
    if (signature !== signatureOf(request)) return refuse(403, 'SignatureDoesNotMatch');
    if (request.headers['x-amz-content-sha256'] !== hex(body)) return refuse(400, 'XAmzContentSHA256Mismatch');
    const key = decodeURIComponent(request.url!);
    if (request.method === 'PUT') {
      objects.set(key, new Uint8Array(body));
      response.end();
      return;
    }
    const object = objects.get(key);
    if (!object) return refuse(404, 'NoSuchKey');
    const [, from, to] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
    if (from === undefined) response.end(object);
    else if (Number(from) >= object.length) refuse(416, 'InvalidRange');
    else response.writeHead(206).end(object.subarray(Number(from), to ? Number(to) + 1 : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
  [failures, asked] = [[], []];
});

const settings = (more: { secret?: string; token?: string } = {}) => ({
  keys: { id: 'id', secret, ...more },
  region: 'us-east-1',
  endpoint: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
});

function environment(): void {
  const { endpoint } = settings();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secret);
  vi.stubEnv('AWS_SESSION_TOKEN', '');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ENDPOINT_URL_S3', endpoint);
}

describe('objects', () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);

  it('are written and read, whole and by range, with any name', async () => {
    for (const key of ['plain', 'a/b/c.bin', "é ü+(1)?*'#%20"]) {
      await writeS3(`s3://bucket/${key}`, bytes, settings({ token: 'temporary' }));
      expect(await readS3(`s3://bucket/${key}`, 0, undefined, settings())).toEqual(bytes);
      expect([...(await readS3(`s3://bucket/${key}`, 16, 4, settings()))]).toEqual([16, 17, 18, 19]);
      expect(await readS3(`s3://bucket/${key}`, 90, undefined, settings())).toEqual(bytes.slice(90));
      expect(await readS3(`s3://bucket/${key}`, 5, 0, settings())).toHaveLength(0);
    }
  });

  it('wrong keys and missing objects fail for good, an overloaded server in passing', async () => {
    await writeS3('s3://bucket/x', bytes, settings());
    const read = (uri: string, more = {}) => readS3(uri, 0, undefined, settings(more));
    await expect(read('s3://bucket/x', { secret: 'other' })).rejects.toThrow(PermanentFailure);
    await expect(read('s3://bucket/x', { secret: 'other' })).rejects.toThrow(/403 SignatureDoesNotMatch/);
    await expect(read('s3://bucket/none')).rejects.toThrow(/404 NoSuchKey, it is not there/);
    await expect(readS3('s3://bucket/x', 500, 4, settings())).rejects.toThrow(/416 InvalidRange/);
    failures = [503];
    const busy = await read('s3://bucket/x').catch((e: unknown) => e);
    expect(busy).toBeInstanceOf(Error);
    expect(busy).not.toBeInstanceOf(PermanentFailure);
    expect(String(busy)).toMatch(/503 SlowDown/);
    failures = [301];
    await expect(read('s3://bucket/x')).rejects.toThrow(/another region/);
  });

  it('are inputs and outputs of chunks: the shared folder is a part of a bucket, and nothing outside of it is read', async () => {
    environment();
    const folder = 's3://bucket/jobs/1/';
    const data = Float32Array.of(1, 2, 3);
    const ref = await writeBlob(folder, { dtype: 'f32', shape: [3], bytes: new Uint8Array(data.buffer) });
    expect(ref.uri).toBe(`s3://bucket/jobs/1/blobs/${ref.sha256.slice(0, 2)}/${ref.sha256}`);
    await using transport = Object.assign(localTransport({ backoffMs: [1] }), {
      [Symbol.asyncDispose]: () => transport.close(),
    });
    const twice = handlerOf({
      folder,
      ops: {
        twice: ({ inputs }) => {
          const x = new Float32Array(inputs[0]!.bytes.slice().buffer).map((v) => 2 * v);
          return { outputs: [{ dtype: 'f32', shape: [3], bytes: new Uint8Array(x.buffer) }] };
        },
      },
    });
    await transport.worker(twice, { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} });
    failures = [503];
    const job = await transport.submit({ op: 'twice' }, [
      { inputs: [ref] },
      { inputs: [{ ...ref, uri: 's3://bucket/jobs/2/secret' }] },
      { inputs: [{ ...ref, uri: 'file:///etc/hostname' }] },
    ]);
    const outcomes: ChunkOutcome[] = [];
    for await (const outcome of job.results()) outcomes.push(outcome);
    expect(outcomes.map((o) => o.ok)).toEqual([true, false, false]);
    expect((await job.status()).retries).toBe(1);
    const [first] = outcomes;
    if (first?.ok) {
      const out = await readBlob(first.result.outputs[0]!, folder);
      expect([...new Float32Array(out.bytes.slice().buffer)]).toEqual([2, 4, 6]);
    }
    const letters = await job.deadLetters();
    expect(letters.map((l) => l.attempts)).toEqual([1, 1]);
    expect(letters[0]!.error).toContain('outside of the shared folder');
    expect(asked.some((a) => a.includes('secret'))).toBe(false);
  });

  it('that were changed fail with both hashes', async () => {
    environment();
    const ref = await writeBlob('s3://bucket/changed', { dtype: 'u8', shape: [4], bytes: Uint8Array.of(1, 2, 3, 4) });
    await writeS3(ref.uri, Uint8Array.of(1, 2, 3, 5));
    const error = await readBlob(ref).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PermanentFailure);
    expect(String(error)).toContain(ref.sha256);
    expect(String(error)).toContain(hex(Uint8Array.of(1, 2, 3, 5)));
  });

  it('without keys are refused for good', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, '');
    const ref = { uri: 's3://bucket/x', sha256: '', dtype: 'u8', shape: [1] } as const;
    await expect(readBlob(ref)).rejects.toThrow(/AWS_ACCESS_KEY_ID/);
  });
});
