// What servers, clients and senders of fields take. How signatures are written: base/signatures.ts.

import { fieldKinds, fieldSettings } from '../signatures.ts';

const isObject = fieldKinds.object.is;

export const wireKinds = {
  ...fieldKinds,
  port: {
    is: (v: unknown) => Number.isInteger(v) && (v as number) >= 0 && (v as number) <= 65_535,
    words: 'a port: a whole number from 0 to 65535',
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

export const serveSignature = `async options:{port:port,host:text,token:text,field:{${fieldSettings}},shared:fields,hz:number,receiveMs:number,connections:number}?`;
export const serverSignatures: Readonly<Record<string, string>> = { view: '', close: 'async' };

export const clientMakers: Readonly<Record<string, string>> = {
  connect:
    'async options:{port:port,host:text,sensors:number!,motors:number!,token:text,field:text,hardware:number,replyMs:number,' +
    'reconnects:number}',
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
