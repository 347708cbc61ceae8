// How arguments that are devices are known.

import type { Kind } from '../base/signatures.ts';

export const isDevice: Kind = {
  is: (v) => typeof v === 'object' && v !== null && 'allocate' in v && 'caps' in v && 'launch' in v,
  words: 'a device',
  many: 'devices',
};
