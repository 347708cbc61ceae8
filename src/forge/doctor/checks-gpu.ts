// Areas gpu and access: what is there, what keeps it from being used, and which node or group is in the way.

import { factValue, formatCc, type Gpu, type IntelFamily, type Machine } from '../machine.ts';
import { formatBytes } from '../style.ts';
import { type Context, type Finding, type Fix, finding, fix } from './types.ts';
import { onKernel } from './whose-driver.ts';

export function nameOf(gpu: Gpu): string {
  return 'source' in gpu.name ? gpu.name.value : gpu.id;
}

export function describeGpu(gpu: Gpu): string {
  const parts = [
    'source' in gpu.memoryBytes ? formatBytes(gpu.memoryBytes.value) : 'memory unknown',
    'source' in gpu.computeCapability ? `sm_${formatCc(gpu.computeCapability.value).replace('.', '')}` : '',
    'source' in gpu.gfx ? gpu.gfx.value : '',
    'source' in gpu.intelFamily ? gpu.intelFamily.value : '',
  ].filter((part) => part !== '');
  return `${nameOf(gpu)} (${parts.join(', ')})`;
}

/** Where the host's devices are not in sysfs either (Docker Desktop), nothing tells that it has a GPU. */
const boxed = ({ host }: Machine): string =>
  'source' in host.container ? '. A container sees a GPU only if it was started with it' : '';

/** Variables that describe another machine than this one. */
function given({ machine, ports }: Context): readonly Finding[] {
  if (machine.overrides.length === 0) return [];
  const names = Object.keys(ports.env).filter((name) => /^GPUFORGE_(?:GPU|DRIVER|OS|ARCH)$/.test(name));
  const summary = `variables take the place of detection (${machine.overrides.join(', ')}): this machine was not looked at`;
  return [
    finding('GPU-GIVEN', 'gpu', 'warning', summary, {
      evidence: names.map((name) => `${name}=${ports.env[name]}`),
      fix: fix('Unset them to examine this machine.', ...names.map((name) => `unset ${name}`)),
    }),
  ];
}

export function checkGpus(context: Context): readonly Finding[] {
  const { machine, ports } = context;
  const gpus = machine.gpus.filter((gpu) => gpu.vendor !== 'other');
  if (gpus.length === 0) {
    const adapters = machine.gpus.map((gpu) => `${nameOf(gpu)} shows pictures only`);
    return [
      ...given(context),
      finding('GPU-NONE', 'gpu', 'info', `no GPU: work runs on the processor${boxed(machine)}`, {
        evidence: adapters,
        ...('source' in machine.host.container ? { fix: handOver(machine.host.container.value, 'nvidia') } : {}),
      }),
    ];
  }
  const found: Finding[] = [
    finding('GPU-FOUND', 'gpu', 'ok', gpus.map(describeGpu).join('; '), { evidence: gpus.map(evidenceOf) }),
  ];
  for (const gpu of gpus) {
    const bound = 'source' in gpu.boundDriver ? gpu.boundDriver.value : undefined;
    const name = nameOf(gpu);
    if (bound === 'vfio-pci') {
      found.push(
        finding('GPU-VFIO', 'gpu', 'warning', `${name} is bound to vfio-pci and reserved for a virtual machine`, {
          evidence: [`/sys/bus/pci/devices/${gpu.pci?.address}/driver points to vfio-pci`],
          fix: fix('Use it inside the virtual machine, or give it back to its driver.', ...rebind(gpu)),
        }),
      );
    } else if (bound === 'nouveau' || bound === 'nova-core') {
      found.push(
        finding('GPU-NOUVEAU', 'gpu', 'error', `${name} is bound to ${bound}, which has no CUDA`, {
          evidence: [`/sys/bus/pci/devices/${gpu.pci?.address}/driver points to ${bound}`],
          fix: fix("Install NVIDIA's driver (see the driver area) and reboot; its package keeps nouveau away."),
        }),
      );
    }
    if (gpu.vendor === 'nvidia' && !('source' in gpu.computeCapability)) {
      found.push(
        finding('GPU-UNKNOWN', 'gpu', 'warning', `${gpu.id} is newer than the tables of this version`, {
          evidence: [`PCI id ${gpu.pci?.vendorId}:${gpu.pci?.deviceId}`, gpu.computeCapability.reason],
          fix: fix(
            'Update gpuforge, or install koffi so that the driver can be asked.',
            'npm install gpuforge@latest koffi',
          ),
        }),
      );
    }
    if (gpu.pci?.power === 'suspended') {
      found.push(finding('GPU-ASLEEP', 'gpu', 'info', `${name} sleeps; it was not asked, so as not to wake it`));
    }
    if ('source' in gpu.mig && gpu.mig.value.enabled) {
      const count = gpu.mig.value.instances.length;
      // Only the driver library lists instances; inside a container and in a batch job it sees those that were handed over only.
      const isPart = 'source' in machine.host.container || ports.env.SLURM_JOB_ID !== undefined;
      const certain = gpu.mig.source === 'nvml' && !isPart;
      const look = fix(
        'List the instances. Whoever runs this machine decides how it is split; a change ends what others run on it.',
        'nvidia-smi -L',
      );
      if (count > 0) found.push(finding('GPU-MIG', 'gpu', 'info', `${name} is split by MIG into ${count} instances`));
      else if (certain)
        found.push(
          finding('GPU-MIG-EMPTY', 'gpu', 'error', `${name} has MIG on but shows no instance: nothing can run on it`, {
            fix: look,
          }),
        );
      else
        found.push(
          finding('GPU-MIG-UNKNOWN', 'gpu', 'info', `${name} has MIG on; its instances could not be listed`, {
            fix: look,
          }),
        );
    }
  }
  found.push(...given(context), ...mixed(gpus), ...hidden(machine, ports.env));
  return found;
}

