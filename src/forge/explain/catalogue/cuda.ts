// Devices as the CUDA runtime and the driver API see them: none, the wrong one, not ready, busy, without kernels for it.

import { capture, code, phrase, symptom, weak } from '../patterns.ts';
import { asRoot, here, reinstall, run, say, unset } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { RUNTIME } from './links.ts';

/** A message of HIP, XPU or Metal is not one of CUDA, even where the words are the same. */
export const OTHER_GPU = /\bhip\b|hipError|\brocm\b|\bgfx[0-9a-f]{3,4}\b|\bXPU\b|level_zero|\bMPS\b/i;

export const cudaClasses: readonly ErrorClass[] = [
  {
    code: 'no-kernel-image',
    severity: 'error',
    title: 'The build has no kernels for this GPU',
    patterns: [
      phrase(/your GPU arch is \d+, while Paddle is compiled for/),
      capture(/only supported (?:for|on) (?<needed>sm_\d+) and (?:up|above|newer)/i),
      capture(
        /(?<name>[A-Z][\w .()/-]{2,60}?) with CUDA capabilit(?:y|ies) (?<sm>sm_\d+) is not compatible with (?:the current |your )?PyTorch/i,
      ),
      phrase(/no kernel image is available|compiled without support for the current GPU architecture/i),
      code(/\b(?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_ARCH_MISMATCH\b/),
      phrase(/\bcutlass\w*\b[^\n]*\bError Arch Mismatch\b/i),
      phrase(
        /\bNo supported CUDA architectures found\b|\bA GPU with [^\n]*\(Compute Capability [\d.]+\) or newer[^\n]* is required|GPU library not compiled for this accelerator/i,
      ),
      capture(/Found GPU\d+ (?<name>[^\n]+?) which is of (?:cuda|compute) capability (?:\(CC\) )?(?<cc>\d+\.\d+)/i),
      phrase(/PyTorch no longer supports this GPU because it is too old/i),
      capture(
        /not compiled with any CUDA arch <= (?<arch>\d+)|compiled for: (?<archs>[\d,; ]+)[^\n]*no device code compatible/i,
      ),
      phrase(
        /has no device code compatible with CUDA arch|is for sm\d+(?:-sm\d+)?, but was built for sm\d+|no kernel found to launch/i,
      ),
      phrase(/\bCUDA(?: runtime)? error[^\n]{0,12}: invalid device function/i),
      capture(
        /(?:Minimum|minimum) (?:required )?(?:cuda|compute) capability[^\n]{0,40}(?:is|:|>=) (?<least>\d\.\d)[^\n]{0,60}(?:your|GPU|device|found)/i,
      ),
      phrase(/Ignoring visible gpu device [^\n]*Cuda compute capability/i),
      phrase(
        /(?:GPU|device|card)[^\n]{0,60}(?:sm_\d+|compute capability [\d.]+)[^\n]{0,40}(?:is not|isn't|not) (?:supported|compatible)/i,
      ),
      capture(
        /GPU architecture[^\n]{0,40} is (?<arch>\w+), which is not compatible with|(?:not compatible|incompatible) with (?:the |this |your )?(?:current )?\w+ (?:installation|build|wheel)[^\n]*(?:arch|sm_|capabilit)/i,
      ),
      phrase(
        /PyTorch install supports CUDA capabilities|not built with CUDA kernel binaries compatible with compute capability/i,
      ),
      phrase(/GPU architecture in your current machine is \w+, which is not compatible/i),
    ],
    cuda: [98, 209, 200, 300],
    unless: /\bhip\b|hipError|\brocm\b|\bgfx[0-9a-f]{3,4}\b|quantization method/i,
    cause: (context) =>
      `The program${context.got.variant ? ` (${context.got.variant})` : ''} holds no kernels for ${context.got.sm ?? (context.got.cc ? `compute capability ${context.got.cc}` : "this GPU's compute capability")}${here(context)}.`,
    fix: (context) => reinstall(context),
    links: ['https://github.com/pytorch/pytorch/blob/main/RELEASE.md', RUNTIME],
  },
  {
    code: 'no-devices',
    severity: 'error',
    title: 'CUDA sees no device',
    patterns: [
      phrase(/no CUDA-capable device is detected|^No devices were found$|No CUDA GPUs are available/im),
      capture(
        /No (?:compatible |usable |supported )?CUDA devices? (?:were |was |is |are )?(?:found|detected|available)|\bno GPU devices? (?:were |was )?detected\b/i,
      ),
      phrase(
        /no supported devices found for platform CUDA|GPU number on your machine is 0\b|number of available GPUs 0\b|has kind KIND_GPU but (?:no GPUs are available|\w+)/i,
      ),
      phrase(/\bGPU device \d+ does(?:n't| not)(?: not)? exist/i),
      phrase(/(?:probe failed|nvidia-smi|NVML|GPU)[^\n]{0,30}: ?No devices were found/i),
      phrase(
        /\bnvidia-smi\b[^\n]{0,60}\b(?:says?|shows?|prints?|returns?|reports?|gives?)\b[^\n]{0,12}\bno devices (?:were )?found\b/i,
      ),
    ],
    cuda: [38, 100],
    cause: (context) => {
      const { facts } = context;
      const seen = facts?.machine.gpus.filter((gpu) => gpu.vendor === 'nvidia') ?? [];
      const hidden = facts?.machine.visibility.find(
        (row) => row.name === 'CUDA_VISIBLE_DEVICES' && hidesAll(row.value, seen.length),
      );
      if (hidden) return `CUDA_VISIBLE_DEVICES is "${hidden.value}", which hides every device.`;
      const blocked = seen.find((gpu) => !gpu.usable);
      if (blocked) return `The card is there but cannot be used: ${blocked.blockers.join('; ')}.`;
      if (facts && !facts.nvidia) return 'This machine shows no NVIDIA device at all.';
      return 'The GPU fell off the bus, is passed through to another machine, has no device node here, or CUDA_VISIBLE_DEVICES hides it.';
    },
    fix: (context) => [
      unset(context, 'CUDA_VISIBLE_DEVICES', 'Try without the variable that hides devices.'),
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
      phrase(/invalid device ordinal/i),
      capture(
        /device (?:>=|index (?:is )?out of range|id (?<device>\d+) is not available)|Invalid device id|Invalid (?:CUDA|GPU) device\b/i,
        /cuda|gpu/i,
      ),
      capture(/You requested gpus?: \[(?<device>[^\]\n]*)\]\s*[^\n]{0,40}But your machine only has/i),
      capture(/Invalid (?:CUDA )?['`]-{0,2}device[ =](?<device>[^'`]*)['`]/i),
    ],
    cuda: [101],
    unless: OTHER_GPU,
    cause: (context) => {
      const seen = context.facts?.machine.gpus.filter((gpu) => gpu.vendor === 'nvidia').length;
      return `CUDA_VISIBLE_DEVICES or the program names a device that does not exist${seen ? `; this machine has ${seen} (0 to ${seen - 1})` : ''}.`;
    },
    fix: (context) => [
      unset(context, 'CUDA_VISIBLE_DEVICES', 'Unset the variable, or correct the number.'),
      say(
        'In the program, count the devices instead of using a fixed number; a launcher must not start more ranks than GPUs.',
      ),
    ],
    links: [RUNTIME],
  },
  {
    code: 'sys-not-ready',
    severity: 'error',
    title: 'The NVSwitch fabric is not up',
    patterns: [
      phrase(/system not yet initialized/i),
      phrase(
        /fabric[ -]?manager[^\n]{0,60}(?:not (?:running|active|started)|inactive|version mismatch|failed to start|not been initialized)|\berror in the Fabric Manager\b/i,
      ),
      symptom(
        /\b(?:fabric ?manager|nv-?fabric-?manager|nvidia-fabricmanager|nvidia-imex|NVLSM|nvswitch)\b[^\n]*(?:error|fail\w*|fatal|don't match|not (?:match|compatible|supported|loaded)|mismatch|abort\w*|exited|timed out)/i,
      ),
      phrase(
        /(?:no|any) NVIDIA NVSwitch(?:es)?[^\n]*(?:found|detected|devices)|NV_WARN_NOTHING_TO_DO|failed to initialize[^\n]*NVSwitch/i,
      ),
      capture(
        /\bFabric\b[\s\S]{0,80}\bState\s*: *(?<state>In Progress|Not Started)|\bFabric\b[\s\S]{0,140}\bStatus\s*: *(?<status>(?!Success|N\/A|\[)[A-Z][\w ]+)|fabric (?:state|status)[^\n]*(?:incomplete|failure)/i,
      ),
    ],
    cuda: [802],
    explains: ['no-devices', 'cuda-failed'],
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
    code: 'cuda-unknown',
    severity: 'error',
    title: 'CUDA gives an unknown error',
    patterns: [
      phrase(/\bCUDA being in (?:a )?bad state|CUDA unknown error|\bcu[A-Z]\w+: [Uu]nknown (?:CUDA )?error/i),
      code(/\bUNKNOWN_ERROR ?\(999\)/),
      phrase(/\bcuda[^\n]{0,30}error[^\n]{0,12}: unknown error/i),
      phrase(/\bcuda error:? 999\b/i),
    ],
    // The number says what the name does not.
    unless: /CUDA_ERROR_UNKNOWN \(code (?!999\b)\d+/,
    cuda: [999],
    cause: () => 'Most often the nvidia_uvm module is in a bad state after suspend.',
    fix: (context) =>
      context.os === 'windows'
        ? [
            say(
              'Restart the machine; if it comes back, install the current driver with the option "clean installation".',
            ),
          ]
        : [
            asRoot('Reload the module.', 'modprobe', '-r', 'nvidia_uvm'),
            asRoot('Load it again.', 'modprobe', 'nvidia_uvm'),
            say('In a container, /dev/nvidia-uvm must be passed in as well.'),
          ],
    links: [RUNTIME],
  },
  {
    code: 'cuda-os-call',
    severity: 'error',
    title: 'The driver could not use the operating system',
    patterns: [phrase(/OS call failed or operation not supported on this OS/i)],
    cuda: [304],
    cause: () =>
      'A system call of the driver failed: device nodes without permission, a container without access, or WSL limits.',
    fix: () => [
      run('Look at the nodes and who may open them.', 'gpuforge', 'doctor', '-v'),
      asRoot('The kernel log tells which call it was.', 'dmesg', '--ctime'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'cuda-fork',
    severity: 'error',
    title: 'CUDA was started before the process was forked',
    patterns: [
      phrase(
        /Cannot re-initialize CUDA in forked subprocess|CUDA (?:has been |was )?initialized before (?:forking|the `?\w+`? could create a forked)|can ?(?:not|'t) (?:create|start|fork) new processes if CUDA is already initialized/i,
      ),
      phrase(/\bCUDA[^\n]{0,20}(?:error|failure)[^\n]{0,12}: initialization error/i),
    ],
    cuda: [3],
    unless: /\bNCCL\b/,
    cause: () => 'A child made by fork inherits a CUDA context that it cannot use.',
    fix: () => [
      say(
        "Start workers with spawn: multiprocessing.set_start_method('spawn'); for vLLM VLLM_WORKER_MULTIPROC_METHOD=spawn.",
      ),
      say('Do not touch CUDA before the workers start; inside DataLoader workers stay on the CPU.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/notes/multiprocessing.html'],
  },
  {
    code: 'ecc-uncorrectable',
    severity: 'critical',
    title: 'The GPU lost memory contents',
    patterns: [
      phrase(/uncorrectable ECC error encountered/i),
      // Of DCGM, of schedulers and of people; a count of none is a report.
      phrase(
        /\b(?:uncorrect(?:able|ed)|double[- ]bit)\b[^\n]{0,30}\b(?:ECC|memory) errors?\b(?![^\n]*[:=] *(?:0|N\/A)\b)|\bECC errors?\b[^\n]{0,30}\buncorrect(?:able|ed)\b(?![^\n]*[:=] *(?:0|N\/A)\b)|\bDCGM_FR_\w*(?:DBE|ROW_REMAP|PENDING_PAGE)\w*/i,
      ),
      capture(
        /Remapping Failure Occurred\s*: *Yes|(?:Remapped Rows|Retired Pages|Page Blacklist|Row Remap\w*)[^\n]*(?:Pending\s*)?: *Yes|Double Bit ECC\s*: *[1-9]\d*/i,
      ),
      phrase(/\brow remapping (?:is )?pending\b|\brow remapping fail/i),
    ],
    cuda: [214, 220],
    unless: /\bDCGM_FI_|\bcounter\b|[Tt]otal number of/,
    explains: ['nccl', 'cuda-failed'],
    cause: () => 'The memory of the GPU had an error that ECC could not repair; results since then cannot be trusted.',
    fix: () => [
      asRoot('Reset the GPU when nothing runs on it.', 'nvidia-smi', '--gpu-reset', '-i', '0'),
      run('Count the errors.', 'nvidia-smi', '-q', '-d', 'ECC'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'device-busy',
    severity: 'error',
    title: 'Another process holds the GPU alone',
    patterns: [
      phrase(/CUDA-capable device\(s\) is\/are busy or unavailable/i),
      weak(/all CUDA-capable devices are busy or unavailable/i),
    ],
    cuda: [46],
    cause: () => 'The card is in exclusive mode and another process uses it, or its context cannot be made now.',
    fix: () => [
      run('See who uses it.', 'nvidia-smi'),
      asRoot('Allow several processes.', 'nvidia-smi', '-c', 'DEFAULT'),
    ],
    links: [RUNTIME],
  },
];

/** Empty, -1 and numbers past the last device hide all; "0" on a machine with a GPU hides none. */
function hidesAll(value: string, count: number): boolean {
  const first = value.split(',')[0]!.trim();
  if (first === '' || first === '-1' || /^(?:none|void|NoDevFiles)$/i.test(first)) return true;
  return /^\d+$/.test(first) && count > 0 && Number(first) >= count;
}
