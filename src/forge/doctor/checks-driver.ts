// Area driver: version, branch, module flavour, mismatch, Secure Boot, and which branch to install where none is.

import {
  type ComputeCapability,
  compareCc,
  compareVersions,
  factValue,
  formatCc,
  type Gpu,
  isGiven,
  type Machine,
} from '../machine.ts';
import { describeGpu, nameOf } from './checks-gpu.ts';
import { installing, rebuilding, signingKey } from './packages.ts';
import { type Context, type Finding, type Fix, finding, fix } from './types.ts';
import { anotherDriver, type Change, onKernel } from './whose-driver.ts';

const SECURE_BOOT = '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c';
const TURING: ComputeCapability = { major: 7, minor: 5 };
const ADA: ComputeCapability = { major: 8, minor: 9 };
const BLACKWELL: ComputeCapability = { major: 10, minor: 0 };

/** Branches and their support, from NVIDIA's page of supported drivers (reviewed 2026-11). */
const LONG_TERM = 580;
const PRODUCTION = 595;
const SHORT_LIVED: readonly number[] = [590, 610, 615];

export async function checkDrivers(context: Context): Promise<readonly Finding[]> {
  const { nvidia, amd, intel } = context.machine.drivers;
  if (isGiven(context.machine) && (nvidia === null || !nvidia.loaded))
    return [finding('DRV-NONE', 'driver', 'skipped', 'not checked: the GPU was given, not detected')];
  const found = [
    ...(nvidia ? await checkNvidia(context) : []),
    ...(amd ? checkAmd(context) : []),
    ...(intel ? checkIntel(context) : []),
  ];
  if (found.length > 0) return found;
  return [finding('DRV-NONE', 'driver', 'skipped', 'no GPU that needs a driver')];
}

/** Not reserved for a virtual machine. */
const isOurs = (gpu: Gpu): boolean => factValue(gpu.boundDriver) !== 'vfio-pci';

function capabilities(gpus: readonly Gpu[]): readonly ComputeCapability[] {
  return gpus.flatMap((gpu) => ('source' in gpu.computeCapability ? [gpu.computeCapability.value] : []));
}

async function checkNvidia(context: Context): Promise<readonly Finding[]> {
  const { machine } = context;
  const driver = machine.drivers.nvidia!;
  const gpus = machine.gpus.filter((gpu) => gpu.vendor === 'nvidia');
  if (gpus.every((gpu) => gpu.tegra)) return [tegraDriver(context)];
  const passed = gpus.filter(isOurs);
  if (!driver.loaded) return passed.length === 0 ? [] : [notLoaded(context, passed)];
  if (driver.mismatch) {
    return [
      finding('DRV-MISMATCH', 'driver', 'error', 'the kernel module and the library are of different versions', {
        evidence: [driver.mismatch, 'every NVML and CUDA call fails with "Driver/library version mismatch"'],
        fix: onKernel(
          context,
          'Reboot. Without a reboot: stop what uses the GPU, then reload the modules.',
          'sudo reboot',
          'sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia',
        ),
      }),
    ];
  }
  const found = [...probeTrouble(context), ...(await versionTrouble(context, passed))];
  if (found.some(({ status }) => status === 'error' || status === 'warning')) return found;
  const version = 'source' in driver.version ? driver.version.value : 'of unknown version';
  const cuda = 'source' in driver.cuda ? `, CUDA up to ${driver.cuda.value}` : '';
  const flavour = 'source' in driver.module ? `, ${driver.module.value} module` : '';
  const evidence = driver.libraries.map(({ path, version: own }) => `${path}${own ? ` is ${own}` : ''}`);
  return [finding('DRV-OK', 'driver', 'ok', `NVIDIA ${version}${flavour}${cuda}`, { evidence }), ...found];
}

