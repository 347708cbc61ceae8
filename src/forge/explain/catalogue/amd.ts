// Faults of AMD GPUs: ROCm, HIP and the amdgpu driver.

import { capture, code, named, phrase, symptom } from '../patterns.ts';
import { asRoot, here, reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { ROCM, ROCM_MATRIX } from './links.ts';

const ATOMICS =
  /PCIe? atomics?\b[^\n]{0,20}\b(?:not (?:enabled|supported|available)|missing|required|disabled)|hostcall not supported|PCI rejects atomics/i;

const override = say(
  'HSA_OVERRIDE_GFX_VERSION makes a near relative pass as supported (10.3.0 for gfx103x, 11.0.0 for gfx110x); AMD does not support it and it can crash, so only as a last resort.',
);

export const amdClasses: readonly ErrorClass[] = [
  {
    code: 'hip-invalid-fn',
    severity: 'error',
    title: 'The build has no kernels for this AMD GPU',
    patterns: [
      capture(/unsupported (?:target|architecture|GPU)[: ]+'?(?<gfx>gfx[0-9a-f]{3,4})/i),
      code(/hipError(?:NoBinaryForGpu|InvalidDeviceFunction|InvalidKernelFile|InvalidImage|SharedObjectInitFailed)\b/),
      // Builds for AMD keep the words of CUDA.
      phrase(
        /(?:device kernel image is invalid|no kernel image is available|invalid device function|named symbol not found)/i,
        /\bgfx[0-9a-f]{3,4}\b|[+-]rocm\b|\bROCm\b|\bradeon\b|\bHIP\w*: |\bhip[A-Z]\w+\(/i,
      ),
      phrase(
        /\b(?:HIP|ROCm) error:[^\n]{0,60}?(?:invalid device function|no kernel image is available|device kernel image is invalid|shared object initialization failed)/i,
      ),
      capture(/no kernel image[^\n]*(?<gfx>gfx[0-9a-f]{3,4})/i),
      code(/hipSuccess \((?:98|209) vs\.? 0\)/),
      capture(
        /(?:Cannot find CO in the bundle|Missing CO for these ISAs|No compatible code objects found for:?)[^\n]*?(?<gfx>gfx[0-9a-f]{3,4})?/i,
      ),
      phrase(/Unable to find code object for all current devices|(?:GPU|card|device) is not supported by ROCm/i),
    ],
    explains: ['build-failed', 'triton-old', 'kernel-source', 'cuda-invalid-value', 'no-kernel-image'],
    cause: (context) =>
      `The build holds no kernels for ${context.got.gfx ?? 'the gfx target of this GPU'}${here(context)}.`,
    fix: (context) => [...reinstall(context), override],
    links: [ROCM_MATRIX],
  },
  {
    code: 'hip-perm',
    severity: 'error',
    title: 'The device file of the GPU cannot be opened',
    patterns: [
      symptom(/\bamdgpu_(?:device_initialize|get_auth|query_info)\b[^\n]*fail\w*/i),
      capture(/\/dev\/kfd[^\n]*Permission denied|Permission denied[^\n]*\/dev\/(?:kfd|dri)/i),
      capture(
        /Unable to open \/dev\/kfd read-write: (?<why>[^\n]+)|(?:cannot|could not|failed to) open \/dev\/(?:kfd|dri\/renderD\d+)[^\n]*/i,
      ),
      capture(/hsa_init[^\n]*(?:HSA_STATUS_ERROR_OUT_OF_RESOURCES|ROCR_\w+)/i),
      code(
        /Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES|HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed(?![^\n]*Available Free mem)/,
      ),
      phrase(/is not member of "(?:render|video)" group|user is not in the (?:render|video) group/i),
    ],
    explains: ['hip-none'],
    cause: ({ got }) =>
      got.why && !/permi/i.test(got.why)
        ? `/dev/kfd answers "${got.why}": the kernel driver and the ROCm libraries do not fit, or the GPU is not one that ROCm computes on.`
        : '/dev/kfd (AMD) and /dev/dri/renderD* (every vendor) are open to the groups render and video only, and are not in a container unless they are passed in.',
    fix: () => [
      asRoot('Join the groups, then log in again.', 'usermod', '-aG', 'render,video', 'YOUR_USER'),
      say('In a container: --device=/dev/kfd --device=/dev/dri --group-add=render --group-add=video.'),
      asRoot('The kernel says whether KFD took the GPU.', 'dmesg', '--ctime'),
    ],
    links: [ROCM],
  },
  {
    code: 'hip-none',
    severity: 'error',
    title: 'ROCm sees no GPU',
    patterns: [
      capture(/hsa api call failure[^\n]*?(?:Call returned (?<status>\d+|HSA_\w+)|$)/im),
      phrase(/No HIP GPUs are available|Could not detect ROCm GPU|No such file or directory: '\S*rocminfo'/i),
      phrase(
        /Module (?:amdgpu|amdkfd) not found|could not insert '(?:amdgpu|amdkfd)'|adding custom device "\/dev\/kfd"|\/dev\/kfd[^\n]*: no such file/i,
      ),
      code(/hipErrorNoDevice/),
      phrase(
        /ROCk module is NOT loaded|kfd not supported on this ASIC|KFD is not (?:loaded|available)|skipped device [0-9a-f:]+, PCI rejects atomics/i,
      ),
      phrase(/Unexpected error from hipGetDeviceCount|HIP initialization: /i),
      phrase(
        /no ROCm-capable device is detected|No (?:AMD|HSA) (?:GPU|agents?) (?:found|detected)|Driver not initialized \(amdgpu not found/i,
      ),
      phrase(/amdgpu version file missing|\/sys\/module\/amdgpu[^\n]*no such file/i),
      phrase(ATOMICS),
      phrase(/\bTensile host: No devices found/i),
      phrase(/\bhipInit: (?:Invalid device|no ROCm-capable)/i),
      phrase(/ROCm: no agent|no (?:ROCm|HIP|AMD) (?:agents?|devices?|GPUs?) (?:was |were )?(?:found|detected)/i),
    ],
    cause: (context) =>
      ATOMICS.test(context.line)
        ? 'ROCm needs PCIe atomics, and the way from the processor to this card does not carry them.'
        : context.facts && !context.facts.amd
          ? 'This machine shows no AMD GPU.'
          : 'The amdgpu driver or /dev/kfd is missing, the user may not open it, or the GPU is not one that ROCm computes on.',
    fix: ({ line }) => [
      run('See what is there and what blocks it.', 'gpuforge', 'doctor', '-v'),
      ATOMICS.test(line)
        ? say(
            'Put the card into a slot of the processor itself (PCIe 3.0 or later), not behind the chipset, a riser or Thunderbolt; a virtual machine must pass atomics on.',
          )
        : asRoot('Load the driver.', 'modprobe', 'amdgpu'),
    ],
    links: [ROCM],
  },
  {
    code: 'rocblas-tensile',
    severity: 'error',
    title: 'rocBLAS has no kernels for this AMD GPU',
    patterns: [
      capture(/Cannot read [^\n]*TensileLibrary[^\n]*/i),
      phrase(
        /rocBLAS error: (?!hip|[^\n]*: No devices)|Could not initialize Tensile host(?!: No devices)|rocblas\w*: (?:Could not|error)/i,
      ),
      code(
        /(?:HIPBLAS|ROCBLAS|HIPBLASLT)_STATUS_(?:ARCH_MISMATCH|NOT_INITIALIZED|INTERNAL_ERROR|NOT_SUPPORTED|ALLOC_FAILED|EXECUTION_FAILED|UNKNOWN)|hip[Bb][Ll][Aa][Ss]L[Tt] on an unsupported architecture/,
      ),
      phrase(/rocBLAS warning: No paths matched/i),
    ],
    cause: ({ got }) => `The installed rocBLAS does not support ${got.gfx ?? 'this gfx target'}, or was not found.`,
    fix: (context) => [...reinstall(context), override],
    links: [ROCM_MATRIX],
  },
  {
    code: 'miopen',
    severity: 'error',
    title: 'MIOpen could not build a kernel',
    patterns: [
      code(
        /miopenStatus(?:UnknownError|InternalError|NotInitialized|BadParm|UnsupportedOp)|HIPRTC_ERROR_\w+|hiprtcCompileProgram/,
      ),
      symptom(/MIOpen(?:\(HIP\))?:? Error/),
      phrase(/Code object build failed|MIOpen\(HIP\): Warning \[SQLiteBase\] Missing system database file/i),
      capture(/hipErrorUnknown[^\n]*miopen|File is unreadable: "[^"\n]*miopen/i),
    ],
    cause: ({ got }) =>
      `MIOpen compiles kernels on the machine and failed${got.gfx ? ` for ${got.gfx}` : ''}: headers of the system get in its way, its cache is broken, or ROCm and driver differ.`,
    fix: (context) => [
      say('Delete the cache ~/.cache/miopen and ~/.config/miopen, then try again.'),
      say('Take C++ headers and other ROCm versions off CPATH, CPLUS_INCLUDE_PATH and LD_LIBRARY_PATH.'),
      ...reinstall(context),
    ],
    links: ['https://rocm.docs.amd.com/projects/MIOpen/en/latest/conceptual/cache.html'],
  },
  {
    code: 'hip-fault',
    severity: 'critical',
    title: 'A kernel crashed on the AMD GPU',
    patterns: [
      capture(
        /Memory (?:access fault|critical error) by (?:GPU|agent) node-(?<node>\d+)[^\n]*(?:Reason: (?<why>[^\n.]+))?/i,
      ),
      code(/hipError(?:IllegalAddress|LaunchFailure|IllegalState)/),
      phrase(/HIP error: (?:an illegal memory access was encountered|unspecified launch failure)/i),
      code(/HSA_STATUS_ERROR_(?:EXCEPTION|MEMORY_APERTURE_VIOLATION|ILLEGAL_INSTRUCTION|MEMORY_FAULT)/),
      phrase(
        /HW Exception by GPU node|(?<!i915[^\n]*)GPU Hang\b(?!: ecode)|amdgpu[^\n]*(?:ring \w+ timeout|GPU reset|GPU fault detected)/i,
      ),
      capture(
        /amdgpu[^\n]*(?:page fault|PROTECTION_FAULT|VM fault|fence timeout|failed to (?:suspend|reset|resume)|\*ERROR\*)/i,
      ),
      phrase(/\[(?:gfxhub|mmhub|vmc)\d*\][^\n]*page fault|\bVM_L2_PROTECTION_FAULT_STATUS\b/),
      // What the part of the kernel driver for computing (KFD) says of queues that hang.
      phrase(
        /\bqcm fence wait loop timeout|unrecoverable state due to an unsuccessful queues? preemption|\bResetting wave ?fronts\b|\bcp queue preemption time ?out|\bMES (?:failed to respond|might be in unrecoverable)|\bFailed to evict (?:queue|process queues)/i,
      ),
      phrase(/\bRIP: \S+\+0x[\da-f]+\/0x[\da-f]+ \[amdgpu\]/i),
      named(
        /\b(?:segfault\w*|segmentation fault|crash\w*)\b[^\n]{0,20}\b(?:in|on|at|during|inside) (?:libamdhip64\S*|hip[A-Z]\w+)/i,
      ),
      phrase(/HSA exception|Queue at 0x[0-9a-f]+ inactivated|rocdevice\.cpp[^\n]*(?:error|Aborting)/i),
      phrase(/\bring \w+(?:\.\d+)* timeout\b/i),
      phrase(/\bReason: (?:Memory in use|Page not present or supervisor privilege|Write access to a read-only page)/i),
    ],
    cause: ({ got }) =>
      `A kernel touched memory it does not own or hung the GPU${got.why ? ` (${got.why})` : ''}: a build for another gfx target, an override that does not fit, or an unstable card.`,
    fix: (context) => [
      run('Run kernels one by one to find it.', 'env', 'AMD_SERIALIZE_KERNEL=3', 'python', 'your_script.py'),
      say('Take HSA_OVERRIDE_GFX_VERSION away; run the card at stock clocks.'),
      asRoot('The kernel log has the rest.', 'dmesg', '--ctime'),
      ...reinstall(context),
    ],
    links: [ROCM_MATRIX],
  },
  {
    code: 'amdgpu-old',
    severity: 'error',
    title: 'ROCm and the kernel driver do not fit',
    patterns: [
      phrase(/\bamdgpu: Unknown symbol \w+|cannot find (?:ROCm device library|HIP runtime|rocm installation)/i),
      code(/hipErrorInsufficientDriver/),
      phrase(
        /(?:ROCm|HIP)[^\n]{0,30}requires (?:an? |the )?(?:newer )?amdgpu|Unsupported (?:amdgpu )?driver version[^\n]*ROCm/i,
      ),
      phrase(/Incompatible kernel and userspace|Upgrade amdgpu|amdgpu-dkms[^\n]*(?:failed|error)/i),
      capture(
        /libamdhip64\.so\.(?<hip>\d+): cannot open|lib(?:rocblas|hipblas\w*|MIOpen|rccl|hsa-runtime64|amd_comgr|roctx64|hipfft|rocsolver)\.so[.\d]*: cannot open/i,
      ),
      capture(/amdhip64(?:_\d+)?\.dll[^\n]{0,40}(?:not found|could not)/i),
      capture(
        /(?:Could not find module|Could not load|Failed to load)[^\n]*(?<library>(?:rocblas|hipblas|hipfft|amdhip64|rocsparse|MIOpen)\w*\.(?:dll|so))/i,
      ),
    ],
    cause: ({ got }) =>
      got.hip
        ? `The program needs ROCm ${got.hip}, which is not installed.`
        : 'The ROCm libraries and the amdgpu driver are of different releases, or a library is missing.',
    fix: (context) => [...reinstall(context), asRoot('Install the amdgpu driver of the same ROCm release.')],
    links: [ROCM],
  },
];