function evidenceOf(gpu: Gpu): string {
  const place =
    gpu.pci && gpu.pci.address !== '' ? `${gpu.pci.address} ${gpu.pci.vendorId}:${gpu.pci.deviceId}` : gpu.id;
  return `${place}: ${nameOf(gpu)}, ${gpu.usable ? 'usable' : gpu.blockers.join('; ')}`;
}

function rebind(gpu: Gpu): readonly string[] {
  const address = gpu.pci?.address ?? '';
  const driver = moduleOf(gpu);
  return [
    `echo ${address} | sudo tee /sys/bus/pci/drivers/vfio-pci/unbind`,
    `echo ${address} | sudo tee /sys/bus/pci/drivers/${driver}/bind`,
  ];
}

/** The kernel's driver of a GPU; Intel's newer families are driven by xe alone. */
function moduleOf(gpu: Gpu): string {
  if (gpu.vendor === 'nvidia') return 'nvidia';
  if (gpu.vendor === 'amd') return 'amdgpu';
  return XE_ONLY.has(factValue(gpu.intelFamily)) ? 'xe' : 'i915';
}

const XE_ONLY: ReadonlySet<IntelFamily | undefined> = new Set(['battlemage', 'lunar-lake', 'panther-lake']);

function mixed(gpus: readonly Gpu[]): readonly Finding[] {
  const targets = gpus.flatMap((gpu) =>
    'source' in gpu.computeCapability ? [formatCc(gpu.computeCapability.value)] : [],
  );
  const kinds = [...new Set(targets)];
  if (kinds.length < 2) return [];
  const summary = `NVIDIA cards of different generations (${kinds.join(', ')}): a build must serve all of them`;
  return [
    finding('GPU-MIXED', 'gpu', 'info', summary, {
      fix: fix(
        'gpuforge resolve finds a build for all, or the CUDA_VISIBLE_DEVICES that leaves one out.',
        'gpuforge resolve',
      ),
    }),
  ];
}

function hidden(machine: Context['machine'], env: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  if (machine.warnings.length === 0) return [];
  const names = machine.visibility.map(({ name }) => name).filter((name) => env[name] !== undefined);
  return [
    finding('GPU-HIDDEN', 'gpu', 'warning', 'variables hide devices or make their order uncertain', {
      evidence: machine.warnings,
      fix: fix('Correct the variable, or unset it.', ...names.map((name) => `unset ${name}`)),
    }),
  ];
}

