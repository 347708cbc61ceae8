// Numbers of a kind that the device, or the other operand, does not have; and compilers of frameworks that gave up.

import { capture, code, phrase, symptom } from '../patterns.ts';
import { reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { CUDA_NOTES, MPS, UV } from './links.ts';

const AMP = 'https://docs.pytorch.org/docs/stable/amp.html';
const DYNAMO = 'https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html';

/** The text speaks of a GPU, by whatever name. */
const ON_GPU = /\b(?:GPU|CUDA|cudnn|MPS|ROCm|MIOpen|XPU|Vulkan|Metal|DirectML|device|RTX|GTX|Radeon|RX \d{3,4})\b/i;

export const kindClasses: readonly ErrorClass[] = [
  {
    code: 'half-on-cpu',
    severity: 'error',
    title: 'This operation has no half precision on the CPU',
    patterns: [
      capture(/"(?<op>\w*(?:_cpu|_vml|cpu_)\w*)" not implemented for '(?<kind>Half|BFloat16)'/),
      capture(/"(?<op>(?!\w*_cuda)\w+)" not implemented for '(?<kind>Half|BFloat16|Float8_\w+)'/),
      phrase(/lack of support for ?[`'"]?(?:float16|half|bfloat16)[`'"]? operations on (?:CPU|this device)\b/i),
    ],
    cause: ({ got }) =>
      `${got.op} in ${got.kind} runs on a GPU only, and the tensor is on the CPU: the model was not moved, or no GPU is used.`,
    fix: () => [
      say('Move model and data to the GPU, or load the model in float32 when it runs on the CPU.'),
      say('Programs with switches: --no-half, --precision full, dtype=torch.float32.'),
      run('Check that a GPU is seen.', 'gpuforge', 'doctor'),
    ],
    links: [AMP],
  },
  {
    code: 'dtype-mixed',
    severity: 'error',
    title: 'Two kinds of numbers meet in one operation',
    patterns: [
      capture(/expected (?:scalar type|dtype) (?<wanted>\w+) but (?:found|got) (?:scalar type |dtype )?(?<found>\w+)/i),
      capture(/unexpected dtype, expected: (?<wanted>\w+), got: (?<found>\w+)/),
      capture(/found (?:scalar type|dtype) (?<found>\w+) but expected (?:scalar type |dtype )?(?<wanted>\w+)/i),
      capture(
        /(?:mat1 and mat2|self and mat2|Input and bias|query, key, and value)[^\n]{0,40}must have the same dtype/i,
      ),
      capture(/expected m1 and m2 to have the same dtype, but got: (?<wanted>[\w: ]+) != (?<found>[\w: ]+)/i),
      capture(/Expected query, key, and value to have the same dtype/i),
      capture(
        /to have the same (?:d?type|scalar type) as [^\n]{0,40}; but type (?<found>\w+) does not equal (?:torch\.)?(?<wanted>[\w.]+)/,
      ),
      capture(/"\w*_cuda\w*" not implemented for '(?<found>Half)'/),
    ],
    cause: ({ got }) =>
      got.wanted && got.found
        ? `One operand is ${got.wanted.trim()}, the other ${got.found.trim()}: a part of the model was not converted.`
        : 'A part of the model or the data was not converted to the same kind of number.',
    fix: () => [
      say('Convert both: model.to(dtype) and inputs.to(dtype); or run it inside torch.autocast("cuda").'),
      say('An adapter (LoRA) or a VAE is often the part that was left in float32.'),
    ],
    links: [AMP, MPS],
  },
  {
    code: 'dynamo',
    severity: 'warning',
    title: 'torch.compile could not take the program',
    patterns: [
      symptom(/torch\._dynamo\.exc\.(?<kind>\w+)|torch\._inductor\.exc\.(?<inner>\w+)|BackendCompilerFailed/),
      symptom(
        /\[__(?:graph_breaks|recompiles)\]|Graph Break Reason|torch\/_dynamo\/\w+\.py[^\n]*(?:Unsupported|failed)/i,
      ),
      symptom(/torch\._dynamo hit config\.\w*cache_size_limit|dynamo[^\n]{0,40}(?:recompile_limit|graph break)/i),
    ],
    cause: ({ got }) =>
      `The compiler of PyTorch stopped${got.kind ? ` (${got.kind})` : ''}; the lines below its name say at what. The program itself runs without it.`,
    fix: () => [
      say('Rule it out: TORCH_COMPILE_DISABLE=1 (or TORCHDYNAMO_DISABLE=1), then explain the lines that remain.'),
      say('TORCH_LOGS="graph_breaks,recompiles" tells where it stopped.'),
    ],
    links: [DYNAMO],
  },
  {
    code: 'kernel-source',
    severity: 'error',
    title: 'A kernel written in the program does not compile',
    patterns: [
      capture(/CompileException: [^\n]*?\((?<line>\d+)\): error: (?<what>[^\n]+)/),
      capture(/CompileException: (?<what>`?(?:nvcc|hipcc)`? command returns non-zero exit status)/),
      capture(/CompileException: (?<what>[^\n]*(?:warning #|catastrophic error)[^\n]*)/i),
      capture(/NVRTC_ERROR_COMPILATION|nvrtc: error: (?<what>[^\n]+)|hiprtc[^\n]*(?:error|failed)/i),
      capture(/clBuildProgram failed: BUILD_PROGRAM_FAILURE|pyopencl[^\n]*BUILD_PROGRAM_FAILURE/),
      capture(/NvvmError|LLVM ERROR: Cannot select|ptxas (?:application|fatal)[^\n]*(?:syntax|parse) error/i),
      capture(/\d+ errors? detected in the compilation of "(?<file>[^"\n./\\]+)"/),
      symptom(/\b(?:CUDA|OpenCL|HIP|Metal|SYCL) (?:program|kernel|shader) compilation (?:error|failed|failure)\b/i),
      phrase(/failed to legalize operation '(?:tt|ttg|nvgpu|gpu|llvm)\.\w+'/),
      capture(
        /\bInvalidIRError\b|Unresolved extern function|Failed in cuda mode pipeline|Module does not contain a triple, should be 'nvptx/i,
      ),
      code(/\bnvJitLinkError: [A-Z_]+|\bNVJITLINK_ERROR_[A-Z_]+/),
    ],
    unless: /failed to (?:load builtins|open (?:lib)?nvrtc-builtins)|invalid value for --gpu-architecture/i,
    explains: ['build-failed'],
    cause: ({ got }) => `The compiler refused the source${got.what ? `: ${got.what.trim()}` : ''}.`,
    fix: () => [
      say('The line number is that of the kernel text. Half and vector types need their header (cuda_fp16.h).'),
      say('A compiler of another version than the headers gives such errors too: one CUDA version for both.'),
    ],
    links: [CUDA_NOTES],
  },
  {
    code: 'opencl-none',
    severity: 'error',
    title: 'OpenCL finds no driver',
    patterns: [
      capture(/PLATFORM_NOT_FOUND_KHR|CL_DEVICE_NOT_FOUND|\bDEVICE_NOT_FOUND\b/),
      phrase(/^\s*Number of platforms:? +0\s*$/m),
      phrase(/\b(?:invalid|no such) OpenCL (?:platform|device)\b/i),
      phrase(/\bNo devices found\/left\b|OpenCL runtime\b[^\n]{0,30}\bis (?:currently )?broken/i),
      capture(
        /(?:OpenCL|clGetPlatformIDs|clGetDeviceIDs)[^\n]{0,40}(?:-1001|-1\b|no (?:platforms?|devices?)|not found)/i,
      ),
      capture(/(?<library>libOpenCL\.so[.\d]*|OpenCL\.dll)['"]?:? [^\n]{0,30}(?:cannot open|not found|could not)/i),
      phrase(/\bGPU missing\b/i, /\bBOINC\b/i),
    ],
    explains: ['openvino'],
    cause: () =>
      'The OpenCL loader finds no vendor file (.icd) in /etc/OpenCL/vendors, or the loader itself is missing.',
    fix: ({ os }) =>
      os === 'windows'
        ? [say("OpenCL comes with the graphics driver: install the vendor's own, not the one of Windows Update.")]
        : [
            say(
              'The loader is ocl-icd-libopencl1; drivers: nvidia-opencl-icd, intel-opencl-icd, rocm-opencl-runtime, pocl-opencl-icd.',
            ),
            run('See what is found.', 'clinfo', '-l'),
            say(
              'In a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility and write libnvidia-opencl.so.1 into /etc/OpenCL/vendors/nvidia.icd.',
            ),
          ],
    links: ['https://github.com/KhronosGroup/OpenCL-ICD-Loader'],
  },
  {
    code: 'static-tls',
    severity: 'error',
    title: 'A library was loaded too late for its thread memory',
    patterns: [capture(/(?<library>[\w.+-]+\.so[.\d]*)['"]?: cannot allocate memory in static TLS block/i)],
    cause: ({ got }) =>
      `${got.library ?? 'A library'} wants memory that is handed out when the program starts; on ARM machines it runs out when other libraries come first.`,
    fix: ({ got }) => [
      say(
        `Import the package that brings it first, or start the program with LD_PRELOAD set to the path of ${got.library ?? 'the library'}.`,
      ),
    ],
    links: ['https://sourceware.org/glibc/manual/latest/html_node/Dynamic-Linking-Tunables.html'],
  },
  {
    code: 'verify-wrong',
    severity: 'critical',
    title: 'The GPU computed a wrong result',
    patterns: [
      capture(/^WRONG (?<device>\S+) +(?<name>[^\n]+?) {2}\d+x\d+ matmul/im),
      // What people say of results that the CPU has right.
      symptom(
        /\b(?:wrong|incorrect|garb\w+|corrupted|black|NaNs?)\b[^\n]{0,120}(?:\bCPU\b[^\n]{0,40}\b(?:correct|fine|works?|ok)\b|\bno problems? \w+ (?:the )?CPU)/i,
        ON_GPU,
      ),
      symptom(
        /\b(?:gives?|produces?|returns?|results? in|contain)\b[^\n]{0,20}\b(?:wrong|incorrect|garb\w+|corrupted|zero|nan) (?:results?|outputs?|values|images?|weights)\b/i,
        ON_GPU,
      ),
    ],
    unless: /\b(?:[Ff]ix(?:e[sd]|ing)?|[Rr]esolve[sd]?|no longer|may differ)\b/,
    cause: ({ got }) =>
      got.device
        ? `verify.py compared ${got.device} with the CPU and the results differ by far more than rounding.`
        : 'The CPU has another result: half precision overflowed, a kernel of this version is wrong, or the card computes wrongly.',
    fix: (context) => [
      ...(context.got.device
        ? []
        : [
            say(
              'Run it once in float32, and one step on the CPU: that tells overflow, a wrong kernel and a faulty card apart.',
            ),
          ]),
      say('Run it again at stock clocks; a result that changes between runs is a fault of the card or of its memory.'),
      ...(context.vendor === undefined || context.vendor === 'nvidia'
        ? [run('Look for memory errors.', 'nvidia-smi', '-q', '-d', 'ECC')]
        : []),
      ...reinstall(context),
    ],
    links: [UV],
  },
];
