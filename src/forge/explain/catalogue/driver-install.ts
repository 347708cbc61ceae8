// Faults of installing the NVIDIA driver: the module cannot be built, signed, loaded or replaced.

import { capture, code, phrase } from '../patterns.ts';
import { asRoot, run, say } from '../steps.ts';
import type { Context, ErrorClass, RepairStep } from '../types.ts';
import { DRIVER } from './links.ts';

/** How a module is built again; each vendor's has a folder of its own. */
const build = ({ vendor }: Context): readonly RepairStep[] => [
  asRoot('Install the headers of the running kernel and a compiler: linux-headers-$(uname -r) and build-essential.'),
  asRoot('Build the module again.', 'dkms', 'autoinstall'),
  asRoot(
    `Its log says what failed: /var/lib/dkms/${vendor === 'amd' ? 'amdgpu' : 'nvidia'}/*/build/make.log. A kernel newer than the driver needs a newer driver.`,
  ),
  ...(vendor === 'amd'
    ? [
        asRoot(
          'The driver of the kernel itself serves most cards: ROCm installs without its own module.',
          'amdgpu-install',
          '--usecase=rocm',
          '--no-dkms',
        ),
      ]
    : []),
];

/** Packages that hold a driver or the vendor's libraries, as distributions call them. */
const PACKAGE = String.raw`(?:lib(?:32-|64)?|kmod-|akmod-|xorg-x11-drv-|dkms-|primus-)?(?:nvidia|cuda|amdgpu|rocm|rock-dkms|roc(?:blas|r|minfo|tracer)|hsa-|hsakmt|hip(?:-(?:runtime|dev|base|samples|rocclr)|blas|fft|rand|solver|sparse)|miopen-|rccl|intel-(?:opencl|level-zero|igc|gpu|i915|compute)|ze-intel|ze1)[\w.:-]*`;

/** A sentence about such a package. */
const ofPackage = (sentence: RegExp): RegExp => new RegExp(sentence.source.replaceAll('PACKAGE', PACKAGE), 'i');

/** How to take the driver's packages away and install them anew, by the package manager that a line shows. */
const MANAGERS: readonly (readonly [shown: RegExp, steps: readonly RepairStep[]])[] = [
  [
    /\bpacman\b|\bare in conflict\b|\btarget not found\b|\bbreaks dependency\b|\bexists in filesystem\b|\bfailed to prepare transaction\b/i,
    [
      asRoot('Bring the whole system to one state: a partial upgrade mixes versions.', 'pacman', '-Syu'),
      asRoot(
        'Of two branches of the driver (nvidia-utils, nvidia-470xx-utils) remove one before the other is installed.',
      ),
    ],
  ],
  [
    /\b(?:dnf5?|yum|rpm)\b|\.(?:fc|el)\d+\b|\bno match for argument\b|\bunable to find a match\b|\bconflicting requests\b/i,
    [
      run(
        'See which sources there are: RPM Fusion and the repository of NVIDIA exclude each other.',
        'dnf',
        'repolist',
      ),
      asRoot('Remove the packages of the driver.', 'dnf', 'remove', '*nvidia*'),
      asRoot('Then install one branch from one source.'),
    ],
  ],
  [
    /\bzypper\b|\bto be installed \S+ requires\b|\bneeded by the to be installed\b|\bNo provider of\b|\bnot found in package names\b/i,
    [
      asRoot('Read the lists anew.', 'zypper', 'refresh'),
      asRoot('Let it choose the versions that belong together.', 'zypper', 'dup', '--allow-vendor-change'),
    ],
  ],
];

const APT: readonly RepairStep[] = [
  asRoot('Remove all of them.', 'apt-get', 'purge', '-y', '^nvidia-.*', '^libnvidia-.*'),
  asRoot('Read the lists anew; a key error asks for the package cuda-keyring of NVIDIA.', 'apt-get', 'update'),
  asRoot('Then install one branch from one source.'),
];

