// Programs and frameworks that name their own trouble; the widest subjects come last.

import type { Family } from './types.ts';
import { ABSENT, FAILED, REFUSED } from './words.ts';

export const programs: readonly Family[] = [
  {
    code: 'ort-provider',
    subject: /onnxruntime|ONNXRuntime|ExecutionProvider/,
    trouble:
      /(?:provider|\bcuda|\btensorrt|\bgpu)\b[^\n]*\b(?:fail\w*|error|not|unable)|\bPlease install\b[^\n]*\b(?:TensorRT|CUDA|cuDNN)\b/i,
  },
  {
    code: 'tensorrt-engine',
    subject: /^(?!.*onnxruntime).*(?:\bTRT\b|tensorrt|nvinfer|NvDsInfer|trtexec|cuda ?engine)/i,
    trouble: /\[E\]|\b(?:error|fail\w*|mismatch\w*|not compatible|incompatible|assertion)\b|_FAILED\b/i,
  },
  { code: 'cupy-broken', subject: /cupy/i, trouble: ABSENT },
  {
    code: 'jax-no-gpu',
    subject: /\b(?:jax|jaxlib|pjrt|xla_bridge)\b/i,
    trouble:
      /\b(?:cuda|gpu|rocm|backend)\b[^\n]*\b(?:fail\w*|unable|not|error)|\b(?:unable|failed)\b[^\n]*\b(?:cuda|gpu|backend)/i,
  },
  {
    code: 'xla-failed',
    subject: /(?<!HIP, )\bXLA\b(?!, )|xla_extension|(?:Xla|Jax)RuntimeError|\bHLO\b|\bxla\/|xla\.gpu|XlaModule/,
    trouble: /\b(?:errors?|fail\w*|exception|aborted|fatal|invalid|raised)\b|Error\b|RET_CHECK/i,
  },
  {
    code: 'tf-no-gpu',
    subject: /tensorflow[^\n]*\b(?:gpu|cuda)/i,
    trouble:
      /not be used|\bno gpus?\b|\b(?:unable|cannot|could not|couldn't|failed|not|n't)\b[^\n]{0,24}\b(?:find|found|detect\w*|see|use|using|recogni[sz]e\w*|access|work\w*)\b/i,
  },
  {
    code: 'vllm-memory',
    subject: /vllm|KV cache|max_model_len|gpu_memory_utilization/i,
    trouble: /\b(?:memory|larger than|exceed\w*|not enough|increase)\b[^\n]*\b(?:memory|cache|utilization|len)\b/i,
  },
  {
    code: 'vllm-engine',
    subject: /\bsglang\b|\bScheduler\b|\bEngineCore\w*|\bWorkerProc\b|\bRayWorker\w*|sigquit/i,
    trouble:
      /hit an exception|Received sigquit|\b(?:died|dead|crashed)\b|fail\w* to (?:start|initialize)|Exception in worker/i,
  },
  { code: 'vllm-engine', subject: /vllm/i, trouble: /\b(?:error|fail\w*|exception|dead|died|crashed|terminated)\b/i },
  {
    code: 'gguf-arch',
    subject: /\bmodel\.layers\.\d+|\bblk\.\d+\.\w+|\btransformer\.h\.\d+/,
    trouble: /could not find|not found|missing|unexpected key|size mismatch|wrong shape/i,
  },
  {
    code: 'gguf-file',
    subject: /gguf|llama_model|llama_load/i,
    trouble: /\binvalid(?! argument)\b|\bcorrupt\w*|fail\w* to (?:open|read)|no such file|not a (?:valid )?gguf/i,
  },
  {
    code: 'llama-failed',
    subject: /^(?!.*(?:(?:invalid|unknown) argument|custom_nodes)).*(?:gguf|llama_model|llama_load)/i,
    trouble: /\b(?:fail\w*|error|unable)\b/i,
  },
  {
    code: 'ollama-no-gpu',
    subject: /^(?!.*feature-discovery).*(?:GPU discovery|discover\w*[^\n]*\bgpu|\bgpu\b[^\n]*discover)/i,
    trouble: FAILED,
  },
  {
    code: 'ollama-no-gpu',
    subject: /offload[^\n]*layers\.(?:real|offload)=0\b|\bollama\b[^\n]*\bgpu\b|\/runners\/cpu\w*\//i,
    trouble: /layers\.\w+=0\b|\b(?:not|no|without|fail\w*|cpu)\b|runners\/cpu/i,
  },
  {
    code: 'oom',
    subject: /\bOOMed\b|\bOOM\b(?! killer)|out_of_memory|(?<!java\.lang\.)OutOfMemory/,
    trouble:
      /out_of_memory|OutOfMemory|\b(?:gpu|cuda|vram|device|rank|batch|torch|tensor|shape|worker|model|train\w*|inference|kernel|allocat\w+|alloc|hip|attention|memory pool)\b/i,
  },
  {
    code: 'oom',
    subject:
      /\b(?:gpu|cuda|vram|device|video|hip|sycl|metal)\w*\b[^\n]*memory|memory[^\n]*\b(?:gpu|cuda|vram|device)\b/i,
    trouble: /\b(?:out of|insufficient|not enough|exhausted|exceed\w*|fail\w* to allocate|can(?:not|'t) allocate)\b/i,
  },
  {
    code: 'host-oom',
    subject: /\b(?:system|host|cpu) memory\b|\bRAM\b|DefaultCPUAllocator|\bMemoryError/i,
    trouble: /\b(?:out of|[iu]nsufficient|not enough|can(?:not|'t) allocate|killed|exceed\w*)\b|\bMemoryError/i,
  },
  {
    code: 'no-matching-dist',
    subject: /^(?!.*building from source).*(?:\.whl\b|\bwheels?\b|\bindex-url\b)/i,
    trouble:
      /\b404\b|\bnot (?:found|a supported wheel)|no (?:matching|compatible)|\bunsatisfiable\b|tags match|no wheels? (?:is |are )?available|matching Python ABI/i,
  },
  {
    code: 'torch-no-gpu',
    subject:
      /^(?!.*\bmake sure\b).*(?:is_available\(\)|Is CUDA available|(?:CUDA|GPU)(?: devices?| support| is| was| are| not)* ava\w{4,7}|torch sees)|^\s*(?:GPU|CUDA device)s? ?[:=]/i,
    trouble: /\b(?:False|No|none|not)\b/i,
  },
  {
    code: 'driver-missing',
    subject:
      /^(?!.*symbol not found).*\bnvidia driver|\blibcuda\b|\b(?:dynamically )?(?:load|dlopen) (?:lib)?(?:cuda|nvcuda)\b|\blibnvidia-ml\b|\bnvcuda\b|\bNVML\b/i,
    trouble: ABSENT,
  },
  {
    code: 'no-devices',
    subject:
      /\b(?:cuda|nvidia|render\w*|cycles|compute|requested|gpu)\b[^\n]*\b(?:gpus?|devices?)\b|\b(?:gpus?|devices?)\b[^\n]*\b(?:requested|cuda)\b/i,
    trouble:
      /\b(?:only )?(?<!platform )(?:0|zero) (?:gpus?|devices?)\b(?! ?\d)|\b(?:no|none|not) (?:\w+ ){0,2}(?:found|detected|available|visible)\b|\bno (?:\w+ ){0,2}(?:gpus?|devices?)\b(?! (?:\w+ )?(?:requested|needed|required|selected|specified|assigned|configured)\b)/i,
  },
  {
    code: 'launch-config',
    subject:
      /threads per block|block size|grid size|shared memory per block|registers per (?:block|thread)|\bcuLaunchKernel\b/i,
    trouble: /\b(?:exceed\w*|too (?:many|large|big)|invalid|limit|greater than|larger than)\b/i,
  },
  {
    code: 'nvml-access',
    subject: /\bNvRm\w+|\bnvmap\b|\bnvhost\w*|libnvrm\w*/,
    trouble: /permission|denied|failed|can't|errno 13/i,
  },
  {
    code: 'nvml-failed',
    subject: /\bnvml\w*|NVMLError\w*|NVML_ERROR_\w+/i,
    trouble: /\b(?:error|failed|failure|not supported|invalid|unknown|can't|cannot)\b|Error/i,
  },
  {
    code: 'nvenc',
    subject:
      /\b(?:h264|hevc|av1)_(?:nvenc|cuvid)\b|\bnvenc\b|\bnvdec\b|\bcuvid\w*|\bnvdecoder\b|\bcuvideo\w*|\bnvcodec\b|\bcreate specified HW device/i,
    trouble: REFUSED,
  },
  { code: 'profiler-access', subject: /cupti|\bCUPTI_\w+|\bnsys\b|\bncu\b/i, trouble: REFUSED },
  {
    code: 'cuda-lib-missing',
    subject: /\bCUDA\b(?! error)/,
    trouble:
      /not linked|(?:not|isn't|improperly|incorrectly) (?:properly |correctly )?installed|installation (?:is )?(?:broken|invalid|incomplete|not found)/i,
  },
  {
    code: 'driver-install',
    subject:
      /\bcuda[_ ]installer\b|\[NVI2\.|\bnvidia[_ -]installer\b|\b(?:cuda|nvidia|amd|radeon|adrenalin)[\w.-]*(?:windows|win10|win11|win64|desktop|notebook)\S*\.exe|\b(?:cuda|nvidia|amdgpu|graphics) (?:\w+ )?(?:drivers?|toolkit)?\b[^\n]*\binstall\w*|\binstall\w*\b[^\n]*\b(?:cuda|nvidia|amdgpu|graphics) (?:drivers?|toolkit)/i,
    trouble:
      /\bFatal error during installation\b|failed with exit code|\bCaught exception\b|\b(?:installation|installer|install|installing)\b[^\n]{0,40}\b(?:failed|aborted|not (?:successful|complete\w*))\b|\b(?:failed|unable) to install\b/i,
  },
  {
    code: 'driver-missing',
    subject:
      /^(?!.*symbol not found).*(?:driver and runtime versions|(?:cuda|nvidia|gpu|display|graphics) drivers?\b|\bCUEW\b)/i,
    trouble:
      /\b(?:error getting|not found|not functional|missing|not installed|not loaded|could not be (?:found|loaded)|initialization failed|check that you have installed)\b|\bno\b[^\n]*\bdrivers? (?:was |were )?(?:found|detected|installed|available)/i,
  },
  {
    code: 'cuda-failed',
    subject:
      /\bcuInit\b|\bOPTIX_ERROR\w*|\bOptiX\b|\bCUDA(?:_| )?(?:Exception|RuntimeError|DriverError)|\bcu(?:Ctx|Launch|Mem|Module|Stream|Event|Device|Func|Link)[A-Z]\w*|\bcuda(?:get|set|malloc(?!async)|memcpy|launch|stream|event|device|error|host)\w*|\bCUDA (?:error|failure|failed|exception|call|runtime|kernel|context)\b|\bcuDriver\w+|__global__ function|thrust::system|\b[Cc]uda context\b|\bGPU \w*(?:kernel|pipeline|solver)\w*|\bGPU [a-z][\w ]{3,50}(?= fail to launch)/i,
    trouble: /\b(?:error|failed|failure|exception|not configured|cannot|fail to launch)\b|system_error/i,
  },
];
