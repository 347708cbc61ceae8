// Where a fact came from, in the words that are printed; JSON keeps the names of the code.

import type { Source } from '../machine.ts';

export const sourceNames: Readonly<Record<Source, string>> = {
  sysfs: 'sysfs',
  proc: 'proc',
  kfd: 'kfd',
  'device-tree': 'device tree',
  file: 'file',
  os: 'system',
  env: 'environment',
  registry: 'registry',
  'pci-table': 'table',
  nvml: 'nvml',
  smi: 'nvidia-smi',
  tool: 'tool',
  override: 'given',
};
