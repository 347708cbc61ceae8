// Objects of S3, and of servers that speak its protocol: `s3://bucket/key`, read by range and written whole.
//
// Keys, region and server come from the variables that AWS's own tools read. A server of one's own (AWS_ENDPOINT_URL_S3) is asked by
// path, AWS by the bucket's host name. What another attempt would only repeat is a PermanentFailure.

import { isNode } from '../base/platform.ts';
import { sha256 } from './chunk-id.ts';
import { type SigningKeys, signed } from './sigv4.ts';
import { answerMs, PermanentFailure } from './transport.ts';

export interface S3Settings {
  readonly keys: SigningKeys;
  readonly region: string;
  /** A server other than AWS. */
  readonly endpoint: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function s3Settings(env: Environment = isNode() ? process.env : {}): S3Settings {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  if (!id || !secret)
    throw new PermanentFailure(
      's3: there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where this process starts',
    );
  return {
    keys: { id, secret, token: token || undefined },
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1',
    endpoint: env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined,
  };
}

export const isS3 = (uri: string): boolean => uri.startsWith('s3://');

interface S3Place {
  readonly bucket: string;
  readonly key: string;
}

/** The key is taken as it stands: nothing in it is decoded. */
export function s3Place(uri: string): S3Place {
  const [, bucket, key] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/s.exec(uri) ?? [];
  if (bucket === undefined || key === undefined)
    throw new PermanentFailure(`${uri}: an address in S3 is s3://bucket/key`);
  // Addresses of the web lose such parts on their way, and another object would be meant.
  if (key.split('/').some((part) => part === '.' || part === '..'))
    throw new PermanentFailure(`${uri}: keys with the parts . and .. cannot be asked for`);
  return { bucket, key };
}

/** Every byte but letters, digits and -._~ as %XX, as the signature counts it. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

export function s3Address({ bucket, key }: S3Place, { region, endpoint }: S3Settings): URL {
  const path = key.split('/').map(encoded).join('/');
  // A certificate of AWS holds for one name below its own: buckets with dots are asked by path.
  if (endpoint === undefined && !bucket.includes('.'))
    return new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`);
  const server = (endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '');
  return new URL(`${server}/${bucket}/${path}`);
}

const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Bytes of an object, from `offset` on. */
export async function readS3(
  uri: string,
  offset = 0,
  length?: number,
  settings: S3Settings = s3Settings(),
): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array(0);
  const whole = offset === 0 && length === undefined;
  const headers: Record<string, string> = whole
    ? {}
    : { range: `bytes=${offset}-${length === undefined ? '' : offset + length - 1}` };
  const answer = await ask(uri, { method: 'GET', headers, bodyHash: emptyHash }, null, settings);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // A server that does not know ranges sends everything.
  return whole || answer.status === 206
    ? bytes
    : bytes.slice(offset, length === undefined ? undefined : offset + length);
}

/** Writes an object; it is there as a whole, or not at all. */
export async function writeS3(uri: string, bytes: Uint8Array, settings: S3Settings = s3Settings()): Promise<void> {
  const request = { method: 'PUT', headers: {}, bodyHash: await sha256(bytes) } as const;
  await ask(uri, request, bytes as Uint8Array<ArrayBuffer>, settings);
}

async function ask(
  uri: string,
  request: { method: 'GET' | 'PUT'; headers: Readonly<Record<string, string>>; bodyHash: string },
  body: Uint8Array<ArrayBuffer> | null,
  settings: S3Settings,
): Promise<Response> {
  const url = s3Address(s3Place(uri), settings);
  const headers = await signed({ ...request, url }, settings.keys, settings.region, new Date());
  // A signature holds for one host: what answers with another address is told as an error.
  const signal = AbortSignal.timeout(answerMs);
  const answer = await fetch(url, { method: request.method, headers, body, redirect: 'manual', signal });
  if (answer.ok) return answer;
  throw await refused(uri, answer);
}

/** Answers that stay the same however often one asks. */
const lasting: Readonly<Record<number, string>> = {
  301: 'it is in another region: set AWS_REGION',
  307: 'it is in another region: set AWS_REGION',
  400: 'the request is not understood',
  401: 'the keys are not accepted',
  403: 'the keys are not accepted, or may not do this',
  404: 'it is not there',
  416: 'it has fewer bytes',
};

async function refused(uri: string, answer: Response): Promise<Error> {
  const text = await answer.text().catch(() => '');
  const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1];
  const region = answer.headers.get('x-amz-bucket-region');
  const why = lasting[answer.status];
  const told = [`${answer.status}${code ? ` ${code}` : ''}`, why, region ? `region ${region}` : undefined];
  const message = `${uri}: S3 answered ${told.filter((part) => part !== undefined).join(', ')}`;
  return why === undefined ? new Error(message) : new PermanentFailure(message);
}
