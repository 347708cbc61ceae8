// Faults of what stands beside the kernels: NVML, the video encoder, profilers, OpenCL calls, the sharing daemon; and programs
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
    code: 'nvenc',
    severity: 'error',
    title: 'The video encoder or decoder of the GPU cannot be used',
    patterns: [
      phrase(/A hardware device reference is required to upload frames/i),
      capture(
        /Driver does not support the required nvenc API version\. Required: (?<wanted>[\d.]+) Found: (?<found>[\d.]+)/i,
      ),
      symptom(
        /\[\w+_(?:nvenc|cuvid|nvdec) @ [^\]\n]*\] (?:Error|Cannot|Could not|Failed|No capable)[^\n]*|\bcuvid hwaccel requested[^\n]*cannot/i,
      ),
      capture(/minimum required Nvidia driver for nvenc is (?<driver>[\w().]+)/i),
      capture(
        /(?:Cannot|Could not|Failed to|Unable to) (?:load|open|init\w*)[^\n]{0,20}(?<library>nvEncodeAPI\w*\.dll|libnvidia-encode\.so[.\d]*|libnvcuvid\.so[.\d]*|nvcuvid\.dll|nvEncode\w*|nvenc|NVDEC)/i,
      ),
      capture(
        /(?:OpenEncodeSessionEx|InitializeEncoder|NvEncOpenEncodeSession\w*|cuvidCreateDecoder|cuvidGetDecoderCaps) failed[^\n]*/i,
      ),
      phrase(
        /No (?:NVENC|NVDEC) capable devices found|No capable devices found|NV_ENC_ERR_\w+|does not support this NvEncodeAPI version|No GPU found suitable for NVEnc/i,
      ),
    ],
    explains: ['driver-too-old', 'oom', 'cuda-failed'],
    cause: ({ got }) =>
      got.wanted
        ? `The program was built for NVENC ${got.wanted}; the driver offers ${got.found}.`
        : 'The encoder belongs to the driver: it is missing in this container, older than the program wants, or all its sessions are taken.',
    fix: () => [
      say(
        'Update the driver, or take a build of the program for the older NVENC. FFmpeg: nv-codec-headers of that age.',
      ),
      say('In a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility,video.'),
      say('Cards for games allow a few sessions at a time; some small cards and data centre cards have no encoder.'),
    ],
    links: ['https://developer.nvidia.com/video-encode-and-decode-gpu-support-matrix-new'],
  },
  {
    code: 'jetson-media',
    severity: 'error',
    title: 'The camera or video path of the Jetson failed',
    patterns: [
      phrase(/nvargus-daemon[^\n]*(?:Error|failed|timeout)|\bSCF: Error \w+|\(Argus\) (?:Error|Objects)[^\n]*/),
      phrase(/\bnvbuf_utils: ?[^\n]*(?:fail|not found|error|could not)|NvBufSurf\w*: [^\n]*(?:fail|error)/i),
      phrase(
        /\bNvMMLite\w*[^\n]*(?:error|failed)|\bnvv4l2\w*[^\n]*(?:error|failed)|NvEglImage\w*[^\n]*(?:error|failed)/i,
      ),
      symptom(
        /\bgst(?:Decoder|Camera|BufferManager|Encoder) +-- +failed[^\n]*|from NVMM buffer|nvarguscamerasrc[^\n]*(?:error|failed)/i,
      ),
      symptom(/Failed to create CaptureSession|No cameras available|Error generated\. [\w/.]*(?:argus|gstnv)\w*/i),
    ],
    cause: () =>
      'Pictures go from the sensor through the image processor and NVMM memory to the GPU; one of these steps did not answer. Libraries of a container must be those of the JetPack of the board.',
    fix: () => [
      asRoot('Start the camera service again.', 'systemctl', 'restart', 'nvargus-daemon'),
      say(
        'Try the camera alone: gst-launch-1.0 nvarguscamerasrc ! fakesink; then look at cable, sensor driver and mode.',
      ),
      say('In a container pass /tmp/argus_socket in and use an image of the same L4T release.'),
      say('jetson-inference: build with -DENABLE_NVMM=OFF.'),
    ],
    links: ['https://docs.nvidia.com/jetson/l4t-multimedia/index.html'],
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
      phrase(/\bProgram build failure\b/),
      code(
        /\bCL_(?:OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE|INVALID_[A-Z_]+|DEVICE_NOT_AVAILABLE|COMPILER_NOT_AVAILABLE)\b/,
      ),
      capture(
        /\bcl(?:Enqueue|Create|Build|Set|Finish|Wait|Get)\w+(?:\(\))?[^\n]{0,20}(?:failed|returned|error)[^\n]{0,30}?(?<number>-\d+|[A-Z][A-Z_]{4,})/,
      ),
      symptom(
        /Enqueue\w*NDRange\w*[^\n]{0,20}(?:error|failed|OutOfResources)|enqueue ndrange error|OpenCL (?:error|exception)/i,
      ),
    ],
    unless: /PLATFORM_NOT_FOUND|DEVICE_NOT_FOUND|BUILD_PROGRAM_FAILURE/,
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
      capture(new RegExp(`requires (?<module>${STACK}) version[^\\n]{0,40}but found`, 'i')),
      capture(new RegExp(`module '(?<module>(?:${STACK})(?:\\.[\\w.]+)?)' has no attribute '(?<name>\\w+)'`)),
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
      capture(/Unknown quantization method: (?<name>\w+)\. Must be one of/),
      phrase(/Expected one of cpu, cuda,[^\n]*device type at start of device string/),
      capture(
        /(?:requires|needs|only supports?|expects?) (?:at least )?(?:PyTorch|torch|TensorFlow|JAX)(?: version)? ?(?:>=|<=|==|<|>)? ?v?(?<wanted>\d[\d.]+)/i,
      ),
    ],
    unless: /jaxlib|DeepSpeed|sparse_attn|but you have|which is incompatible/,
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
