// The machine around the GPUs: operating system, container, WSL, virtual machine, cloud, board. Files only, no network.

import { type Fact, type HostSystem, known, missing } from '../machine.ts';
import type { Ports } from '../ports.ts';

type Container = 'docker' | 'podman' | 'kubernetes' | 'lxc' | 'other';
type Cloud = 'aws' | 'gcp' | 'azure' | 'oracle' | 'digitalocean' | 'alibaba';

export function readHost(ports: Ports): HostSystem {
  const { files } = ports;
  const linux = ports.platform === 'linux';
  const release = linux ? osRelease(ports) : {};
  const wsl = linux ? wslVersion(ports) : 0;
  const dmi = linux ? firmware(ports) : '';
  const rosetta = ports.platform === 'macos' && ports.arch === 'x64' && /apple/i.test(ports.cpuModel);
  return {
    platform: ports.platform,
    arch: ports.arch,
    rosetta,
    kernel: ports.kernel,
    name: operatingSystem(ports, release),
    distribution: release.ID ? known(release.ID, 'file') : missing('no /etc/os-release'),
    glibc: linux ? glibcVersion(ports) : missing('not a Linux system'),
    cpu: ports.cpuModel ? known(ports.cpuModel, 'os') : missing('the operating system names no processor'),
    cores: ports.cores,
    memoryBytes: ports.memoryBytes > 0 ? known(ports.memoryBytes, 'os') : missing('not told by the operating system'),
    wsl,
    container: linux ? containerKind(ports) : missing('not a Linux system'),
    hypervisor: linux ? hypervisor(dmi) : missing('only told on Linux'),
    cloud: linux ? cloud(dmi) : missing('only told on Linux'),
    board: linux ? board(files.read('/proc/device-tree/model'), ports) : missing('not a Linux system'),
  };
}

