// What batch functions take. How signatures are written: base/signatures.ts. Items and settings are checked by the functions
// themselves.

import { layerKinds } from '../base/layer-kinds.ts';
import { argumentKinds } from '../index.ts';

const isObject = argumentKinds.object.is;

export const batchKinds = {
  ...argumentKinds,
  ...layerKinds,
  items: { is: Array.isArray, words: 'an array of typed arrays or tensors' },
  work: {
    is: (v: unknown) => typeof v === 'function' || isObject(v) || Array.isArray(v),
    words: "a function, { module, export } or { op: 'name' }",
  },
  pairs: {
    is: (v: unknown) =>
      Array.isArray(v) && v.every((p) => Array.isArray(p) && p.length === 2 && p.every((x) => typeof x === 'number')),
    words: 'an array of [from, to]',
  },
  productShapes: {
    is: (v: unknown) =>
      Array.isArray(v) && v.every((s) => Array.isArray(s) && s.length === 3 && s.every((n) => typeof n === 'number')),
    words: 'a list of [m, k, n], such as [[2, 3, 4]]',
  },
  transport: { is: (v: unknown) => isObject(v) && 'submit' in (v as object), words: 'what openTransport() returned' },
  statistics: { is: (v: unknown) => isObject(v) && 'ranOn' in (v as object), words: 'a BatchStatistics' },
  clock: { is: (v: unknown) => isObject(v) && 'now' in (v as object), words: 'a clock' },
  chunk: {
    is: (v: unknown) => isObject(v) && Array.isArray((v as { inputs?: unknown }).inputs) && 'jobId' in (v as object),
    words: 'the description of a chunk',
  },
};

const common = "runtime:runtime,out:'same'|'tensors'|'arrays',signal:signal,onProgress:function";
const elementwise = 'op:text scalar:number?';
const matrices = "a:items b:items options:{shapes:productShapes,precision:'exact'|'tf32'|'bf16',deterministic:flag,";
const parallel = "workers:flag,signal:signal,onProgress:function,onError:'throw'|'collect'";

export const batchSignatures = {
  elementwise: `async data:items ${elementwise} options:{${common},pad:number|text}?`,
  matmul: `async ${matrices}${common}}?`,
  xor: `async data:items keys:any options:{cycle:flag,${common},pad:number|text}?`,
  newKeys: `async data:items options:{${common},seed:number}?`,
};

export const settingsSignature =
  'items:list settings:{maxBatchSize:number,minBatchSize:number,autoOptimize:flag,safetyMargin:number,timeoutMs:number,attempts:number,' +
  'concurrency:number,mbPerItem:number|function,runtime:runtime,device:text,transport:transport,statistics:statistics,clock:clock}?';

export const processorSignatures: Readonly<Record<string, string>> = {
  executeParallel: `async fn:work options:{${parallel}}?`,
  batchXorTransform: `async data:items options:{${common}}?`,
  batchMatrix: batchSignatures.matmul,
  batchElementwise: batchSignatures.elementwise,
  batchShortestPaths: `async pairs:pairs options:{${parallel}}?`,
  optimalBatchSize: 'async op:text options:{fresh:flag}?',
  'stats resetStats': '',
  printStats: 'write:function?',
  onBatch: 'callback:function',
  dispose: 'async',
};

export const arraySignature = '{dtype:dtype!,shape:numbers!,bytes:bytes!}';
export const blobSignature = '{uri:text!,sha256:text!,dtype:dtype!,shape:numbers!,offset:number,length:number}';

/** Of a transport, of its jobs and of its workers, whatever carries them. */
export const transportSignatures: Readonly<Record<string, string>> = {
  submit:
    'async job:{id:own,op:own,codeVersion:own,needs:own,overflow:own,attempts:own,timeoutMs:own,stragglers:own} chunks:own',
  worker:
    "async handler:function caps:{backend:'cuda'|'webgpu'|'cpu'!,device:text!,freeMb:number|null!,itemsPerSecond:plain!} " +
    'options:{concurrency:number}?',
  job: 'async id:text',
  'jobs workers close': 'async',
};
export const jobSignatures: Readonly<Record<string, string>> = {
  'status cancel retry deadLetters remove': 'async',
  results: '',
  finished: 'async signal:signal?',
};
export const workerSignatures: Readonly<Record<string, string>> = { stats: '', close: 'async' };
