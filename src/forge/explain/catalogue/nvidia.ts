// Driver, device and library faults of the NVIDIA stack.

import { asRoot, here, reinstall, run, safe, say, unset } from '../steps.ts';
import type { ErrorClass, Facts } from '../types.ts';
import { bytesOf } from '../values.ts';
import { xidRow } from './xid.ts';

const RUNTIME = 'https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html';
const COMPAT = 'https://docs.nvidia.com/deploy/cuda-compatibility/index.html';
const XID = 'https://docs.nvidia.com/deploy/xid-errors/index.html';

const bound = (facts: Facts, driver: string): boolean =>
  facts.machine.gpus.some((gpu) => 'source' in gpu.boundDriver && gpu.boundDriver.value === driver);

const rows: readonly ErrorClass[] = [
  {
    code: 'no-kernel-image',
    severity: 'error',
    title: 'The build has no kernels for this GPU',
    patterns: [
      {
        kind: 'capture',
        re: /(?<name>[A-Z][\w .()/-]{2,60}?) with CUDA capability (?<sm>sm_\d+) is not compatible with the current PyTorch/i,
      },
      { kind: 'code', re: /cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU/ },
      { kind: 'phrase', re: /no kernel image is available/i },
    ],
    cuda: [209],
    unless: /\bhip\b|hipError|\bgfx[0-9a-f]{3,4}\b/i,
    cause: (context) =>
      `The installed wheel${context.got.variant ? ` (${context.got.variant})` : ''} holds no kernels for ${context.got.sm ?? "this GPU's compute capability"}${here(context)}.`,
    fix: (context) => reinstall(context),
    links: ['https://github.com/pytorch/pytorch/blob/main/RELEASE.md', RUNTIME],
  },
  {
    code: 'driver-too-old',
    severity: 'error',
    title: 'The driver is older than the build needs',
    patterns: [
      { kind: 'capture', re: /NVIDIA driver on your system is too old(?: \(found version (?<number>\d+)\))?/i },
      { kind: 'code', re: /cudaErrorInsufficientDriver|cudaErrorCallRequiresNewerDriver/ },
      { kind: 'phrase', re: /CUDA driver version is insufficient for CUDA runtime version/i },
    ],
    cuda: [35, 36],
    cause: (context) =>
      `The driver${context.got.found ? ` (it offers CUDA ${context.got.found})` : ''} is below the minimum of the CUDA family that the wheel was built with${here(context)}.`,
    fix: (context) => [
      ...reinstall(context),
      asRoot(
        'Or install a newer driver: 580 or newer for CUDA 13 builds, 525.60.13 (Windows 528.33) for CUDA 12 builds.',
      ),
    ],
    links: ['https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html'],
  },
  {
    code: 'not-compiled-cuda',
    severity: 'error',
    title: 'A CPU build of torch is installed',
    patterns: [
      { kind: 'phrase', re: /Torch not compiled with CUDA enabled/i },
      {
        kind: 'capture',
        re: /\btorch\b[^\n]{0,24}?(?<version>\d+\.\d+\.\d+)\+cpu\b/i,
        along: /CUDA available: False|cuda\.is_available\(\)[^\n]*False|CUDA is not available/i,
      },
    ],
    cause: () =>
      'The installed torch is a CPU wheel. On Windows that is what PyPI gives; elsewhere it comes from the CPU index.',
    fix: (context) => reinstall(context),
    links: ['https://docs.astral.sh/uv/guides/integration/pytorch/'],
  },
  {
    code: 'nvml-mismatch',
    severity: 'error',
    title: 'Driver module and libraries have different versions',
    patterns: [
      { kind: 'capture', re: /Driver\/library version mismatch(?:\s+NVML library version: (?<nvml>[\d.]+))?/i },
      { kind: 'code', re: /NVRM: API mismatch: the client[^\n]*has the version (?<nvml>[\d.]+)/ },
    ],
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
    links: ['https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html'],
  },
  {
    code: 'nvml-unknown',
    severity: 'error',
    title: 'The container lost its GPU',
    patterns: [{ kind: 'phrase', re: /Failed to initialize NVML: Unknown Error/i }],
    cause: () => 'The container lost its device permissions (cgroup) after systemd was reloaded on the host.',
    fix: () => [
      say('Recreate the container; its processes cannot get the device back.'),
      asRoot(
        'To stop it from happening again, use CDI devices or the cgroupfs driver on the host.',
        'nvidia-ctk',
        'cdi',
        'generate',
        '--output=/etc/cdi/nvidia.yaml',
      ),
    ],
    links: ['https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html'],
  },
  {
    code: 'smi-no-comm',
    severity: 'error',
    title: 'The NVIDIA kernel module is not loaded',
    patterns: [{ kind: 'phrase', re: /couldn't communicate with the NVIDIA driver/i }],
    holds: (facts) => (facts.nvidia ? true : undefined),
    cause: (context) => {
      if (context.facts && bound(context.facts, 'nouveau'))
        return 'The kernel module is not loaded because nouveau holds the card.';
      return 'The kernel module is not loaded: its DKMS build failed, the kernel was upgraded, Secure Boot refused it, or nouveau holds the card.';
    },
    fix: () => [
      asRoot('Try to load it; the message tells which of the four it is.', 'modprobe', 'nvidia'),
      asRoot('"Key was rejected": enrol the signing key, or turn Secure Boot off.'),
      asRoot('"Module not found": build it for the running kernel.', 'dkms', 'autoinstall'),
      run('See which driver holds the card.', 'lspci', '-k', '-d', '10de:'),
    ],
    links: ['https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html'],
  },
  {
    code: 'smi-missing',
    severity: 'error',
    title: 'nvidia-smi is not installed',
    patterns: [
      { kind: 'phrase', re: /nvidia-smi['"]?: (?:command )?not found|command not found: nvidia-smi/i },
      { kind: 'phrase', re: /'nvidia-smi' is not recognized as an internal or external command/i },
      {
        kind: 'phrase',
        re: /No such file or directory: ['"]nvidia-smi['"]|exec: "nvidia-smi": executable file not found/i,
      },
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
        : [
            asRoot('Install the driver: R580 for Maxwell, Pascal and Volta; R595 or newer otherwise.'),
            run('Then look again.', 'gpuforge', 'doctor'),
          ],
    links: [
      'https://docs.nvidia.com/cuda/wsl-user-guide/index.html',
      'https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html',
    ],
  },
  {
    code: 'no-devices',
    severity: 'error',
    title: 'CUDA sees no device',
    patterns: [
      { kind: 'code', re: /cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE/ },
      { kind: 'phrase', re: /no CUDA-capable device is detected|^No devices were found$|No CUDA GPUs are available/im },
    ],
    cuda: [100],
    cause: (context) => {
      const hidden = context.facts?.machine.visibility.find((row) => row.name === 'CUDA_VISIBLE_DEVICES');
      if (hidden) return `CUDA_VISIBLE_DEVICES is "${hidden.value}", which hides every device.`;
      const blocked = context.facts?.machine.gpus.find((gpu) => gpu.vendor === 'nvidia' && !gpu.usable);
      if (blocked) return `The card is there but cannot be used: ${blocked.blockers.join('; ')}.`;
      if (context.facts && !context.facts.nvidia) return 'This machine shows no NVIDIA device at all.';
      return 'The GPU fell off the bus, is passed through to another machine, has no device node here, or CUDA_VISIBLE_DEVICES hides it.';
    },
    fix: () => [
      unset('CUDA_VISIBLE_DEVICES', 'Try without the variable that hides devices.'),
      run('See what is there and what blocks it.', 'gpuforge', 'doctor', '-v'),
      asRoot('Look for "fallen off the bus" in the kernel log.', 'dmesg'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'cvd-invalid',
    severity: 'warning',
    title: 'A device number that does not exist',
    patterns: [
      { kind: 'code', re: /cudaErrorInvalidDevice\b|CUDA_ERROR_INVALID_DEVICE\b/ },
      { kind: 'phrase', re: /invalid device ordinal/i },
    ],
    cuda: [101],
    cause: (context) => {
      const seen = context.facts?.machine.gpus.filter((gpu) => gpu.vendor === 'nvidia').length;
      return `CUDA_VISIBLE_DEVICES or the program names a device that does not exist${seen ? `; this machine has ${seen} (0 to ${seen - 1})` : ''}.`;
    },
    fix: () => [
      unset('CUDA_VISIBLE_DEVICES', 'Unset the variable, or correct the number.'),
      say('In the program, count devices with torch.cuda.device_count() instead of a fixed number.'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'sys-not-ready',
    severity: 'error',
    title: 'The NVSwitch fabric is not up',
    patterns: [
      { kind: 'code', re: /cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY/ },
      { kind: 'phrase', re: /system not yet initialized/i },
    ],
    cuda: [802],
    cause: () => 'Fabric Manager (or IMEX) is not running, so the GPUs of an NVSwitch system cannot start.',
    fix: (context) => [
      asRoot(
        `Start the service; its version must equal the driver's${context.facts?.driver ? ` (${context.facts.driver})` : ''}.`,
        'systemctl',
        'enable',
        '--now',
        'nvidia-fabricmanager',
      ),
      run('It says what is wrong.', 'systemctl', 'status', 'nvidia-fabricmanager'),
    ],
    links: ['https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html'],
  },
  {
    code: 'drv-mismatch-803',
    severity: 'error',
    title: 'libcuda does not belong to the kernel driver',
    patterns: [
      { kind: 'code', re: /cudaErrorSystemDriverMismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH/ },
      { kind: 'phrase', re: /unsupported display driver \/ cuda driver combination/i },
    ],
    cuda: [803],
    cause: () => 'Another libcuda is found first: a cuda-compat package, or a folder in LD_LIBRARY_PATH.',
    fix: () => [
      unset('LD_LIBRARY_PATH', 'Try without LD_LIBRARY_PATH.'),
      run('See which libcuda is found.', 'ldconfig', '-p'),
    ],
    links: [COMPAT],
  },
  {
    code: 'compat-804',
    severity: 'error',
    title: 'cuda-compat on a card that does not allow it',
    patterns: [
      { kind: 'phrase', re: /forward compatibility was attempted on non supported HW/i },
      { kind: 'code', re: /cudaErrorCompatNotSupportedOnDevice|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE/ },
    ],
    cuda: [804],
    cause: (context) =>
      `A cuda-compat library is in use, which works on data-centre cards only${here(context)}; or the libraries were upgraded and the module was not reloaded.`,
    fix: () => [
      unset('LD_LIBRARY_PATH', 'Take the compat folder off the library path.'),
      asRoot('If the driver was just upgraded, reboot.', 'reboot'),
    ],
    links: ['https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html'],
  },
  {
    code: 'stub-lib',
    severity: 'error',
    title: 'The stub libcuda is loaded',
    patterns: [
      { kind: 'code', re: /cudaErrorStubLibrary|CUDA_ERROR_STUB_LIBRARY/ },
      { kind: 'phrase', re: /CUDA driver is a stub library/i },
    ],
    cuda: [34],
    cause: () => 'The program found stubs/libcuda.so, which is there for linking only.',
    fix: () => [unset('LD_LIBRARY_PATH', 'Take the stubs folder off LD_LIBRARY_PATH.')],
    links: [RUNTIME],
  },
  {
    code: 'cuda-unknown',
    severity: 'error',
    title: 'CUDA gives an unknown error',
    patterns: [
      { kind: 'phrase', re: /CUDA unknown error/i },
      { kind: 'code', re: /cudaErrorUnknown\b|CUDA_ERROR_UNKNOWN\b/ },
    ],
    cuda: [999],
    cause: () => 'Most often the nvidia_uvm module is in a bad state after suspend.',
    fix: () => [
      asRoot('Reload the module.', 'modprobe', '-r', 'nvidia_uvm'),
      asRoot('Load it again.', 'modprobe', 'nvidia_uvm'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'device-assert',
    severity: 'error',
    title: 'An assertion failed inside a kernel',
    patterns: [
      { kind: 'code', re: /cudaErrorAssert\b|CUDA_ERROR_ASSERT\b/ },
      { kind: 'phrase', re: /device-side assert triggered/i },
    ],
    cuda: [710],
    cause: () =>
      'An index or a label in the program is out of range; the line shown is not the one that failed, because kernels run later.',
    fix: () => [
      run(
        'Run again with blocking launches to get the right line.',
        'env',
        'CUDA_LAUNCH_BLOCKING=1',
        'python',
        'your_script.py',
      ),
      say('Check that every label lies below the number of classes and every token below the size of the embedding.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/notes/cuda.html'],
  },
  {
    code: 'illegal-access',
    severity: 'error',
    title: 'A kernel touched memory it does not own',
    patterns: [
      { kind: 'code', re: /cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS/ },
      { kind: 'phrase', re: /an illegal memory access was encountered/i },
    ],
    cuda: [700],
    cause: () => 'A kernel has a fault, or the card is overclocked. The process cannot go on: its context is lost.',
    fix: () => [
      run('Find the kernel.', 'compute-sanitizer', 'python', 'your_script.py'),
      run('Or get the right line.', 'env', 'CUDA_LAUNCH_BLOCKING=1', 'python', 'your_script.py'),
      say('Run the card at stock clocks.'),
    ],
    links: ['https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html'],
  },
  {
    code: 'ecc-uncorrectable',
    severity: 'critical',
    title: 'The GPU lost memory contents',
    patterns: [
      { kind: 'code', re: /cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE/ },
      { kind: 'phrase', re: /uncorrectable ECC error encountered/i },
    ],
    cuda: [214],
    cause: () => 'The memory of the GPU had an error that ECC could not repair; results since then cannot be trusted.',
    fix: () => [
      asRoot('Reset the GPU when nothing runs on it.', 'nvidia-smi', '--gpu-reset', '-i', '0'),
      run('Count the errors.', 'nvidia-smi', '-q', '-d', 'ECC'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'launch-timeout',
    severity: 'error',
    title: 'A kernel ran longer than the display allows',
    patterns: [
      { kind: 'code', re: /cudaErrorLaunchTimeout|CUDA_ERROR_LAUNCH_TIMEOUT/ },
      { kind: 'phrase', re: /the launch timed out and was terminated/i },
    ],
    cuda: [702],
    cause: () => 'The card drives a display, and the system ends kernels that block it for some seconds.',
    fix: () => [say('Split the work into shorter kernels, or use a card that drives no display.')],
    links: [RUNTIME],
  },
  {
    code: 'device-busy',
    severity: 'error',
    title: 'Another process holds the GPU alone',
    patterns: [
      { kind: 'code', re: /cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE/ },
      { kind: 'phrase', re: /CUDA-capable device\(s\) is\/are busy or unavailable/i },
    ],
    cuda: [46],
    cause: () => 'The card is in exclusive mode and another process uses it, or its context cannot be made now.',
    fix: () => [
      run('See who uses it.', 'nvidia-smi'),
      asRoot('Allow several processes.', 'nvidia-smi', '-c', 'DEFAULT'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'cudnn-missing',
    severity: 'error',
    title: 'cuDNN is missing or of two versions',
    patterns: [
      { kind: 'capture', re: /libcudnn\w*\.so[.\d]*: cannot open shared object file/i },
      { kind: 'capture', re: /Could not load library (?<library>libcudnn\S*)/i },
      { kind: 'code', re: /CUDNN_STATUS_NOT_INITIALIZED|CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH/ },
    ],
    cause: () => 'cuDNN is not there, or LD_LIBRARY_PATH brings in another version than the one of the wheel.',
    fix: (context) => [
      unset('LD_LIBRARY_PATH', 'Try without LD_LIBRARY_PATH: the wheel brings its own cuDNN.'),
      safe(
        'Reinstall the cuDNN of the wheel.',
        'python',
        '-m',
        'pip',
        'install',
        '--force-reinstall',
        `nvidia-cudnn-cu${context.got.variant?.startsWith('cu13') ? '13' : '12'}`,
      ),
    ],
    links: ['https://docs.jax.dev/en/latest/installation.html'],
  },
  {
    code: 'cuda-lib-missing',
    severity: 'error',
    title: 'A CUDA library is missing',
    patterns: [
      {
        kind: 'capture',
        re: /(?<library>lib(?:cudart|cublas(?:Lt)?|nvrtc|cusparse(?:Lt)?|cusolver|cufft|curand|cupti|nvJitLink)[-\w]*\.so[.\d]*): cannot open shared object file/i,
      },
    ],
    cause: (context) =>
      `${context.got.library ?? 'A CUDA library'} is missing or of another major version than the program was built with.`,
    fix: (context) => [
      ...reinstall(context),
      unset('LD_LIBRARY_PATH', 'Take other CUDA versions off LD_LIBRARY_PATH.'),
    ],
    links: ['https://docs.astral.sh/uv/guides/integration/pytorch/'],
  },
  {
    code: 'nvjitlink-symbol',
    severity: 'error',
    title: 'A system CUDA shadows the libraries of the wheel',
    patterns: [{ kind: 'capture', re: /undefined symbol: (?<symbol>__nvJitLink\w+)/ }],
    cause: () => 'libnvJitLink of another CUDA version is found before the one of the wheel.',
    fix: () => [unset('LD_LIBRARY_PATH', 'Unset LD_LIBRARY_PATH.')],
    links: ['https://github.com/pytorch/pytorch/issues/111469'],
  },
  {
    code: 'cublas-init',
    severity: 'warning',
    title: 'cuBLAS could not start',
    patterns: [{ kind: 'code', re: /CUBLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)/ }],
    cause: () => 'Usually the memory of the GPU is full; else two versions of the libraries are mixed.',
    fix: () => [
      run('Look at the free memory first.', 'nvidia-smi'),
      unset('LD_LIBRARY_PATH', 'Then try without LD_LIBRARY_PATH.'),
      say('An index out of range shows itself this way too: run with CUDA_LAUNCH_BLOCKING=1.'),
    ],
    links: ['https://docs.nvidia.com/cuda/cublas/index.html'],
  },
  {
    code: 'nccl',
    severity: 'error',
    title: 'NCCL failed between GPUs',
    patterns: [
      { kind: 'code', re: /nccl(?:UnhandledCudaError|SystemError|InternalError|RemoteError)|NCCL error/i },
      { kind: 'phrase', re: /NCCL[^\n]*unhandled (?:system|cuda) error|unhandled (?:system|cuda) error[^\n]*NCCL/i },
    ],
    cause: () =>
      'Shared memory is too small, the driver is older than the CUDA of the wheel, or peer-to-peer access does not work.',
    fix: () => [
      run('Let NCCL say which it is.', 'env', 'NCCL_DEBUG=INFO', 'python', 'your_script.py'),
      say('In a container: --ipc=host or a larger --shm-size.'),
      run('Try without peer-to-peer.', 'env', 'NCCL_P2P_DISABLE=1', 'python', 'your_script.py'),
    ],
    links: ['https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html'],
  },
  {
    code: 'oom',
    severity: 'warning',
    title: 'The memory of the GPU is full',
    patterns: [
      { kind: 'capture', re: /(?:CUDA|HIP|XPU|MPS backend) out of memory\b/i },
      { kind: 'code', re: /torch\.(?:cuda\.)?OutOfMemoryError|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY/ },
      {
        kind: 'capture',
        re: /RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate)|ResourceExhaustedError[^\n]*OOM when allocating/i,
      },
    ],
    cuda: [2],
    cause: ({ got, facts }) => {
      const parts = [
        got.tried && `it asked for ${got.tried}`,
        got.free && `${got.free} was free`,
        got.total && `of ${got.total}`,
      ].filter(Boolean);
      const memory = facts?.machine.gpus
        .map((gpu) => ('source' in gpu.memoryBytes ? gpu.memoryBytes.value : 0))
        .reduce((a, b) => Math.max(a, b), 0);
      const size = !got.total && memory ? `; the GPU has ${Math.round(memory / 1024 ** 3)} GiB` : '';
      return `The program wants more memory than the GPU has left${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${size}.`;
    },
    fix: ({ got }) => {
      const reserved = bytesOf(got.reserved);
      const tried = bytesOf(got.tried);
      const fragmented = reserved !== undefined && tried !== undefined && reserved >= tried;
      return [
        ...(fragmented
          ? [
              run(
                `${got.reserved} lie reserved but unused, so memory is fragmented: let segments grow.`,
                'env',
                'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
                'python',
                'your_script.py',
              ),
            ]
          : []),
        say('Halve the batch, and accumulate gradients over two steps.'),
        say('Load the weights in 4 or 8 bits, or use bf16 and activation checkpointing.'),
        run('See what else uses the memory.', 'nvidia-smi'),
      ];
    },
    links: ['https://docs.pytorch.org/docs/stable/notes/cuda.html'],
  },
  {
    code: 'xid',
    severity: 'critical',
    title: 'The kernel driver reported a GPU event',
    patterns: [{ kind: 'code', re: /NVRM: Xid \((?<device>[^)]*)\): (?<xid>\d+)/ }],
    cause: ({ got }) => {
      const row = xidRow(Number(got.xid));
      return row
        ? `Xid ${got.xid} on ${got.device}: ${row.meaning}.`
        : `Xid ${got.xid} on ${got.device}; this number is in NVIDIA's list.`;
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
    code: 'secure-boot',
    severity: 'error',
    title: 'Secure Boot refuses the module',
    patterns: [
      { kind: 'phrase', re: /Key was rejected by service/i },
      { kind: 'phrase', re: /nvidia[^\n]*module verification failed: signature and\/or required key missing/i },
    ],
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
      { kind: 'phrase', re: /The Nouveau kernel driver is currently in use by your system/i },
      { kind: 'capture', re: /Kernel driver in use: nouveau/i },
      { kind: 'capture', re: /NVRM:[^\n]*(?:already bound to|conflicting with)[^\n]*nouveau/i },
    ],
    cause: () => 'nouveau is bound to the NVIDIA card, so the NVIDIA driver cannot be.',
    fix: () => [
      asRoot(
        'Block nouveau: write "blacklist nouveau" and "options nouveau modeset=0" to /etc/modprobe.d/blacklist-nouveau.conf.',
      ),
      asRoot('Rebuild the initial file system, then reboot.', 'update-initramfs', '-u'),
      asRoot('Install the NVIDIA driver.'),
    ],
    links: ['https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html'],
  },
];

/** An NVIDIA card in the machine confirms a fault of the NVIDIA stack; its absence proves nothing, the text may come from elsewhere. */
const onNvidia = (facts: Facts): boolean | undefined => (facts.nvidia ? true : undefined);

export const nvidiaClasses: readonly ErrorClass[] = rows.map((row) => ({ holds: onNvidia, ...row }));
