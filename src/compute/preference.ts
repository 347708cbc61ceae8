// What a caller may ask of a device, checked.

import { ArgumentError } from '../index.ts';
import { checkOptions, flag, oneOf, type Rule } from '../profile/options.ts';
import type { DevicePreference } from './types.ts';

const preferenceRules: Readonly<Record<keyof DevicePreference, Rule>> = {
  preferGPU: flag,
  requireGPU: flag,
  minMemory: [(v) => typeof v === 'number' && v >= 0, 'a number of bytes'],
  maxLoad: [(v) => typeof v === 'number' && v >= 0 && v <= 1, 'a number from 0 to 1'],
  unknown: oneOf('accept', 'reject'),
  software: oneOf('accept', 'reject'),
};

export function checkPreference(preference: DevicePreference, operation: string): void {
  checkOptions(operation, 'preference', preference, preferenceRules);
  if (preference.requireGPU && preference.preferGPU === false) {
    throw new ArgumentError({
      message: `${operation}: requireGPU together with preferGPU: false`,
      where: operation,
      fix: 'Leave one of them out.',
    });
  }
}
