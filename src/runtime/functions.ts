// Functions of the main entry that are cheap inside and checked outside: the library itself calls them without checks.

import * as dtype from '../base/dtype.ts';
import { oneOf } from '../base/kinds.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import { isDevice } from '../devices/argument.ts';
import type { Device } from '../devices/device.ts';
import * as faults from '../governor/recovery/faults.ts';
import { runtimeKinds } from './signatures.ts';

const oneDType = 'dtype:dtype';

/** Bytes of one element. @example byteSize('f64') // → 8 */
export const byteSize = checked('byteSize', oneDType, dtype.byteSize, runtimeKinds);

/** The float dtype in which `div`, `exp`, `mean` … of this dtype are computed. @example floatFor('i32') // → 'f64' */
export const floatFor = checked('floatFor', oneDType, dtype.floatFor, runtimeKinds);

/** The dtype in which a reduction of this dtype accumulates. @example accumulatorFor('f16') // → 'f32' */
export const accumulatorFor = checked('accumulatorFor', oneDType, dtype.accumulatorFor, runtimeKinds);

const isPlan = (v: unknown): boolean =>
  runtimeKinds.object.is(v) && Array.isArray((v as { readonly faults?: unknown }).faults);

const faultKinds = {
  ...runtimeKinds,
  device: isDevice,
  plan: { is: isPlan, words: '{ faults: [{ at, nth, as }] }' },
  fault: oneOf(faults.faultKinds),
};

const faultySignatures = { counters: '', lose: 'reason:text?', plan: 'plan:plan' };
let areChecked = false;

/**
 * Wraps a device so that chosen calls fail.
 * @example withFaults(rt.device('cpu'), { faults: [{ at: 'launch', nth: 3, as: 'lost' }] }).counters().live // → 0
 */
export const withFaults = checked(
  'withFaults',
  'device:device plan:plan?',
  (device: Device, plan?: faults.FaultPlan): faults.FaultyDevice => {
    const faulty = faults.withFaults(device, plan);
    // Not when this file is loaded: pages that inject no faults should not load them either.
    if (!areChecked) checkMethods(Object.getPrototypeOf(faulty), faultySignatures, faultKinds);
    areChecked = true;
    return faulty;
  },
  faultKinds,
);

/** A plan from a seed: one to three faults within the first `calls` calls. */
export const randomFaults = checked(
  'randomFaults',
  'seed:number calls:number kinds:fault[]?',
  faults.randomFaults,
  faultKinds,
);
