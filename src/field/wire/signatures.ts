// What servers, clients and senders of fields take. How signatures are written: base/signatures.ts.

import { fieldKinds, fieldSettings } from '../signatures.ts';

const isObject = fieldKinds.object.is;
const isWhole = (v: unknown, least: number, most: number): boolean =>
  Number.isInteger(v) && (v as number) >= least && (v as number) <= most;
/** What a handshake has room for. */
const [mostWord, mostText] = [65_535, 255];

export const wireKinds = {
  ...fieldKinds,
  port: {
    is: (v: unknown) => isWhole(v, 0, mostWord),
    words: 'a port: a whole number from 0 to 65535',
  },
  count: { is: (v: unknown) => isWhole(v, 1, mostWord), words: 'a whole number from 1 to 65535' },
  tally: { is: (v: unknown) => isWhole(v, 0, mostWord), words: 'a whole number from 0 to 65535' },
  shortText: {
    is: (v: unknown) => typeof v === 'string' && new TextEncoder().encode(v).length <= mostText,
    words: `a text of at most ${mostText} bytes`,
  },
  rate: {
    is: (v: unknown) => typeof v === 'number' && v > 0 && v < Number.POSITIVE_INFINITY,
    words: 'a finite number above 0',
  },
  server: {
    is: (v: unknown) => isObject(v) && 'view' in (v as object) && 'cycles' in (v as object),
    words: 'what serveField() returned',
  },
  fields: {
    is: (v: unknown) => fieldKinds.plain.is(v) && Object.values(v as object).every(fieldKinds.field.is),
    words: 'an object of fields by name',
  },
};

export const serveSignature = `async options:{port:port,host:text,token:shortText,field:{${fieldSettings}},shared:fields,hz:rate,receiveMs:milliseconds,connections:count}?`;
export const serverSignatures: Readonly<Record<string, string>> = { view: '', close: 'async' };

export const clientMakers: Readonly<Record<string, string>> = {
  connect:
    'async options:{port:port,host:text,sensors:count!,motors:count!,token:shortText,field:shortText,hardware:tally,' +
    'replyMs:milliseconds,reconnects:tally}',
};
export const clientSignatures: Readonly<Record<string, string>> = {
  getAction: 'async values:arrayLike',
  'ping close': 'async',
};

export const telemetrySignature = 'async server:server options:{port:port}?';
export const answerSignature = 'server:server path:text';

export const receiveSignature =
  'async options:{sensors:number!,port:port,host:text,from:text[],staleMs:number,onStale:own}';
export const streamSignatures: Readonly<Record<string, string>> = { source: '', close: 'async' };
export const senderOptions = 'options:{port:port,host:text}?';
export const senderSignatures: Readonly<Record<string, string>> = { send: 'async values:arrayLike', close: 'async' };
