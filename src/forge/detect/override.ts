// A machine described by the user, for images that build without a GPU and for advice about another machine.
//
// An override replaces detection, is shown in every result, and works where there is no GPU. A name that no table knows is an
// error that lists near ones: a wrong guess here would install the wrong build.

import { ArgumentError } from '../../errors.ts';
import type { Arch, Platform } from '../machine.ts';
import { listed } from '../text/listed.ts';
import { plainLine } from '../text/plain.ts';
import { namesIn } from './name-wrap.ts';

export interface Override {
  /** Product names ("RTX 4090"), PCI ids ("10de:2684"), "sm_89" or "gfx1100"; several for several cards. */
  readonly gpus?: readonly string[];
  readonly driver?: string;
  readonly platform?: Platform;
  readonly arch?: Arch;
}

/** The overrides the environment gives: GPUFORGE_GPU (comma-separated), GPUFORGE_DRIVER, GPUFORGE_OS, GPUFORGE_ARCH. */
export function overrideFromEnv(env: Readonly<Record<string, string | undefined>>): Override {
  return {
    ...(env.GPUFORGE_GPU ? { gpus: namesIn(env.GPUFORGE_GPU) } : {}),
    ...(env.GPUFORGE_DRIVER ? { driver: driverVersion(env.GPUFORGE_DRIVER, 'GPUFORGE_DRIVER') } : {}),
    ...(env.GPUFORGE_OS ? { platform: oneOf(env.GPUFORGE_OS, ['linux', 'windows', 'macos'], 'GPUFORGE_OS') } : {}),
    ...archFromEnv(env),
  };
}

/** A Mac is one of Apple's own, unless it is said. */
function archFromEnv({
  GPUFORGE_ARCH: arch,
  GPUFORGE_OS: system,
}: Readonly<Record<string, string | undefined>>): Override {
  if (arch) return { arch: oneOf(arch, ['x64', 'arm64'], 'GPUFORGE_ARCH') };
  return system === 'macos' ? { arch: 'arm64' } : {};
}

/** A driver as it is given, if it reads like one: a branch or a version. */
export function driverVersion(text: string, from: string): string {
  if (/^\d{3}(\.\d{1,3}){0,2}$/.test(text)) return text;
  throw new ArgumentError({
    code: 'FORGE_BAD_DRIVER',
    message: `${from}: "${plainLine(text)}" is no driver version`,
    fix: 'Give a branch or a version, such as 570 or 570.124.06.',
    where: 'override',
  });
}

function oneOf<T extends string>(value: string, allowed: readonly T[], where: string): T {
  const found = allowed.find((entry) => entry === value);
  if (found !== undefined) return found;
  throw new ArgumentError({
    code: 'UNKNOWN_VALUE',
    message: `${where}: "${value}" is not one of ${allowed.join(', ')}`,
    fix: `Set it to one of ${allowed.join(', ')}, or unset it.`,
    where,
  });
}

export function isEmpty(override: Override): boolean {
  return Object.keys(override).length === 0;
}

export function describeOverride(override: Override): readonly string[] {
  return [
    ...(override.gpus ? [`GPU: ${listed(override.gpus)}`] : []),
    ...(override.driver ? [`driver: ${override.driver}`] : []),
    ...(override.platform ? [`operating system: ${override.platform}`] : []),
    ...(override.arch ? [`architecture: ${override.arch}`] : []),
  ];
}

export { namesIn } from './name-wrap.ts';