function tegraDriver({ machine }: Context): Finding {
  const board = 'source' in machine.host.board ? machine.host.board.value : undefined;
  return finding('DRV-TEGRA', 'driver', 'ok', `the driver of the board: L4T ${board?.l4t ?? 'of unknown version'}`, {
    evidence: board ? [board.model] : [],
  });
}

function notLoaded(context: Context, gpus: readonly Gpu[]): Finding {
  const { ports, machine } = context;
  const names = gpus.map(nameOf).join(', ');
  const { host } = machine;
  const nowhere = (summary: string, evidence: readonly string[] = []): Finding =>
    finding('DRV-MISSING', 'driver', 'error', summary, { evidence, fix: installation(context, gpus) });
  if (host.platform === 'windows') return nowhere(`no NVIDIA driver for ${names}`);
  if (host.wsl !== 0) return nowhere(`Windows gives this WSL no NVIDIA driver for ${names}`);
  const evidence = ['/sys/module/nvidia does not exist'];
  if ('source' in host.container)
    return nowhere(`the host of this container has no NVIDIA driver for ${names}`, evidence);
  if (machine.drivers.nvidia!.libraries.length === 0) {
    return nowhere(`no NVIDIA driver is installed for ${names}`, evidence);
  }
  const modules = moduleFiles(context);
  const key = signingKey(host);
  if (secureBoot(ports.files.read(SECURE_BOOT)) && modules.length > 0) {
    return finding(
      'DRV-SECURE-BOOT',
      'driver',
      'error',
      'the module is installed but not loaded, and Secure Boot is on',
      {
        evidence: [...evidence, ...modules, 'Secure Boot refuses modules that are not signed by an enrolled key'],
        fix: fix(
          'Enrol the key that signed the module, then reboot.',
          ...(key === undefined ? [] : [`sudo mokutil --import ${key}`, 'sudo reboot']),
        ),
      },
    );
  }
  if (modules.length > 0) {
    return finding('DRV-NOT-LOADED', 'driver', 'error', 'the module is installed but not loaded', {
      evidence: [...evidence, ...modules],
      fix: fix('Load it; the kernel log tells why it would not.', 'sudo modprobe nvidia', 'sudo dmesg | grep -i nvrm'),
    });
  }
  return finding(
    'DRV-NO-MODULE',
    'driver',
    'error',
    `the libraries are installed, but there is no module for kernel ${ports.kernel}`,
    {
      evidence: [...evidence, `no nvidia.ko under /lib/modules/${ports.kernel}`],
      fix: fix(
        'Build it for the running kernel, then load it.',
        ...installing('kernelHeaders', host),
        ...rebuilding(host),
        'sudo modprobe nvidia',
      ),
    },
  );
}

function moduleFiles({ ports }: Context): readonly string[] {
  const root = `/lib/modules/${ports.kernel}`;
  const own = (ports.files.list(`${root}/kernel`) ?? [])
    .filter((name) => name.startsWith('nvidia'))
    .map((name) => `kernel/${name}`);
  return ['updates/dkms', 'updates', 'extra', 'extra/nvidia', 'kernel/drivers/video', ...own].flatMap((folder) =>
    (ports.files.list(`${root}/${folder}`) ?? [])
      .filter((name) => name.startsWith('nvidia.ko'))
      .map((name) => `${root}/${folder}/${name}`),
  );
}

/** Four bytes of attributes, then the value. */
function secureBoot(text: string | undefined): boolean {
  return text !== undefined && text.charCodeAt(4) === 1;
}

interface Packages {
  readonly legacy: readonly string[];
  readonly turing: readonly string[];
  readonly blackwell: readonly string[];
}

