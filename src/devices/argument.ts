// How arguments that are devices are known.

import { having } from '../base/kinds.ts';

export const isDevice = having('a device', ['allocate', 'caps', 'launch'], 'devices');
