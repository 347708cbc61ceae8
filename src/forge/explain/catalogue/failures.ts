// The sure part: who failed, where a message does not tell why. Classes with a cause of their own come before these.

import { named, phrase, symptom, weak } from '../patterns.ts';
import { asRoot, reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { DRIVER, LLAMA, MPS, ROCM_MATRIX, TENSORFLOW } from './links.ts';

export const failureClasses: readonly ErrorClass[] = [
  {
    code: 'hip-failed',
    severity: 'error',
    title: 'A call of ROCm failed',
    patterns: [
      named(/\bHIP error: (?<why>[^\n]+)|\bhipError[A-Z]\w+|hipSuccess \((?<number>\d+) vs\.? 0\)/),
      symptom(
        /\bHIP (?:failure|runtime error)\b[^\n]*|\bhip[A-Z]\w+(?:\([^)\n]*\))?(?: (?:failed|returned error)|: (?:[Ii]nvalid|[Nn]o|[Uu]nknown|[Ff]ailed|[Oo]ut of)) ?\w*/,
      ),
      symptom(/\brocm_smi\w*[^\n]{0,40}(?:error|failed)/i),
      named(/\bhipError_t\(\d+\)/),
      named(/\bRSMI_STATUS_(?!SUCCESS)\w+|\bHSA_STATUS_ERROR\w*/),
    ],
    unless: /hipError_t\b(?!\()/,
    cause: ({ got }) =>
      `ROCm reports ${got.why ? `"${got.why.trim()}"` : got.number ? `error ${got.number}` : 'an error'}; the words are its own. Kernels run later than they are called, so the line shown may not be the one that failed.`,
    fix: (context) => [
      run('Run kernels one by one to find the call.', 'env', 'AMD_SERIALIZE_KERNEL=3', 'python', 'your_script.py'),
      run('Rule out the machine.', 'gpuforge', 'doctor', '-v'),
      ...reinstall(context),
    ],
    links: [ROCM_MATRIX],
  },
  {
    code: 'zluda',
    severity: 'error',
    title: 'ZLUDA cannot take the place of CUDA here',
    patterns: [
      symptom(
        /(?<![\\/.-])\bZLUDA\b[^\n]*(?:fail\w*|not found|could not|error|cannot|not supported)|\b(?:fail\w*|could not|error|cannot)\b[^\n]*(?<![\\/.-])\bzluda\w*/i,
      ),
    ],
    cause: () =>
      'ZLUDA lets programs for CUDA run on AMD cards. It needs the HIP SDK of the release it was built for, its folder on the path, and a CUDA build of torch.',
    fix: () => [
      say(
        'Install the HIP SDK that the ZLUDA release names, set HIP_PATH, and delete the virtual environment so that torch is installed anew.',
      ),
      say('PyTorch for ROCm is the safer way: Linux, WSL2, and on Windows the newest cards.'),
    ],
    links: [ROCM_MATRIX],
  },
  {
    code: 'mps-failed',
    severity: 'error',
    title: 'A call of Metal failed',
    patterns: [
      phrase(
        /ggml_metal(?:_device|_library)?_init: error|ggml_metal: error|failed to initialize (?:the )?Metal (?:backend|library)/i,
      ),
      symptom(/\[metal::\w+\] [^\n]*\b(?:Unable|failed|error)\b|@IOGPU\w+\.cpp:\d+/i),
      named(/\bkIOGPUCommandBufferCallbackError[A-Z]\w+/),
      symptom(/-\[(?:IOGPU|MTL|AGX|_MTL|MPS)\w* [^\]]*\][^\n]*failed assertion/),
      symptom(/\b(?:MPS|Metal)(?:Graph)?\b[^\n]{0,20}\b(?:error|failed|internal assertion)\b|MTLLibraryErrorDomain/i),
      weak(/\bmpsFileLoc\b[^\n]*\n?[^\n]*\berror: /),
      symptom(/\bMPS\b[^\n]*\bbuffer is not large enough|\bPlaceholder buffer size \(\d+\) is not large enough/),
      phrase(/\bPlaceholder tensor is empty\b/i),
      symptom(
        /Failed to create (?:the )?(?:\w+ )?(?:Metal|indexing|MPS)(?: \w+)? (?:library|kernel|pipeline|function)/i,
      ),
      symptom(
        /\bMLX error: [^\n]*|Failed to load the default metallib|missing Metal Toolchain|\.metallib(?!.*loading from source)[^\n]*(?:not found|fail\w*)/i,
      ),
      symptom(/ggml_metal\w*: (?:error|[^\n]*failed)|INTERNAL ASSERT FAILED at "[^"\n]*\.mm"/i),
    ],
    unless: /\bMPS (?:server|daemon|client)|nvidia-cuda-mps/i,
    cause: () => 'The Apple GPU refused the work; the message is of Metal, below PyTorch or llama.cpp.',
    fix: () => [
      say('Update macOS and the program: most such faults were mended in one of them.'),
      run('Let the CPU do what the GPU cannot.', 'env', 'PYTORCH_ENABLE_MPS_FALLBACK=1', 'python', 'your_script.py'),
      say('Use less memory, or work in smaller pieces.'),
    ],
    links: [MPS],
  },
  {
    code: 'directml',
    severity: 'error',
    title: 'A call of DirectML failed',
    patterns: [
      symptom(/not (?:currently )?(?:supported|implemented) (?:on|for) the DML (?:backend|device)/i),
      symptom(/\bdml_(?:device|backend|operator|util|heap|command|execut)\w*[^\n]*(?:CHECK failed|error|failed|>= 0)/i),
      symptom(/(?:CHECK failed|error|failed)[^\n]*\b(?:dml_\w+|DML[A-Z_]\w+|IDML\w+)\b/i),
      symptom(/\b(?:torch_directml|DirectML(?:\.dll)?)\b[^\n]*(?:error|fail\w*|not (?:supported|implemented|found))/i),
      symptom(
        /with arguments from the 'PrivateUse(?:1|One)' backend|\bPrivateUse(?:1|One)\b[^\n]*not (?:supported|implemented)/,
      ),
    ],
    unless: /onnxruntime|GetDeviceRemovedReason|\b887[aA]00/i,
    cause: () =>
      'DirectML runs on any GPU with DirectX 12 and has fewer operations and types than CUDA; old drivers and cards of the feature level 11 refuse some.',
    fix: () => [
      say('Update the graphics driver from the maker of the GPU, and Windows itself.'),
      say('torch-directml holds to one release of torch: install it into a fresh environment and let it choose torch.'),
      say('Work in float32 with a smaller batch; what DirectML does not have, compute on the CPU.'),
    ],
    links: ['https://learn.microsoft.com/en-us/windows/ai/directml/dml'],
  },
  {
    code: 'vulkan-failed',
    severity: 'error',
    title: 'A call of Vulkan failed',
    patterns: [
      symptom(/\bVK::Exception\b|\bvk::\w*Error\b/),
      named(/\bVK_ERROR_(?!OUT_OF_DATE)[A-Z_]+/),
      symptom(
        /\bvk[A-Z]\w+(?:\(\))?[^\n]{0,12}(?:failed|returned (?:error )?-?\d+)|Vulkan (?:error|call failed)|\bwgpu_hal::vulkan[^\n]*(?:fail|error)/i,
      ),
      symptom(/\bVUID-[\w-]+|\bVulkan validation (?:error|layer)[^\n]*error/i),
    ],
    cause: () => 'The driver refused a call, or the program called it in a way that Vulkan does not allow.',
    fix: () => [
      say('Update the graphics driver, then the program.'),
      run('See what the driver offers.', 'vulkaninfo', '--summary'),
    ],
    links: ['https://registry.khronos.org/vulkan/specs/latest/man/html/VkResult.html'],
  },
  {
    code: 'tf-failed',
    severity: 'error',
    title: 'TensorFlow could not run an operation',
    patterns: [
      symptom(
        /(?:errors_impl\.|^)(?:InternalError|UnknownError|FailedPreconditionError|AbortedError|UnimplementedError|NotFoundError)\b[^\n]*(?:GPU|gpu|CUDA|cuda|PTX|DNN|Rnn|RNN|Blas|kernel)[^\n]*/m,
      ),
      symptom(/^[^\n]{0,40}\b[EF] (?:tensorflow|external\/local_xla)\/[^\n]*(?:gpu|cuda|rocm|stream_executor)[^\n]*/m),
      symptom(/Graph execution error:[^\n]*/),
      symptom(
        /\berrors_impl\.(?:Internal|Unknown|FailedPrecondition|Aborted|Unavailable)Error: (?:Failed to create session|[^\n]*(?:device|session|stream))[^\n]*/,
      ),
      symptom(/^InternalError: Failed to create session/m),
      phrase(/\bNo registered '\w+' OpKernel for '?(?:XLA_)?GPU\w*'? devices\b/),
      phrase(/\bCompute: Operation received an exception\b|\bMLCTrainingGraph\b/),
    ],
    unless: /Unable to register cu|factory for plugin cu|InvalidArgumentError|logits and labels/i,
    cause: () =>
      'TensorFlow stopped inside an operation on the GPU; the lines around it name the library or the kernel.',
    fix: (context) => [
      say('Let it take memory as it needs it, which rules out the usual reason: TF_FORCE_GPU_ALLOW_GROWTH=true.'),
      ...reinstall(context, 'tensorflow'),
    ],
    links: [TENSORFLOW],
  },
  {
    code: 'llama-failed',
    severity: 'error',
    title: 'llama.cpp could not load or run the model',
    patterns: [
      symptom(
        /(?:llama_model_load\w*|llama_load_model_from_file|common_init_from_params|main|srv +load_model|load_model): (?:error: )?(?:error loading model|(?:failed|unable) to load model)/i,
      ),
      symptom(/\b[Ee]rror: unable to load model: \S+/),
      named(/\bundefined symbol: (?:ggml|gguf|llama|mtmd)_\w+/),
      symptom(/^Error OP [A-Z_]{3,}\b/m),
      symptom(
        /failed to initialize (?:whisper|clip|llava|sd)\w* ?context|\bnew_sd_ctx\w* failed|get sd version from file failed[^\n]*|\b(?:whisper|clip|sd)_(?:init|model|load|ctx)\w*: (?!.*metal)[^\n]*\bfailed\b[^\n]*/i,
      ),
      symptom(
        /^(?:[^\n]{0,40} )?\[ERROR\] +(?:stable-diffusion|model|ggml_extend|main|util|vae|upscaler)\.[ch]pp:\d+ +- [^\n]*/m,
      ),
      symptom(/\bFailed to load model from file: |\berror loading model: (?<why>[^\n]+)/),
      phrase(/\bfailed to create (?:the )?context with model\b/i),
    ],
    cause: ({ got }) =>
      `The model did not load${got.why ? `: ${got.why.trim()}` : ''}. The lines before it tell whether the file, its kind or memory is to blame.`,
    fix: () => [
      say('Read the lines above it; run with --verbose if there are none.'),
      say('Update the program; download the file again; try with -ngl 0, which leaves the GPU out.'),
    ],
    links: [LLAMA],
  },
  {
    code: 'ort-failed',
    severity: 'error',
    title: 'ONNX Runtime could not load or run the model',
    patterns: [
      symptom(/\bonnx ?runtime error \d+: (?<why>[^\n]{0,160})/i),
      symptom(/\[ONNXRuntimeError\] : \d+ : (?<kind>\w+)(?: : (?<why>[^\n]{0,160}))?/),
      symptom(/\[E:onnxruntime:[^\]]*\] (?<why>[^\n]+)|Non-zero status code returned while running (?<node>\w+) node/),
    ],
    unless: /INVALID_ARGUMENT|INVALID_GRAPH|NO_?SUCH_?FILE|NoSuchFile|INVALID_PROTOBUF|CU(?:DNN|BLAS|FFT)\b/i,
    cause: ({ got }) =>
      `The session stopped${got.kind ? ` (${got.kind})` : ''}${got.why ? `: ${got.why.trim()}` : ''}.`,
    fix: (context) => [
      say(
        'Try the same with providers=["CPUExecutionProvider"]: that tells whether the model or the GPU part is to blame.',
      ),
      ...reinstall({ ...context, software: 'onnxruntime' }),
    ],
    links: ['https://onnxruntime.ai/docs/execution-providers/'],
  },
  {
    code: 'driver-install',
    severity: 'error',
    title: 'The installation of the driver did not finish',
    patterns: [
      phrase(
        /\bAMD (?:Software )?Installer\b|\bAdrenalin\b[^\n]{0,40}\b(?:install\w*|fail\w*)|Intel Graphics Installer|driver being installed is not validated for this computer/i,
      ),
      phrase(
        /NVIDIA (?:Installer|(?:software )?installation program|Graphics Driver installer) (?:cannot continue|can't continue|(?:has )?failed)|distribution-provided pre-install script failed|not compatible with this version of Windows/i,
      ),
      symptom(/Installation has failed\. +Please see the file|\[NVI2\.\w+\][^\n]*(?:failed|blocked install)/i),
      symptom(
        /\b(?:nvidia|cuda|amdgpu|graphics)[\w.-]* (?:driver )?install(?:er|ation)\b[^\n]{0,40}\b(?:failed|not (?:successful|complete))|failed to install (?:the )?(?:nvidia|cuda|amdgpu|graphics)\b/i,
      ),
      symptom(
        /\[ERROR\]: Install of [\w .-]+ failed|error has occurred during the installation of the (?:AMD|NVIDIA|Intel) \w+|Driver: +Not Selected[\s\S]{0,80}Toolkit: +Not Selected/,
      ),
    ],
    cause: () => 'The installer stopped; its log names the step.',
    fix: ({ os }) =>
      os === 'windows'
        ? [
            say('Choose "clean installation" in the installer, or remove the old driver first, then restart.'),
            say('A laptop may need the driver of its maker.'),
          ]
        : [
            say('Read the end of /var/log/nvidia-installer.log or /var/log/cuda-installer.log.'),
            asRoot('Packages of the distribution spare most of these steps.'),
          ],
    links: [DRIVER],
  },
];
