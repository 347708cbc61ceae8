// Faults of compilers: nvcc, the host compiler, ptxas and Triton.

import { USAGE } from '../lines.ts';
import { GPU_DISTRIBUTION } from '../packages.ts';
import { capture, code, phrase, symptom } from '../patterns.ts';
import { asRoot, reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { EXTENSIONS, MINOR } from './links.ts';

/** Architectures before Turing: some CUDA knows them no longer. */
const dropped = (name: string | undefined): boolean => {
  const number = Number(/\d+/.exec(name ?? '')?.[0] ?? Number.NaN);
  return number > 0 && number < 75;
};

export const buildClasses: readonly ErrorClass[] = [
  {
    code: 'ptxas-arch',
    severity: 'error',
    title: 'The compiler does not know the architecture of the GPU',
    patterns: [
      capture(/Unsupported gpu architecture '(?:compute|sm)_(?<cc>\d+[a-z]?)/i),
      capture(/PTX \.?version (?<ptx>[\d.]+) does not support \.?target '?(?<sm>sm_\w+)/i),
      capture(/nvcc fatal\s*: Value '(?<cc>[\w,=]+)' is not defined for option 'gpu-(?:architecture|code)'/i),
      capture(/ptxas fatal\s*:[^\n]*'?(?<sm>sm_\d+\w?)'?/i),
      capture(/invalid value for --gpu-architecture|Unknown CUDA arch \((?<cc>[\d.+PTX]*)\) or GPU not supported/i),
      capture(/'(?<sm>sm_\d+\w?)' is not a recognized processor for this target/i),
      capture(/unsupported CUDA gpu architecture: (?<sm>sm_\w+)/i),
      phrase(
        /\b(?:compiler|nvcc|ptxas|toolkit)\b[^\n]{0,30}\b(?:does(?:n['’]t| not)|can(?:not|['’]t)) recogni[sz]e[^\n]{0,30}\b(?:sm|compute)_\d+/i,
      ),
      phrase(
        /SM version specified by \.target is higher than default|ptxas (?:\S+ )?(?:is )?too old|ptxas does not support CC/i,
      ),
    ],
    cause: ({ got }) => {
      const name = got.sm ?? (got.cc ? `compute_${got.cc}` : 'this architecture');
      return dropped(got.cc ?? got.sm)
        ? `nvcc does not know ${name}: it is older than that GPU, or so new that it has dropped it (CUDA 12 dropped Kepler, CUDA 13 Maxwell to Volta).`
        : `nvcc, Triton or XLA does not know ${name} yet.`;
    },
    fix: (context) => [
      ...(dropped(context.got.cc ?? context.got.sm)
        ? [
            run('See which nvcc it is; several may be installed.', 'nvcc', '--version'),
            say(
              'Build for the GPU at hand only: TORCH_CUDA_ARCH_LIST="8.6", CMAKE_CUDA_ARCHITECTURES=86; or take the last CUDA that knows it.',
            ),
          ]
        : []),
      say('Install a version of the compiler (CUDA toolkit, Triton or the framework) that knows the architecture.'),
      ...reinstall(context),
    ],
    links: [
      'https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html',
      'https://github.com/tensorflow/tensorflow/issues/89272',
    ],
  },
  {
    code: 'unsupported-ptx',
    severity: 'error',
    title: 'The driver cannot compile the PTX of this build',
    patterns: [
      phrase(/provided PTX was compiled with an unsupported toolchain/i),
      capture(/Unsupported \.version (?<ptx>[\d.]+); current version is '(?<known>[\d.]+)'/i),
      phrase(/a PTX JIT compilation failed|\bbuiltins: link error\b/i),
    ],
    cuda: [218, 221, 222, 223],
    explains: ['cuda-invalid-value', 'ptxas-arch'],
    cause: (context) =>
      `The driver${context.facts?.driver ? ` (${context.facts.driver})` : ''} is older than the toolkit of the build; minor-version compatibility does not cover PTX.`,
    fix: (context) => [...reinstall(context), say('Or install a driver at least as new as the toolkit.')],
    links: [MINOR],
  },
  {
    code: 'ptxas-missing',
    severity: 'error',
    title: 'The assembler ptxas is not found',
    patterns: [
      capture(
        /`?ptxas`? was searched in|Cannot find (?:a working )?ptxas|Couldn't (?:invoke|get) ptxas|ptxas(?:\.exe)?['"]?[^\n]{0,30}(?:not found|No such file)|No such file or directory: ['"]\S*\bptxas\b/i,
      ),
    ],
    cause: () => 'Triton or XLA assembles kernels with ptxas, a part of the CUDA toolkit that it did not find.',
    fix: (context) => [
      run('Install it in the environment.', 'python', '-m', 'pip', 'install', 'nvidia-cuda-nvcc-cu12'),
      say('Or point at one: TRITON_PTXAS_PATH for Triton; the folder bin of the toolkit on PATH for XLA.'),
      ...(context.os === 'windows'
        ? [
            run(
              'On Windows Triton is a port of its own.',
              'python',
              '-m',
              'pip',
              'install',
              '--upgrade',
              'triton-windows',
            ),
          ]
        : []),
    ],
    links: ['https://github.com/triton-lang/triton'],
  },
  {
    code: 'nvcc-mismatch',
    severity: 'error',
    title: 'The extension is built with another CUDA than torch',
    patterns: [
      phrase(/\bUnsupported (?:cuda|CUDA)(?: toolkit)? version\b|check your cudatoolkit version matches/),
      capture(
        /detected CUDA version \((?<nvcc>[\d.]+)\)\s+mismatches the version that was used to compile\s+PyTorch \((?<wanted>[\d.]+)\)/i,
      ),
      capture(
        /\w+ (?:is only supported on|requires) CUDA (?<wanted>[\d.]+) (?:and|or) (?:above|higher|newer)[^\n]*nvcc/i,
      ),
      capture(
        /Installed CUDA version (?<nvcc>[\d.]+) does not match the version torch was compiled with (?<wanted>[\d.]+)/i,
      ),
      code(/CUDAMismatchException/),
      capture(
        /\bCUDA (?<nvcc>\d+\.[\d.]*\d)[^\n]{0,80}\b(?:pre)?(?:compiled|built) (?:for|with|against|using) CUDA (?<wanted>\d+\.\d+)/i,
      ),
      phrase(/Cuda extensions are being compiled with a version of Cuda that does not match/i),
    ],
    unless: /minor version mismatch|shouldn't be a problem/i,
    explains: ['build-failed', 'deepspeed-op', 'nvcc-missing'],
    cause: ({ got }) =>
      `nvcc is of CUDA ${got.nvcc ?? 'another version'}, torch was built with ${got.wanted ?? 'a different one'}.`,
    fix: ({ got }) => [
      run(
        `Install the CUDA ${got.wanted ?? ''} toolkit in the environment.`.replace('  ', ' '),
        'conda',
        'install',
        '-c',
        'conda-forge',
        got.wanted ? `cuda-toolkit=${got.wanted}` : 'cuda-toolkit',
      ),
      say('Or take a prebuilt wheel of the extension for this torch and CUDA.'),
      say('DeepSpeed: only the major version must agree; DS_SKIP_CUDA_CHECK=1 accepts 12.1 against 12.4.'),
    ],
    links: [EXTENSIONS],
  },
  {
    code: 'nvcc-missing',
    severity: 'error',
    title: 'A source build needs the CUDA toolkit',
    patterns: [
      code(/C(?:ould NOT|ould not) find CUDA(?:Toolkit\b|\b(?! [a-z]| Debugger))/),
      phrase(
        /Could not find CUDA in standard locations|\bbindgen_cuda\b[^\n]*Could not find|`?nvcc(?: --version)?`? failed to execute|Failed to execute `?nvcc`?/i,
      ),
      phrase(/CMake (?:does not|cannot|could not) find (?:the )?CUDA (?:SDK|toolkit|compiler)/i),
      phrase(
        /CUDA_HOME (?:environment variable is not set|does not exist)|CUDA_HOME does not exist, unable to compile/i,
      ),
      phrase(
        /\bnvcc['"]?: (?:command )?not found|No such file or directory: ['"]\S*\bnvcc['"]|command not found: nvcc|nvcc was not found/i,
      ),
      phrase(/'nvcc' is not recognized|nvcc(?:\.exe)?['"]? (?:could not be found|is not recognized)/i),
      capture(
        /No CMAKE_CUDA_COMPILER could be found|No CUDA toolset found|Couldn't find CUDA library root|Failed to find nvcc|Could not find (?:nvcc|`nvcc`|CUDA toolkit)|CUDA Toolkit not found|Specify CUDA_TOOLKIT_ROOT_DIR/i,
      ),
      phrase(
        /CUDA_PATH[^\n]{0,30}(?:is not set|not found)|Neither CUDA_HOME nor|cannot find (?:the )?CUDA (?:toolkit|installation)/i,
      ),
      code(
        /fatal error: ['"]?(?:cuda\w*|driver_types|vector_types|math_constants|device_launch_parameters|device_functions|host_defines|cu(?:blas|sparse|rand|solver|fft|pti|tensor)\w*|nv\w+|cub\/\w+|thrust\/\w+|cooperative_groups|crt\/\w+)\.(?:h|hpp|cuh)['"]?(?:: No such file| file not found)/,
      ),
      phrase(/\b(?:does(?:n't| not)|can(?:not|'t)|could(?:n't| not)) find[^\n]{0,12}\bcuda\w*\.h(?:pp)?\b/i),
    ],
    explains: ['build-failed', 'deepspeed-op'],
    cause: () => 'A package is being built from source and finds no nvcc.',
    fix: (context) => [
      ...(context.os === 'windows'
        ? [say('Install the CUDA toolkit from NVIDIA, and the C++ build tools of Visual Studio; open a new terminal.')]
        : [run('Install the toolkit in the environment.', 'conda', 'install', '-c', 'conda-forge', 'cuda-nvcc')]),
      say('Or take a prebuilt wheel: the frameworks themselves need no toolkit.'),
    ],
    links: [EXTENSIONS],
  },
  {
    code: 'gcc-too-new',
    severity: 'error',
    title: 'The host compiler does not fit nvcc',
    patterns: [
      phrase(/nvcc fatal\s*:(?!\s*Cannot find compiler)[^\n]*(?:Visual Studio|host compiler|\bcl\.exe|\bgcc\b)/i),
      capture(/unsupported\s+GNU version! gcc versions later than (?<gcc>[\d.]+) are not supported/i),
      phrase(/unsupported\s+GNU version!|No supported gcc\/g\+\+ host compiler found/i),
      phrase(/\buser-defined literal operator not found/i),
      phrase(/parameter packs not expanded with [‘'`"]\.\.\./i),
      capture(
        /\/usr\/include\/(?:c\+\+|x86_64-linux-gnu)\/\S*:?[^\n]*error:[^\n]*(?:identifier|_Float\d+|__builtin_\w+|is undefined|expected)/i,
        /nvcc|\.cuh?\b|cuda/i,
      ),
      // What nvcc says of headers that are newer than itself: glibc's, gcc's and those of Visual Studio.
      phrase(
        /attribute "__malloc__" does not take arguments|exception specification is incompatible with that of previous function "\w+pi[fl]?"|identifier "(?:__builtin_ia32_\w+|__builtin_amdgcn_\w+|_Float(?:16|32|64|128)x?|__bf16)" is undefined|STL1002: Unexpected compiler version/i,
      ),
      phrase(/unsupported (?:Microsoft Visual Studio|clang) version!/i),
      capture(/The current installed version of g\+\+ \((?<have>[\d.]+)\) is (?:greater|less) than/i),
    ],
    explains: ['build-failed'],
    cause: (context) =>
      context.os === 'windows'
        ? 'This nvcc does not know the installed Visual Studio.'
        : `This nvcc accepts gcc up to ${context.got.gcc ?? 'an older version'}.`,
    fix: ({ got, os }) =>
      os === 'windows'
        ? [
            say(
              'Install the Visual Studio version that the CUDA release notes name, or a newer CUDA toolkit; -allow-unsupported-compiler is a last resort.',
            ),
          ]
        : [
            run(
              `Point nvcc at gcc ${got.gcc ?? ''}.`.replace(' .', '.'),
              'env',
              `NVCC_PREPEND_FLAGS=-ccbin=/usr/bin/g++-${got.gcc?.split('.')[0] ?? '13'}`,
              'python',
              '-m',
              'pip',
              'install',
              '.',
            ),
          ],
    links: ['https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html'],
  },
  {
    code: 'compiler-missing',
    severity: 'error',
    title: 'No C++ compiler is found',
    patterns: [
      phrase(/Problem with the CMake installation, aborting build/),
      phrase(/\bCMAKE_C(?:XX)?_COMPILER not set, after EnableLanguage|\bNo CMAKE_C(?:XX)?_COMPILER could be found/),
      capture(
        /Command '\['(?:which|where)', '(?<compiler>g\+\+|c\+\+|gcc|cc|clang\+\+|cl)'\]' returned non-zero exit status/,
      ),
      phrase(/(?:running build_ext|building '[\w.]+' extension)\s+(?:[^\n]*\n){0,3}?[^\n]*\[WinError 2\]/i),
      phrase(
        /CMakeTestC(?:XX)?Compiler\.cmake:\d+|Failed to find C compiler|Please specify via CC (?:or CXX )?environment variable|InvalidCxxCompiler|No working C\+\+ compiler found/i,
      ),
      phrase(
        /Microsoft Visual C\+\+ \d+(?:\.\d+)? or greater is required|Compiler: cl is not found|Cannot find compiler 'cl\.exe' in PATH|Error checking\s+compiler version for \S+:/i,
      ),
      phrase(
        /(?:command|error: command) '?(?:gcc|x86_64-linux-gnu-gcc|g\+\+|cc|c\+\+)'? (?:failed: No such file|not found)|No such file or directory: ['"](?:gcc|g\+\+|cc|c\+\+)['"]/i,
      ),
      phrase(
        /Ninja is required to load C\+\+ extensions|\b(?:sh|make)(?:\[\d+\])?: (?:(?:line )?\d+: )?(?:g\+\+|gcc|c\+\+|cc|clang(?:\+\+)?): (?:(?:command )?not found|No such file)/i,
      ),
      phrase(
        /could not find ninja|Could not set up the environment for Microsoft Visual Studio|vcvars(?:all|64)\.bat[^\n]*(?:not found|failed)|(?:cl|link|rc)\.exe['"]?[^\n]{0,30}(?:not found|No such file|failed(?!: exit code))/i,
      ),
      phrase(/Unable to find the development tool `(?:cc|gcc|make)`/i),
    ],
    explains: ['build-failed', 'triton-missing'],
    cause: ({ os }) =>
      os === 'windows'
        ? 'The C++ build tools of Visual Studio are not installed, or not on the path of this terminal.'
        : 'Triton and compiled extensions need a C and C++ compiler, and ninja.',
    fix: ({ os }) =>
      os === 'windows'
        ? [
            say(
              'Install "Desktop development with C++" (Visual Studio Build Tools) and use the x64 Native Tools prompt.',
            ),
          ]
        : [
            asRoot('Install a compiler.', 'apt-get', 'install', '-y', 'build-essential'),
            run('Install ninja in the environment.', 'python', '-m', 'pip', 'install', 'ninja'),
          ],
    links: [EXTENSIONS],
  },
  {
    code: 'python-headers',
    severity: 'error',
    title: 'The headers of Python are missing',
    patterns: [
      phrase(/fatal error: pyconfig\.h: No such file/),
      capture(/(?:fatal error|error)[^\n]*['"]?Python\.h['"]?[^\n]*(?:No such file|not found)/i),
    ],
    explains: ['build-failed', 'triton-missing'],
    cause: () => 'Compiling against Python needs its header files, which the plain package does not bring.',
    fix: ({ os, got }) =>
      os === 'windows'
        ? [
            say(
              'Embedded Pythons lack the folders include and libs: copy them from a full installation of the same version.',
            ),
          ]
        : [
            asRoot('Install them.', 'apt-get', 'install', '-y', got.python ? `python${got.python}-dev` : 'python3-dev'),
            say('Or use a Python of uv or conda, which brings them.'),
          ],
    links: [EXTENSIONS],
  },
  {
    code: 'triton-missing',
    severity: 'warning',
    title: 'Triton is not installed',
    patterns: [
      phrase(/No module named 'triton'/i),
      phrase(/Cannot find a working triton installation|TritonMissing|A matching Triton is not available/i),
    ],
    cause: () => 'torch.compile and some kernels need Triton, which ships with the Linux CUDA wheels only.',
    fix: (context) => [
      ...(context.os === 'windows'
        ? [run('On Windows install its port.', 'python', '-m', 'pip', 'install', 'triton-windows')]
        : [...reinstall(context)]),
      say('Or run without torch.compile.'),
    ],
    links: ['https://github.com/triton-lang/triton'],
  },
  {
    code: 'triton-old',
    severity: 'error',
    title: 'Triton does not know this CUDA version or GPU',
    patterns: [
      symptom(/\bmlir::triton::[^\n]*Assertion\b/),
      capture(/Triton only supports? CUDA (?<least>[\d.]+) or higher, but got CUDA version: (?<cuda>[\d.]+)/i),
      phrase(/Triton Error \[CUDA\]|PassManager::run failed|_unsafe_update_src\(/i),
      capture(
        /too old to be supported by the triton GPU compiler|Device capability (?<cc>[\d.]+) too old for [Tt]riton|Triton only supports devices of CUDA Capability/i,
      ),
      capture(/cannot import name '(?<name>\w+)' from 'triton[\w.]*'/),
    ],
    explains: ['framework-version'],
    cause: ({ got }) =>
      got.cuda
        ? `This Triton was made before CUDA ${got.cuda}.`
        : 'Triton failed on this GPU: it needs compute capability 7.0 or newer, and a version that fits torch.',
    fix: (context) => [...reinstall(context), say('Or run without torch.compile: TORCH_COMPILE_DISABLE=1.')],
    links: ['https://github.com/triton-lang/triton'],
  },
  {
    code: 'cmake-native-arch',
    severity: 'error',
    title: 'CMake finds no GPU to build for',
    patterns: [
      phrase(
        /CUDA_ARCHITECTURES is set to "native", but no NVIDIA GPU was detected|Failed to detect a default CUDA architecture|CUDA_ARCHITECTURES is empty|Cannot find (?:CUDA architecture|valid GPU for '-arch=native')|CMAKE_CUDA_ARCHITECTURES must be|CMAKE_CUDA_ARCHITECTURES:?\s+[\d\w;, -]{1,40}\s+do not all work with this compiler|Unsupported gpu architecture 'compute_(?!\d)/i,
      ),
      phrase(/\bUnknown compute capability\b/i),
      capture(/_get_cuda_arch_flags[\s\S]{0,160}?IndexError: list index out of range/),
    ],
    explains: ['build-failed'],
    cause: () =>
      'The build asks for the architecture of the GPU at hand, and there is none, for example in docker build; or this CMake or nvcc does not know the word.',
    fix: (context) => [
      ...reinstall({ ...context, software: 'llama.cpp' }),
      say('For torch extensions set TORCH_CUDA_ARCH_LIST, for example "8.0;8.6;9.0".'),
    ],
    links: ['https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html'],
  },
  {
    code: 'build-failed',
    severity: 'error',
    title: 'Compiling an extension failed',
    patterns: [
      symptom(
        /fatal error: [\w/.-]*(?:level_zero|ze_api|hip|rocm|sycl|nccl|cutlass|cub\/|thrust)[\w/.-]*: No such file/i,
      ),
      symptom(
        /(?:\bc10|\bATen|\btorch|\bcub|\bthrust|\bcutlass)\/\S+\.(?:h|hpp|cuh)[:(][^\n]*error[: ]|\.cuh?\(\d+\): error: |error: identifier "__\w+" is undefined/,
      ),
      symptom(/\d+ errors? detected in the compilation of "[^"\n]*\.(?:cu|ii|cpp\d?|cc)\b/),
      symptom(/\d+ errors? generated when compiling for (?:gfx\w+|sm_\w+|host)/),
      symptom(
        /CMake Error(?: at [^\n]*| in [^\n]*)?:?[^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*(?:\b|_)(?:CUDA|cuDNN|HIP|ROCm|SYCL|Vulkan|OpenCL|CUDEV|OptiX|TensorRT|NCCL)\w*\b[^\n]*/,
      ),
      symptom(/\bstatic assertion failed[^\n]*\b__CUDA_ARCH__|#error[^\n]*\b(?:__CUDA_ARCH__|compute capability)\b/),
      symptom(/\bError when running CMake\b/),
      symptom(
        /(?:could not compile|failed to run custom build command for) `(?<package>cudarc|candle[\w-]*|cust\w*|cuda[\w-]*|torch-sys|tch|ort(?:-sys)?|llama[\w-]*sys[\w-]*|whisper-rs[\w-]*|mistralrs[\w-]*|ggml[\w-]*|nvml[\w-]*|vulkano[\w-]*|wgpu[\w-]*|opencl[\w-]*)\b/,
      ),
      symptom(/\bbindgen_cuda\b[\s\S]{0,200}?nvcc error while executing/),
      symptom(/\/bin\/sh: (?:\d+: )?\S+: (?:command )?not found/, /\[ *\d+%\]|\bcmake\b|\bmake\[/),
      symptom(
        /(?:command|error:|Command) ?['"]?\S*\bnvcc(?:\.exe)?['"]? (?:failed|returned)[^\n]*exit (?:status|code) \d+/i,
      ),
      symptom(
        /Error building extension '(?<extension>\w+)'|Error compiling objects for extension|^Failed to compile\. cc_cmd:/im,
      ),
      // What Triton compiles when it starts a kernel.
      symptom(/\bCommand [^\n]*\b(?:cuda|hip|xpu)_utils\.c(?:pp)?\b[^\n]*returned non-zero exit status/),
      symptom(/ninja: build stopped: subcommand failed|Compiling the CUDA compiler identification source file/i),
      symptom(
        new RegExp(
          `errored out with exit status[^\\n]*[\\\\/](?<package>${GPU_DISTRIBUTION})[\\w-]*_[\\da-f]{16,}[\\\\/]+setup\\.py`,
          'i',
        ),
      ),
      symptom(
        /(?:Failed building wheel|ERROR: Could not build wheels) for (?<package>flash[-_]attn|xformers|deepspeed|bitsandbytes|llama[-_]cpp[-_]python|apex|detectron2|mmcv\w*|pytorch3d|torch[-_]\w+|vllm|auto[-_]gptq|causal[-_]conv1d|mamba[-_]ssm|spconv|cupy\S*)/i,
      ),
      symptom(
        /RuntimeError: Error building extension|Error: (?:metadata-generation-failed)[^\n]*(?:flash|deepspeed|apex)/i,
      ),
      symptom(/(?:nvcc|cicc|ptxas|cudafe\+\+)(?:\.exe)?['"]? (?:died due to signal|error)/i),
      symptom(
        /Command '\['ninja', '-v'[^\]]*\]' returned non-zero exit status|Command '\[[^\]]*(?:nvcc|cmake)[^\]]*\]' (?:returned|died)/i,
      ),
      symptom(/CMake Error[^\n]*(?:CUDA|cuda)|CMake Error at [^\n]*(?:llama|ggml|torch)[^\n]*/i),
      symptom(/(?:llama\.cpp|ggml|vllm|flash|xformers|apex|csrc)[^\n]*: (?:fatal )?error: /i),
      symptom(/command ['"][^'"\n]*\b(?:nvcc|hipcc)(?:\.exe)?['"] failed with exit (?:status|code) \d+/i),
      symptom(
        /ninja: error: |nvlink (?:error|fatal)|undefined reference to [`'](?:cuda|cublas|cudnn|__cuda|nccl|hip)\w*/,
      ),
    ],
    unless: USAGE,
    cause: ({ got, line }) =>
      line.includes('CMake Error')
        ? 'CMake stopped before anything was compiled; the lines below its name say what it lacks.'
        : `${got.extension ?? got.package ?? 'The extension'} could not be compiled; the first line with "error:" above this one says why.`,
    fix: ({ got, line }) => [
      line.includes('CMake Error')
        ? say(
            'Install what it names, or tell where it is (-DCUDAToolkit_ROOT=…, -DCMAKE_PREFIX_PATH=…); then build in an empty folder.',
          )
        : say('Look for the first "error:" above and explain that line.'),
      say('Compilers that end without a message ran out of memory: MAX_JOBS=2.'),
      say(`Or take a prebuilt wheel${got.package ? ` of ${got.package}` : ''} for your torch, CUDA and Python.`),
    ],
    links: [EXTENSIONS],
  },
  {
    code: 'deepspeed-op',
    severity: 'error',
    title: 'DeepSpeed cannot build or load one of its operations',
    patterns: [
      capture(
        /\b(?<op>fused_adam|fused_lamb|cpu_adam|cpu_adagrad|cpu_lion|async_io|transformer_inference|sparse_attn)\.so: cannot open shared object/,
      ),
      capture(
        /Unable to (?:JIT load|pre-compile) (?:the )?(?<op>\w+)/i,
        /deepspeed|op_builder|hardware\/software|async_io|DS_|(?:cpu|fused)_(?:adam|lamb|lion)|_attn\b|transformer\w*/i,
      ),
      capture(/'(?<op>DeepSpeed\w*Adam|CPUAdam|FusedAdam)' object has no attribute 'ds_opt_adam\w*'/i),
      capture(/No module named 'deepspeed\.ops\.[\w.]+'/),
      capture(/(?<op>\w+_adam|\w+_attn|async_io|transformer_inference|quantizer) cuda is missing or is incompatible/i),
      phrase(/async_io requires the dev(?:el)? libaio|please install the libaio-dev/i),
      capture(/deepspeed\/ops[^\n]*(?:No module named|cannot open|undefined symbol)[^\n]*/i),
    ],
    unless: /sigkill_handler|\bexit(?:s|ed)?\b[^\n]{0,20}\bcodes?\b/i,
    explains: ['framework-missing', 'extension-missing'],
    cause: ({ got }) =>
      `${got.op ?? 'An operation'} of DeepSpeed was not built: nvcc, the compiler or libaio is missing, or does not fit torch.`,
    fix: () => [
      run('See which operations can be built here.', 'ds_report'),
      asRoot('async_io needs libaio.', 'apt-get', 'install', '-y', 'libaio-dev'),
      say('nvcc must be of the same CUDA major version as torch; on Windows use WSL2.'),
    ],
    links: ['https://www.deepspeed.ai/tutorials/advanced-install/'],
  },
];
