// Faults of what stands beside the kernels: NVML, profilers, OpenCL calls, the sharing daemon; and programs
// written for another version of their framework.

import { GPU_PACKAGES } from '../packages.ts';
import { capture, code, phrase, symptom } from '../patterns.ts';
import { asRoot, install, reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { CUDA_NOTES, DRIVER, RUNTIME } from './links.ts';

const STACK = [...GPU_PACKAGES].join('|');

export const toolClasses: readonly ErrorClass[] = [
  {
    code: 'nvml-failed',
    severity: 'warning',
    title: 'NVML refused a question about the GPU',
    patterns: [
      symptom(/(?:Setting|Changing|Enabling|Disabling|Resetting) [\w ]{3,40} is not supported for GPU/i),
      capture(/NVMLError_(?<why>InvalidArgument|NotSupported|Uninitialized|Unknown|NotFound|Timeout|InUse|Memory)\b/),
      capture(/NVML failed with code (?<why>\w+)|NVML_ERROR_(?<name>NOT_SUPPORTED|INVALID_ARGUMENT|UNKNOWN|NOT_FOUND)/),
      symptom(/\bnvml(?:Device|System|Init)\w*(?:\([^)\n]*\))?[^\n]{0,20}(?:failed|error|returned [1-9])/i),
      phrase(/NVMLError: (?<why>[^\n]+)|Failed to initialize NVML: (?:System is not in ready state|Not Supported)/i),
    ],
    unless: /NVMLError_(?:LibraryNotFound|NoPermission|FunctionNotFound|DriverNotLoaded|GpuIsLost|LibRmVersion)/,
    cause: ({ got }) =>
      `The monitoring library answered ${got.why ?? got.name ?? 'with an error'}. Integrated GPUs, WSL and MIG parts do not answer every question; a device number that does not exist gives InvalidArgument.`,
    fix: () => [
      run('See whether the driver itself answers.', 'nvidia-smi'),
      say('Give devices as numbers: a UUID or a MIG name in CUDA_VISIBLE_DEVICES breaks programs that count by NVML.'),
      install('The package pynvml is old; NVIDIA keeps nvidia-ml-py up to date.', 'nvidia-ml-py'),
    ],
    links: ['https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html'],
  },
  {
    code: 'profiler-access',
    severity: 'error',
    title: 'The profiler may not read the counters of the GPU',
    patterns: [
      phrase(/CUPTI could not be loaded/i),
      code(/ERR_NVGPUCTRPERM|CUPTI_ERROR_INSUFFICIENT_PRIVILEGES/),
      phrase(/not have permission to (?:access|profile)[^\n]*Performance Counters/i),
      capture(/\bcupti\w*[^\n]{0,80}? failed with error (?<number>\d+|CUPTI_\w+)/i),
      phrase(
        /Profiling module returned an unrecoverable error|doesn't have sufficient privileges to expose profiling metrics|Profiling is not supported for this group of GPUs/i,
      ),
      symptom(/CUPTI_ERROR_\w+|CUPTI (?:error|initialization failed)|cupti[^\n]{0,30}with error 35\b/i),
    ],
    cause: () => 'Counters are for administrators only unless the driver is told otherwise.',
    fix: () => [
      asRoot(
        'Allow it: put "options nvidia NVreg_RestrictProfilingToAdminUsers=0" into a file of /etc/modprobe.d and start again.',
      ),
      say('In a container start it with --cap-add=SYS_ADMIN; one profiler at a time.'),
    ],
    links: ['https://developer.nvidia.com/ERR_NVGPUCTRPERM'],
  },
  {
    code: 'opencl-failed',
    severity: 'error',
    title: 'An OpenCL call failed',
    patterns: [
      symptom(/\bFailed to build program executable\b/i, /opencl/i),
      phrase(/\bProgram build failure\b/),
      code(
        /\bCL_(?:(?:BUILD|COMPILE|LINK)_PROGRAM_FAILURE|UNKNOWN_ERROR|MAP_FAILURE|MISALIGNED_SUB_BUFFER_OFFSET|OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE|INVALID_[A-Z_]+|DEVICE_NOT_AVAILABLE|COMPILER_NOT_AVAILABLE)\b/,
      ),
      capture(
        /\bcl(?:Enqueue|Create|Build|Set|Finish|Wait|Get)\w+(?:\(\))?[^\n]{0,20}(?:failed|returned|error)[^\n]{0,30}?(?<number>-\d+|[A-Z][A-Z_]{4,})/,
      ),
      symptom(
        /Enqueue\w*NDRange\w*[^\n]{0,20}(?:error|failed|OutOfResources)|enqueue ndrange error|OpenCL (?:error|exception)/i,
      ),
    ],
    unless: /PLATFORM_NOT_FOUND|DEVICE_NOT_FOUND|PI_ERROR_|clBuildProgram failed: BUILD|\b[Mm]odule (?:name|path):/,
    cause: ({ got }) =>
      `The driver refused the call${got.number ? ` (${got.number})` : ''}. -5 is out of resources: a work group needs more registers or local memory than the GPU has; -4 is memory that could not be had; -54 a work group that is too large.`,
    fix: () => [
      say('Make the work groups smaller, and the buffers: one may hold CL_DEVICE_MAX_MEM_ALLOC_SIZE at most.'),
      run('See the limits of each device.', 'clinfo'),
    ],
    links: ['https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html'],
  },
  {
    code: 'framework-version',
    severity: 'error',
    title: 'The program was written for another version of the framework',
    patterns: [
      capture(
        new RegExp(`\\bC (?:function|variable) (?<module>(?:${STACK})[\\w.]*) has (?:the )?wrong (?:signature|type)`),
      ),
      capture(/No module named '(?<module>torch\._(?!C\._distributed)[\w.]+)'/),
      capture(new RegExp(`requires (?<module>${STACK}) version[^\\n]{0,40}but found`, 'i')),
      capture(new RegExp(`module '(?<module>(?:${STACK})(?:\\.[\\w.]+)?)' has no attribute '(?<name>\\w+)'`)),
      capture(new RegExp(`'(?<module>(?:${STACK})(?:_bindings)?\\.[\\w.]+)' object has no attribute '(?<name>\\w+)'`)),
      capture(
        new RegExp(
          `cannot import name '(?<name>\\w+)' from (?:partially initialized module )?'(?<module>(?:${STACK})(?:\\.[\\w.]+)?)'`,
        ),
      ),
      capture(
        /(?:PyTorch|torch|TensorFlow|JAX|Triton)(?: version)? ?(?:>=|<=|==|<|>) ?(?<wanted>[\d.]+)[^\n]{0,30}(?:is required|but found|but got|required but)/i,
      ),
      phrase(
        /Model architectures? \[[^\]\n]*\] (?:(?:are|is) not supported|failed to be inspected)|has model type `\w+` but Transformers does not recognize|model type [`']?[\w.-]+[`']? (?:is )?not supported (?:yet|for now)/i,
      ),
      capture(/(?<name>\w+_(?:fwd|bwd|cuda|kernel|forward|backward))\(\): incompatible function arguments/),
      capture(/(?<module>\w+)==\S+ is used but incompatible/),
      // JAX keeps its options in an object named Config.
      capture(/'Config' object has no attribute '(?<name>jax_\w+)'/),
      capture(/Unknown quantization method: (?<name>\w+)\. Must be one of/),
      phrase(/Expected one of cpu, cuda,[^\n]*device type at start of device string/),
      capture(
        /(?:requires|needs|only supports?|expects?) (?:at least )?(?:PyTorch|torch|TensorFlow|JAX)(?: version)? ?(?:>=|<=|==|<|>)? ?v?(?<wanted>\d[\d.]+)/i,
      ),
      capture(
        /'(?<module>(?:BitsAndBytes|GPTQ|AWQ|Awq|Quanto|TorchAo|Lora|Peft)\w*)' object has no attribute '(?<name>\w+)'/,
      ),
    ],
    unless:
      /jaxlib(?!\.)|module 'jaxlib|DeepSpeed|sparse_attn|but you have|which is incompatible|import name '(?:csrc|_C|_ext)'/,
    cause: ({ got }) =>
      got.name
        ? `${got.module} has no ${got.name} in the version that is installed.`
        : `It asks for version ${got.wanted ?? 'other than the installed one'}.`,
    fix: (context) => [
      say('Take the version that the program names in its requirements, or update the program.'),
      ...reinstall(context),
    ],
    links: ['https://pytorch.org/get-started/previous-versions/'],
  },
  {
    code: 'nan-half',
    severity: 'error',
    title: 'Half precision produced nothing but NaN',
    patterns: [
      code(/\bNansException\b/),
      capture(/tensor with (?:all )?NaN'?s was produced in (?<where>\w+)/i),
      phrase(/invalid value encountered in cast\s+images? = /),
      phrase(/probability tensor contains either `?inf`?, `?nan`? or element < 0/i),
      capture(/\bloss(?:: | ?= ?)nan\b(?=[^\n]*$)/im, /\b(?:fp16|float16|half precision|mixed precision|amp)\b/i),
    ],
    cause: () => 'Numbers left the range of float16: GTX 16 cards do this in hardware, some models on every card.',
    fix: () => [
      say('Compute in bfloat16 (from RTX 30 on) or float32. Stable Diffusion web UI: --no-half-vae, then --no-half.'),
      say('If it is a part of the model only, upcast that part (attention, VAE) to float32.'),
    ],
    links: [CUDA_NOTES],
  },
  {
    code: 'cuda-mps',
    severity: 'error',
    title: 'The sharing daemon of CUDA (MPS) is not there',
    patterns: [
      phrase(/MPS client failed to connect|between the MPS server and (?:the )?MPS client failed/i),
      symptom(/nvidia-cuda-mps-(?:server|control)[^\n]{0,40}(?:failed|exited with status [1-9]|error)/i),
      phrase(/Failed to send command to MPS daemon|MPS daemon[^\n]{0,30}(?:not healthy|not running|failed)/i),
    ],
    cuda: [805, 806, 807, 808, 809, 810],
    explains: ['no-devices', 'cuda-failed', 'cuda-unknown'],
    cause: () =>
      'CUDA_MPS_PIPE_DIRECTORY, or a pipe in /tmp/nvidia-mps, leads to a daemon that does not run, runs as another user, or is outside this container.',
    fix: () => [
      say('Stop the daemon if nobody needs it: type quit into nvidia-cuda-mps-control.'),
      asRoot('Or start it again.', 'nvidia-cuda-mps-control', '-d'),
      say('A container needs the pipe folder mounted and --ipc=host.'),
    ],
    links: ['https://docs.nvidia.com/deploy/mps/index.html', DRIVER, RUNTIME],
  },
];
