// --offline of every command that looks at the machine, as the setting it stands for: network.offline decides what uses the
// network, whether it comes from the command line, a variable or the file.

import type { Command } from 'commander';

export const offlineOption = (command: Command): Command => command.option('--offline', 'leave the network alone');

export interface Offline {
  readonly offline?: boolean | undefined;
}

/** What `nodePorts` is given for the flags of a command. */
export const offlinePorts = (flags: Offline): { readonly env?: Readonly<Record<string, string | undefined>> } =>
  flags.offline ? { env: { ...process.env, GPUFORGE_OFFLINE: 'true' } } : {};
