// What the profiler and the functions of profiles take. How signatures are written: base/signatures.ts.

import { argumentKinds } from '../index.ts';
import { fileKinds } from './file/kinds.ts';

export const profileKinds = { ...argumentKinds, ...fileKinds };

const scope = 'device:text,meta:plain';
const file = 'async file:text?';

export const profilerOptions = 'options:{enabled:flag,runtimes:runtime[],detailed:flag,capacity:number,deviceId:text}?';

export const profilerSignatures: Readonly<Record<string, string>> = {
  'enable toProfile getEntries getSummary getKernels suggest reset dispose': '',
  'disable ready settle collect': 'async',
  attach: 'runtime:runtime',
  detach: 'async runtime:runtime',
  profile: `operation:text body:function or operation:text info:{${scope}} body:function`,
  track: 'async operation:text body:function told:function',
  span: `operation:text info:{${scope}}?`,
  wrap: `fn:function options:{operation:text,${scope}}?`,
  profileFunction: 'operation:text? device:text?',
  'getBottlenecks printSummary printBottlenecks': 'count:number?',
  clockError: 'device:text',
  'exportJSON exportTrace exportFlame exportSpeedscope exportHTML': file,
  compare: 'before:profile',
  detectRegressions: 'baseline:baseline',
  stream: 'async file:text',
};
