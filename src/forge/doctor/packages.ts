// Which packages hold what a finding asks for, by the distribution of the machine or its package manager.
//
// A command is given only where the package is known to exist there; elsewhere the sentence of the fix stands alone.
// Names from packages.debian.org, packages.ubuntu.com, packages.fedoraproject.org, rpmfusion.org, archlinux.org/packages and
// software.opensuse.org; reviewed 2026-11.

import { factValue, type HostSystem } from '../machine.ts';

type Manager = 'apt' | 'dnf' | 'pacman' | 'zypper';

/** Distributions by their package manager: the ID of os-release. */
const distributions: Readonly<Record<Manager, string>> = {
  apt: 'debian ubuntu linuxmint pop elementary zorin neon kali raspbian',
  dnf: 'fedora nobara rhel rocky almalinux centos ol',
  pacman: 'arch manjaro endeavouros cachyos garuda',
  zypper: 'opensuse-leap opensuse-tumbleweed sles',
};

const verbs: Readonly<Record<Manager, string>> = {
  apt: 'sudo apt install',
  dnf: 'sudo dnf install',
  pacman: 'sudo pacman -S',
  zypper: 'sudo zypper install',
};

/** A distribution that differs from its relatives has its own entry. KERNEL and BRANCH stand for those that run. */
const packages = {
  kernelHeaders: { apt: 'linux-headers-KERNEL', dnf: 'kernel-devel-KERNEL' },
  libcuda: {
    debian: 'libcuda1',
    ubuntu: 'libnvidia-compute-BRANCH',
    linuxmint: 'libnvidia-compute-BRANCH',
    fedora: 'xorg-x11-drv-nvidia-cuda',
    pacman: 'nvidia-utils',
  },
  openModule: { ubuntu: 'nvidia-driver-BRANCH-open', linuxmint: 'nvidia-driver-BRANCH-open', arch: 'nvidia-open' },
  amdFirmware: {
    apt: 'linux-firmware',
    debian: 'firmware-amd-graphics',
    kali: 'firmware-amd-graphics',
    dnf: 'amd-gpu-firmware',
    pacman: 'linux-firmware-amdgpu',
    zypper: 'kernel-firmware-amdgpu',
  },
  levelZero: {
    apt: 'libze1 libze-intel-gpu1 intel-opencl-icd',
    dnf: 'oneapi-level-zero intel-level-zero intel-opencl',
    pacman: 'level-zero-loader intel-compute-runtime',
  },
  vulkanLoader: { apt: 'libvulkan1', dnf: 'vulkan-loader', pacman: 'vulkan-icd-loader', zypper: 'libvulkan1' },
  vulkanDrivers: { apt: 'mesa-vulkan-drivers', dnf: 'mesa-vulkan-drivers', pacman: 'vulkan-swrast' },
  containerToolkit: {
    apt: 'nvidia-container-toolkit',
    dnf: 'nvidia-container-toolkit',
    pacman: 'nvidia-container-toolkit',
    zypper: 'nvidia-container-toolkit',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

function managerOf(host: HostSystem): Manager | undefined {
  const id = factValue(host.distribution);
  return id === undefined ? undefined : managers.find((name) => distributions[name].split(' ').includes(id));
}

const managers = Object.keys(distributions) as readonly Manager[];

/** The command that installs it; none where no package is known. */
export function installing(what: keyof typeof packages, host: HostSystem, branch = ''): readonly string[] {
  const manager = managerOf(host);
  const named: Readonly<Record<string, string>> = packages[what];
  const found = manager && (named[factValue(host.distribution)!] ?? named[manager]);
  if (!found) return [];
  return [`${verbs[manager]} ${found.replaceAll('KERNEL', host.kernel).replaceAll('BRANCH', branch)}`];
}

/** Builds the modules of drivers again for the running kernel. */
export function rebuilding(host: HostSystem): readonly string[] {
  const commands: Partial<Record<Manager, string>> = {
    apt: 'sudo dkms autoinstall',
    pacman: 'sudo dkms autoinstall',
    dnf: 'sudo akmods --force',
  };
  const command = commands[managerOf(host) ?? 'zypper'];
  return command === undefined ? [] : [command];
}

/** The key that signs modules built on this machine; undefined where its place is not known. */
export function signingKey(host: HostSystem): string | undefined {
  if (factValue(host.distribution) === 'ubuntu') return '/var/lib/shim-signed/mok/MOK.der';
  const keys: Partial<Record<Manager, string>> = {
    apt: '/var/lib/dkms/mok.pub',
    dnf: '/etc/pki/akmods/certs/public_key.der',
  };
  return keys[managerOf(host) ?? 'zypper'];
}
