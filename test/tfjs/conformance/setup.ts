// Must be evaluated before the suite: gradients, chained ops, and the environment that its specs run in.

import './jasmine.ts';
import '@tensorflow/tfjs-backend-cpu';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import { setTestEnvs, setupTestFilters } from '@tensorflow/tfjs-core/dist/jasmine_util.js';
import { settings } from './settings.ts';

// The suite prints profiles and warnings of its own.
for (const kind of ['log', 'warn', 'info', 'group', 'groupEnd', 'error'] as const) console[kind] = () => {};
setTestEnvs([{ name: 'gpuforge', backendName: 'gpuforge', isDataSync: settings.sync }]);
setupTestFilters([], (name) => settings.filter.test(name) && inPart(name));

/** A fixed part of the specs, spread over all of them. */
function inPart(name: string): boolean {
  if (!settings.part) return true;
  const [k, n] = settings.part;
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return (hash >>> 0) % n === k;
}
