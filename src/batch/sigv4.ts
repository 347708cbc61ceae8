// AWS's signature, version 4, of one request: what an S3 server knows a caller by. With the platform's own cryptography.
//
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

import { sha256, toHex } from './chunk-id.ts';

export interface SigningKeys {
  readonly id: string;
  readonly secret: string;
  /** Of temporary keys. */
  readonly token?: string | undefined;
}

export interface SignedRequest {
  readonly method: 'GET' | 'PUT';
  /** With its path encoded as it travels, and no query. */
  readonly url: URL;
  /** In lower case; all of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hexadecimal digits. */
  readonly bodyHash: string;
}

const encoder = new TextEncoder();

async function hmac(key: Uint8Array, text: string): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
}

/** The headers to send: those of the request, with the time, the hash of the body and the signature. */
export async function signed(
  request: SignedRequest,
  keys: SigningKeys,
  region: string,
  at: Date,
): Promise<Record<string, string>> {
  const { method, url, bodyHash } = request;
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
    ...(keys.token === undefined ? {} : { 'x-amz-security-token': keys.token }),
  };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]!.trim()}\n`).join('');
  const canonical = [method, url.pathname, '', lines, names.join(';'), bodyHash].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope, await sha256(encoder.encode(canonical))].join('\n');
  let key = encoder.encode(`AWS4${keys.secret}`) as Uint8Array;
  for (const part of scope.split('/')) key = await hmac(key, part);
  const signature = toHex(await hmac(key, text));
  // The platform sets `host` by itself, from the address.
  const { host: _, ...sent } = headers;
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return { ...sent, authorization };
}
