// The functions of `gpuforge/routing`, with checks of what they are given. The library itself calls them without.

import { having, kindTable, oneOf } from '../../base/kinds.ts';
import { layerKinds } from '../../base/layer-kinds.ts';
import { operationTypes } from '../../base/operations.ts';
import { checked, checkMethods } from '../../base/signatures.ts';
import { isDevice } from '../../devices/argument.ts';
import * as curve from './curve.ts';
import * as disk from './disk-store.ts';
import { makingKinds, setupOptions } from './more-signatures.ts';
import * as opening from './open.ts';
import * as options from './options.ts';
import * as reason from './reason.ts';
import * as store from './store.ts';
import * as work from './work.ts';

const kinds = kindTable({
  ...makingKinds,
  device: isDevice,
  known: having('{ profile, learned, measuredAt }', ['profile', 'learned']),
  env: layerKinds.environment,
  curve: having('a curve of a profile: { x, y }', ['x', 'y']),
  step: having('a kernel or a routine', ['kind', 'estimate'], 'kernels and routines'),
  named: oneOf(operationTypes),
  never: { is: (v: unknown) => v === false, words: 'false' },
});

const calibration = 'signal:signal,onProgress:function,budgetMs:number,onFailure:function,timeoutMs:number';

const openedSignatures: Readonly<Record<string, string>> = {
  calibrate: `async devices:device[] options:{${calibration},clock:function}?`,
  save: '',
};

const storeSignatures: Readonly<Record<string, string>> = {
  load: 'device:device',
  save: 'device:device known:known',
  clear: '',
};

const openArguments = `async devices:device[] options:settings more:{${calibration},${setupOptions},force:flag,always:flag,leaveOut:flag}?`;
/** The time of an amount of work on a curve, in µs. */
export const at = checked('at', 'curve:curve amount:number', curve.at, kinds);
/** The folder where measurements of this machine are kept. */
export const routingFolder = checked('routingFolder', 'env:env home:text', disk.routingFolder, kinds);
/**
 * Opens a router. Devices are measured only where there is a choice to be made: mode `measured` and at least two devices. `always`
 * measures what is not known even so, `force` what is known too.
 */
export const openRouter = checked(
  'openRouter',
  openArguments,
  async (...args: Parameters<typeof opening.openRouter>): Promise<opening.OpenRouter> => {
    const opened = await opening.openRouter(...args);
    checkMethods(opened, openedSignatures, kinds);
    return opened;
  },
  kinds,
);
/** Checks options, adds what the environment says, and fills in the defaults. */
export const resolveRouting = checked('resolveRouting', 'options:settings? env:env?', options.resolveRouting, kinds);
/** A time in µs as text: '3.9 ms'. */
export const time = checked('time', 'us:number', reason.time, kinds);
/** Where measurements of devices are kept: a folder, null for the user's, false for memory only. */
export const openProfileStore = checked(
  'openProfileStore',
  'async cache:text|never|null',
  async (cache: string | false | null): Promise<store.ProfileStore> => {
    const opened = await store.openProfileStore(cache);
    const { folder } = opened;
    const outside: store.ProfileStore = {
      folder,
      load: (device) => opened.load(device),
      save: (device, known) => opened.save(device, known),
      clear: () => opened.clear(),
    };
    checkMethods(outside, storeSignatures, kinds);
    return outside;
  },
  kinds,
);
/** What work is called in the router's books: the name its caller gave it, else the class of its costliest kernel. */
export const operationOf = checked('operationOf', 'work:work declared:named|null?', work.operationOf, kinds);
/** The work of an operation of which only the name and the size are known. */
export const typicalWork = checked('typicalWork', 'op:named elements:number', work.typicalWork, kinds);
/** Kernels and routines as the cost model sees them. */
export const workOf = checked('workOf', 'steps:step[]', work.workOf, kinds);
