// A device that does nothing: what is left of a call's time is the runtime's own. It stands for a GPU, so its buffers are not the
// collector's and it could be lost.

import type { Capabilities, Device, DeviceBuffer, Mark } from '../../src/devices/device.ts';

const done: Mark = { done: () => true, whenDone: async () => {}, since: () => 0 };

/** `like`: whose dtypes, functions and routines it claims to have. */
export function noopDevice(like: Device): Device {
  const caps: Capabilities = { ...like.caps, name: 'nothing', immortal: false, host: false };
  return {
    id: 'noop:0',
    caps,
    allocate: (bytes): DeviceBuffer => ({ bytes, collected: false }),
    release: () => {},
    write: () => {},
    read: async (src, _offset, length = src.bytes) => new Uint8Array(length),
    readSync: (src, _offset, length = src.bytes) => new Uint8Array(length),
    prepare: (work) => ({ name: work.name, source: '' }),
    launch: () => {},
    record: () => ({ replay: () => {}, dispose: () => {} }),
    mark: () => done,
    memory: () => ({ total: 2 ** 36, free: 2 ** 36 }),
    trim: () => {},
    lost: new Promise(() => {}),
    close: async () => {},
  };
}