function osRelease(ports: Ports): Readonly<Record<string, string | undefined>> {
  const text = ports.files.read('/etc/os-release') ?? ports.files.read('/usr/lib/os-release') ?? '';
  const entries = text.split('\n').flatMap((line) => {
    const found = /^([A-Z_]+)=(.*)$/.exec(line.trim());
    return found ? [[found[1]!, found[2]!.replace(/^["']|["']$/g, '')] as const] : [];
  });
  return Object.fromEntries(entries);
}

function operatingSystem(ports: Ports, release: Readonly<Record<string, string | undefined>>): Fact<string> {
  switch (ports.platform) {
    case 'linux': {
      const name = release.PRETTY_NAME ?? release.NAME;
      return name ? known(name, 'file') : missing('no /etc/os-release');
    }
    case 'windows': {
      const build = Number(ports.kernel.split('.')[2] ?? 0);
      return known(`Windows ${build >= 22_000 ? 11 : 10} (build ${build})`, 'os');
    }
    case 'macos':
      return known(`macOS ${macosVersion(ports.kernel)}`, 'os', `from Darwin ${ports.kernel}`);
    case 'other':
      return missing('an operating system this tool does not know');
    default:
      return ports.platform satisfies never;
  }
}

/** Darwin 20 to 24 are macOS 11 to 15; from Darwin 25 on the names jumped to 26. */
function macosVersion(darwin: string): number {
  const major = Number.parseInt(darwin, 10);
  return major >= 25 ? major + 1 : major - 9;
}

function wslVersion(ports: Ports): 0 | 1 | 2 {
  if (!/microsoft/i.test(ports.kernel)) return 0;
  return ports.files.exists('/dev/dxg') || /wsl2/i.test(ports.kernel) ? 2 : 1;
}

/** `ldd` is a script of glibc that names its version; reading the library itself would cost more than all else together. */
function glibcVersion(ports: Ports): Fact<string> {
  const script = /\((?:.*GLIBC.*|GNU libc)\) (\d+\.\d+)/.exec(ports.files.read('/usr/bin/ldd') ?? '');
  if (script) return known(script[1]!, 'file');
  for (const folder of libraryFolders(ports)) {
    const named = /libc-(\d+\.\d+)\.so/.exec(ports.files.link(`${folder}/libc.so.6`) ?? '');
    if (named) return known(named[1]!, 'file');
  }
  const isMusl = ports.files.exists(`/lib/ld-musl-${ports.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`);
  return missing(isMusl ? 'musl, not glibc' : 'not a glibc system, or one without ldd');
}

/** Folders that hold shared libraries, the usual ones of this architecture first. */
export function libraryFolders(ports: Ports): readonly string[] {
  const triple = ports.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return [`/usr/lib/${triple}`, `/lib/${triple}`, '/usr/lib64', '/usr/lib', '/run/opengl-driver/lib'];
}

type Marker<T> = { readonly value: T; readonly here: (ports: Ports) => boolean };

const containers: readonly Marker<Container>[] = [
  { value: 'kubernetes', here: (p) => p.env.KUBERNETES_SERVICE_HOST !== undefined },
  { value: 'podman', here: (p) => p.files.exists('/run/.containerenv') },
  { value: 'docker', here: (p) => p.files.exists('/.dockerenv') },
  {
    value: 'lxc',
    here: (p) =>
      /^lx[cd]/.test(p.env.container ?? '') ||
      p.files.exists('/dev/lxd') ||
      /^lxc/.test(p.files.read('/run/systemd/container') ?? ''),
  },
  { value: 'other', here: (p) => p.env.container !== undefined },
];

/** The first process's control group, where the runtime left its name in it. */
const groups: readonly (readonly [name: Container, word: string])[] = [
  ['kubernetes', 'kubepods'],
  ['docker', '/docker/'],
  ['lxc', '/lxc'],
];

function containerKind(ports: Ports): Fact<Container> {
  const found = containers.find((marker) => marker.here(ports));
  if (found) return known(found.value, 'file');
  const group = ports.files.read('/proc/1/cgroup') ?? '';
  const name = groups.find(([, word]) => group.includes(word))?.[0];
  return name ? known(name, 'proc') : missing('no sign of a container');
}

const DMI = '/sys/class/dmi/id';
/** Every instance on Azure carries this chassis tag. */
const AZURE_TAG = '7783-7084-3265-9085-8269-3286-77';

/** Words of the firmware, in lower case, looked for in this order. */
const hypervisors: readonly (readonly [name: string, words: readonly string[]])[] = [
  ['VMware', ['vmware']],
  ['VirtualBox', ['virtualbox']],
  ['Hyper-V', ['microsoft corporation\nvirtual machine']],
  ['Amazon EC2', ['amazon ec2']],
  ['Google Compute Engine', ['google compute engine']],
  ['KVM/QEMU', ['qemu', 'kvm', 'bochs', 'rhev', 'openstack']],
  ['Xen', ['xen']],
];

const clouds: readonly (readonly [name: Cloud, words: readonly string[]])[] = [
  ['aws', ['amazon ec2']],
  ['gcp', ['google']],
  ['azure', [AZURE_TAG]],
  ['oracle', ['oraclecloud']],
  ['digitalocean', ['digitalocean']],
  ['alibaba', ['alibaba cloud']],
];

function firmware(ports: Ports): string {
  const names = ['sys_vendor', 'product_name', 'bios_vendor', 'chassis_asset_tag', 'board_asset_tag'];
  if (!ports.files.exists(DMI)) return '';
  return names.map((name) => ports.files.read(`${DMI}/${name}`)?.trim().toLowerCase() ?? '').join('\n');
}

function named<T>(rows: readonly (readonly [T, readonly string[]])[], text: string): T | undefined {
  return rows.find(([, words]) => words.some((word) => text.includes(word)))?.[0];
}

function hypervisor(dmi: string): Fact<string> {
  const name = named(hypervisors, dmi);
  return name ? known(name, 'sysfs') : missing('the firmware names no hypervisor');
}

function cloud(dmi: string): Fact<Cloud> {
  const name = named(clouds, dmi);
  return name ? known(name, 'sysfs') : missing('the firmware names no cloud provider');
}

function board(modelText: string | undefined, ports: Ports): HostSystem['board'] {
  const { files } = ports;
  const compatible = files.read('/proc/device-tree/compatible') ?? '';
  const soc = /nvidia,(tegra\d+)/.exec(compatible)?.[1] ?? null;
  const l4t = parseL4t(files.read('/etc/nv_tegra_release'));
  const model = modelText?.replaceAll('\0', '').trim();
  if (model && (soc !== null || /nvidia|jetson/i.test(model))) {
    return known({ model, soc, l4t }, 'device-tree');
  }
  const product = files.read(`${DMI}/product_name`)?.trim();
  if (product && /dgx.?spark|jetson/i.test(product)) return known({ model: product, soc, l4t }, 'sysfs');
  return missing('not an NVIDIA board');
}

/** "# R36 (release), REVISION: 4.3, …" is L4T 36.4.3. */
function parseL4t(text: string | undefined): string | null {
  const found = text === undefined ? null : /R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)/.exec(text);
  return found ? `${found[1]}.${found[2]}` : null;
}