export function checkAccess(context: Context): readonly Finding[] {
  const { machine, ports } = context;
  const gpus = machine.gpus.filter((gpu) => gpu.vendor !== 'other' && 'source' in gpu.access);
  const found: Finding[] = [];
  const seen = new Set<string>();
  for (const gpu of gpus) {
    const access = 'source' in gpu.access ? gpu.access.value : undefined;
    if (!access || access.state === 'ok' || seen.has(access.detail)) continue;
    if (gpu.vendor === 'nvidia' && machine.drivers.nvidia?.loaded === false) continue;
    seen.add(access.detail);
    found.push(access.state === 'denied' ? denied(context, gpu, access.detail) : absent(context, gpu, access.detail));
  }
  const nvidia = machine.gpus.some((gpu) => gpu.vendor === 'nvidia' && gpu.usable && !gpu.tegra && gpu.pci?.address);
  if (nvidia && ports.platform === 'linux' && machine.host.wsl === 0 && !ports.files.exists('/dev/nvidia-uvm')) {
    const then = 'source' in machine.host.container ? ' Then start the container again, with the GPU.' : '';
    found.push(
      finding('ACC-UVM', 'access', 'error', '/dev/nvidia-uvm does not exist: CUDA cannot start', {
        fix: onKernel(
          context,
          `Load the module nvidia-uvm and make its node.${then}`,
          'sudo modprobe nvidia-uvm',
          'sudo nvidia-modprobe -u -c=0',
        ),
      }),
    );
  }
  if (found.length > 0) return found;
  if (gpus.length === 0) return [finding('ACC-NONE', 'access', 'skipped', 'no device nodes to check')];
  const evidence = gpus.flatMap((gpu) => ('source' in gpu.access ? [gpu.access.value.detail] : []));
  return [
    finding('ACC-OK', 'access', 'ok', 'the device nodes may be read and written', { evidence: [...new Set(evidence)] }),
  ];
}

function denied({ machine }: Context, gpu: Gpu, detail: string): Finding {
  const named = /group (\S+)/.exec(detail)?.[1] ?? 'render';
  const group = named === '0' || named === 'root' ? undefined : named;
  return finding('ACC-DENIED', 'access', 'error', `no permission: ${detail}`, {
    fix:
      'source' in machine.host.container
        ? lend(machine.host.container.value, gpu.vendor, group ?? 'render')
        : fix('Join the group, then log in again.', `sudo usermod -aG ${group ?? 'render,video'} "$USER"`),
  });
}

/** A container knows its own groups only: it is started with the number of the host's. */
function lend(container: string, vendor: Gpu['vendor'], group: string): Fix {
  if (container === 'kubernetes') {
    return fix(`Give the pod the number of the group ${group} of its node: securityContext, supplementalGroups.`);
  }
  const number = `$(getent group ${group} | cut -d: -f3)`;
  if (container === 'lxc') {
    return fix(
      `Give the device to a group of the container, on the host: GID is the number of the group ${group} inside.`,
      'lxc config device set CONTAINER gpu gid=GID',
    );
  }
  return fix(
    'Start the container with the number that the group has on the host.',
    `docker run ${flags(vendor)} --group-add "${number}" IMAGE`,
  );
}

function absent(context: Context, gpu: Gpu, detail: string): Finding {
  const { host } = context.machine;
  if (!('source' in host.container)) {
    return finding('ACC-NODES', 'access', 'error', `${detail}`, {
      fix: fix(
        'Load the module and make its nodes.',
        `sudo modprobe ${moduleOf(gpu)}`,
        ...(gpu.vendor === 'nvidia' ? ['sudo nvidia-modprobe -c=0 -u'] : []),
      ),
    });
  }
  return finding('ACC-CONTAINER', 'access', 'error', `this container was given no GPU: ${detail}`, {
    evidence: [`${nameOf(gpu)} is in the host, and visible in sysfs`],
    fix: handOver(host.container.value, gpu.vendor, moduleOf(gpu)),
  });
}

/** What hands the GPUs of a vendor over to a container. */
const flags = (vendor: Gpu['vendor']): string =>
  vendor === 'nvidia' ? '--gpus all' : vendor === 'amd' ? '--device /dev/kfd --device /dev/dri' : '--device /dev/dri';

/** How each kind of container is given a GPU. */
function handOver(container: string, vendor: Gpu['vendor'], module = ''): Fix {
  if (container === 'kubernetes') {
    const resource = vendor === 'intel' ? `gpu.intel.com/${module}` : `${vendor}.com/gpu`;
    return fix(
      `Ask for it in the pod: resources, limits, "${resource}: 1". The cluster needs the maker's device plugin.`,
    );
  }
  if (container === 'lxc') {
    return fix(
      'Give it to the container, on the host. On Proxmox: a device passthrough for each of its nodes.',
      'lxc config device add CONTAINER gpu gpu',
      ...(vendor === 'nvidia' ? ['lxc config set CONTAINER nvidia.runtime true'] : []),
    );
  }
  return fix(
    'Start the container with the GPU.',
    `docker run ${flags(vendor)}${vendor === 'nvidia' ? '' : ' --group-add render'} IMAGE`,
    ...(vendor === 'nvidia' ? ['podman run --device nvidia.com/gpu=all IMAGE'] : []),
  );
}
