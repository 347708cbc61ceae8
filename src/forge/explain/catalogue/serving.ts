// Programs that serve language models: Ollama, llama.cpp and vLLM.

import { capture, phrase, symptom, weak } from '../patterns.ts';
import { reinstall, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { LLAMA, OLLAMA, VLLM } from './links.ts';

export const servingClasses: readonly ErrorClass[] = [
  {
    code: 'ollama-no-gpu',
    severity: 'warning',
    title: 'Ollama runs on the CPU',
    patterns: [
      phrase(/filtering device which didn't fully initialize/i),
      phrase(/amdgpu detected, but no compatible rocm library found/i),
      phrase(/gpu support may not be enabled|Unable to load nvcuda|nvcuda init failure/i),
      phrase(/Dynamic LLM libraries"? runners="?\[cpu\w*(?: cpu\w*)*\]/),
      phrase(
        /no compatible GPUs were discovered|no nvidia devices detected|Discovered GPU libraries: \[\]|Invalid OLLAMA_LLM_LIBRARY/i,
      ),
      phrase(
        /unable to load (?:cudart|cuda|nvcuda|nvml|oneapi|rocm|hip)\b[^\n]*(?:library|management)|error looking up (?:nvidia|CUDART) GPU memory/i,
      ),
      phrase(
        /no (?:[\w/]+ )?GPUs? (?:was |were )?detected|GPU (?:not detected|is not used)|falling back to CPU|inference compute[^\n]*library=cpu|100% CPU/i,
        /ollama|\blevel=|gpu\.go|routes\.go|llm\.go/i,
      ),
      capture(/cuda driver library (?:init failure|failed to (?:initialize|get device context))[: ]*(?<number>\d+)?/i),
      phrase(
        /(?:amdgpu|AMD)[^\n]*(?:is not supported|not supported by)[^\n]*gfx|unsupported Radeon iGPU detected|no compatible amdgpu devices detected/i,
      ),
      phrase(
        /(?:CUDA|cuda) GPU is too old|compute capability[^\n]*(?:below|lower than) minimum/i,
        /ollama|\blevel=|gpu\.go/i,
      ),
      phrase(/amdgpu is not supported|amdgpu version file missing|ollama recommends running/i),
      symptom(/level=(?:WARN|ERROR)[^\n]*(?:gpu\.go|amd_linux\.go|amd_windows\.go|cuda_\w+\.go|discover)[^\n]*/i),
    ],
    explains: ['torch-no-gpu', 'cuda-lib-missing'],
    unless: /\babsl\b|\bjax\b|xla_bridge/i,
    cause: ({ got, facts }) =>
      got.number === '999'
        ? 'The driver is in a bad state, most often after suspend.'
        : facts?.inContainer
          ? 'The container has no access to the GPU, or the driver libraries were not passed in.'
          : 'Ollama found no GPU that it can use: the driver is missing or too old, the container has no GPU, or the GPU is below its minimum (compute capability 5.0, or the gfx list of ROCm).',
    fix: (context) => [
      run('Let it say what it tried.', 'env', 'OLLAMA_DEBUG=1', 'ollama', 'serve'),
      say(
        'In Docker: --gpus all with the NVIDIA container toolkit; for AMD --device /dev/kfd --device /dev/dri and the tag :rocm.',
      ),
      ...(context.vendor === 'amd'
        ? [
            say(
              'A gfx target that is not in the list may run as its relative: HSA_OVERRIDE_GFX_VERSION=10.3.0 for gfx103x, 11.0.0 for gfx110x.',
            ),
          ]
        : []),
      run('Check the driver.', 'gpuforge', 'doctor', '-v'),
    ],
    links: ['https://github.com/ollama/ollama/blob/main/docs/gpu.md', OLLAMA],
  },
  {
    code: 'ollama-runner',
    severity: 'error',
    title: 'The model process of Ollama ended',
    patterns: [
      symptom(/llama runner process (?:has terminated|no longer running)[: ]*(?<status>[^"\n]*)/i),
      symptom(
        /failed to start a llama runner|error starting (?:the |external )*llama\.cpp server|see the ollama server logs? for details|llama runner (?:terminated|exited)|llama-server process (?:died|has terminated)|model runner has unexpectedly stopped/i,
      ),
      symptom(/error loading (?:llama server|model)[^\n]*(?:exit status|signal)/i),
      symptom(
        /Post "[^"\n]*(?:\/completion|11434\/api\/\w+)"[^\n]*(?:EOF|closed|reset)|an unknown error was encountered while running the model/i,
      ),
      symptom(
        /model failed to load, this may be due to resource limitations|do load request: Post|\bstatus[:=] ?"?llm server error|unexpected server status: llm server|500 Internal Server Error: (?:llama|unable to load|model)/i,
      ),
    ],
    explains: ['native-crash', 'cuda-failed'],
    echo: true,
    cause: ({ got }) =>
      `The process that holds the model crashed${got.status ? ` (${got.status.trim()})` : ''}; the server log tells why, most often memory.`,
    fix: () => [
      say(
        'Read the lines before it: journalctl -u ollama; on Windows %LOCALAPPDATA%\\Ollama\\server.log; on macOS ~/.ollama/logs.',
      ),
      say('Try a smaller model or context; then without the GPU: OLLAMA_LLM_LIBRARY=cpu.'),
      say('Update Ollama: new models need a new version.'),
    ],
    links: [OLLAMA],
  },
  {
    code: 'ollama-timeout',
    severity: 'error',
    title: 'Ollama waited too long for the model',
    patterns: [
      phrase(/timed out waiting for llama runner to start/i),
      symptom(/gpu VRAM usage didn't recover within timeout/i),
      phrase(/context (?:deadline exceeded|canceled)[^\n]*llama|llama[^\n]*context deadline exceeded/i),
      phrase(
        /\b(?:gives? up|gave up|giving up|times? out|timed out) (?:on )?waiting for (?:the )?(?:llama )?runner\b/i,
      ),
    ],
    cause: () =>
      'Loading took longer than five minutes, or memory of the model before was not given back in time: a slow disk, or too little memory.',
    fix: () => [
      say('Give it more time: OLLAMA_LOAD_TIMEOUT=15m. Put the models on a local disk.'),
      say('A model that does not fit swaps while it loads: take a smaller one, or a shorter context.'),
    ],
    links: [OLLAMA],
  },
  {
    code: 'ollama-down',
    severity: 'error',
    title: 'The Ollama server does not answer',
    patterns: [
      phrase(/could not connect to (?:a running Ollama instance|ollama (?:app|server))|ollama server not responding/i),
      capture(/dial tcp [\d.:[\]]+:?11434: connect(?:ex)?: (?:connection refused|No connection)/i),
      capture(/listen tcp [\d.:[\]]+:11434: bind: /i),
    ],
    cause: () => 'Nothing listens on port 11434, or another Ollama already does.',
    fix: () => [
      run('Start it and watch what it prints.', 'ollama', 'serve'),
      say('OLLAMA_HOST must name the same address for server and client.'),
    ],
    links: [OLLAMA],
  },
  {
    code: 'gguf-arch',
    severity: 'error',
    title: 'This llama.cpp does not know the model',
    patterns: [
      capture(/unknown model architecture: ['"`]?(?<arch>[\w.-]*)/i),
      capture(/unknown (?:pre-tokenizer type|(?:model )?projector type): '(?<arch>[^']+)'/i),
      capture(
        /(?:missing tensor|wrong number of tensors|check_tensor_dims: tensor) '?(?<tensor>[\w.]+)?|done_getting_tensors: wrong number/i,
      ),
      phrase(/this model (?:is not supported|requires a newer version)|model requires a newer version of Ollama/i),
      capture(/tensor '(?<tensor>[\w.]+)' has wrong shape/i),
    ],
    explains: ['gguf-file', 'ollama-runner'],
    cause: ({ got }) =>
      `${got.arch ? `The architecture ${got.arch}` : 'The model'} is newer than the program, or was converted by another version.`,
    fix: (context) => [
      say(
        context.software === 'ollama'
          ? 'Update Ollama.'
          : 'Update llama.cpp, or the program that brings it (LM Studio, llama-cpp-python), and build again.',
      ),
      say('Models of other kinds (images, audio) need their own program, even as GGUF.'),
    ],
    links: [LLAMA],
  },
  {
    code: 'gguf-file',
    severity: 'error',
    title: 'The model file cannot be read',
    patterns: [
      phrase(
        /invalid magic(?: number| characters)?|unknown \(magic, version\) combination|is this really a GGML file|not a (?:valid )?(?:gguf|GGUF) file/i,
      ),
      phrase(
        /data is not within (?:the )?file bounds|model is corrupted or incomplete|failed to read (?:tensor|key)|unexpectedly reached end of file/i,
      ),
      capture(/(?:gguf_init_from_file\w*|error loading model): failed to (?:open|read)[^\n]*/i),
      phrase(/error loading model \w+: (?:key not found in model|cannot find [^\n]* in model file)/i),
      phrase(
        /PytorchStreamReader failed|failed finding central directory|invalid load key|SafetensorError|Error while deserializing header|HeaderTooLarge|MetadataIncompleteBuffer|bad magic\b|The file might be corrupted/i,
      ),
    ],
    cause: () => 'The file is cut off, not a GGUF file (an HTML page or a Git LFS pointer), or of an old format.',
    fix: () => [
      say('Download it again and compare the size; huggingface-cli download resumes and checks.'),
      say('Old GGML files must be converted, or downloaded as GGUF.'),
    ],
    links: ['https://github.com/ggml-org/ggml/blob/master/docs/gguf.md'],
  },
  {
    code: 'llama-cpu-build',
    severity: 'warning',
    title: 'This llama.cpp is built without a GPU',
    patterns: [
      phrase(
        /no usable GPU found, --gpu-layers option will be ignored|compiled without (?:support for )?(?:GPU|CUDA)\b|not compiled with GPU offload support|one possible reason is that llama\.cpp was compiled without GPU support/i,
      ),
      capture(/ggml_cuda_init: failed to initialize (?:CUDA|ROCm): (?!no (?:ROCm|CUDA)-capable)(?<why>[^\n]+)/i),
      phrase(/ggml_vulkan: No devices found/i),
    ],
    cause: ({ got }) =>
      got.why
        ? `The GPU part could not start: ${got.why}.`
        : 'Layers stay on the CPU, because the program holds no GPU part or finds no device.',
    fix: (context) => [
      ...reinstall({ ...context, software: 'llama.cpp' }),
      run(
        'llama-cpp-python: build it with the GPU part.',
        'env',
        'CMAKE_ARGS=-DGGML_CUDA=on',
        'python',
        '-m',
        'pip',
        'install',
        '--force-reinstall',
        '--no-cache-dir',
        'llama-cpp-python',
      ),
    ],
    links: [LLAMA],
  },
  {
    code: 'ggml-assert',
    severity: 'error',
    title: 'llama.cpp stopped at a check of its own',
    patterns: [
      symptom(/GGML_ASSERT(?:\(|: )(?<check>[^\n]{0,120})/),
      symptom(/ggml[\w/.-]*\.(?:cu|c|cpp|cuh|m|h):\d+: (?!\d|\s*(?:warning|note|error)\b)(?<check>[^\n]{1,120})/i),
      weak(/ggml_\w+_compute_forward: (?<check>\w+) failed|ggml_abort|ggml_backend_\w+: (?<failed>[^\n]*failed)/i),
    ],
    cause: ({ got }) =>
      `A condition that must hold did not${got.check ? ` (${got.check.trim()})` : ''}: a model or option that this version does not support, or memory that could not be had.`,
    fix: () => [
      say(
        'Update the program; then try without the option that is new: -fa off, no quantised cache, one GPU (--split-mode none).',
      ),
      say('The same with -ngl 0 tells whether the GPU part is to blame.'),
    ],
    links: ['https://github.com/ggml-org/llama.cpp/issues'],
  },
  {
    code: 'vllm-device',
    severity: 'error',
    title: 'vLLM does not know which device to use',
    patterns: [
      phrase(/Failed to infer device type|Device string must not be empty/i),
      phrase(/No platform detected, vLLM is running on UnspecifiedPlatform|libcuda\.so[^\n]*not found[^\n]*vllm/i),
    ],
    cause: () => 'vLLM sees no GPU, or the installed build is for another one.',
    fix: (context) => [
      run('See what is there and what blocks it.', 'gpuforge', 'doctor', '-v'),
      ...reinstall({ ...context, software: 'vllm' }),
    ],
    links: [VLLM],
  },
  {
    code: 'vllm-parallel',
    severity: 'error',
    title: 'The model cannot be split over these GPUs',
    patterns: [
      capture(
        /(?:Tensor parallel size|World size|tensor_parallel_size)[^\n]{0,12}\(?(?<wanted>\d+)\)? (?:cannot be larger|is larger|exceeds)[^\n]*GPUs? \(?(?<have>\d+)\)?/i,
      ),
      capture(
        /(?:attention heads|vocab size|hidden size)[^\n]{0,20}\(?\d+\)? (?:must be|is not) divisible by (?:the )?tensor[ _]parallel[ _]size[^\n]{0,6}(?<wanted>\d+)?/i,
      ),
      phrase(
        /The number of required GPUs exceeds the total number of available GPUs|\b(?:Pipeline|Tensor|Expert|Data|Context) parallelism is (?:only|not) (?:\w+ )?supported|not divisible by min_thread_[kn]|caused by too large tensor parallel size|Consider reducing tensor_parallel_size/i,
      ),
    ],
    explains: ['vllm-engine'],
    cause: ({ got }) =>
      `${got.wanted ? `${got.wanted} parts` : 'The number of parts'} ${got.have ? `were asked for and ${got.have} GPUs are there` : 'does not fit the GPUs or the model'}.`,
    fix: () => [
      say(
        'Set --tensor-parallel-size to the number of GPUs; it must divide the number of attention heads. The rest goes to --pipeline-parallel-size.',
      ),
    ],
    links: ['https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html'],
  },
  {
    code: 'vllm-engine',
    severity: 'error',
    title: 'The engine that serves the model stopped; its own message stands above',
    patterns: [
      symptom(
        /\bShardCannotStart\b|Engine core initialization failed|EngineCore failed to start|Engine process failed to start|AsyncEngineDeadError|EngineDeadError|WorkerProc (?:initialization failed|failed to start)|Worker failed with error '|check the stack trace above for the root cause/i,
      ),
    ],
    echo: true,
    cause: () =>
      'The server (vLLM, SGLang) reports that a process of its own ended; the cause is the traceback of that process further up.',
    fix: () => [
      say('Look further up for the first traceback with (EngineCore …) or (Worker …) and explain that.'),
      say('VLLM_LOGGING_LEVEL=DEBUG and --enforce-eager narrow it down.'),
    ],
    links: [VLLM],
  },
  {
    code: 'hf-offload',
    severity: 'error',
    title: 'The model does not fit the GPU alone',
    patterns: [
      phrase(/Some modules are dispatched on the CPU or the disk/i),
      phrase(
        /device_map`? had weights offloaded to the disk|Some parameters are on the meta device because they were offloaded/i,
      ),
    ],
    cause: () => 'accelerate put a part of the model on the CPU, which the quantised form does not allow.',
    fix: () => [
      say(
        'Use a smaller or 4-bit model, or allow it: BitsAndBytesConfig(llm_int8_enable_fp32_cpu_offload=True) with a device_map of your own.',
      ),
    ],
    links: ['https://huggingface.co/docs/transformers/main/en/quantization/bitsandbytes'],
  },
];
