// CUDA libraries that are missing, of another version, or that failed inside.

import { capture, code, named, phrase, symptom } from '../patterns.ts';
import { install, reinstall, run, say, unset, watchMemory } from '../steps.ts';
import type { ErrorClass, Software } from '../types.ts';
import { CUDNN, JAX, TENSORFLOW, UV } from './links.ts';

/** The libraries of the toolkit, as Linux and Windows spell them. */
const LIBRARY =
  /(?<library>lib(?:cudart|cublas(?:Lt)?|nvrtc(?:-builtins)?|cusparse(?:Lt)?|cusolver(?:Mg)?|cufft|curand|cupti|nvJitLink|nvToolsExt|nccl|nvshmem\w*|nvinfer\w*|cufile|npp\w+)[-\w]*\.so[.\d]*|(?:cudart|cublas(?:Lt)?|nvrtc(?:-builtins)?|cusparse|cusolver|cufft|curand|cupti|nvJitLink)64_\w+\.dll)/;
const GONE =
  /['"]?(?::| is| was)?[^\n]{0,40}?(?:cannot open shared object file|not found|could not be (?:found|loaded)|No such file|missing|file too short|invalid ELF header|cannot read file data)/;

/** ONNX Runtime for JavaScript speaks of backends where the others speak of providers. */
const IN_BROWSER = /backend (?:not )?found|execution provider: JS|^JS execution provider/i;

/** How each program leaves cuDNN memory to work in. */
const WORK_SPACE: Readonly<Partial<Record<Software, string>>> = {
  tensorflow: 'Let TensorFlow take memory as it needs it: TF_FORCE_GPU_ALLOW_GROWTH=true.',
  jax: 'Leave memory for cuDNN: XLA_PYTHON_CLIENT_MEM_FRACTION=.7.',
  pytorch: 'Halve the batch; torch.backends.cudnn.benchmark = False rules out the search for algorithms.',
};

export const libraryClasses: readonly ErrorClass[] = [
  {
    code: 'cudnn-missing',
    severity: 'error',
    title: 'cuDNN is missing or of two versions',
    patterns: [
      phrase(/\blibcudnn v\d+ with header v\d+ unmatched/i),
      capture(/libcudnn\w*\.so[.\d]*['"]?[:;]? ?[^\n]{0,30}cannot open shared object file/i),
      capture(
        /Could not (?:load|locate) (?:dynamic )?(?:library )?['"]?(?<library>(?:lib)?cudnn\w*(?:\.so[.\d]*|\.dll)|cudnn64_\d+\.dll)/i,
      ),
      capture(/(?<library>cudnn\w*64_\w+\.dll)['"]?[^\n]{0,30}(?:not found|missing|could not)/i),
      capture(/symbol cudnn\w+,? version libcudnn\S* not defined in file (?<library>libcudnn\S*)/i),
      code(/CUDNN_STATUS_(?<status>NOT_INITIALIZED)/),
      code(
        /CUDNN_STATUS_(?:SUBLIBRARY_VERSION_MISMATCH|VERSION_MISMATCH|RUNTIME_PREREQUISITE_MISSING|SUBLIBRARY_LOADING_FAILED)/,
      ),
      capture(/Loaded runtime CuDNN library: (?<loaded>[\d.]+) but source was compiled with:? (?<wanted>[\d.]+)/i),
      capture(
        /cuDNN version incompatibility: PyTorch was compiled\s+against \(?(?<wanted>[\d, .]+)\)?[^\n]*(?:found|runtime) version \(?(?<loaded>[\d, .]+)\)?/i,
      ),
      phrase(
        /DNN library is not found|cuDNN (?:library )?(?:is )?not (?:found|installed|available|enabled)|Unable to load any of \{libcudnn/i,
      ),
      code(/fatal error: cudnn\w*\.h: No such file/),
      capture(
        /Found cuDNN version (?<loaded>[\d.]+), but JAX was built against version (?<wanted>[\d.]+)|Outdated cuDNN installation found/i,
      ),
    ],
    explains: ['tf-no-gpu', 'cudnn-failed', 'ort-provider'],
    cause: ({ got }) =>
      got.loaded
        ? `cuDNN ${got.loaded.replaceAll(', ', '.')} was loaded; the framework was built for ${got.wanted?.replaceAll(', ', '.')}.`
        : got.status
          ? 'cuDNN could not start: the memory of the GPU is full already, or another version than that of the framework was loaded.'
          : 'cuDNN is not there, or the library path brings in another version than the one of the framework.',
    fix: (context) => [
      ...(context.got.status ? [watchMemory(context)] : []),
      unset(context, 'LD_LIBRARY_PATH', 'Try without LD_LIBRARY_PATH: the wheels bring their own cuDNN.'),
      // The framework pins the cuDNN it was built with; a newer one by hand is the other half of this error.
      ...reinstall(context),
    ],
    links: [CUDNN, JAX],
  },
  {
    code: 'cudnn-failed',
    severity: 'error',
    title: 'cuDNN could not do the operation',
    patterns: [
      code(/CUDNN_STATUS_(?!SUCCESS|NOT_INITIALIZED|SUBLIBRARY|VERSION|RUNTIME_PREREQUISITE)[A-Z]\w+/),
      phrase(
        /Fail to find the dnn implementation|DNN library initialization failed|cuDNN failed to initialize|Failed to (?:get|find|determine|pick|choose) (?:the |a )?(?:best )?(?:cudnn )?convolution algorithm/i,
      ),
      phrase(
        /no valid (?:\w+ )?algorithms? (?:is |are )?available|(?:GET|FIND) was unable to find an engine to execute this computation|No algorithm worked!|Unable to find a valid cuDNN algorithm/i,
      ),
      code(/<unknown cudnn status: \d+>/),
      symptom(/cuDNN error:/i),
      named(/\bCUDNN failure \d+\b/),
      phrase(/No DNN in stream executor|dnn != nullptr|DNN (?:\w+ )*launch failure/i),
      phrase(
        /None of the algorithms provided by cuDNN|(?:did not|could not|unable to) find a (?:working|valid|suitable) (?:cudnn|convolution) \w+/i,
      ),
    ],
    unless: /CUDNN_STATUS_NOT_INITIALIZED|VERSION_MISMATCH|nvinfer1::/,
    cause: () =>
      'Usually the GPU has too little memory left for the work space; else cuDNN and driver, or two copies of cuDNN, do not fit.',
    fix: (context) => [
      watchMemory(context, 'Look at the free memory first.'),
      say(WORK_SPACE[context.software ?? 'pytorch'] ?? 'Halve the batch, and close other programs on the GPU.'),
      unset(context, 'LD_LIBRARY_PATH', 'Then try without LD_LIBRARY_PATH.'),
      ...reinstall(context),
    ],
    links: [CUDNN],
  },
  {
    code: 'cublas-init',
    severity: 'warning',
    title: 'cuBLAS could not start',
    patterns: [
      code(/CUBLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)/),
      phrase(/failed to create cublas handle(?!:)|\bcublas: not initialized/i),
      phrase(/StreamExecutor without BLAS support/i),
      phrase(/resource allocation failed[^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*\bcublas\w*/i),
    ],
    cause: () => 'Usually the memory of the GPU is full; else two versions of the libraries are mixed.',
    fix: (context) => [
      watchMemory(context, 'Look at the free memory first.'),
      unset(context, 'LD_LIBRARY_PATH', 'Then try without LD_LIBRARY_PATH.'),
      say('An index out of range shows itself this way too: run with CUDA_LAUNCH_BLOCKING=1.'),
    ],
    links: ['https://docs.nvidia.com/cuda/cublas/index.html'],
  },
  {
    code: 'cublas-failed',
    severity: 'error',
    title: 'A mathematical library of CUDA failed',
    patterns: [
      code(/CUBLAS_STATUS_(?!SUCCESS|NOT_INITIALIZED|ALLOC_FAILED|ARCH_MISMATCH)[A-Z]\w+/),
      code(
        /\b(?:CU(?:SOLVER|SPARSE(?:LT)?|RAND|TENSOR|DSS)|NVJPEG|HIP(?:SOLVER|SPARSE|RAND))_STATUS_(?!SUCCESS)[A-Z]\w+/,
      ),
      code(/\b(?:CU|HIP)FFT_(?:\w+_(?:ERROR|FAILED)|INVALID_\w+|NOT_\w+|NO_\w+|UNALIGNED_DATA|INCOMPLETE_\w+)\b/),
      code(/\bNPP_\w+_ERROR\b|\b(?:HIP|ROC)BLAS(?:LT)?_STATUS_INVALID_VALUE\b/),
      symptom(/cu(?:FFT|SOLVER|SPARSE|BLAS) error:/i),
      phrase(
        /\bcu(?:blas|solver|fft|sparse|rand)(?:Lt)?\b[^\n]{0,20}(?:internal )?error\b|Failure to initialize cublas/i,
      ),
      phrase(/\bBlas \w+ launch failed|Blas xGEMM/i),
      phrase(
        /\bcutlass\w*\b[^\n]*\bError (?:Internal|Misaligned Operand|Invalid (?:Data )?(?:Layout|Problem)|Not Supported|Workspace Null|Insufficient Driver)\b/i,
      ),
      symptom(/\*\* On entry to \w+ +parameter number \d+ had an illegal value/, /cuda|gpu|cublas|_EX\b/i),
    ],
    cause: () =>
      'The library got sizes or types that it does not take, a kernel before it failed, or its version does not fit the GPU.',
    fix: (context) => [
      run('Find out whether an earlier kernel failed.', 'env', 'CUDA_LAUNCH_BLOCKING=1', 'python', 'your_script.py'),
      unset(context, 'LD_LIBRARY_PATH', 'Rule out a second copy of the library.'),
      ...reinstall(context),
    ],
    links: ['https://docs.nvidia.com/cuda/cublas/index.html'],
  },
  {
    code: 'cuda-lib-missing',
    severity: 'error',
    title: 'A CUDA library is missing',
    patterns: [
      capture(/\b(?<symbol>cuda(?!GetErrorName)[A-Z]\w+) symbol not found/),
      capture(new RegExp(LIBRARY.source + GONE.source, 'i')),
      capture(
        new RegExp(
          `(?:Could not|Unable to|failed to|cannot|can't) (?:load|open|find|locate)(?: dynamic)?(?: library| module| dll)? ['"]?${LIBRARY.source}`,
          'i',
        ),
      ),
      capture(/depends on "(?<library>(?:cu|nv)\w+\.dll|lib(?:cu|nv)\w+\.so[.\d]*)" which is missing/i),
      phrase(/nvrtc: error: failed to (?:load builtins|open (?:lib)?nvrtc-builtins\S*)/i),
      capture(/(?:Unable to load|Could not find) (?<library>cu(?:BLAS|SPARSE|SOLVER|FFT|PTI|DART))\b/i),
      capture(/(?<library>cu(?:SPARSE|BLAS|SOLVER|FFT)) library was not found/i),
      capture(/\/usr\/bin\/ld: cannot find -l(?<library>cudart|cublas\w*|cudnn|nvrtc|cusparse|nccl|nvToolsExt)\b/i),
      capture(/Finding (?<library>cu\w+|nv\w+)\b[^\n]*\n\s*ERROR: (?:can't|cannot|failed to) (?:locate|find)/i),
      phrase(
        /No libcudart\.so found! Install CUDA or the cudatoolkit package|(?:could not|cannot|unable to|failed to) (?:find|locate|load) the CUDA libraries\b/i,
      ),
      phrase(/Could not find CUDA Debugger back-end/i),
      capture(/Could not find (?<library>\w+) using the following names: /, /cuda|nvidia|tensorrt/i),
      capture(/Unable to dynamically load the "(?<library>(?!cuda")\w+)" shared library/i),
    ],
    unless:
      /libcudart\.so['\]]|libcudart\.so not found in any environmental path|bitsandbytes|\[Errno 28\]|dynamic library 'libnvinfer/,
    explains: ['tf-no-gpu', 'ort-provider', 'cupy-broken'],
    cause: (context) =>
      `${context.got.library ?? 'A CUDA library'} is missing or of another major version than the program was built with.`,
    fix: (context) => [
      ...reinstall(context),
      unset(context, 'LD_LIBRARY_PATH', 'Take other CUDA versions off LD_LIBRARY_PATH.'),
    ],
    links: [UV, TENSORFLOW],
  },
  {
    code: 'nvjitlink-symbol',
    severity: 'error',
    title: 'A system CUDA shadows the libraries of the wheel',
    patterns: [
      phrase(/may need newer version of nvJitLink|nvJitLink(?:Error| error)\b[^\n]*(?:version|ERROR_INTERNAL)/i),
      capture(/undefined symbol: (?<symbol>__nvJitLink\w+)/),
      capture(
        /lib(?:cu|nv|nccl)\w+\.so[.\d]*: (?:undefined symbol: (?<symbol>(?:cu|nv|nccl)\w+)|version [`'](?<version>lib(?:cu|nv)\w+\.so[.\d]*)' not found)/i,
      ),
      capture(/undefined symbol: (?<symbol>(?:cublas|cusparse|cudnn|cusolver|nccl|nvrtc|cudaGraph|cudaMem)\w+)/),
    ],
    cause: ({ got }) =>
      `A library of another CUDA version is found before the one of the wheel${got.symbol ? ` (${got.symbol})` : ''}.`,
    fix: (context) => [unset(context, 'LD_LIBRARY_PATH', 'Unset LD_LIBRARY_PATH.'), ...reinstall(context)],
    links: ['https://github.com/pytorch/pytorch/issues/111469'],
  },
  {
    code: 'nvvm-missing',
    severity: 'error',
    title: 'Numba finds no CUDA compiler',
    patterns: [
      phrase(
        /libNVVM cannot be found|NvvmSupportError|library nvvm not found|Missing libdevice file|failed to open nvvm/i,
      ),
      capture(/(?<library>libnvvm\.so[.\d]*|nvvm(?:64\w*)?\.dll)['"]?[^\n]{0,40}(?:cannot open|not found|could not)/i),
      phrase(/Could not find module 'nvvm/i),
    ],
    cause: () => 'Numba compiles kernels with libNVVM, a part of the CUDA toolkit that the driver does not bring.',
    fix: (context) => [
      ...reinstall({ ...context, software: 'numba' }),
      run(
        'With conda install it from conda-forge.',
        'conda',
        'install',
        '-c',
        'conda-forge',
        'cuda-nvcc',
        'cuda-nvrtc',
      ),
    ],
    links: ['https://nvidia.github.io/numba-cuda/user/installation.html'],
  },
  {
    code: 'libdevice-missing',
    severity: 'error',
    title: 'XLA finds no libdevice',
    patterns: [
      phrase(/libdevice not found at|Can't find libdevice directory|libdevice is required by this HLO module/i),
    ],
    cause: () => 'TensorFlow and JAX look for libdevice.10.bc of the CUDA toolkit and do not find it.',
    fix: (context) => [
      ...reinstall(context, context.software === 'jax' ? 'jax' : 'tensorflow'),
      say('Or point XLA at a toolkit: XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda.'),
    ],
    links: [TENSORFLOW],
  },
  {
    code: 'libcuda-link',
    severity: 'error',
    title: 'The linker finds no libcuda.so',
    patterns: [
      phrase(/libcuda\.so cannot found!|cannot find -lcuda\b(?!rt)/i),
      phrase(/Could not find (?:the )?libcuda\.so (?:in|on|at)/i),
    ],
    explains: ['driver-missing'],
    cause: () => 'The driver installs libcuda.so.1; the plain name for linking is missing or not on the path.',
    fix: () => [
      run('See where it lies.', 'ldconfig', '-p'),
      say(
        'Tell Triton its folder: TRITON_LIBCUDA_PATH=/usr/lib/x86_64-linux-gnu; for a linker use the stubs folder of the toolkit.',
      ),
    ],
    links: ['https://github.com/triton-lang/triton'],
  },
  {
    code: 'win-dll',
    severity: 'error',
    title: 'Windows cannot load a library of the framework',
    patterns: [
      capture(
        /\[WinError (?:126|127|193|1114|182)\][^\n]*?(?<library>[\w.-]+\.(?:dll|pyd))?/i,
        /torch|cud|nv|tensorflow|c10|fbgemm|xformers|flash|onnx|jax|bitsandbytes|llama/i,
      ),
      // Alone it says which kind of fault, though not whose library it is.
      symptom(/\[WinError (?:126|127|1114)\]|\badd_dll_directory\b[\s\S]{0,200}\[WinError [23]\]/),
      capture(/Error loading "[^"\n]*\\(?<library>[\w.-]+\.dll)" or one of its dependencies/i),
      capture(
        /DLL load failed while importing (?<library>\w+)/i,
        /torch|tensorflow|cuda|onnxruntime|flash|xformers|jax|cupy|llama|ncnn|triton|vulkan|opencl|turbomind|importing (?:\w+_(?:ext|C|kernels?|ops)|_C)\b/i,
      ),
      capture(/Could not locate (?<library>zlibwapi\.dll)/i),
      // The loader's own status: a library or one of its functions is not there, is of another kind, or refuses to start.
      {
        ...code(
          /\bexit(?:ed)?\b[^\n]{0,30}?\b(?:-?10737415(?:15|11)|3221225(?:781|785)|-?1073741701|3221225595|-?1073741502|3221225794|0xc0000(?:135|139|07b|142))\b/i,
        ),
        named: true,
      },
      symptom(/\berror in LoadLibrary[AW]?\b/),
      symptom(/\[WinError 3\][^\n]*/, /add_dll_directory/),
      phrase(/ImportError: DLL load failed(?! while)/i, /torch|tensorflow|cuda/i),
      phrase(
        /procedure entry point \S+ could not be located in/i,
        /torch|cud|nv|comfy|python|ipti|sycl|ze_loader|onnx/i,
      ),
    ],
    unless: /onnxruntime_providers|LoadLibrary failed/i,
    cause: ({ got }) =>
      `${got.library ?? 'A library'} or one that it needs is missing: most often the Visual C++ runtime, else a broken or mixed installation.`,
    fix: (context) => [
      say('Install the current Microsoft Visual C++ Redistributable (x64), then restart the terminal.'),
      ...reinstall({ ...context, os: 'windows' }),
    ],
    links: ['https://learn.microsoft.com/en-us/cpp/windows/latest-supported-vc-redist'],
  },
  {
    code: 'ort-provider',
    severity: 'error',
    title: 'ONNX Runtime cannot use the GPU',
    patterns: [
      phrase(
        /no available backend found(?!.*\[webgpu\])|\[(?:webgl|wasm|webnn)\] backend not found|Can't append execution provider|\w+ execution provider is not supported in this build/i,
      ),
      capture(/Unsupported (?:device|execution provider): "(?<provider>(?!webgpu)\w+)"\. Should be one of/i),
      capture(/Failed to create (?<provider>CUDA|Tensorrt|TensorRT|ROCM|DML)ExecutionProvider/i),
      capture(
        /(?:LoadLibrary failed with error \d+|(?:Failed|Unable) to load(?: library)?|(?:Could not|Cannot) load|Error loading)[^\n]*onnxruntime_providers_(?<provider>\w+?)(?:\.\w+)?\b/i,
      ),
      capture(/argument --execution-providers?: invalid choice: '(?<provider>\w+)' \(choose from/),
      phrase(/This ORT build has \[[^\]\n]*\] enabled\b/),
      capture(/\bEP_FAIL : (?<provider>[A-Z]\w+) EP could not open shared library/),
      capture(/Specified provider '(?<provider>\w+)ExecutionProvider' is not in available provider names/i),
      capture(/onnxruntime_providers_(?<provider>cuda|tensorrt)\.(?:so|dll)[^\n]*(?:cannot open|not found|failed)/i),
      phrase(/\w+ExecutionProvider\b[^\n]{0,40}does not contain a subset of available providers/i),
      phrase(/Unknown Provider Type: \w+ExecutionProvider|ProviderSharedLibrary::Ensure\]? LoadLibrary failed/i),
      capture(/(?<provider>\w+) execution provider is not (?:enabled|supported|available) in this build/i),
      capture(/\bat [\w.]*OnnxRuntime\.SessionOptions\.AppendExecutionProvider_(?<provider>\w+)/i),
      phrase(
        /multiple onnxruntime packages are installed|Require cuDNN \d[\d.*]* and CUDA \d|CUDA_PATH is set but CUDA/i,
      ),
      symptom(/get_available_providers\(\)[^\n]*\[?'CPUExecutionProvider'\]?/),
    ],
    cause: ({ got }) =>
      `The ${got.provider ?? 'CUDA'} provider did not load: the CPU package is installed, or the CUDA and cuDNN versions that it was built for are missing.`,
    fix: (context) =>
      IN_BROWSER.test(context.line)
        ? [
            say(
              'Import the part that holds the backend: onnxruntime-web/webgpu, /webgl or /wasm, and name it in executionProviders.',
            ),
            say('The .wasm files must lie where ort.env.wasm.wasmPaths says, and be served from the same site.'),
          ]
        : [
            ...reinstall({ ...context, software: 'onnxruntime' }),
            say('Before the session call onnxruntime.preload_dlls(), so that the libraries of the wheels are found.'),
          ],
    links: ['https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html'],
  },
  {
    code: 'cupy-broken',
    severity: 'error',
    title: 'CuPy is not correctly installed',
    patterns: [
      capture(/\bcupy[\w.]* has the wrong size, try recompiling|'cupy[\w.]*' has no attribute '__reduce_cython__'/),
      phrase(
        /CuPy is not correctly installed|make sure that the (?:version of CuPy|package)[^\n]*matches with the version of CUDA/i,
      ),
      phrase(/CuPy may not function correctly because multiple CuPy packages are installed/i),
      capture(/(?:No module named '?cupy(?:_backends|\.cuda)|Failed to import CuPy)/i),
      phrase(/Failed to auto-detect CUDA root directory[^\n]*CuPy/i),
    ],
    cause: () => 'The CuPy wheel is for another CUDA version, or two CuPy packages are installed.',
    fix: (context) => [
      run(
        'Remove every CuPy package first.',
        'python',
        '-m',
        'pip',
        'uninstall',
        'cupy',
        'cupy-cuda11x',
        'cupy-cuda12x',
        'cupy-cuda13x',
      ),
      ...reinstall({ ...context, software: 'cupy' }),
    ],
    links: ['https://docs.cupy.dev/en/stable/install.html'],
  },
  {
    code: 'bnb',
    severity: 'error',
    title: 'bitsandbytes does not fit the CUDA version',
    patterns: [
      capture(
        /['"](?<symbol>c(?:adam|adagrad|lion|momentum|rmsprop|ademamix|quantize|dequantize|gemm|igemmlt)\w*(?:\d+bit|blockwise|fp\d+|nf4)\w*)['"]/,
      ),
      phrase(
        /take the information from python -m bitsandbytes|Inspect the output of the command and see if you can locate CUDA libraries|run the following command to get more information:\s+python -m bitsandbytes/i,
      ),
      phrase(/(?:CUDA|ROCm|XPU|HIP) Setup failed despite (?:CUDA|ROCm|XPU|HIP|GPU) being available/i),
      capture(/\bError (?<why>[\w -]+) at line \d+ in file \S*(?:\bops\.cu|pythonInterface\.\w+)/),
      phrase(/Found duplicate \[?'?libcudart\.so|We select the PyTorch default libcudart/i),
      capture(/(?<library>libbitsandbytes_(?:cuda|rocm|cpu)\d*\w*\.(?:so|dll))/i),
      phrase(
        /bitsandbytes[^\n]{0,60}(?:compiled without GPU support|CUDA (?:binary|version|setup))|Could not find the bitsandbytes/i,
      ),
      phrase(
        /CUDA[_ ]SETUP: (?:WARNING! libcudart|CUDA (?:runtime|detection|version)[^\n]*(?:fail|not)|ERROR|Something unexpected|Problem)/i,
      ),
      phrase(/did not contain \['libcudart\.so'/i),
      capture(/'NoneType' object has no attribute 'split'/, /bitsandbytes|CUDA[ _]SETUP|\bbnb\b/i),
      capture(
        /'NoneType' object has no attribute '(?:cget_\w+|cquantize\w*|cdequantize\w*)'|undefined symbol: c(?:get_|quantize|dequantize|gemm|adam)\w+/i,
      ),
      phrase(/(?:Using|using) `?bitsandbytes`? (?:\d-bit quantization )?requires/i),
    ],
    // What it prints while all is well.
    unless: /CUDA SETUP: Loading binary/,
    explains: ['cuda-lib-missing', 'driver-missing', 'no-devices'],
    cause: ({ got }) =>
      `${got.library ?? 'The library for the installed CUDA variant'} is not part of the installed bitsandbytes, or no GPU is visible to it.`,
    fix: (context) => [
      install('Install a current version; it holds all CUDA variants.', 'bitsandbytes', 'accelerate'),
      run('Let it check itself.', 'python', '-m', 'bitsandbytes'),
      run('It needs a torch that sees the GPU.', 'gpuforge', context.facts ? 'doctor' : 'resolve'),
    ],
    links: ['https://huggingface.co/docs/bitsandbytes/main/en/installation', UV],
  },
  {
    code: 'tensorrt-engine',
    severity: 'error',
    title: 'TensorRT cannot build or load the engine',
    patterns: [
      phrase(
        /Failed to parse (?:the )?ONNX (?:model|file)|unable to load plan file|No importer registered for op: \w+|Deserialize engine failed/i,
      ),
      symptom(/\[E\] \d+: \[\w+\.cpp::\w+::\d+\] Error Code \d+/),
      phrase(/\bfail\w* to (?:build|create|load|serialize) (?:an? |the )?(?:TensorRT|TRT) engine/i),
      symptom(
        /'NoneType' object has no attribute '(?:create_execution_context|num_bindings|get_binding_\w+|max_batch_size)'/,
      ),
      phrase(
        /[Dd]eserialize (?:the )?cuda engine|deserialize with an empty memory buffer|kPLAN_MAGIC_TAG|Serialization assertion|[Mm]agic ?[Tt]ag\b[^\n]*(?:assert|fail)|[Dd]eserialization of (?:the )?engine failed|engine plan file is (?:not compatible|generated)/,
      ),
      symptom(
        /\[TensorRT(?:-LLM)?\][^\n]*(?:ERROR|Error)|\[E\] \[TRT\]|\[TRT\][^\n]*\[E\]|NVINFER LOG[^\n]*Error|\[TensorRT\] ERROR|\bnvinfer1::[^\n]*Error Code \d+/,
      ),
      phrase(
        /\blibnvinfer\w*plugin\w*\.so[^\n]*(?:not found|cannot|no such|could not)|(?:not found|cannot|could not|no such)[^\n]*\blibnvinfer\w*plugin/i,
      ),
      capture(/(?:could not find|Could not find) any implementation for node (?<node>[^\n]{1,60})/),
    ],
    cause: () =>
      'An engine belongs to one TensorRT version and one kind of GPU; this file was made elsewhere, is empty, or a layer has no kernel here.',
    fix: () => [
      say(
        'Build the engine again on this machine with the TensorRT that loads it; do not carry engine files between GPUs.',
      ),
      say('More work space and a verbose log (trtexec --verbose) tell which layer fails.'),
    ],
    links: ['https://docs.nvidia.com/deeplearning/tensorrt/latest/index.html'],
  },
];
