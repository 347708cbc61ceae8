// What the methods of fields take. How signatures are written: base/signatures.ts. Options, settings and sensor values are checked by
// the methods themselves, with errors of their own.

import { layerKinds } from '../base/layer-kinds.ts';
import { argumentKinds } from '../index.ts';

const isObject = argumentKinds.object.is;

export const fieldKinds = {
  ...argumentKinds,
  ...layerKinds,
  field: { is: (v: unknown) => isObject(v) && 'stepSync' in (v as object), words: 'a field', many: 'fields' },
  record: {
    is: (v: unknown) =>
      isObject(v) &&
      layerKinds.arrayLike.is((v as { input?: unknown }).input) &&
      layerKinds.arrayLike.is((v as { target?: unknown }).target),
    words: '{ input, target }, two arrays of numbers',
    many: '{ input, target }',
  },
  snapshot: { is: (v: unknown) => isObject(v) && 'schema' in (v as object), words: 'a snapshot of a field' },
};

const boundary = "boundary:'periodic'|'reflecting'";

const common =
  "motorDim:number,resolution:number|numbers,channels:number|plain,model:'fused'|'full',boundary:'periodic'|'reflecting'," +
  "forceGPU:flag,runtime:runtime,seed:number,settings:plain,telemetry:'off'|'record'|'full',quiet:flag,precision:'f16'|'f32'";

export const fieldSettings = `sensorDim:number,device:text,${common}`;
export const fieldOptions = `async options:{${fieldSettings}}?`;
export const brainOptions = `async options:{sensoryDim:number,preferGpu:flag,${common}}?`;
export const factoryOptions = `async options:{sensoryDim:number,forceGpu:flag,${common}}?`;

export const fieldSignatures: Readonly<Record<string, string>> = {
  step: 'async input:own',
  configure: 'async changes:plain',
  stepSync: 'input:own',
  loop: "async options:{hz:number!,source:function!,sink:function!,onDeadline:'zero'|'repeat'|'stop',signal:signal,ticks:number}",
  train:
    "async records:record[] options:{method:'ridge'|'rls'!,what:'prediction'|'motors'!,lambda:number,forget:number}",
  'predict snapshot dispose': 'async',
  slice: 'async axis:own index:own channel:own',
  'echo report': '',
  on: 'event:own listener:own',
  autosave: 'options:{folder:text!,every:number,keep:number,onError:function}|null',
  restore: 'async snapshot:snapshot',
  save: 'async file:text',
  reset: 'async seed:whole?',
};

export const fieldMakers: Readonly<Record<string, string>> = {
  stepBatch: 'async fields:field[] inputs:list',
  load: 'async file:text options:{device:text,forceGPU:flag,runtime:runtime,quiet:flag}?',
};

export const patternOptions =
  "options:{runtime:runtime!,device:text!,capacity:number,replace:'oldest'|'weakest',shape:numbers}";

export const patternSignatures: Readonly<Record<string, string>> = {
  advance: 'cycles:whole?',
  add: 'pattern:tensor context:arrayLike score:number?',
  find: 'context:arrayLike options:{k:number,fieldState:arrayLike}?',
  dispose: '',
};

export const gradientSignature = `rt:runtime field:tensor options:{${boundary},content:number}?`;
export const evolutionSignature =
  "rt:runtime field:tensor options:{keep:number,diffusion:number,blur:'mean'|'separable',spontaneous:number,noiseScale:number," +
  `key:tensor,${boundary},inPlace:flag}?`;
