// The option that names kinds of devices, the same for every command that has it.

import { Option } from 'commander';

export const kindOption = (): Option =>
  new Option('--device <kind...>', 'only these kinds').choices(['cuda', 'webgpu', 'cpu']);
