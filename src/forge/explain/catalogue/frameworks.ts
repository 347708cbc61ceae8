// What the frameworks themselves say: a build without the GPU, tensors on two devices, parts that do not fit together.

import { capture, code, phrase, symptom, weak } from '../patterns.ts';
import { frameworkOf, reinstall, run, safe, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { JAX, TENSORFLOW, UV } from './links.ts';
import { COMPLAINT } from './told.ts';

const NO_GPU = /CUDA available: False|cuda\.is_available\(\)[^\n]*False|CUDA is not available/i;

/** Lines without a GPU that belong to another class. */
const OTHERS =
  /bitsandbytes|quantization method|ollama|level=|\bTPU\b|\bpanicked at\b|\.rs:\d+|^\W*(?:If|When|Whether) (?:the|your|you|no|a|there|GPU)\b/;

/** Names of programs that crash in GPU code; a crash without one of them may be anything. */
const GPU_PROGRAM =
  /torch|cuda|jetson|tensorrt|tensorflow|jax|gpu|nvidia|rocm|hip|llama|onnx|xla|\bnccl|\b(?:[ah][12]00|rtx)\b/;

/** A crash counts where such a program is named before it: on its line or on one of the three above. The look back comes last, it costs most. */
const near = (crash: RegExp) =>
  symptom(
    new RegExp(`(?:${crash.source})(?<=(?:${GPU_PROGRAM.source})[^\\n]*(?:\\n[^\\n]*){0,3})`, 'i'),
    new RegExp(crash.source, 'i'),
  );

export const frameworkClasses: readonly ErrorClass[] = [
  {
    code: 'not-compiled-cuda',
    severity: 'error',
    title: 'A CPU build of the framework is installed',
    patterns: [
      capture(
        /only supported on (?:CUDA|ROCm|XPU) builds|(?:Torch|PyTorch) (?:was )?not (?:compiled|linked|built) with (?<backend>CUDA|XPU|MPS|HIP|ROCm|GPU)(?: support| enabled)?/i,
      ),
      capture(
        /Device API (?:gpu|cuda) is not enabled|Environment for task type \[GPU\] not found|\bMXNetError\b[^\n]*GPU is not enabled|installed (?:the )?CPU(?:-only)? version/i,
      ),
      capture(/PyTorch install was not built with (?<backend>CUDA|XPU)/i),
      phrase(/\bPlease (?:use|(?:re)?install) (?:paddle\w*|tensorflow|mxnet|onnxruntime|faiss|cupy) with GPU version/i),
      phrase(
        /\bOpen3D\b[^\n]*Unimplemented device|\bnot implemented for CPU ONLY build|module 'cv2\.dnn' has no attribute 'DNN_(?:BACKEND|TARGET)_CUDA/i,
      ),
      capture(/\bCannot \w+ (?<backend>CUDA|HIP|XPU|MPS)[^\n]{0,40} without ATen_\w+ library/),
      capture(/\btorch\b[^\n]{0,24}?(?<version>\d+\.\d+\.\d+)\+cpu\b/i, NO_GPU),
      phrase(
        /(?:(?:not|without) (?:compiled|built) (?:with|for)|(?:compiled|built) without) (?:CUDA|GPU|XPU|HIP|ROCm) (?:support|backend|runtime)/i,
      ),
      capture(/Could not run '[\w:.]+' with arguments from the '(?<backend>CUDA|XPU)' backend/i),
      capture(
        /\btorch\S* (?<version>\d+\.\d+\.\d+)\+cpu\b/i,
        /is_available\(\) ?(?:is |returns |== |: )?False|not using (?:the )?GPU|CPU-only/i,
      ),
    ],
    unless: /bitsandbytes|xFormers|llama|ggml|jaxlib/i,
    cause: ({ got }) =>
      got.backend === 'MPS'
        ? 'This torch has no Metal support: it is built for Intel Macs, or too old.'
        : 'The installed build is for the CPU only. On Windows that is what PyPI gives for torch; elsewhere it comes from the CPU index.',
    fix: (context) => reinstall(context),
    links: [UV],
  },
  {
    code: 'torch-no-gpu',
    severity: 'error',
    title: 'The program found no GPU to work on',
    patterns: [
      // torch's builder of extensions prints it before whatever follows.
      weak(/No CUDA runtime is found/i),
      phrase(/\bassert\(? ?torch\.cuda\.is_available\(\)/, /\bAssertionError\b/),
      phrase(
        /\bonly supported with GPUs, no GPUs found|No available node types can fulfill resource request \{[^}\n]*'GPU'/i,
      ),
      phrase(/\binvalid choice: '(?:cuda|gpu|mps|rocm|xpu)\S*' \(choose from [^)\n]*\bcpu\b/i),
      phrase(/\bno registered Platform called "?(?:CUDA|OpenCL|HIP)\b/i),
      phrase(
        /No supported gpu backend found|\b(?:could not|cannot|unable to|failed to) (?:find|initiali[sz]e|find\/initiali[sz]e) (?:an? |the |any )?(?:specified )?(?:accelerator|GPU) device\b|Error: [^\n]{0,60}\brequires a(?:n? \w+)? GPU\b(?! with)|(?:CUDA|GPU) device is not set properly|\b(?:GPU|CUDA)Accelerator[`']? can ?not run on your system/i,
      ),
      phrase(
        /Torch is not able to use GPU|device does not support the current version of Torch|(?:torch\.)?cuda\.is_available\(\)\)?`?[\s\S]{0,3}(?:\bis |returns? |returned |: ?|== ?|-+> ?|→ ?|Out\[\d+\]: ?)?\(?False\b/i,
      ),
      phrase(/(?:CUDA|GPU) (?:is|was|device is) not available[.,!]?(?: |$)/im),
      phrase(
        /Setting accelerator to CPU\. If you have GPU[^\n]*unable to detect|torch sees no (?:GPU|Intel GPU|Apple GPU)|(?:tensorflow|jax) sees no GPU|no device is visible/i,
      ),
      symptom(
        /(?:requires|need|needs) (?:a |an )?(?:CUDA|NVIDIA) GPU\b|No GPU (?:detected|found|available)|RuntimeError: (?:No|GPU) (?:GPU|not) found/i,
      ),
      phrase(
        /CUDA (?:is )?unavailable|(?:CUDA|cuda) device (?:is )?not (?:found|available)|(?:can(?:not|'t)|could not|unable to) (?:find|detect|use|access) (?:a |an |any |the |your )?(?:usable |compatible |CUDA |NVIDIA )?GPU(?! pipeline)|(?<!arch[^\n]{0,20} or )\bGPU (?:support |devices? )?(?:is |was )?not (?:found|detected|enabled|supported|usable|accessible)|Neither CUDA nor MPS (?:is|are) available/i,
      ),
      phrase(/Unsupported GPU Processing Mode|No compatible GPUs? (?:found|detected)[^\n]*(?:Resolve|Fusion)/i),
      phrase(/Cannot access accelerator device when none is available|No ROCm runtime is found/i),
      weak(/(?:could not|failed to|unable to) initiali[sz]e (?:the )?(?:py)?gpu\b/i),
      symptom(
        /\bonly (?:available|runs?|works?) (?:on|with) (?:a )?(?:CUDA|GPU)\b|\bGPU is (?:required|needed|necessary)\b|\b(?:must|can only) (?:be run|run) on (?:a )?(?:CUDA|GPU)/i,
      ),
      // A consequence: whatever else the text tells comes first.
      {
        ...weak(
          /\b(?:reverting|falling back|fall back|switching|defaulting) to (?:the )?CPU\b|CPU[- ]only mode|will be using CPU/i,
        ),
        family: true,
        notice: true,
        rank: 400,
      },
    ],
    unless: new RegExp(`${OTHERS.source}|${COMPLAINT.source}`, 'im'),
    cause: (context) => {
      const { facts } = context;
      if (facts && facts.gpus.length === 0) return 'This machine shows no GPU.';
      if (facts && !facts.driver && facts.nvidia) return 'The NVIDIA card has no driver loaded.';
      return 'The framework runs, but it sees no GPU: a CPU build, a driver that is missing or too old, or a variable that hides the device.';
    },
    fix: (context) => [run('See what is there and what blocks it.', 'gpuforge', 'doctor', '-v'), ...reinstall(context)],
    links: [UV],
  },
  {
    code: 'device-mismatch',
    severity: 'error',
    title: 'Tensors lie on different devices',
    patterns: [
      phrase(/\bTensors must be CUDA and dense\b/),
      phrase(
        /Accessing a CuPy nd\w+ on CPU is not allowed|Implicit conversion to a NumPy array is not allowed|can't convert (?:cuda|mps|xpu)\S* device type tensor to numpy/i,
      ),
      capture(
        /Expected all tensors to be on the same device, but (?:found at least two devices, |got [^\n]*? is on )(?<first>[\w:]+)(?:,| and|\b)[^\n]*?(?<second>(?:cuda|cpu|xpu|mps)(?::\d+)?)?/i,
      ),
      capture(/Input type \((?<first>[\w.]+)\) and (?:weight|bias) type \((?<second>[\w.]+)\) should be the same/i),
      capture(
        /\bexpected (?:object of )?(?:device )?(?:type|backend) (?<first>(?:torch\.)?(?:cuda|cpu)\b\S*|torch\.\w+Tensor) but got (?:device )?(?:type |backend )?(?<second>(?:torch\.)?(?:cuda|cpu)\b\S*|torch\.\w+Tensor)/i,
      ),
      phrase(/\b(?:arguments|tensors?|inputs?|operands|parameters)\b[^\n]{0,40}\bon different (?:GPUs|devices)\b/i),
      phrase(/Placeholder storage|cannot be accessed from Triton \(cpu tensor/i),
      phrase(
        /(?:Tensor|tensors?) (?:for argument|on device)[^\n]{0,60}(?:is on (?:CPU|cpu)|expected device|different devices?)|slow_conv2d_forward_mps: input/i,
      ),
      phrase(
        /can't convert (?:cuda|xpu|mps)(?::\d+)? device type tensor to numpy|Cannot copy between CPU and CUDA tensors/i,
      ),
      phrase(
        /must be on the current device|(?:must|should) be an? (?:CUDA|cuda|GPU) tensor|parameters and buffers on device|Expected an? '\w+' device type for generator|storage on different device/i,
      ),
      capture(/\bdevice mismatch in [\w-]+, lhs: (?<first>\w+)[^\n]*?, rhs: (?<second>\w+)/),
    ],
    cause: ({ got }) =>
      got.first && got.second && /:|cpu|cuda/.test(got.second)
        ? `One operand lies on ${got.first}, another on ${got.second}.`
        : 'The model and its input lie on different devices.',
    fix: () => [
      say(
        'Move both to one place before the call: model.to(device), batch = batch.to(device); tensors made inside forward() too.',
      ),
      say('With device_map="auto" do not call .to() on the model, and hand the input to model.device.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/tensor_attributes.html'],
  },
  {
    code: 'cpu-load',
    severity: 'error',
    title: 'A checkpoint of a GPU is loaded where there is none',
    patterns: [
      phrase(/Attempting to deserialize object on (?:a |an )?(?:CUDA|XPU|MPS) device(?: \d+)? but/i),
      phrase(/Storage device not recognized: \w+|don't know how to restore data location of torch\.\S+ \(tagged with/i),
    ],
    explains: ['torch-no-gpu', 'mps-unavailable', 'not-compiled-cuda'],
    cause: () => 'The file remembers the device on which it was saved, and that device is not here.',
    fix: () => [
      say("Load it to the CPU: torch.load(path, map_location='cpu')."),
      run('Or find out why there is no GPU.', 'gpuforge', 'doctor', '-v'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/generated/torch.load.html'],
  },
  {
    code: 'torchvision-nms',
    severity: 'error',
    title: 'torch and torchvision do not belong together',
    patterns: [
      phrase(
        /operator torch(?:vision|audio)::\w+ does not exist|register a meta kernel directly to the operator 'torch(?:vision|audio)::/i,
      ),
      phrase(
        /Couldn't load custom C\+\+ ops\. This can happen if your PyTorch and torchvision versions are incompatible/i,
      ),
      capture(
        /(?:torchvision|torchaudio)[^\n]{0,40}undefined symbol|(?:PyTorch and torchvision|torchaudio and PyTorch)[^\n]{0,60}(?:different CUDA|incompatible)/i,
      ),
      phrase(/Detected that PyTorch and (?:torchvision|torchaudio) were compiled with different CUDA/i),
      phrase(/Could not run 'torchvision::nms' with arguments from the 'CUDA' backend/i),
    ],
    explains: ['abi-symbol', 'not-compiled-cuda'],
    cause: () => 'torchvision was built for another torch, or for another variant of it.',
    fix: (context) => {
      const result = context.resolve('pytorch');
      const vision =
        result?.status === 'ok' ? result.choice.companions.find((row) => row.name === 'torchvision') : undefined;
      if (result?.status !== 'ok' || !vision)
        return [say('Install both from one index in one command: the release matrix of PyTorch gives the pairs.')];
      const { choice } = result;
      return [
        safe(
          `Install the pair: torch ${choice.version} with torchvision ${vision.version}, from one index.`,
          'python',
          '-m',
          'pip',
          'install',
          '--force-reinstall',
          ...(choice.index ? ['--extra-index-url', choice.index.url] : []),
          ...choice.requirements.map((row) => `${row.name}${row.spec}`),
          `torchvision==${vision.version}`,
        ),
      ];
    },
    links: ['https://github.com/pytorch/vision#installation'],
  },
  {
    code: 'tf-no-gpu',
    severity: 'warning',
    title: 'TensorFlow runs without the GPU',
    patterns: [
      phrase(/Could not find cuda drivers on your machine, GPU will not be used/i),
      phrase(/Cannot dlopen some GPU libraries/i),
      phrase(/Skipping registering GPU devices/i),
      phrase(/Num GPUs Available: +0\b|^Device mapping: no known devices/im),
      symptom(
        /list_(?:physical|logical|local)_devices\([^\n]*\n(?:[^\n]*\n){0,2}[^\n]{0,20}\[(?:'\/?(?:device:)?cpu:0')?\] *$/im,
      ),
      phrase(
        /Cannot assign a device for operation [^\n]*\/device:GPU|Could not satisfy (?:explicit )?device specification '[^'\n]*GPU/i,
      ),
    ],
    cause: (context) =>
      context.os === 'windows'
        ? 'TensorFlow has no GPU build for Windows since 2.11; WSL2 has.'
        : 'TensorFlow finds no CUDA libraries: they come with tensorflow[and-cuda].',
    fix: (context) => reinstall(context, 'tensorflow'),
    links: [TENSORFLOW],
  },
  {
    code: 'tf-noise',
    severity: 'information',
    title: 'A notice of TensorFlow that does no harm',
    patterns: [
      symptom(/Unable to register (?:cu(?:DNN|FFT|BLAS)[/, ]*)+ ?factory/i),
      symptom(/TF-TRT Warning: Could not find TensorRT|Cannot dlopen some TensorRT libraries/i),
      symptom(/successful NUMA node read from SysFS had negative value|could not open file to read NUMA node/i),
      symptom(/Could not load dynamic library 'libnvinfer/i),
    ],
    cause: () => 'TensorFlow prints it on healthy machines too; it is not the reason for a failure.',
    fix: () => [
      say('Nothing must be done. TF_CPP_MIN_LOG_LEVEL=2 hides such lines; look for another message below it.'),
    ],
    links: [TENSORFLOW],
  },
  {
    code: 'jax-plugin-mix',
    severity: 'error',
    title: 'Parts of JAX do not fit together',
    patterns: [
      capture(/PJRT[^\n]*(?:already registered|already exists|version mismatch|is not compatible)|Mismatched PJRT/i),
      capture(/jaxlib version (?<jaxlib>[\d.]+) is newer than and incompatible with jax version (?<jax>[\d.]+)/i),
      phrase(/jaxlib version [\d.]+ is newer/i),
      capture(/jaxlib is version (?<jaxlib>[\d.]+), but this version of jax requires version >= ?(?<wanted>[\d.]+)/i),
      capture(/JAX plugin (?<plugin>jax_cuda\d+_\w+) version [\d.]+ is installed, but it is not compatible with/i),
      phrase(
        /jax requires jaxlib to be installed|module 'jaxlib[\w.]*' has no attribute|cannot import name '\w+' from 'jaxlib/i,
      ),
      capture(/Found (?<what>\w+) version (?<have>[\d.]+), but JAX was built against version (?<wanted>[\d.]+)/i),
      phrase(/Jax plugin configuration error|but JAX was built against/i),
      capture(/Outdated (?<what>\w+) installation found/i),
      phrase(/PJRT_\w+ size: expected|plugin is (?:likely )?built with a (?:later|newer|older) version/i),
      capture(
        /\bjax(?:lib)?\b[^\n]{0,40}?\b(?<jax>\d+\.\d+\.\d+)\b[^\n]{0,40}\b(?:plugin|pjrt)\b[^\n]{0,30}?\b(?!\k<jax>\b)(?<plugin>\d+\.\d+\.\d+)\b/i,
      ),
    ],
    explains: ['jax-no-gpu', 'cudnn-failed', 'framework-version'],
    cause: ({ got }) =>
      got.what
        ? `JAX was built against a newer ${got.what}${got.have ? ` (${got.wanted}, here is ${got.have})` : ''}: another CUDA installation is found before the one that JAX brings.`
        : got.jaxlib && got.jax
          ? `jaxlib ${got.jaxlib} and jax ${got.jax} are of different versions.`
          : 'The cuda12 and cuda13 plugins are in one environment, or plugin and jaxlib differ.',
    fix: (context) => [
      safe(
        'Remove both plugin sets.',
        'python',
        '-m',
        'pip',
        'uninstall',
        '-y',
        'jax-cuda12-plugin',
        'jax-cuda12-pjrt',
        'jax-cuda13-plugin',
        'jax-cuda13-pjrt',
        'jaxlib',
        'jax',
      ),
      ...reinstall(context, 'jax'),
    ],
    links: [JAX],
  },
  {
    code: 'jax-no-gpu',
    severity: 'warning',
    title: 'JAX runs without the GPU',
    patterns: [
      phrase(/An? (?:NVIDIA )?GPU may be present on this machine, but a (?:CUDA|GPU)-enabled jaxlib is not installed/i),
      phrase(/No GPU\/TPU found, falling back to CPU/i),
      capture(/Unable to initialize backend '(?<backend>cuda|gpu|rocm)'/i),
      phrase(/jax sees no GPU: it fell back to the CPU|\bno GPU detected, will be using CPU/i),
      capture(/Unknown backend:? '?(?<backend>gpu|cuda)'? requested|Backend '(?<name>cuda|gpu)' failed to initialize/i),
      phrase(/(?:CUDA|GPU|ROCm) backend failed to initialize|Unable to use CUDA because of the following issues/i),
      symptom(/jax_plugins\.xla_cuda\d*|jaxlib\/cuda\/\w+\.cc:\d+: operation [^\n]* failed/i),
      phrase(/\bjax\b[^\n]{0,20}(?:could(?: not|n't)|can(?:not|'t)) (?:find|see|detect|use) (?:a |the |your )?GPU/i),
    ],
    // No TPU is what a machine with a GPU has.
    unless: /backend 'tpu'|libtpu|XlaRuntimeError|Available platform names are:[^\n]*\bCUDA\b/,
    explains: ['torch-no-gpu'],
    cause: ({ got }) =>
      got.backend ? `JAX could not start its ${got.backend} part.` : 'Only the CPU part of JAX is installed.',
    fix: (context) => reinstall(context, 'jax'),
    links: [JAX],
  },
  {
    code: 'cpu-instruction',
    severity: 'error',
    title: 'The processor does not know an instruction of the build',
    patterns: [
      phrase(
        /Illegal instruction \(core dumped\)|exit(?:ed)?(?: with)?(?: status| code)?:? ?(?:0xc000001d|-?1073741795|3221225501|132)\b|signal: illegal instruction|\b(?:shutdown with|killed by|terminated (?:by|with)) signal 4\b|illegal hardware instruction|exited with signal SIGILL/i,
      ),
      code(/\b0x[cC]000001[dD]\b|\bSTATUS_ILLEGAL_INSTRUCTION\b/),
      capture(/CPU (?:does not|doesn't) (?:have|support) (?<set>AVX\w*|FMA|SSE\w*)/i),
      capture(/built using (?<set>AVX\w*|FMA|SSE\w*) instructions, which your CPU/i),
      capture(/compiled to use (?<set>AVX\w*|FMA)[^\n]*instructions, but these aren't available/i),
    ],
    explains: ['ollama-runner'],
    cause: ({ got }) => `The program uses ${got.set ?? 'instructions such as AVX2'} that this processor does not have.`,
    fix: (context) => [
      ...(context.software === 'ollama' || context.software === 'llama.cpp'
        ? [
            say(
              'Use a build without AVX: llama.cpp with -DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF; an emulator must pass the host processor through.',
            ),
          ]
        : [say('Take an older version or a build from source; in a virtual machine pass the host processor through.')]),
      ...(frameworkOf(context.software) ? [say('On a Jetson set OPENBLAS_CORETYPE=ARMV8.')] : []),
    ],
    links: [TENSORFLOW],
  },
  {
    code: 'xla-failed',
    severity: 'error',
    title: 'XLA could not compile or run the program',
    patterns: [
      phrase(
        /Detected unsupported operations when trying to compile graph [^\n]* on XLA_GPU_JIT|\bUnknown PJRT_DEVICE '\w+'/,
      ),
      symptom(
        /(?:Xla|Jax)RuntimeError: (?<kind>INTERNAL|FAILED_PRECONDITION|UNIMPLEMENTED|UNKNOWN|ABORTED|INVALID_ARGUMENT|NOT_FOUND): (?<what>[^\n]{0,160})/,
      ),
      symptom(
        /\bexternal\/(?:local_)?(?:tsl|xla)\/\S+\] Check failed: [^\n]*|JaxRuntimeError: [^\n]*(?:CUDA|GPU|cuda|gpu|PTX|DNN|Blas)[^\n]*|XLA (?:compile|compilation|runtime) error[^\n]*/i,
      ),
    ],
    cause: ({ got }) => `The compiler behind JAX and TensorFlow stopped${got.what ? `: ${got.what.trim()}` : ''}.`,
    fix: (context) => [
      say('The lines before it name the library or the kernel; explain those.'),
      ...reinstall(context, context.software === 'tensorflow' ? 'tensorflow' : 'jax'),
    ],
    links: [JAX],
  },
  {
    code: 'native-crash',
    severity: 'error',
    title: 'The program crashed in compiled code',
    patterns: [
      symptom(
        /(?:STATUS_ACCESS_VIOLATION|\(exit code: 0xc0000005|exit code:?\s+-?\d+ \(0xC0000(?:005|409|374|0FD)\b)/i,
      ),
      symptom(/\(Exit code: (?<status>\d{2,})\)|model (?:has )?crashed without additional information/i),
      symptom(
        /(?:Faulting|Error|Fault) module (?:name|path): ?[^\n]*?(?<status>\b(?:nv|amd|ati|ig[cdx]|intel\w*|opencl|vulkan|d3d|dxgi|torch|c10|cu(?:da|dnn|blas)|ggml|llama|onnxruntime|directml|tensorrt)\w*\.(?:dll|sys))/i,
      ),
      symptom(
        /(?:Crash reason: +|Exception code: ?)(?<status>EXCEPTION_\w+|0x[cC]0000\w{3})|\bEXCEPTION_ACCESS_VIOLATION\w*/i,
        /\b(?:GPU|cuda|opencl|vulkan|nv\w+64|ig\w+(?:64|32)|atio\w+|amd\w+64|common_clang\w*|torch|ggml|llama|onnxruntime|d3d\w+|dxgi)\b/i,
      ),
      symptom(/\bOSError: exception: access violation (?:reading|writing) 0x/),
      // A debugger names the library in which it happened.
      symptom(
        /\bException thrown at 0x[\da-f]+ \([^)\n]*(?:cuda|torch|c10|onnxruntime|\bnv|dml|tensorrt|opencl|vulkan|ggml|llama)[^)\n]*\)[^\n]*: (?<status>0xC0000\w{3})/i,
      ),
      symptom(/\[SignalInfo: \*\*\* (?<status>SIG\w+)|`?Segmentation fault`? is detected by the operating system/),
      symptom(/Signal \d+ \((?<status>SIGSEGV|SIGABRT|SIGBUS)\) received by PID|Caught signal 11\b[^\n]*/),
      symptom(
        /line \d+: +\d+ (?<status>Bus error|Segmentation fault|Illegal instruction|Aborted)[^\n]*(?:torch|accelerate|deepspeed|openmm|gmx|namd|lmp|cuda|gpu|train)/i,
      ),
      near(/(?:exit ?code:?|\berror) ?(?<status>-?1073741819|-?1073740791|3221225477|3221226505|0xC0000005|-11|139)\b/),
      near(
        /(?:Segmentation fault|terminate called without an active exception|free\(\): invalid pointer|double free or corruption|corrupted size vs\. prev_size|pointer being freed was not allocated|Aborted(?!\((?!core))) ?\(?(?:core dumped)?/,
      ),
      symptom(
        /Fatal Python error: (?:Segmentation fault|Aborted)|Windows fatal exception: (?<status>[\w ]+)/i,
        /torch|cuda|tensorflow|jax|gpu/i,
      ),
      symptom(/Windows fatal exception: (?<status>access violation|code 0x[cC]0000\w{3})/),
      symptom(
        /(?:llama|model|runner|server|worker|engine)\w*[^\n]{0,60}(?:exit(?:ed)?(?: with)?(?: code| status)?:? ?\(?(?:139|134|-11|-6|3221225477|3221226505|0x[cC]0000005|0x[cC]0000409)\b|signal: (?:segmentation fault|aborted))/i,
      ),
      symptom(
        /exit (?:status|code):? ?(?<status>3221225477|3221226505|3221225725|3221225786|3221225501)\b|\bBus error \(core dumped\)/i,
      ),
      symptom(
        /^[^\n]{0,60}(?<status>\b(?:libvulkan_\w+|radeonsi_dri|\w+_dri|libnvidia-\w+|libcuda|libGLX_nvidia|libnvcuvid|libamd\w+|amdvlk\w*|nvoglv64|nvcuda64|nvwgf2umx|atio6axx|atidxx64|ig\w+icd64)\b)\S*(?:\+0x|\(|!)[^\n]*|\bvk_optimusGetInstanceProcAddr\b/m,
        /crash|SIGSEGV|signal \d+|backtrace|segmentation fault|access violation/i,
      ),
      symptom(
        /access violation in (?<status>(?:OpenCL|nv\w+|amd\w+|atio\w+|ig\w+|vulkan\S*|d3d\w+|dxgi|torch\w*|c10\w*|cud\w+|ggml\w*|onnxruntime\w*)\.dll)/i,
      ),
      symptom(
        /(?:\btraps: [^\n]*|\bsegfault at \w+ [^\n]*|general protection fault )\bin (?<status>lib(?:cuda|nv\w+|amd\w+|hsa\w*|rocblas|torch\w*|c10\w*|ggml\w*|llama|vulkan\w*|onnxruntime\w*|tensorrt\w*|cudnn\w*|cublas\w*)\b[\w.-]*)/i,
      ),
      symptom(/Worker \(pid:\d+\) was sent (?:code )?(?<status>13[49]|SIGSEGV|SIGABRT|SIGBUS)\b/),
      symptom(/Fatal Python error: (?:Bus error|Segmentation fault|Aborted|Illegal instruction)/),
      symptom(/!{3,} Segfault encountered !{3,}|Unhandled exception caught in c10\/util\/AbortHandler\.h/),
      symptom(/-?107374(?:1819|0791|0940) ?\(0x[cC]0000(?:005|409|374)\)/),
      // A shell names the program that it ran.
      symptom(
        /\bzsh: (?<status>bus error|segmentation fault|abort|trace trap) +[^\n]*/,
        /torch|\bmps\b|cuda|gpu|train|model|tensorflow|jax|whisper|llama|comfy|yolo|diffus/i,
      ),
    ],
    unless: /exit code 0\b|Exit code: 0\b|Exit code: 1\)/,
    echo: true,
    cause: ({ got }) =>
      `A library ended the process${got.status ? ` (${got.status})` : ''} without a message of its own: memory, a driver that does not fit, or a library of another version.`,
    fix: (context) => [
      say(
        'Try the same on the CPU, then with a smaller model or batch: that tells whether memory or the GPU part is to blame.',
      ),
      ...(context.software === 'llama.cpp' || context.software === 'ollama' || context.software === undefined
        ? [say('Choose another runtime (CUDA, Vulkan or CPU) in the settings of the program, and update it.')]
        : [run('Let Python name the place.', 'python', '-X', 'faulthandler', 'your_script.py')]),
      run('Check driver and libraries.', 'gpuforge', 'doctor', '-v'),
    ],
    links: [UV],
  },
];
