// Faults of Intel and Apple GPUs.

import { capture, code, phrase, symptom } from '../patterns.ts';
import { asRoot, install, reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { MPS, XPU } from './links.ts';

const level0 = asRoot(
  'Install the driver packages.',
  'apt-get',
  'install',
  '-y',
  'intel-opencl-icd',
  'libze-intel-gpu1',
  'libze1',
);

export const acceleratorClasses: readonly ErrorClass[] = [
  {
    code: 'xpu-none',
    severity: 'error',
    title: 'PyTorch sees no Intel GPU',
    patterns: [
      phrase(
        /(?:PyTorch|torch) (?:was |is )?(?:not (?:compiled|built) with|(?:compiled|built) without) XPU|Intel GPU driver is not (?:properly )?installed/i,
      ),
      phrase(/Module (?:i915|xe) not found|could not insert '(?:i915|xe)'/i),
      phrase(/No device filter specified and no discrete\/integrated (?:i915|xe) devices found/i),
      phrase(
        /\[opencl:cpu[:\]][^\n]*(?:\n(?!.*(?:level_zero|:gpu[:\]]))[^\n]*){0,6}$(?![\s\S])/i,
        /\bsycl-ls\b(?![\s\S]*(?:level_zero|:gpu[:\]]))/i,
      ),
      phrase(/Failed to initialize XPU devices|dpcppSetDevice: device_id is out of range/i),
      phrase(
        /XPU device count is zero|No XPU devices? (?:are|is) (?:available|found)|torch\.xpu\.is_available\(\)[^\n]{0,12}False/i,
      ),
      code(/(?:PI|UR_RESULT)_ERROR_DEVICE_NOT_FOUND|ZE_RESULT_ERROR_UNINITIALIZED/),
      phrase(/No device of requested type(?: '[^']*')? available/i),
      capture(
        /(?<library>lib(?:ze_loader|sycl|ur_loader|pi_level_zero|OpenCL|mkl_sycl\w*|ccl|intel-ext-pt-gpu)\.so[.\d]*): cannot open/i,
      ),
      phrase(/\bsycl::[^\n]*\bNo matching devices? found/i),
      phrase(/SYCL runtime is not (?:detected|dected|found)|no (?:SYCL|Level[- ]Zero) (?:device|platform|driver)/i),
      capture(/\bsycl-ls: (?:command )?not found/),
    ],
    explains: ['not-compiled-cuda', 'torch-no-gpu'],
    cause: ({ got }) =>
      got.library
        ? `${got.library} is missing: it comes with the driver or the XPU build of torch.`
        : 'The Level Zero driver is missing, or the GPU is not one that PyTorch supports.',
    fix: (context) =>
      context.os === 'windows'
        ? [say('Install the current Intel graphics driver, then restart.'), ...reinstall(context, 'pytorch')]
        : [level0, say('The user must be in the group render.'), ...reinstall(context, 'pytorch')],
    links: [XPU],
  },
  {
    code: 'xpu-lost',
    severity: 'error',
    title: 'The Intel GPU was reset',
    patterns: [
      code(/(?:UR_RESULT|PI|ZE_RESULT)_ERROR_DEVICE_LOST/),
      phrase(/i915[^\n]*GPU HANG|xe [^\n]*(?:Engine reset|GPU reset|timedout job)/i),
      {
        ...code(
          /\bGPU HANG: ecode [\da-f]+:|\bFence expiration time out i915-|\b(?:i915|xe) [\da-f:.]+: \[drm\][^\n]*\b(?:context reset due to GPU hang|Resetting (?:chip|\w+) for|GT\d: (?:reset (?:queued|started|failed)|GuC (?:engine )?reset))/i,
        ),
        named: true,
      },
    ],
    explains: ['xpu-failed'],
    cause: () => 'A kernel ran too long or memory ran out, and the driver reset the GPU. The process cannot go on.',
    fix: (context) => [
      say('Use less memory: a smaller batch or model. On laptops the GPU shares the main memory.'),
      ...(context.os === 'windows'
        ? [say('Update the Intel graphics driver; Windows ends long kernels after two seconds (TdrDelay).')]
        : [
            asRoot(
              'Long kernels: echo 0 > /sys/class/drm/card0/engine/rcs0/preempt_timeout_ms; then update the driver.',
            ),
          ]),
    ],
    links: [XPU],
  },
  {
    code: 'xpu-failed',
    severity: 'error',
    title: 'The Level Zero driver refused a call',
    patterns: [
      phrase(/Kernel is incompatible with all devices in devs/),
      code(/\bError: UR error\b/),
      symptom(/\bCHECK_TRY_ERROR\(|\bggml-sycl\.cpp:\d+/),
      code(
        /(?:UR_RESULT|PI|ZE_RESULT)_ERROR_(?:OUT_OF_RESOURCES|UNKNOWN|INVALID_\w+|UNSUPPORTED_\w+|ADAPTER_SPECIFIC|PLUGIN_SPECIFIC_ERROR|MODULE_BUILD_FAILURE|PROGRAM_(?:BUILD|LINK)\w*)/,
      ),
      capture(/level_zero backend failed with error: (?<number>\d+)/i),
      phrase(/Native API (?:failed|returns)|Provided range is out of integer limits/i),
      phrase(
        /Double type is not supported on this platform|backend compiler failed build|Required aspect (?:fp64|fp16) is not supported on the device/i,
      ),
      symptom(
        /\bze_result_t\b[^\n]*\d{4,}|\bUR error\b|Abort was called at \d+ line in file|\bNo kernel named \w+ was found\b/i,
      ),
      symptom(/(?:PI|UR_RESULT|ZE_RESULT)_ERROR_\w+|\bsycl::[\w:]*exception|SYCL exception/i),
    ],
    cause: ({ got }) =>
      `The driver of the Intel GPU reported ${got.number ? `error ${got.number}` : 'an error'}: too little memory, an operation it does not support, or a driver that does not fit.`,
    fix: (context) => [
      say('Use less memory first: a smaller batch or model.'),
      ...(context.os === 'windows' ? [say('Update the Intel graphics driver.')] : [level0]),
      ...reinstall(context, 'pytorch'),
    ],
    links: [XPU],
  },
  {
    code: 'openvino',
    severity: 'error',
    title: 'OpenVINO could not use the device',
    patterns: [
      capture(
        /Device with "(?<device>[A-Z]{3})[\w.]*" name is not registered|Failed to create plugin [^\n]* for device (?<plugin>GPU|NPU|MYRIAD)/,
      ),
      capture(
        /^(?:[^\n]{0,60} )?\[ ?(?<device>GPU|NPU|CLDNN ERROR) ?\][^\n]*(?:error|fail\w*|exceed\w*|not (?:supported|found)|exception|unsupported|invalid)/im,
      ),
      phrase(/\[GPU\] Context was not initialized/),
      phrase(/\[GPU\] out of GPU resources|No GPU device found in OpenVINO/i),
      symptom(
        /Exception from src[\\/](?:inference|plugins[\\/]intel_(?:gpu|npu)|core)[^\n]*|\bov::\w*Exception\b|\bProgramBuilder build failed|\bINFERENCE_ENGINE\b[^\n]*error/i,
      ),
      symptom(
        /\b(?:OpenVINO|openvino_intel_\w+|clDNN\w*)\b[^\n]*(?:exception|fail\w*|error|cannot|not (?:supported|found|available))/i,
      ),
    ],
    unless: /onnxruntime|ExecutionProvider|error -1001|libOpenCL/,
    explains: ['opencl-failed', 'xpu-failed'],
    cause: ({ got }) =>
      `OpenVINO reaches the ${got.device === 'NPU' || got.plugin === 'NPU' ? 'NPU through Level Zero' : 'Intel GPU through OpenCL'}; the driver is missing or too old, the user may not open /dev/dri, or the model has something that the device does not take.`,
    fix: ({ os }) => [
      run('See which devices it finds.', 'python', '-c', 'import openvino; print(openvino.Core().available_devices)'),
      ...(os === 'windows'
        ? [say('Update the Intel graphics (or NPU) driver.')]
        : [
            level0,
            say(
              'The user must be in the group render; in a container pass --device=/dev/dri (NPU: --device=/dev/accel).',
            ),
          ]),
      say('The same with device CPU tells whether the model or the device is to blame; fixed shapes help on the NPU.'),
    ],
    links: ['https://docs.openvino.ai/2025/get-started/install-openvino/configurations.html'],
  },
  {
    code: 'mps-op',
    severity: 'warning',
    title: 'The operation does not exist on Apple GPUs',
    patterns: [
      capture(
        /The operator '(?<op>[\w:.]+)' is not current(?:ly)? (?:implemented|supported) (?:for|on) the MPS (?:device|backend)/i,
      ),
      phrase(/not current(?:ly)? (?:implemented|supported) (?:for|on) the MPS (?:device|backend)/i),
      capture(/(?<op>\w+)(?:\(\))?(?: op)? (?:is )?not (?:yet )?(?:implemented|supported) (?:for|on) MPS\b/i),
      phrase(
        /MPS: (?:Unsupported|no support)|(?:only )?supported (?:natively )?starting from macOS|MPS backend (?:doesn't|does not) support/i,
      ),
      capture(/Could not run '(?<op>[\w:.]+)' with arguments from the '\w*MPS' backend/i),
      symptom(/MPSGraph\w*[^\n]*error:|'mps\.\w+' op |\bmps_\w+[^\n]*: error:|MPSNDArray[^\n]*(?:assert|error)/),
    ],
    unless: /float64|BFloat16|bf16/i,
    cause: ({ got }) => `${got.op ?? 'This operation'} is not implemented for MPS.`,
    fix: () => [
      run('Let the CPU do what the GPU cannot.', 'env', 'PYTORCH_ENABLE_MPS_FALLBACK=1', 'python', 'your_script.py'),
      install('Newer versions have more operations.', 'torch'),
    ],
    links: [MPS],
  },
  {
    code: 'mps-float64',
    severity: 'error',
    title: 'Apple GPUs have no float64',
    patterns: [
      phrase(
        /MPS framework doesn't support float64|Cannot convert a MPS Tensor to float64|MPS device does not support (?:float64|double)/i,
      ),
      phrase(/Trying to convert (?:Double|ComplexDouble)[^\n]*to the MPS backend/i),
    ],
    cause: () => 'A tensor of 64-bit floats, often one from NumPy, was sent to the GPU.',
    fix: () => [
      say("Convert before the move: x.float().to('mps'), or torch.tensor(array, dtype=torch.float32, device='mps')."),
    ],
    links: [MPS],
  },
  {
    code: 'mps-bf16',
    severity: 'error',
    title: 'This type does not exist on the Apple GPU',
    patterns: [
      phrase(
        /BFloat16 is not supported on MPS|bf(?:loat)?16 is only supported on macOS|MPS BFloat16 is only supported/i,
      ),
      capture(/Trying to convert (?<type>Float8\w*|BFloat16|ComplexFloat)[^\n]*to the MPS backend/i),
    ],
    cause: ({ got }) =>
      `${got.type ?? 'bfloat16'} needs macOS 14 or newer and a current torch, or is not there at all.`,
    fix: () => [say('Use float16 or float32 instead: dtype=torch.float16; else update macOS and torch.')],
    links: [MPS],
  },
  {
    code: 'mps-limit',
    severity: 'error',
    title: 'A tensor is larger than Metal allows',
    patterns: [
      phrase(
        /residency set limit of \d+ exceeded|(?:exceeds? the|greater than the) maximum (?:allowed )?(?:Metal )?buffer (?:size|length)/i,
        /metal|mps|mlx|MTL/i,
      ),
      phrase(
        /total bytes of NDArray > 2\*\*32|product of dimension sizes > 2\*\*31|MPSNDArray\.mm[^\n]*failed assertion|MPSGaph does not support tensor dims larger than INT_MAX/i,
      ),
    ],
    cause: () => 'A single tensor takes more than 4 GB or 2³¹ elements, which Metal does not take.',
    fix: () => [
      say('Work in smaller pieces: attention slicing, tiles, a shorter sequence; a newer macOS lifts some limits.'),
    ],
    links: [MPS],
  },
  {
    code: 'mps-unavailable',
    severity: 'error',
    title: 'PyTorch cannot use the Apple GPU here',
    patterns: [
      phrase(/-\[__NSArray0 objectAtIndex:\]: index 0 beyond bounds for empty array/, /metal|\bmlx\b|\bMTL/i),
      capture(/(?:unknown type name|undeclared identifier|no member named) '(?<name>(?:MPS|MTL)\w+)'/),
      phrase(
        /MPS (?:is )?not available because|not built with MPS enabled|The MPS backend is supported on MacOS 1\d\.\d\+|torch sees no Apple GPU|mps\.is_available\(\)[^\n]{0,12}False|not linked with support for mps/i,
      ),
      phrase(/Could not (?:find|create)[^\n]*(?:MTLDevice|Metal device)/i),
    ],
    explains: ['torch-no-gpu', 'not-compiled-cuda'],
    cause: ({ got }) =>
      got.name
        ? `${got.name} came with a later macOS: the SDK of this Xcode is older than the source asks for.`
        : 'macOS is older than 12.3, the Python runs under Rosetta, or it runs in a container, where Metal does not exist.',
    fix: ({ got }) => [
      ...(got.name ? [say('Update macOS and Xcode, or take a release of the program for the older system.')] : []),
      run('It must print arm64.', 'python', '-c', 'import platform; print(platform.machine())'),
      say('Use a native Python of macOS, outside of Docker.'),
    ],
    links: [MPS],
  },
];
