// A device of the user's own: looked over before a runtime takes it, so that what is missing is named here and not in a crash later.

import type { Device } from '../devices/device.ts';
import { ArgumentError } from '../errors.ts';

/** What a device must have, by kind. */
const required: Readonly<Record<string, 'string' | 'object' | 'function'>> = {
  id: 'string',
  caps: 'object',
  lost: 'object',
  allocate: 'function',
  release: 'function',
  write: 'function',
  read: 'function',
  prepare: 'function',
  launch: 'function',
  mark: 'function',
  memory: 'function',
  trim: 'function',
  close: 'function',
};

/** The device, if it has what the contract asks for. */
export function checkDevice(device: Device): Device {
  const members = device as unknown as Record<string, unknown>;
  const missing = Object.entries(required).filter(([name, kind]) => typeof members[name] !== kind);
  const named = typeof device.id === 'string' ? device.id : 'a device';
  if (missing.length > 0) {
    throw notADevice(`${named} has no ${missing.map(([name, kind]) => `${name} (${kind})`).join(', ')}`);
  }
  if (device.id === '') throw notADevice('its id is empty');
  const { dtypes, native, routines, maxBuffers, maxBufferBytes, syncRead } = device.caps;
  if (!(dtypes instanceof Set) || !(routines instanceof Set) || typeof native !== 'object' || native === null)
    throw notADevice(`${named}: caps.dtypes and caps.routines must be Sets, caps.native a table of Sets`);
  if (!(maxBuffers >= 2) || !(maxBufferBytes > 0))
    throw notADevice(`${named}: caps.maxBuffers is ${maxBuffers}, caps.maxBufferBytes is ${maxBufferBytes}`);
  if (syncRead && typeof device.readSync !== 'function')
    throw notADevice(`${named}: caps.syncRead says that it has readSync, and it has not`);
  return device;
}

function notADevice(why: string): ArgumentError {
  return new ArgumentError({
    code: 'NOT_A_DEVICE',
    message: `createRuntime: ${why}`,
    fix: 'docs/devices.md lists what a device must have; `checkConformance` of gpuforge/devices tells more.',
    where: 'createRuntime',
  });
}