/** Only where the distribution's own package is known to fit; elsewhere the branch is named and no command guessed. */
const packages: Readonly<Record<string, Packages>> = {
  ubuntu: {
    legacy: ['sudo apt install nvidia-driver-580'],
    turing: ['sudo apt install nvidia-driver-580-open'],
    blackwell: ['sudo apt install nvidia-driver-580-open'],
  },
  debian: {
    legacy: ['sudo apt install nvidia-driver'],
    turing: ['sudo apt install nvidia-open-kernel-dkms nvidia-driver'],
    blackwell: [],
  },
  fedora: { legacy: [], turing: ['sudo dnf install akmod-nvidia'], blackwell: ['sudo dnf install akmod-nvidia'] },
  arch: {
    legacy: [],
    turing: ['sudo pacman -S nvidia-open nvidia-utils'],
    blackwell: ['sudo pacman -S nvidia-open nvidia-utils'],
  },
};

/** Cards whose branch ended before R580: no newer driver knows them. */
function lastBranch(ccs: readonly ComputeCapability[]): { branch: number; architecture: string } | undefined {
  if (ccs.some((cc) => cc.major === 2)) return { branch: 390, architecture: 'Fermi' };
  return ccs.some((cc) => cc.major === 3) ? { branch: 470, architecture: 'Kepler' } : undefined;
}

/** Maxwell, Pascal and Volta end with R580 and know no open module; Blackwell needs the open one. */
function branchFor({ machine }: Context, gpus: readonly Gpu[]): Change {
  const ccs = capabilities(gpus);
  const ended = lastBranch(ccs);
  if (ended) return { what: `Install branch ${ended.branch}`, remark: `the last for ${ended.architecture}` };
  const legacy = ccs.some((cc) => compareCc(cc, TURING) < 0);
  const generation = legacy ? 'legacy' : ccs.some((cc) => compareCc(cc, BLACKWELL) >= 0) ? 'blackwell' : 'turing';
  const commands = packages[factValue(machine.host.distribution) ?? '']?.[generation] ?? [];
  if (legacy) {
    const remark = 'the last for Maxwell, Pascal and Volta';
    return { what: `Install branch ${LONG_TERM}`, module: 'proprietary', remark, commands };
  }
  return { what: `Install branch ${LONG_TERM} (long-term) or ${PRODUCTION}`, module: 'open', commands };
}

const installation = (context: Context, gpus: readonly Gpu[]): Fix =>
  neverTogether(context.machine, gpus) ? fix(apart(gpus)) : anotherDriver(context, branchFor(context, gpus));

/**
 * R470 knows nothing newer than Ampere, R390 nothing newer than Volta; and on Linux no module drives both Blackwell and what came
 * before Turing: the open one drives the first, the proprietary one the second.
 */
function neverTogether({ host }: Machine, gpus: readonly Gpu[]): boolean {
  const ccs = capabilities(gpus);
  const newest = ccs.toSorted(compareCc).at(-1);
  if (newest === undefined) return false;
  const branch = lastBranch(ccs)?.branch;
  if (branch !== undefined) return compareCc(newest, branch === 390 ? TURING : ADA) >= 0;
  const twoModules = host.platform === 'linux' && host.wsl === 0;
  return twoModules && ccs.some((cc) => compareCc(cc, TURING) < 0) && compareCc(newest, BLACKWELL) >= 0;
}

const apart = (gpus: readonly Gpu[]): string => {
  const names = gpus.map((gpu) => nameOf(gpu));
  return `No driver serves ${names.join(' and ')} together: take the oldest or the newest card out, or give one of them to a virtual machine.`;
};

/** A probe that hung or failed is the first sign of a driver in trouble. */
function probeTrouble(context: Context): readonly Finding[] {
  return context.machine.probes
    .filter(({ tier, outcome }) => tier > 0 && (outcome === 'timeout' || outcome === 'failed'))
    .map((probe) =>
      probe.outcome === 'timeout'
        ? finding('DRV-HUNG', 'driver', 'error', `${probe.name} did not answer: the driver hangs`, {
            evidence: [probe.detail],
            fix: onKernel(
              context,
              'Look for Xid and NVRM lines in the kernel log; a reboot clears most hangs.',
              'sudo dmesg | grep -iE "xid|nvrm"',
              'sudo reboot',
            ),
          })
        : finding('DRV-PROBE', 'driver', 'warning', `${probe.name} failed`, {
            evidence: [probe.detail],
            fix: fix(
              'Run it by hand and pass what it says to gpuforge explain.',
              'nvidia-smi 2>&1 | gpuforge explain -',
            ),
          }),
    );
}

