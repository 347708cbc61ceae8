// What the facade's classes take. How signatures are written: base/signatures.ts. Options are checked where they are used.

import { layerKinds } from '../base/layer-kinds.ts';
import { ops } from '../batch/ops.ts';
import { batchKinds, settingsSignature } from '../batch/signatures.ts';
import { argumentKinds, runtimeOptions } from '../index.ts';
import { metricsKind } from '../profile/metrics.ts';

const isObject = argumentKinds.object.is;

export const computeKinds = {
  ...batchKinds,
  metrics: metricsKind,
  op: {
    is: (v: unknown) => typeof v === 'function' || (typeof v === 'string' && Object.hasOwn(ops, v)),
    words: `a function of a tensor, or one of ${Object.keys(ops).join(', ')}`,
  },
  manager: { is: (v: unknown) => isObject(v) && 'selectDevice' in (v as object), words: 'a DeviceManager' },
  monitor: { is: (v: unknown) => isObject(v) && 'trackOperation' in (v as object), words: 'a PerformanceMonitor' },
  pool: { is: (v: unknown) => isObject(v) && 'releaseTensor' in (v as object), words: 'a TensorPool' },
  logger: { is: (v: unknown) => isObject(v) && 'logMetrics' in (v as object), words: 'a PerformanceLogger' },
  reading: { is: (v: unknown) => isObject(v) && 'next' in (v as object), words: 'what reading() returned' },
  records: {
    is: (v: unknown) =>
      argumentKinds.view.is(v) ||
      (isObject(v) && (layerKinds.iterable.is(v) || Symbol.asyncIterator in (v as object))) ||
      Array.isArray(v),
    words: 'a typed array, or an iterable of them',
  },
};

const op = 'op:op?';
const batch = "options:{chunkSize:number|'adaptive',signal:signal,onProgress:function,onError:'throw'|'collect'}?";
const manager =
  `kinds:text[],runtime:{${runtimeOptions}},` +
  "routing:'pinned'|'measured',preference:plain,logger:function,maxResets:number,probeEveryMs:number," +
  'returnWhenHealed:flag';
const compute = 'attempts:number,waits:numbers,fallback:flag,utilizationCeiling:number,handleDegradation:flag';
const pool = 'limitBytes:number,predict:flag,debug:flag';
const monitor = 'anomalies:flag,operations:number';
const one = (options: string): string => `options:{${options}}?`;

type Table = Readonly<Record<string, string>>;

export const computeSignatures: Table = {
  transferToGPU: 'async data:view options:{shape:shape,dtype:dtype,signal:signal}?',
  transferFromGPU: 'async tensor:tensor',
  'computeBatch processBatch estimateBatch': `async tensors:tensor[] ${op} ${batch}`,
  processDataset: `async data:records options:{recordLength:number,op:op,chunkSize:number|'adaptive',signal:signal,onProgress:function,onResults:function}?`,
  createBatch: `async ${settingsSignature}`,
  batchCounts: '',
  deviceOf: 'tensor:tensor',
  'resetDevice dispose': 'async',
  on: 'event:own listener:own',
};
export const computeMakers: Table = {
  getInstance: one(compute),
  create: one(`devices:manager,monitor:monitor,pool:pool,owned:flag,${compute}`),
};

export const managerSignatures: Table = {
  selectDevice: "async preference:plain? live:'move'|'refuse'?",
  getActiveDevice: '',
  'cleanup dispose': 'async',
  onDeviceLost: 'callback:function',
  on: 'event:own listener:own',
  onGrowth: 'listener:function',
  reset: 'async cause:text',
};
export const managerMakers: Table = {
  getInstance: one(manager),
  create: one(`open:function,clock:clock,probeElements:number,${manager}`),
};

export const poolSignatures: Table = {
  reuseOrCreateTensor: "shape:shape options:{dtype:dtype,init:'zeros'|'none'|view}?",
  releaseTensor: 'tensor:tensor',
  'stats dispose': '',
  trim: 'bytes:number?',
  onRequest: 'listener:function',
};
export const poolMakers: Table = { getInstance: one(pool), create: one(`devices:manager,${pool}`) };

export const monitorSignatures: Table = {
  'getMemoryUsage reading dispose': '',
  trackOperation: 'async name:text fn:function options:{result:flag!}?',
  'getGPUUtilization sample': 'async',
  getDetailedMetrics: 'async since:reading?',
  logMetrics: 'metrics:metrics',
  onMetrics: 'listener:function',
  noteRequest: 'hit:flag',
  start: 'everyMs:milliseconds?',
};
export const monitorMakers: Table = {
  getInstance: one(monitor),
  create: one(`devices:manager,logger:logger,${monitor}`),
};
