// Files of TF.js's and Jasmine's packages that come without types.

declare module 'jasmine-core/lib/jasmine-core/jasmine.js' {
  import type { JasmineRequire } from './jasmine.ts';

  const required: JasmineRequire;
  export default required;
}
declare module '@tensorflow/tfjs-core/dist/jasmine_util.js' {
  export function setTestEnvs(envs: { name: string; backendName: string; isDataSync: boolean }[]): void;
  export function setupTestFilters(filters: unknown[], include: (name: string) => boolean): void;
}
declare module '@tensorflow/tfjs-core/dist/tests.js';
declare module '@tensorflow/tfjs-core/dist/register_all_gradients.js';
declare module '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