/** The first branch that knows all the cards, by the tables that the resolver goes by. */
async function firstBranch({ options }: Context, ccs: readonly ComputeCapability[]): Promise<number> {
  const [{ loadTables }, { firstBranchFor }] = await Promise.all([
    import('../data/tables.ts'),
    import('../resolve/drivers.ts'),
  ]);
  const { tables } = options.tables ?? loadTables();
  const branches = ccs.flatMap((cc) => {
    const row = tables.compute.capabilities.find((one) => one.cc === formatCc(cc) && !one.tegra);
    // Of what came before the oldest branch of the table, that branch would be a guess.
    const isListed = row && tables.cuda.branches.some(({ cuda }) => compareVersions(cuda, row.firstCuda) <= 0);
    return isListed ? (firstBranchFor(tables, row.firstCuda)?.branch ?? []) : [];
  });
  return Math.max(0, ...branches);
}

async function versionTrouble(context: Context, gpus: readonly Gpu[]): Promise<readonly Finding[]> {
  const { machine } = context;
  const driver = machine.drivers.nvidia!;
  const version = 'source' in driver.version ? driver.version.value : undefined;
  const ccs = capabilities(gpus);
  const found: Finding[] = [];
  if (version === undefined) return found;
  const branch = Number.parseInt(version, 10);
  const blackwell = ccs.some((cc) => compareCc(cc, BLACKWELL) >= 0);
  const legacy = ccs.some((cc) => compareCc(cc, TURING) < 0);
  const flavour = 'source' in driver.module ? driver.module.value : undefined;
  if (neverTogether(machine, gpus)) {
    found.push(
      finding('DRV-APART', 'driver', 'error', `driver ${version} cannot serve these cards together`, {
        evidence: gpus.map(describeGpu),
        fix: fix(apart(gpus)),
      }),
    );
    return found;
  }
  const first = await firstBranch(context, ccs);
  if (branch < first) {
    const summary = `driver ${version} is older than this GPU, which needs ${first} or newer`;
    const what = `Install branch ${LONG_TERM}${legacy ? '' : ` or ${PRODUCTION}`}`;
    const newer = anotherDriver(context, { what, module: blackwell ? 'open' : null });
    found.push(finding('DRV-TOO-OLD', 'driver', 'error', summary, { fix: newer }));
  }
  const ended = lastBranch(ccs);
  if (ended && branch > ended.branch + 9) {
    const back = { what: `Go back to branch ${ended.branch}`, remark: `the last for ${ended.architecture}` };
    const summary = `driver ${version} no longer knows ${ended.architecture} cards`;
    found.push(finding('DRV-LEGACY', 'driver', 'error', summary, { fix: anotherDriver(context, back) }));
  } else if (legacy && branch > LONG_TERM) {
    const back = { what: `Go back to branch ${LONG_TERM}`, remark: 'which is supported to June 2028' };
    const summary = `driver ${version} no longer knows Maxwell, Pascal and Volta cards`;
    found.push(finding('DRV-LEGACY', 'driver', 'error', summary, { fix: anotherDriver(context, back) }));
  }
  if (legacy && !ended && flavour === 'open') {
    const summary =
      'the open kernel module is loaded, which drives Turing and newer cards only; Maxwell, Pascal and Volta need the proprietary one';
    const what = `Install the proprietary variant of branch ${LONG_TERM}`;
    found.push(finding('DRV-MODULE', 'driver', 'error', summary, { fix: anotherDriver(context, { what }) }));
  }
  if (blackwell && flavour === 'proprietary') {
    const commands = installing('openModule', machine.host, String(branch));
    const variant = anotherDriver(context, { what: 'Install the open variant of the same driver', commands });
    const summary = 'Blackwell cards need the open kernel module; the proprietary one is loaded';
    found.push(finding('DRV-MODULE', 'driver', 'error', summary, { fix: variant }));
  }
  if (SHORT_LIVED.includes(branch)) {
    found.push(
      finding(
        'DRV-BRANCH',
        'driver',
        'info',
        `branch ${branch} is a short-lived feature branch; ${LONG_TERM} and ${PRODUCTION} are kept longer`,
      ),
    );
  } else if (branch < 535 && branch >= first) {
    const newer = ended
      ? fix(`R${ended.branch} is the last for ${ended.architecture} cards: keep it, and expect old frameworks only.`)
      : anotherDriver(context, { what: `Install branch ${LONG_TERM}` });
    found.push(
      finding('DRV-BRANCH', 'driver', 'warning', `branch ${branch} is no longer maintained`, {
        evidence: [`kernel module ${version}`],
        fix: newer,
      }),
    );
  }
  return found;
}

