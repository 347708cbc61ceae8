// Faults of the NVIDIA driver that is, or should be, there: missing, not loaded, of two versions, or lost on the way.

import { capture, code, named, phrase, symptom } from '../patterns.ts';
import { asRoot, here, installDriver, reinstall, run, say, unset } from '../steps.ts';
import type { ErrorClass, Facts } from '../types.ts';
import { COMPAT, DRIVER, MINOR, RUNTIME, WSL } from './links.ts';
import { xidRow } from './xid.ts';

const XID = 'https://docs.nvidia.com/deploy/xid-errors/index.html';

const bound = (facts: Facts, driver: string): boolean =>
  facts.machine.gpus.some((gpu) => 'source' in gpu.boundDriver && gpu.boundDriver.value === driver);

export const driverClasses: readonly ErrorClass[] = [
  {
    code: 'driver-missing',
    severity: 'error',
    title: 'No NVIDIA driver is found',
    patterns: [
      capture(/Function "(?<call>cu[A-Z]\w+)" not found/),
      capture(
        /(?:unable|cannot|could not|failed) (?:to )?(?:load|open)[^\n]{0,20}(?<library>libnvidia-(?:ptxjitcompiler|nvvm|fatbinaryloader)\.so[.\d]*)/i,
      ),
      phrase(
        /Found no NVIDIA driver on your system|\bCUDA\.jl did not successfully initialize|\bCUDA driver not found/i,
      ),
      capture(
        /(?<library>libcuda\.so(?:\.1)?|libnvidia-ml\.so(?:\.1)?|nvcuda\.dll|nvml\.dll)['"]?(?::| could| not|\b.{0,20}(?:cannot open|not found|could not be found))/i,
        /cannot open|not found|could not|No such file/i,
      ),
      code(
        /failed call to cuInit: (?:UNKNOWN ERROR|INTERNAL|CUDA_ERROR\S*|CUresult) ?\((?:303|302|-1)\)|\(30[23]\): cudaGetErrorName symbol not found/i,
      ),
      phrase(
        /NVML Shared Library Not Found|NVMLError_LibraryNotFound|CUDA driver library cannot be found|CUDA driver is not (?:installed|found)/i,
      ),
      phrase(/kernel driver does not appear to be running on this host|CUDA driver initialization failed/i),
      phrase(/couldn't find libnvidia-ml\.so|nvidia-persistenced failed to initialize/i),
      phrase(/nvml error: driver not loaded|Driver Not Loaded/i),
      phrase(
        /(?:cannot|can't|could not|unable to) load nvcuda\.dll|Unable to dynamically load the "cuda" shared library/i,
      ),
    ],
    unless:
      /is not a symbolic link|nvidia-container-cli|libcuda\.so cannot found|nvidia-drm module will not be installed|level=/i,
    explains: ['no-devices', 'cuda-lib-missing', 'tf-no-gpu', 'ollama-no-gpu'],
    cause: (context) =>
      context.facts?.driver
        ? `The program does not find the driver's library, although driver ${context.facts.driver} is loaded: a container without GPU access, or a library path that hides it.`
        : `The program asks for the NVIDIA driver and finds none${here(context)}.`,
    fix: (context) => [
      ...installDriver(context),
      ...(context.facts && !context.facts.nvidia
        ? [
            say('This machine shows no NVIDIA GPU: use the CPU build, or the build for the GPU that it has.'),
            ...reinstall(context),
          ]
        : []),
    ],
    links: [DRIVER, WSL],
  },
  {
    code: 'driver-too-old',
    severity: 'error',
    title: 'The driver is older than the build needs',
    patterns: [
      phrase(/CUDA driver version[^\n]{0,20}is (?:lower|older) than/i),
      code(/\bUnsupportedCUDAError\b/),
      capture(/NVIDIA driver on your system is too old(?: \(found version (?<number>\d+)\))?/i),
      phrase(/CUDA driver version is insufficient for CUDA runtime version/i),
      capture(
        /(?:built|made|compiled) for NVIDIA Driver Release (?<needs>[\d.]+) or later,? but\s+version (?<driver>[\d.]+) was detected/i,
      ),
      capture(
        /driver (?:version )?(?<driver>\d{3}\.\d+(?:\.\d+)?)[^\n]{0,40}(?:is too old|is older than|does not meet the minimum)/i,
      ),
      phrase(
        /(?:update|upgrade) your (?:GPU|NVIDIA|CUDA) driver|driver (?:is )?too old\b|CUDA driver was found, but it is too old|\bOptiX\b[^\n]*(?:Unsupported ABI version|requires a newer driver)|OPTIX_ERROR_UNSUPPORTED_ABI_VERSION/i,
      ),
      phrase(/NVMLError_FunctionNotFound|\bnvml\w*[^\n]{0,60}Function Not Found/i),
      phrase(/\bInsufficient CUDA driver\b|\bcuda (?:driver|runtime)\b[^\n]{0,60}\b(?:error|code) 35\b/i),
    ],
    cuda: [35, 36],
    unless: /nvidia-container-cli|cuda\s*>=/i,
    explains: ['no-devices', 'ollama-no-gpu'],
    cause: (context) =>
      `The driver${context.got.found ? ` (it offers CUDA ${context.got.found})` : ''} is below the minimum of the CUDA family that the program was built with${here(context)}.`,
    fix: (context) => [
      ...reinstall(context),
      asRoot(
        'Or install a newer driver: 580 or newer for CUDA 13 builds, 525.60.13 (Windows 528.33) for CUDA 12 builds.',
      ),
    ],
    links: [MINOR],
  },
  {
    code: 'nvml-mismatch',
    severity: 'error',
    title: 'Driver module and libraries have different versions',
    patterns: [
      capture(/Driver\/library version mismatch(?:\s+NVML library version: (?<nvml>[\d.]+))?/i),
      code(/NVRM: API mismatch: the client[^\n]*has the version (?<nvml>[\d.]+)/),
      capture(/kernel version (?<module>[\d.]+) does not match DSO version (?<nvml>[\d.]+)/i),
      phrase(/\bNVML\/RM version mismatch/i),
    ],
    explains: ['no-devices', 'driver-missing', 'docker-nvidia-cli', 'cuda-unknown'],
    cause: (context) =>
      `The driver's libraries${context.got.nvml ? ` (${context.got.nvml})` : ''} were upgraded, but the kernel still runs the old module${context.facts?.machine.drivers.nvidia?.mismatch ? `: ${context.facts.machine.drivers.nvidia.mismatch}` : ''}.`,
    fix: () => [
      asRoot('Reboot: that loads the new module.', 'reboot'),
      asRoot(
        'Or stop everything that uses the GPU and reload the module.',
        'rmmod',
        'nvidia_drm',
        'nvidia_modeset',
        'nvidia_uvm',
        'nvidia',
      ),
      asRoot('Then load it again.', 'modprobe', 'nvidia'),
    ],
    links: [DRIVER],
  },
  {
    code: 'smi-no-comm',
    severity: 'error',
    title: 'The NVIDIA kernel module is not loaded',
    patterns: [
      phrase(/couldn't communicate with the NVIDIA driver|NVIDIA kernel module (?:is )?(?:missing|not found)/i),
      phrase(/\b(?:FATAL|ERROR): Module nvidia\S* not found\b/i),
      phrase(
        /modprobe: ERROR: could not find module by name '?nvidia|unable to (?:load|find) (?:the )?kernel module '?nvidia/i,
      ),
      symptom(
        /\bnvidia-smi\b['"\]]{0,3}[^\n]{0,12}(?:returned non-zero exit status|failed with exit|exited with (?:code|status) [1-9])/i,
      ),
      phrase(/\b(?:could not insert|error inserting) (?:module )?'?(?:\S*\/)?nvidia\S*?'?(?: \([^)\n]*\))?: (?!Key)/i),
      phrase(
        /kmod_module_insert_module\(\) could not find module by name=|modprobe: ERROR: could not insert 'off'/i,
        /nvidia/i,
      ),
    ],
    explains: ['no-devices', 'driver-missing', 'tf-no-gpu', 'cuda-unknown'],
    holds: (facts) => (facts.nvidia ? true : undefined),
    cause: (context) => {
      if (context.facts && bound(context.facts, 'nouveau'))
        return 'The kernel module is not loaded because nouveau holds the card.';
      return 'The kernel module is not loaded: its DKMS build failed, the kernel was upgraded, Secure Boot refused it, or nouveau holds the card.';
    },
    fix: (context) =>
      context.os === 'windows'
        ? installDriver(context)
        : [
            asRoot('Try to load it; the message tells which of the four it is.', 'modprobe', 'nvidia'),
            asRoot('"Key was rejected": enrol the signing key, or turn Secure Boot off.'),
            asRoot('"Module not found": build it for the running kernel.', 'dkms', 'autoinstall'),
            run('See which driver holds the card.', 'lspci', '-k', '-d', '10de:'),
          ],
    links: [DRIVER],
  },
  {
    code: 'gpu-lost',
    severity: 'critical',
    title: 'The driver cannot start the GPU, or lost it',
    patterns: [
      symptom(
        /\bAER: [^\n]*\b(?:Uncorrect\w+|Fatal)\b[^\n]*/i,
        /nvidia|amdgpu|radeon|\bGPU\b|\bVGA\b|\b3D controller/i,
      ),
      phrase(/GPU (?:is lost|requires (?:restart|reset))\b|GPU_IS_LOST\b|fallen off the bus/i),
      phrase(/Unable to determine the device handle for (?:GPU|gpu)/i),
      code(/NVRM: (?:GPU \S+: )?(?:RmInitAdapter failed|rm_init_adapter failed|The NVIDIA probe routine failed)/i),
      phrase(
        /Windows has stopped this device because it has reported problems|\b(?:device|driver|graphics|display|GPU|adapter)\b[^\n]{0,80}\(Code (?:10|12|31|43)\)/i,
      ),
      phrase(/\bRIP: \S+\+0x[\da-f]+\/0x[\da-f]+ \[nvidia\w*\]/i),
      code(/!!! Unknown header type 7f/),
      phrase(/This PCI I\/O region assigned to your NVIDIA device is invalid/i),
      named(
        /\bNVRM:? [^\n]*\b(?:_?kgsp\w+|RmInitAdapter|GSP|_issueRpc\w+|_threadNode\w+|osInit\w+)\b[^\n]*(?:fail|exceeded|reported an error|[Cc]annot|timed? ?out)/,
      ),
      symptom(
        /\bNVRM:? [^\n]*(?:fail(?:ed|ure)|cannot|error|timeout|missing|Assertion)|wait on fence NVIDIA\S* timed out/i,
      ),
      symptom(/\[nvidia-drm\][^\n]*(?:Failed|ERROR)|nvidia-modeset: ERROR|nvidia-gpu [^\n]*timeout/i),
      symptom(
        /\(EE\) NVIDIA[^\n]*|nvidia [0-9a-f:]+\.\d: [^\n]*(?:power state|inaccessible|probe[^\n]*failed)|Failed to initialize the NVIDIA GPU/i,
      ),
      phrase(
        /\b(?:nvidia|amdgpu|radeon|nouveau|i915|xe)\b[^\n]{0,16}: probe (?:of \S+|with driver \w+) failed with error -\d+/i,
      ),
    ],
    unless: /Xid/,
    explains: ['no-devices', 'device-lost'],
    cause: () =>
      'The card does not answer the driver: power, temperature, a loose riser or slot, too little address space in the firmware, or firmware (GSP) that does not fit the driver.',
    fix: ({ os }) =>
      os === 'windows'
        ? [
            say(
              'Shut the machine down and cut its power for a moment; in a laptop drain it with the power button held.',
            ),
            say(
              'Remove the graphics driver wholly (Display Driver Uninstaller, in safe mode), then install the one of the maker of the GPU.',
            ),
            say(
              'Code 10, 12 or 43 in the device manager: try another slot, cable and firmware; a card that fails there is broken.',
            ),
          ]
        : [
            asRoot('Restart the machine; cut its power if a restart is not enough.', 'reboot'),
            asRoot('Read what the driver says.', 'dmesg', '--ctime'),
            say('Check the power cables and the seat of the card; in the firmware turn on "Above 4G decoding".'),
          ],
    links: [XID],
  },
  {
    code: 'xid',
    severity: 'critical',
    title: 'The kernel driver reported a GPU event',
    patterns: [code(/NVRM: Xid \((?<device>[^)]*)\): (?<xid>\d+)/), code(/\bSXid \((?<device>[^)]*)\): (?<sxid>\d+)/)],
    explains: ['gpu-lost'],
    cause: ({ got }) => {
      if (got.sxid)
        return `SXid ${got.sxid} on ${got.device}: an event of an NVSwitch, most often a link or the fabric.`;
      const row = xidRow(Number(got.xid));
      const place = got.device ? ` on ${got.device}` : '';
      return row
        ? `Xid ${got.xid}${place}: ${row.meaning}.`
        : `Xid ${got.xid}${place}; this number is in NVIDIA's list.`;
    },
    fix: ({ got }) => {
      const row = xidRow(Number(got.xid));
      return [
        row ? say(row.action) : say('Look the number up in the list below.'),
        asRoot('Read the lines around it in the kernel log.', 'dmesg', '--ctime'),
      ];
    },
    links: [XID],
  },
  {
    code: 'smi-missing',
    severity: 'error',
    title: 'nvidia-smi is not installed',
    patterns: [
      phrase(/Command 'nvidia-smi' not found/),
      phrase(/nvidia-smi['"]?: (?:command )?not found|command not found: nvidia-smi/i),
      phrase(/'?nvidia-smi'? (?:is not recognized as|: The term 'nvidia-smi' is not recognized)/i),
      phrase(/No such file or directory: ['"]nvidia-smi['"]|exec: "nvidia-smi": executable file not found/i),
      symptom(/(?:nvidia-smi|NVIDIA-SMI)[^\n]{0,40}(?:not installed|could not be found)/i),
      phrase(
        /nvidia-smi not found|(?:cannot|could not|can't) find nvidia-smi|exec: \\*"nvidia-smi\\*": executable file not found/i,
      ),
    ],
    holds: (facts) => facts.nvidia,
    cause: (context) =>
      context.facts?.wsl
        ? 'Inside WSL the tool lies in /usr/lib/wsl/lib, which is not on the path.'
        : `An NVIDIA driver is not installed${here(context)}.`,
    fix: (context) =>
      context.facts?.wsl
        ? [
            run('Call it by its full path.', '/usr/lib/wsl/lib/nvidia-smi'),
            say('Install the driver in Windows only; never a Linux driver inside WSL.'),
          ]
        : installDriver(context),
    links: [WSL, DRIVER],
  },
  {
    code: 'compat-804',
    severity: 'error',
    title: 'cuda-compat on a card that does not allow it',
    patterns: [phrase(/forward compatibility was attempted on non supported HW/i)],
    cuda: [804],
    explains: ['no-devices'],
    cause: (context) =>
      `A cuda-compat library is in use, which works on data-centre cards only${here(context)}; or the libraries were upgraded and the module was not reloaded.`,
    fix: (context) => [
      unset(context, 'LD_LIBRARY_PATH', 'Take the compat folder off the library path.'),
      asRoot('If the driver was just upgraded, reboot.', 'reboot'),
    ],
    links: ['https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html'],
  },
  {
    code: 'drv-mismatch-803',
    severity: 'error',
    title: 'libcuda does not belong to the kernel driver',
    patterns: [phrase(/unsupported display driver \/ cuda driver combination/i)],
    cuda: [803],
    explains: ['no-devices'],
    cause: () => 'Another libcuda is found first: a cuda-compat package, or a folder in LD_LIBRARY_PATH.',
    fix: (context) => [
      unset(context, 'LD_LIBRARY_PATH', 'Try without LD_LIBRARY_PATH.'),
      run('See which libcuda is found.', 'ldconfig', '-p'),
    ],
    links: [COMPAT],
  },
  {
    code: 'stub-lib',
    severity: 'error',
    title: 'The stub libcuda is loaded',
    patterns: [
      phrase(
        /CUDA driver is a stub library|You should always run with libnvidia-ml\.so that is installed with your NVIDIA/i,
      ),
      phrase(/\b(?:[Mm]apped|[Ll]oaded|[Uu]sing)\b[^\n]{0,40}\blibcuda\.so[^\n]*\s[^\n]*\/stubs\/libcuda\.so/),
    ],
    cuda: [34],
    cause: () => 'The program found a library of the folder stubs, which is there for linking only.',
    fix: (context) => [unset(context, 'LD_LIBRARY_PATH', 'Take the stubs folder off LD_LIBRARY_PATH.')],
    links: [RUNTIME],
  },
];
