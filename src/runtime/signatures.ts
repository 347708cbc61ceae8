// What the methods of a runtime take. How signatures are written: base/signatures.ts.

import { isDetached } from '../base/arguments.ts';
import { attached, isPlain, kindTable, plainKinds } from '../base/kinds.ts';
import { tensorKinds } from '../tensor/signatures.ts';

const isTensor = tensorKinds.tensor.is;
const isPiece = (v: unknown): boolean => typeof v === 'object' && v !== null && 'dtype' in v && 'shape' in v;

/** The kinds of arguments that there are, for this and the layers above. */
export const runtimeKinds = kindTable({
  ...tensorKinds,
  data: {
    is: (v: unknown) => tensorKinds.scalar.is(v) || Array.isArray(v) || (ArrayBuffer.isView(v) && !isDetached(v)),
    words: 'numbers, arrays of numbers or a typed array',
    habit: attached,
  },
  layouts: {
    is: (v: unknown) => Array.isArray(v) && v.every(isPiece),
    words: 'an array of { dtype, shape }',
  },
  steps: {
    is: (v: unknown) => Array.isArray(v) && v.every((s) => typeof (s as { do?: unknown } | null)?.do === 'function'),
    words: 'an array of { do, undo }',
  },
  state: {
    is: (v: unknown) => plainKinds.object.is(v) && isPlain(v as object) && Object.values(v as object).every(isTensor),
    words: 'an object of tensors by name',
  },
  runtime: {
    is: (v: unknown) => plainKinds.object.is(v) && typeof (v as { fromBytes?: unknown }).fromBytes === 'function',
    words: 'a runtime',
    many: 'runtimes',
  },
  webgpu: {
    is: (v: unknown) => plainKinds.object.is(v) && 'requestAdapter' in (v as object),
    words: 'a WebGPU such as navigator.gpu',
  },
  never: { is: (v: unknown) => v === false, words: 'false' },
  mode: { is: (v: unknown) => v === true || v === false || v === 'detailed', words: "true, false or 'detailed'" },
  device: {
    is: (v: unknown) => typeof v === 'string' || plainKinds.object.is(v),
    words: 'a kind of device or a device of your own',
    many: 'kinds of devices or devices of your own',
  },
});

const upload = '{dtype:dtype,device:text,keep:flag}';
const made = 'options:{dtype:dtype}?';
const kernel = "options:{border:'wrap'|'zero'|'clamp',name:text,inPlace:number}?";
// Options may stand in the place of numbers that are left out.
const options = 'options:{dtype:dtype}';
const matrix = `rows:number columns:number? k:number? ${made} or rows:number columns:number ${options} or rows:number ${options}`;
const join = 'tensors:tensor[] axis:number?';

export const makingSignatures: Readonly<Record<string, string>> = {
  tensor: `data:data shape:shape? options:${upload}? or data:data options:${upload}`,
  fromBytes: 'bytes:bytes dtype:dtype shape:shape',
  'zeros ones': `shape:shape ${made}`,
  full: `shape:shape value:scalar ${made}`,
  'zerosLike onesLike': `like:tensor ${made}`,
  fullLike: `like:tensor value:scalar ${made}`,
  arange: `start:number stop:number? step:number? ${made} or start:number stop:number ${options} or stop:number ${options}`,
  linspace: `start:number stop:number count:number ${made}`,
  'eye tri': matrix,
  iota: `shape:shape axis:number? ${made} or shape:shape ${options}`,
  where: 'condition:tensor a:operand b:operand # Positions of what is true: await mask.nonzero().',
  'concat concatenate stack': join,
  einsum: 'spec:text ...operands:tensor',
};

export const runtimeSignatures: Readonly<Record<string, string>> = {
  'devices mark stats snapshot': '',
  close: 'async',
  device: 'id:text',
  pinned: `count:number ${made}`,
  compile: 'body:function',
  loop: 'async condition:function body:function state:any options:{every:number,maxRounds:number,signal:signal}?',
  kernel: `body:function ${kernel}`,
  inPlaceKernel: `memory:layouts body:function ${kernel}`,
  rawKernel:
    'options:{name:text,sources:{ptx:text,wgsl:text}!,entry:text!,outputs:function!,grid:function!,block:numbers,scalars:dtype[]}',
  compute: '...tensors:tensor',
  flush: 'async ...tensors:tensor or options:{signal:signal} ...tensors:tensor',
  scope: 'body:function or options:{device:text,op:text,name:text} body:function',
  attempt:
    "options:{device:text,signal:signal,what:text,attempts:number,backoffMs:numbers,fallback:flag|'failures'} work:function",
  reset: 'async device:text',
  'owns explain': 'tensor:tensor',
  spans: 'async mode:mode',
  attribute: 'current:function',
  on: 'event:own listener:own',
};

export const cpuOptions =
  '{id:text,threads:number,memoryBytes:number,blas:flag|text,tinyElements:number,programs:number,patience:number}';
export const cudaOptions =
  "{cublas:flag|'always',fastMath:flag,pooled:flag,cacheDir:text|never,pinnedLimit:number,ordinals:numbers,processors:number," +
  'tuning:object,architecture:number,ffi:object,host:object}';
export const webGpuOptions =
  "{gpu:webgpu,powerPreference:'low-power'|'high-performance',memoryBytes:number,plans:'gpu'|'software',timestamps:flag," +
  'dawnToggles:text[]}';

/** The options of a runtime, but for its devices. */
export const runtimeOptions =
  `cpu:${cpuOptions},cuda:${cudaOptions},webgpu:${webGpuOptions},wrap:function,isolation:text|text[],development:flag,` +
  'seed:number,routing:object,memory:object,recovery:object,signal:signal,logger:function|object';

export const createSignature = `async options:{devices:device[],${runtimeOptions}}?`;

const device = 'device:text?';

export const stepperSignatures: Readonly<Record<string, string>> = {
  runSync: 'values:view state:state?',
  run: 'async values:view state:state? options:{signal:signal}?',
  'accept drop dispose': '',
};

export const memorySignatures: Readonly<Record<string, string>> = {
  'snapshots resetStats': '',
  pool: `${device} options:{maxBytes:number,idleMs:number,rounding:'none'|'fine'|'table',now:function}?`,
  borrow:
    "async tensors:tensor[] program:steps|function options:{signal:signal,restore:'program'|'guard',plain:function}?",
  'snapshot recordSnapshot cleanupMemory stats memoryStats': device,
  'getSnapshotHistory holders': `count:number? ${device}`,
  onPressure: "level:'low'|'moderate'|'high'|'critical'|'any' callback:function",
  'onCleanup onLeak registerCleanupCallback': 'callback:function',
  canAllocate: `sizeMb:number margin:number? ${device}`,
  isLowMemory: `limitMb:number? ${device}`,
};