const anew = ({ vendor, line }: Context): readonly RepairStep[] => {
  const steps = MANAGERS.find(([shown]) => shown.test(line))?.[1] ?? APT;
  return vendor === 'amd' && steps === APT
    ? [asRoot('Remove all of them.', 'amdgpu-install', '--uninstall', '--rocmrelease=all'), ...APT.slice(1)]
    : steps;
};

export const driverInstallClasses: readonly ErrorClass[] = [
  {
    code: 'gpu-firmware',
    severity: 'error',
    title: 'The kernel driver finds no firmware for the GPU',
    patterns: [
      capture(/Direct firmware load for (?<file>(?:amdgpu|radeon|i915|xe|nvidia)\/\S+) failed/i),
      capture(
        /\b(?:amdgpu|radeon|i915|xe|nvidia)\b[^\n]*\b(?:GuC|HuC|GSC|GSP|PSP|SMU|microcode|firmware)\b[^\n]*(?:fetch failed|failed to (?:load|fetch)|not found|missing|-ENOENT)[^\n]*/i,
      ),
      capture(/\b(?:i915|xe)\b[^\n]*\b(?:GuC|HuC) (?:initialization|init\w*|load) failed[^\n]*/i),
      capture(/\bloading \S*\/firmware\/(?<file>(?:amdgpu|radeon|i915|xe|nvidia)\/\S+) failed with error/i),
      capture(/\*ERROR\*[^\n]*\b(?:GuC|HuC)\b[^\n]*(?:timeout|failed)|\*ERROR\* Failed to initialize (?:GuC|HuC)\b/i),
    ],
    explains: ['hip-fault', 'hip-none', 'xpu-none', 'gpu-lost'],
    cause: ({ got }) =>
      `${got.file ?? 'A file'} of the firmware package is missing or older than the GPU: new cards need a new linux-firmware, also in the image that starts the kernel.`,
    fix: () => [
      asRoot(
        'Update the firmware package: linux-firmware (Debian: firmware-amd-graphics, firmware-misc-nonfree; Fedora: amd-gpu-firmware).',
      ),
      asRoot('Rebuild the initial file system, then reboot.', 'update-initramfs', '-u'),
      run('The kernel must know the GPU too: new cards need a new kernel.', 'uname', '-r'),
    ],
    links: ['https://gitlab.com/kernel-firmware/linux-firmware'],
  },
  {
    code: 'dkms-build',
    severity: 'error',
    title: 'The kernel module of the driver cannot be built',
    patterns: [
      // Other modules are built the same way; a text that names one of them alone is not about the GPU.
      capture(
        /Bad return status for module build on kernel:? ?(?<kernel>[\w.+-]+)?/i,
        /nvidia|amdgpu|i915|^(?![\s\S]*\/dkms\/)/i,
      ),
      capture(
        /Building (?:module|initial module) (?:\S+ )?(?:for|failed)[^\n]*nvidia|nvidia[^\n]*Building module[^\n]*\n[^\n]*\(bad exit status/i,
      ),
      capture(
        /(?:kernel headers|Kernel headers|kernel source)[^\n]{0,60}(?:cannot be found|could not be found|not (?:be )?found|unable to find)/i,
      ),
      capture(/Missing \S+ kernel headers for module nvidia|module nvidia\S* [^\n]*kernel headers/i),
      capture(/(?:akmods|dkms|nvidia)\S*\.service[\s\S]{0,200}Active: failed/i),
      capture(/(?:^|\/)nvidia(?:-(?:drm|uvm|modeset|peermem))?\/\S+\.[ch]:\d+:\d+: (?:fatal )?error: (?<what>[^\n]+)/m),
      phrase(/does not match the compiler used to build (?:your|the) (?:running )?kernel/i),
      phrase(/\bCC version check failed|kernel was (?:built|compiled) with [^\n]{0,60}but the current compiler/i),
      phrase(/Unable to find the kernel source tree for the currently running kernel/i),
      capture(/`?dkms install [^\n]*(?:nvidia|amdgpu)[^\n]*-k (?<kernel>[\w.+-]+)'? exited [1-9]/i),
      capture(/\bnvidia\S*: version magic '(?<built>\S+)[^'\n]*' should be '(?<kernel>[\w.+-]+)/i),
      phrase(/\(bad exit status: [1-9]\d*\)/i, /\bNV_VERBOSE=|\b(?:nvidia|amdgpu)\b/i),
      phrase(/Module\.symvers file is missing|NVIDIA\s+kernel modules to be built against a configuration/i),
      phrase(
        /Unable to open '[^'\n]*dkms\.conf'|Could not find module source directory[^\n]*nvidia|dkms\.conf[^\n]*does not exist/i,
      ),
      phrase(
        /An error occurred while performing the step: "(?:Building kernel modules|Checking to see whether the nvidia)/i,
      ),
      phrase(/Unable to (?:build|load) the (?:NVIDIA )?kernel module|Unable to load the kernel module '?nvidia/i),
      capture(/Consult (?:the )?\S*\/var\/lib\/dkms\/(?:nvidia|amdgpu)\S*make\.log/i),
      capture(/\/var\/lib\/dkms\/(?:nvidia|amdgpu)\S*:\d+:\d*:? (?:fatal )?error:/i),
      capture(
        /\bdkms\b[^\n]*(?:nvidia[^\n]*(?:fail|error)|(?:fail|error)[^\n]*nvidia)|Failed to run `\S*dkms build[^\n]*/i,
      ),
      phrase(
        /Failed to (?:install|build|load) (?:the )?(?:kernel )?module (?:through DKMS|'?(?:nvidia|amd(?:gpu|kfd))\w*)/i,
      ),
      phrase(/(?:modpost|ERROR): [^\n]*GPL-incompatible module nvidia/i),
      capture(/(?:nvidia|kernel|kernel-open)\/(?:nvidia\S*\/)?(?:nv|uvm|os)[\w-]*\.[ch]:\d+:\d+: error:/i),
      capture(/builder for '\S*-(?:nvidia-x11|nvidia-open)\S*' failed|(?:Makefile\S*: |\/)nv\w*\.o\] Error \d+/i),
      phrase(/\bnvidia\w*: disagrees about version of symbol/),
    ],
    explains: ['smi-no-comm', 'driver-packages'],
    cause: ({ got }) =>
      `The driver's module could not be compiled${got.kernel ? ` for kernel ${got.kernel}` : ''}: the headers of the running kernel are missing, or the driver is older than the kernel.`,
    fix: build,
    links: [DRIVER],
  },
  {
    code: 'module-in-use',
    severity: 'error',
    title: 'The old driver is still in use',
    patterns: [
      capture(/An NVIDIA kernel (?:module )?'?(?<module>nvidia[\w-]*)'? appears to (?:be )?already (?:be )?loaded/i),
      capture(/\bModule (?<module>nvidia\w*|amdgpu|nouveau) is in use\b/i),
      phrase(/You appear to be running an X server; please exit X/i),
      phrase(/alternate (?:driver )?installation(?: method)? of the (?:NVIDIA )?driver/i),
    ],
    cause: ({ got }) => `${got.module ?? 'The module'} is loaded and something uses it, so it cannot be replaced.`,
    fix: () => [
      asRoot('Leave the desktop: no window system may run.', 'systemctl', 'isolate', 'multi-user.target'),
      asRoot('Stop what keeps the GPU open.', 'systemctl', 'stop', 'nvidia-persistenced'),
      asRoot('Then install, and reboot.'),
    ],
    links: [DRIVER],
  },
  {
    code: 'driver-packages',
    severity: 'error',
    title: 'The driver packages do not fit together',
    patterns: [
      capture(
        ofPackage(
          /\b(?<package>(?:linux-modules-)?PACKAGE) ?: Depends: [^\n]*\bbut [^\n]*(?:is to be installed|is not (?:going to be )?install\w+)/,
        ),
      ),
      code(ofPackage(/needed by the to be installed (?<other>PACKAGE)/)),
      capture(ofPackage(/(?<package>PACKAGE) :? ?(?:(?:Pre-)?Depends|Conflicts|Breaks):/)),
      capture(ofPackage(/unmet dependencies[^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*\b(?<package>PACKAGE)/)),
      capture(
        ofPackage(
          /(?:Unable to locate package|No package(?: matching)? '?|No match for argument: ?|Unable to find a match: ?) ?(?<package>PACKAGE)/,
        ),
      ),
      capture(ofPackage(/held broken packages[^\n]*(?<package>PACKAGE)/)),
      capture(ofPackage(/encountered while processing:\s*\n(?:[^\n]*\n){0,6}?[^\n]*?\b(?<package>(?:lib)?PACKAGE)/)),
      capture(ofPackage(/dpkg: error processing (?:package|archive) \S*?(?<package>PACKAGE)/)),
      capture(ofPackage(/(?:trying to overwrite|conflicts with)[^\n]*\b(?<package>PACKAGE)/)),
      {
        ...code(
          /NO_PUBKEY A4B469963BF863CC|(?:nvidia\.com|nvidia\.github\.io|repo\.radeon\.com|repositories\.intel\.com)[^\n]*(?:not signed|NO_PUBKEY|EXPKEYSIG|Release' is no longer|does not have a Release file)|Unsupported distribution![^\n]*\n?[^\n]*nvidia|Conflicting values set for option Signed-By[^\n]*(?:nvidia|radeon|intel)\./,
        ),
        named: true,
      },
      capture(ofPackage(/(?<package>PACKAGE) (?:depends on|conflicts with|breaks|requires|but it is not)/)),
      capture(
        ofPackage(
          /conflicts between attempted installs of \S*?(?<package>PACKAGE)|breaks dependency '(?<other>PACKAGE)/,
        ),
      ),
      // The same in other languages, and as zypper, pacman, emerge and nix put it.
      capture(
        ofPackage(
          /(?<package>PACKAGE) ?: ?(?:Hängt ab von|Dépend|Depende(?: de)?|Dipende|Zależy|Зависит|依赖|依存) ?[:：]|(?<other>PACKAGE)\b[^\n]{0,80}(?:entre en conflit avec|steht in Konflikt|kollidiert mit|en conflicto con|in conflitto con|冲突|конфликт)/,
        ),
      ),
      capture(
        ofPackage(
          /No provider of '(?<package>PACKAGE)|'(?<other>PACKAGE)' not found in package names|target not found: (?<third>PACKAGE)|unable to satisfy dependency '[^'\n]*' required by (?<fourth>PACKAGE)|(?:removing|installing) (?<fifth>PACKAGE) [^\n]*breaks dependency|there are no ebuilds to satisfy[^\n]*(?<sixth>PACKAGE)|(?<eighth>PACKAGE) and \S+ are in conflict|\S+ and (?<ninth>PACKAGE) are in conflict|(?<seventh>PACKAGE)[^\n]*\b(?:is filtered out by|exists in filesystem|is masked by|is marked as broken|has an unfree license)/,
        ),
      ),
      capture(ofPackage(/dependency problems[^\n]*\b(?<package>PACKAGE)/)),
      capture(
        ofPackage(
          /package (?<package>PACKAGE) (?:requires|conflicts|from)|nothing provides [^\n]*needed by (?:the to be installed )?(?<other>PACKAGE)/,
        ),
      ),
    ],
    cause: ({ got }) =>
      `${got.package ?? 'A driver package'} asks for others that are not there: packages of two sources or of two driver branches are mixed, or the repository's key is out of date.`,
    fix: anew,
    links: [DRIVER],
  },
  {
    code: 'secure-boot',
    severity: 'error',
    title: 'Secure Boot refuses the module',
    patterns: [
      phrase(/Key was rejected by service/i),
      phrase(/nvidia[^\n]*module verification failed: signature and\/or required key missing/i),
      phrase(
        /(?:loading|Loading) of (?:unsigned module|module with unavailable key) is rejected|Lockdown: \w+: unsigned module loading is restricted/i,
      ),
      phrase(/Required key not available|PKCS#7 signature not signed with a trusted key/i),
      phrase(/kernel module failed to load\.? +Secure boot is enabled/i),
    ],
    explains: ['smi-no-comm', 'dkms-build'],
    cause: () => 'The kernel module is not signed with a key that this machine trusts.',
    fix: () => [
      asRoot(
        'Enrol the key with which DKMS signs, then reboot and confirm it.',
        'mokutil',
        '--import',
        '/var/lib/dkms/mok.pub',
      ),
      say('Or turn Secure Boot off in the firmware.'),
    ],
    links: ['https://wiki.debian.org/SecureBoot'],
  },
  {
    code: 'nouveau',
    severity: 'warning',
    title: 'The nouveau driver holds the card',
    patterns: [
      phrase(/The Nouveau kernel driver is currently in use by your system/i),
      capture(/Kernel driver in use: nouveau/i),
      phrase(/NVIDIA probe routine was not called|obtained ownership of the NVIDIA device/i),
      capture(/NVRM:[^\n]*(?:already bound to|conflicting with)[^\n]*nouveau/i),
    ],
    explains: ['smi-no-comm'],
    cause: () => 'nouveau is bound to the NVIDIA card, so the NVIDIA driver cannot be.',
    fix: () => [
      asRoot(
        'Block nouveau: write "blacklist nouveau" and "options nouveau modeset=0" to /etc/modprobe.d/blacklist-nouveau.conf.',
      ),
      asRoot('Rebuild the initial file system, then reboot.', 'update-initramfs', '-u'),
      asRoot('Install the NVIDIA driver.'),
    ],
    links: [DRIVER],
  },
  {
    code: 'open-module',
    severity: 'error',
    title: 'The kernel module is of the wrong kind for this GPU',
    patterns: [
      phrase(
        /requires use of the NVIDIA open kernel modules|Open nvidia\.ko is only ready for use|OpenRmEnableUnsupportedGpus/i,
      ),
      phrase(
        /not supported by open (?:nvidia\.ko|kernel module)|does not include the required GPU|open kernel modules? (?:do(?:es)? not|don't) support/i,
      ),
    ],
    explains: ['smi-no-comm', 'no-devices', 'gpu-lost'],
    cause: () =>
      'Blackwell and newer need the open module, Turing to Hopper take either, Maxwell to Volta the proprietary one only.',
    fix: () => [
      asRoot(
        'Install the other kind: nvidia-open for Turing and newer, the proprietary module of R580 for older GPUs.',
      ),
      run('See which GPU it is.', 'lspci', '-nn', '-d', '10de:'),
    ],
    links: [DRIVER],
  },
  {
    code: 'driver-gpu',
    severity: 'error',
    title: 'This driver does not know the GPU',
    patterns: [
      capture(/is supported (?:through|by) the NVIDIA (?<branch>\d{3})\.xx Legacy drivers/i),
      phrase(/ignoring the legacy GPU|NVRM: No NVIDIA (?:graphics adapter|GPU)s? (?:found|probed)/i),
      capture(/do not appear to have an NVIDIA GPU supported by the (?<driver>[\d.]+)/i),
      capture(/NVIDIA GPU[^\n]{0,100}not supported by the (?:NVIDIA )?(?<driver>\d{3}[\d.]*)[^\n]{0,20}driver/i),
      phrase(
        /(?:could not|cannot|can't) find compatible graphics hardware|NVIDIA [Gg]raphics [Dd]river is not compatible with (?:your|this) (?:device|hardware|GPU)|no compatible (?:NVIDIA )?hardware (?:was )?found/i,
      ),
    ],
    explains: ['smi-no-comm', 'no-devices', 'dkms-build'],
    cause: ({ got }) =>
      got.branch
        ? `This GPU is too old for the driver: branch ${got.branch} is the last one that drives it.`
        : `Driver ${got.driver ?? 'of this version'} is older than the GPU, or has dropped it; or no NVIDIA card is in the machine.`,
    fix: ({ got }) => [
      got.branch
        ? asRoot(`Install driver branch ${got.branch}.`)
        : asRoot('Install the branch for the GPU: R470 for Kepler, R580 for Maxwell to Volta, the newest otherwise.'),
      run('See which GPU it is.', 'lspci', '-nn', '-d', '10de:'),
      run('And which driver fits it.', 'gpuforge', 'doctor'),
    ],
    links: [DRIVER],
  },
];