function checkAmd(context: Context): readonly Finding[] {
  const { machine } = context;
  const amd = machine.drivers.amd!;
  const cards = machine.gpus.filter((gpu) => gpu.vendor === 'amd' && isOurs(gpu));
  if (cards.length === 0) return [];
  if (!amd.loaded) {
    return [
      finding('AMD-NOT-LOADED', 'driver', 'error', `amdgpu is not loaded for ${cards.map(nameOf).join(', ')}`, {
        evidence: ['/sys/module/amdgpu does not exist'],
        fix: onKernel(
          context,
          'Load it; it is part of the kernel, its firmware is a package of its own.',
          'sudo modprobe amdgpu',
          ...installing('amdFirmware', machine.host),
        ),
      }),
    ];
  }
  const rocm = 'source' in amd.rocm ? `, ROCm ${amd.rocm.value}` : '; no ROCm installed, the wheels bring their own';
  return [finding('AMD-OK', 'driver', 'ok', `amdgpu${'source' in amd.version ? ` ${amd.version.value}` : ''}${rocm}`)];
}

function checkIntel(context: Context): readonly Finding[] {
  const { machine } = context;
  const intel = machine.drivers.intel!;
  const cards = machine.gpus.filter((gpu) => gpu.vendor === 'intel' && isOurs(gpu));
  const discrete = cards.filter((gpu) => factValue(gpu.kind) === 'discrete');
  const module = 'source' in intel.module ? intel.module.value : undefined;
  if (module === undefined) {
    if (cards.length === 0 || machine.host.platform !== 'linux' || machine.host.wsl !== 0) return [];
    return [
      finding('INTEL-UNBOUND', 'driver', 'warning', 'no driver is bound to the Intel GPU', {
        fix: onKernel(
          context,
          'A kernel from 6.8 on has xe and i915; the firmware package must be installed.',
          'sudo modprobe xe || sudo modprobe i915',
        ),
      }),
    ];
  }
  if (discrete.length > 0 && intel.libraries.length < 2) {
    return [
      finding('INTEL-RUNTIME', 'driver', 'warning', `${module} is bound, but the compute runtime is not installed`, {
        evidence: [
          intel.libraries.length === 0
            ? 'neither libze_loader.so.1 nor libze_intel_gpu.so.1 was found'
            : 'one of the Level Zero libraries is missing',
        ],
        fix: fix('Install the loader and the driver of Level Zero.', ...installing('levelZero', machine.host)),
      }),
    ];
  }
  return [
    finding('INTEL-OK', 'driver', 'ok', `Intel ${module}`, { evidence: intel.libraries.map(({ path }) => path) }),
  ];
}
