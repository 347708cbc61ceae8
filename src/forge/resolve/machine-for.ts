// The machine a command works for: this one by detection, or another by description.
//
// A described machine goes through the same entry point of detection as an override. What belongs to the computer the command
// happens to run on (its C library, its container, its WSL) must not leak into the answer for another one.

import { ArgumentError } from '../../errors.ts';
import { detect } from '../detect/detect.ts';
import { driverVersion, namesIn, type Override } from '../detect/override.ts';
import { type Arch, type Machine, missing, type Platform } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { asWord } from '../text/plain.ts';
import { instanceOf, instances } from './instances.ts';

export interface MachineFlags {
  /** --for and --gpu: names, PCI ids, sm_89 or gfx1100; several for several cards. */
  readonly for?: readonly string[];
  readonly gpu?: readonly string[];
  /** --for-instance: a cloud instance by its type. */
  readonly forInstance?: string;
  readonly driver?: string;
  readonly os?: string;
  readonly arch?: string;
  readonly cache?: boolean;
}

const PLATFORMS: readonly Platform[] = ['linux', 'windows', 'macos'];
const ARCHS: readonly Arch[] = ['x64', 'arm64'];
const SYNONYMS: Readonly<Record<string, string>> = {
  win: 'windows',
  win32: 'windows',
  mac: 'macos',
  darwin: 'macos',
  osx: 'macos',
  x86_64: 'x64',
  amd64: 'x64',
  aarch64: 'arm64',
};

/** What a product tells about the computer around it. */
const implied: readonly { readonly name: RegExp; readonly platform?: Platform; readonly arch: Arch }[] = [
  { name: /^(?:apple\s*)?m[1-9](?: (?:pro|max|ultra))?$/i, platform: 'macos', arch: 'arm64' },
  {
    name: /\b(?:GB10|GH200|GB200|GB300|DGX ?Spark|Grace|Project DIGITS|IGX|Jetson|Xavier|Orin|Thor|TX[12])\b/i,
    arch: 'arm64',
  },
];

export async function machineFor(
  ports: Ports,
  flags: MachineFlags,
  options: { readonly cacheLifeMs?: number; readonly cache?: boolean } = {},
): Promise<Machine> {
  const override = overrideOf(flags);
  const { machine } = await detect(ports, {
    cache: (flags.cache ?? true) && (options.cache ?? true),
    ...(options.cacheLifeMs === undefined ? {} : { cacheLifeMs: options.cacheLifeMs }),
    override,
  });
  return override.gpus || override.platform ? elsewhere(machine, override) : machine;
}

export function overrideOf(flags: MachineFlags): Override {
  const instance = flags.forInstance === undefined ? undefined : instanceOf(flags.forInstance);
  const cards = instance ? Array.from({ length: instance.count }, () => instance.gpu) : [];
  const named = [...(flags.for ?? []), ...(flags.gpu ?? [])];
  const gpus = [...cards, ...named.flatMap(namesIn)];
  // An empty name comes from an empty variable of a script: this machine instead would be a guess.
  if (named.length > 0 && gpus.length === 0) {
    throw new ArgumentError({
      code: 'UNKNOWN_GPU',
      message: `${flags.for ? '--for' : '--gpu'}: "${named.join(',')}" names no GPU`,
      fix: 'Give a product name ("RTX 4090"), or leave the option out to use this machine.',
      where: 'forge.resolve',
    });
  }
  if (instance && named.length > 0) {
    throw new ArgumentError({
      code: 'FORGE_BAD_VALUE',
      message: `--for-instance: ${flags.forInstance} has its own GPU (${instance.gpu}), and --for names another`,
      fix: 'Give one of the two.',
      where: 'forge.resolve',
    });
  }
  const type = gpus.find((text) => instances.some((one) => one.type.toLowerCase() === text.toLowerCase()));
  if (type !== undefined) {
    throw new ArgumentError({
      code: 'UNKNOWN_GPU',
      message: `--gpu: "${type}" is a cloud instance, not a GPU`,
      fix: `Give it as --for-instance ${type}.`,
      where: 'forge.resolve',
    });
  }
  const hint = implied.find((row) => gpus.some((text) => row.name.test(text)));
  const platform = flags.os === undefined ? (instance ? 'linux' : hint?.platform) : oneOf(flags.os, PLATFORMS, '--os');
  const arch =
    flags.arch === undefined
      ? (instance?.arch ?? hint?.arch ?? (platform === 'macos' ? 'arm64' : undefined))
      : oneOf(flags.arch, ARCHS, '--arch');
  return {
    ...(gpus.length > 0 ? { gpus } : {}),
    ...(flags.driver === undefined ? {} : { driver: driverVersion(flags.driver, '--driver') }),
    ...(platform === undefined ? {} : { platform }),
    ...(arch === undefined ? {} : { arch }),
  };
}

function elsewhere(machine: Machine, override: Override): Machine {
  const unknown = missing('another machine was described');
  return {
    ...machine,
    host: {
      ...machine.host,
      ...(override.platform === undefined && machine.host.wsl > 0 ? {} : { wsl: 0 as const }),
      rosetta: false,
      name: unknown,
      distribution: unknown,
      glibc: unknown,
      container: unknown,
      cloud: unknown,
    },
    visibility: [],
  };
}

function oneOf<T extends string>(value: string, allowed: readonly T[], flag: string): T {
  const plain = asWord(value);
  const found = allowed.find((entry) => entry === (SYNONYMS[plain] ?? plain));
  if (found !== undefined) return found;
  throw new ArgumentError({
    code: 'FORGE_BAD_VALUE',
    message: `${flag}: "${value}" is not one of ${allowed.join(', ')}`,
    fix: `Use one of ${allowed.join(', ')}.`,
    where: 'forge.resolve',
  });
}
