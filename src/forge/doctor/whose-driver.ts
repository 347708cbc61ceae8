// Who can change the driver of this machine: its own system, the host of a container, Windows under WSL, or the host of a virtual GPU.
//
// A container and WSL use the kernel of another system: what is installed in them drives nothing, so they are given the sentence
// and no command. So are cards that a hypervisor shares out, whose driver must go with the one of their host.

import { factValue, type Gpu, type Machine } from '../machine.ts';
import { type Context, type Fix, fix } from './types.ts';

/** A part of a card, by the profile in its name: "NVIDIA A10-24Q", "GRID T4-16C". */
const PROFILE = /-\d+[ABCQ]$/;

const isShared = ({ name }: Gpu): boolean => PROFILE.test(factValue(name) ?? '');

const isWindows = ({ host }: Machine): boolean => host.platform === 'windows' || host.wsl !== 0;

/** A fix to the kernel side of this machine; in a container it is done on the host, so no command is given. */
export function onKernel({ machine }: Context, text: string, ...commands: readonly string[]): Fix {
  return 'source' in machine.host.container ? fix(`On the host, not in here: ${text}`) : fix(text, ...commands);
}

export interface Change {
  /** "Install branch 580" */
  readonly what: string;
  /** "the last for Kepler" */
  readonly remark?: string;
  /** The module that the cards need on Linux. */
  readonly module?: 'open' | 'proprietary' | null;
  readonly commands?: readonly string[];
}

/** Another NVIDIA driver, where and from whom this machine can get it. */
export function anotherDriver(context: Context, change: Change): Fix {
  const { machine } = context;
  const { what, remark, module = null, commands = [] } = change;
  if (machine.gpus.some(isShared))
    return fix(
      'This is a virtual GPU: its driver comes from whoever runs the host, in the release that goes with the driver of the host.',
    );
  const note = remark === undefined ? '' : `, ${remark}`;
  if (isWindows(machine)) {
    const where = machine.host.wsl === 0 ? '' : 'In Windows, not in here: ';
    return fix(`${where}${what}${note}, from nvidia.com/drivers.`);
  }
  const flavour = module === null ? '' : ` with the ${module} module`;
  return onKernel(context, `${what}${flavour}${note}, then reboot.`, ...commands);
}
