// The last resort of each class: a line that names its subject and says that something went wrong.
//
// Wordings are endless, subjects and troubles are few. A family scores lowest of all, so any pattern of a class's own comes
// before it, and of two families the first in this table: it goes from the narrow subject to the wide one.

import { weak } from '../patterns.ts';
import type { Pattern } from '../types.ts';

const FAILED =
  /\b(?:fail\w*|errors?|exception|unable|cannot|can't|could ?n[o']t|couldn't|not|no|unsupported|invalid|incompatible|refused|denied|aborted|panicked|crash(?:ed)?|fatal|bad|missing|unknown|undefined|mismatch\w*|outdated|rejected|corrupt\w*|unresolv\w+|lacks?)\b|Error\b|_ERROR\b|\bERROR_|FAILED/i;
const ABSENT =
  /\bnot (?:integrated|included|linked|part of)\b|\b(?:unable|cannot|can't|couldn't|could not|fail(?:ed)?|not|no)\b[^\n]{0,40}\b(?:load|open|find|found|locate|discover|see|access|import|loaded|available|installed|registered|exist|detected|accessible|present|linked)\b|\bmissing\b|cannot be|\bno such file\b/i;
const DIED = /segfault|SIGSEGV|SIGABRT|core dumped|access violation|segmentation fault|bad_alloc/i;
const LOST = /\blost\b|_LOST\b|\bhung\b|\bremoved\b/i;
const FAULT = /\b(?:errors?|fail\w*|failing|exception|aborted|fatal|undefined|not found|invalid|raised)\b|Error\b/i;

interface Family {
  readonly code: string;
  readonly subject: RegExp;
  readonly trouble: RegExp;
}

const FAMILIES: readonly Family[] = [
  {
    code: 'device-lost',
    subject: /\b(?:logical|parent|gpu|vulkan|graphics|d3d\d*|wgpu)\b|ERROR_DEVICE/i,
    trouble: LOST,
  },
  { code: 'hip-fault', subject: /\bamdgpu: /, trouble: /\b(?:fail\w*|error|fault|timeout|hang)\b/i },
  {
    code: 'hip-fault',
    subject: /\*ERROR\* ring|\bring \w+[\d.]* timeout|GPU core ?dump/i,
    trouble: /timeout|failed|error/i,
  },
  { code: 'hip-fault', subject: /\b(?:libhsa|libamdhip|librocblas|rocm|amdgpu|hip)/i, trouble: DIED },
  {
    code: 'native-crash',
    subject: /instance of '(?:c10|at|torch|onnxruntime|Ort|cudf|rmm|raft|tensorflow|ggml|std)::/,
    trouble: /terminate called|terminating/i,
  },
  {
    code: 'native-crash',
    subject: /torch|cuda|nvidia|tensorflow|jax|onnx|llama|ggml|vllm|libnv|libcu/i,
    trouble: DIED,
  },
  {
    code: 'xid',
    subject: /\bXid\b/,
    trouble: /\bXid[ :(]{1,3}(?:\([^)]*\):? ?)?\d+/,
  },
  { code: 'static-tls', subject: /static TLS/i, trouble: FAILED },
  {
    code: 'nvjitlink-symbol',
    subject:
      /(?:undefined symbol:|(?:load|find|resolve) (?:the )?symbol:?) ['"]?(?:cu(?:da|blas|dnn|sparse|solver|fft|rand|init|driver|device|mem|ctx|module|tensor)|nv(?:rtc|jitlink|ml)|nccl)\w*/i,
    trouble: FAULT,
  },
  {
    code: 'abi-symbol',
    subject:
      /undefined symbol: _Z|(?:torch|ATen|c10)\S*: undefined symbol|symbol not found in flat namespace|procedure entry point/i,
    trouble: FAULT,
  },
  { code: 'cudnn-missing', subject: /cudnn/i, trouble: ABSENT },
  { code: 'cudnn-failed', subject: /cudnn(?!_status_success)/i, trouble: FAULT },
  { code: 'amdgpu-old', subject: /\blib(?:amdhip|hip|hsa|roc|MIOpen|rccl)\w*\.so/i, trouble: ABSENT },
  {
    code: 'xpu-none',
    subject: /\b(?:xpu|sycl|dpcpp|level[ _-]zero|oneapi)\b[^\n]*\bdevices?\b/i,
    trouble: /\b(?:zero|no|none|not found|unavailable|is 0)\b/i,
  },
  {
    code: 'cuda-lib-missing',
    subject:
      /\blib(?:cu|nv)\w+\.so|\b(?:nvrtc|cudart|cudadevrt|cublas|cusparse|cusolver|cufft|curand|nvjitlink|libnpp|libcudart)|\b(?:cu|nv)\w+64_\w+\.dll/i,
    trouble: ABSENT,
  },
  { code: 'cuda-lib-missing', subject: /NVRTC_ERROR_BUILTIN|NvrtcSupportError/, trouble: FAILED },
  { code: 'cublas-failed', subject: /\b(?:cu|roc|hip)(?:blas|fft|sparse|solver|rand)/i, trouble: FAULT },
  { code: 'nvvm-missing', subject: /nvvm|libdevice/i, trouble: ABSENT },
  { code: 'miopen', subject: /miopen/i, trouble: FAILED },
  { code: 'rocblas-tensile', subject: /tensile/i, trouble: FAILED },
  {
    code: 'hip-perm',
    subject: /\/dev\/(?:kfd|dri)|\brender group\b/i,
    trouble: /permission|denied|cannot|failed|no such file/i,
  },
  {
    code: 'hip-none',
    subject: /\b(?:rocm|hip|hsa|kfd|amdgpu)\b[^\n]*\b(?:gpus?|devices?|agents?)\b/i,
    trouble: /\b(?:no|none|not|unable|failed)\b/i,
  },
  { code: 'hip-invalid-fn', subject: /\bhipError\w*|\bHIP error\b/, trouble: FAULT },
  {
    code: 'hip-invalid-fn',
    subject: /\bgfx[0-9a-f]{3,4}\b/,
    trouble:
      /\b(?:not (?:a )?support\w*|unsupported|invalid|no (?:kernel|binary|code object)\w*|not recognized|not compatible)\b/i,
  },
  {
    code: 'amdgpu-old',
    subject: /\b(?:ROCM_PATH|HIP_PATH|ROCM_HOME|hipcc|hipconfig|amdclang\S*|hipInfo|rocm-smi|rocminfo)\b/i,
    trouble: /\bnot found\b|does not exist|no such file|not set|could not find|command not found/i,
  },
  {
    code: 'nccl-timeout',
    subject:
      /\b(?:nccl|rccl|gloo|c10d|rank|barrier|allreduce|all_reduce|broadcast|collective|process ?group|TCPStore|send|recv)\w*\b/i,
    trouble: /\btimed? ?out\b|\btiming out\b|waiting for (?:send|recv|rank)|Timed out waiting/i,
  },
  {
    code: 'nccl-network',
    subject: /\b(?:nccl|rccl|gloo|c10d|rank \d+|TCPStore)\b/i,
    trouble:
      /\b(?:connect(?:ion)? (?:refused|reset|closed|failed)|socket|network|interface|unreachable|reset by peer)\b/i,
  },
  {
    code: 'nccl-network',
    subject: /\b(?:c10d|TCPStore|rendezvous|rdzv|MASTER_ADDR|gloo|nccl|ibv_\w+)\b|Rendezvous\w+Error/i,
    trouble: /\b(?:connect\w*|gai error|retrieved|resolve|hostname|unreachable|closed|broken pipe)\b/i,
  },
  { code: 'nccl', subject: /(?:nccl|rccl)\w*/i, trouble: /\b(?:error|failed|failure|abort\w*|WARN)\b/i },
  {
    code: 'host-oom',
    subject: /exit\w*|return\w*|terminated/i,
    trouble: /\b(?:code|status|signal)\b ?[=:]? ?\(?(?:-9|137|SIGKILL)\b/i,
  },
  {
    code: 'native-crash',
    subject: /exit\w*|return\w*|terminated/i,
    trouble: /\b(?:code|status|signal)\b ?[=:]? ?\(?(?:-11|-6|-7)\b/i,
  },
  {
    code: 'dist-child',
    subject: /\blaunch\.py:\d+|sigkill_handler|Root Cause \(first observed failure\)|ChildFailedError/,
    trouble: /return code|exitcode|observed failure|ERROR|Error/,
  },
  { code: 'dist-child', subject: /\b(?:torchrun|elastic|local_rank)\b/i, trouble: /\b(?:exitcode|failed|error)\b/i },
  {
    code: 'dkms-build',
    subject:
      /\bdkms\b|\bakmods?\b|\bkmods?\b|nvidia-kmod|\bnvidia[\w-]*\.service|==> ERROR: module not found: '?nvidia|kernel[- ](?:headers|devel|source)|\/lib\/modules\/\S+\/(?:build|source)|nvidia-installer|linux-headers/i,
    trouble: /fail|error|not (?:be )?found|bad exit|missing|no such file|unable|could not/i,
  },
  {
    code: 'secure-boot',
    subject: /secure ?boot|module verification|MOK\b/i,
    trouble: /\b(?:fail\w*|reject\w*|denied|required|not|tainting)\b/i,
  },
  { code: 'nouveau', subject: /\bnouveau\b/i, trouble: /\b(?:in use|loaded|conflict\w*|error|failed|timeout)\b/i },
  {
    code: 'smi-no-comm',
    subject:
      /nvidia(?:-\w+)?\.ko\b|\b(?:kernel )?modules?\b[^\n]*\bnvidia|\bnvidia[\w-]*\b[^\n]*\b(?:kernel )?modules?/i,
    trouble: /\b(?:not (?:found|loaded)|failed|cannot|error|missing|unable)\b/i,
  },
  {
    code: 'driver-packages',
    subject:
      /\b(?:apt|dpkg|dnf|yum|rpm|pacman|zypper)\b[^\n]*\b(?:nvidia|cuda)|\b(?:lib|xorg-x11-drv-|akmod-|kmod-)?(?:nvidia|cuda)-?[\w.:-]*|\brocm-\w+|\bamdgpu-\w+/i,
    trouble:
      /\b(?:unmet|held broken|broken packages|no installation candidate|unable to (?:find a match|locate package|correct problems)|no match for argument|target not found|no package \S+ available|has no candidate|unsatisfied dependenc\w+|conflicting requests|file conflicts?)\b|dpkg[^\n]*error|sub-process[^\n]*error code/i,
  },
  {
    code: 'k8s-gpu',
    subject:
      /If this is a GPU node|\b(?:pod|kubelet|daemonset|gpu-operator|device-plugin|container)\b[^\n]*\b(?:nvidia|gpu)|\b(?:nvidia|gpu)[\w-]*(?:daemonset|operator|plugin)/i,
    trouble: FAILED,
  },
  {
    code: 'docker-nvidia-cli',
    subject: /\bnvc\.c\b|nvidia-container|libnvidia-container|nvidia-ctk|\bdriver\.c:\d+\] could not start driver/i,
    trouble: FAILED,
  },
  {
    code: 'docker-gpu',
    subject: /\b(?:docker|podman|containerd|OCI)\b[^\n]*\b(?:gpus?|nvidia|cdi)\b/i,
    trouble: FAILED,
  },
  {
    code: 'wsl-lib',
    subject: /\bdxgk\w*|\bdxcore\b|\/dev\/dxg\b|\/usr\/lib\/wsl\b|\bWSL\b[^\n]*\b(?:gpu|cuda|driver)/i,
    trouble: FAILED,
  },
  {
    code: 'webgpu-no-adapter',
    subject: /\badapters?\b/i,
    trouble:
      /\b(?:no|none|not|null|unable|failed|without)\b[^\n]*\b(?:gpu|wgpu|webgpu|graphics|suitable|found|adapter)/i,
  },
  {
    code: 'webgpu-limit',
    subject: /\b(?:WebGPU|GPUDevice|adapter|wgpu|binding|workgroup)\b/i,
    trouble: /\b(?:exceeds?|limit|too (?:large|big)|greater than|larger than)\b/i,
  },
  {
    code: 'vulkan-driver',
    subject:
      /\bvulkan|\bVK_|\bvk(?:create|enumerate|queue|alloc|get|device)\w+|\bLoader Message\b|ERROR_INITIALIZATION_FAILED|\bICDs?\b|\bMESA\b/,
    trouble: FAILED,
  },
  { code: 'webgpu-failed', subject: /\bwgpu\b|\bwgpu_\w+|\bWebGPU\b|\bdawn\b|\bWGSL\b|naga/i, trouble: FAILED },
  {
    code: 'opencl-none',
    subject: /opencl/i,
    trouble:
      /\b(?:no|not|zero|missing)\b[^\n]*\b(?:platforms?|devices?|drivers?|installed|available|icd)\b|plat?form\w* [^\n]*not available/i,
  },
  { code: 'opencl-failed', subject: /opencl|\bcl(?:Enqueue|Create|Build|Set|Finish)\w+/i, trouble: FAULT },
  { code: 'opencl-none', subject: /opencl|\bpyopencl\b|\bcl(?:get|create|build|enqueue)\w+/, trouble: ABSENT },
  {
    code: 'mps-op',
    subject: /\b\w*(?:MPS|GPU|Metal)\w*\.mm:\d+|\bMPSGraph|\bmps\.\w+/,
    trouble: /failed assertion|\berror\b|unsupported|mismatch/i,
  },
  {
    code: 'mps-op',
    subject: /\bconvolution_overrideable\b|_overrideable\b/,
    trouble: /not (?:supported|implemented)/i,
  },
  {
    code: 'mps-op',
    subject: /\bMPS\b|\bSparseMPS\b/,
    trouble: /\b(?:not (?:\w+ )?(?:implemented|supported)|could not run|unsupported|only support\w*)\b/i,
  },
  {
    code: 'mps-op',
    subject: /-\[(?:IOGPU|MTL|AGX|_MTL)\w*|MTLDebug\w*|command encoder/,
    trouble: /failed assertion|error/i,
  },
  {
    code: 'mps-unavailable',
    subject: /\bggml_metal\w*|\bMPS\b|\bMTL\w+|\bMetal\b/,
    trouble: /\b(?:not available|unavailable|failed|error)\b|Error Domain/i,
  },
  {
    code: 'xpu-failed',
    subject:
      /\b(?:xpu|sycl|dpcpp\w*|level[ _-]zero|oneapi|ipex|ze_driver)\b|\bPI_ERROR|\bUR_RESULT|could not create (?:an engine|a primitive)/i,
    trouble: FAILED,
  },
  {
    code: 'device-mismatch',
    subject: /\bsame device\b|\bdifferent devices?\b|\bwrong device\b|\bon device\b[^\n]*\bon device\b/i,
    trouble: /\b(?:should|must|expected|be on|found|got)\b/i,
  },
  {
    code: 'dtype-mixed',
    subject: /\b(?:Half|BFloat16|float16|bfloat16|fp16|bf16)\b[^\n]*\b(?:Float|float32|fp32|Half|BFloat16)\b/,
    trouble: /\b(?:same dtype|must match|mismatch|expected|but (?:got|found))\b/i,
  },
  {
    code: 'flash-attn-gpu',
    subject: /flash[-_ ]?att/i,
    trouble: /\b(?:ampere|turing|hopper|compute capability|sm_?\d\d|gpu (?:is )?too old)\b/i,
  },
  {
    code: 'no-kernel-image',
    subject: /\bsm_?\d{2,3}\b|compute capability|CUDA arch\w*/i,
    trouble:
      /\b(?:kernels?|binary|build|wheel|image|support)\b[^\n]*\b(?:not (?:available|found|supported|compiled|included)|unavailable|missing)\b|not (?:supported|compatible)\b|incompatible/i,
  },
  {
    code: 'flash-attn-gpu',
    subject: /\bsage_?attn?\w*|sageattention|flash_?infer\w*|flash_?mla\w*/i,
    trouble: /\b(?:architecture|sm_?\d+|compute capability|not new enough|GPU)\b/i,
  },
  {
    code: 'hip-invalid-fn',
    subject: /\bHIP\b[^\n]*\b(?:kernel|kernal|binary|fatbin)|\.(?:fatbin|hipfb|hsaco|co)\b/i,
    trouble: ABSENT,
  },
  {
    code: 'not-compiled-cuda',
    subject: /\b(?:GPU|CUDA|ROCm|HIP|CUBLAS|cuDNN|OpenCL)\b/,
    trouble:
      /\b(?:not|without|wasn't|isn't)\b[^\n]{0,30}\b(?:enabled|compiled?|built|included)\b[^\n]{0,30}\b(?:build|support|binary|version|package|wheel)\b|\bonly cpu ops\b|-DUSE_(?:GPU|CUDA)\b/i,
  },
  { code: 'nvcc-missing', subject: /\bnvcc\b|\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAToolkit|CUDA toolkit/i, trouble: ABSENT },
  {
    code: 'nvcc-mismatch',
    subject: /\bCUDA(?: toolkit)? version|\bnvcc\b/i,
    trouble: /\b(?:mismatch\w*|does not match|different|incompatible)\b/i,
  },
  { code: 'deepspeed-op', subject: /deepspeed|op_builder/i, trouble: FAILED },
  {
    code: 'build-failed',
    subject:
      /\b(?:flash|xformers|apex|llama|bitsandbytes|deepspeed|torch|vllm|mamba|causal|spconv|cupy|triton|detectron2|mmcv|pytorch3d|gptq|awq|exllama|sageattention|tiny-?cuda|nvdiffrast|ggml|onnx|tensorrt|sgl|kaolin|diff-gaussian|simple-knn|gsplat)[\w-]*|rasteriz\w+/i,
    trouble:
      /\bfailed to build\b(?! \w+ engine)|building wheel for [^\n]*\berror\b|failed building wheel|could not build wheels|building \S+ \S+ failed|could not install packages due to|metadata-generation-failed|did not run successfully/i,
  },
  {
    code: 'build-failed',
    subject: /\b(?:nvcc|hipcc|cicc|nvlink)\b/,
    trouble: /\b(?:fatal|error)\b|nonzero exit status/i,
  },
  {
    code: 'build-failed',
    subject: /\b(?:flash[-_ ]?attn|xformers|apex|llama-cpp|bitsandbytes|nvcc|cmake)|\.cu\b/i,
    trouble:
      /\b(?:build|compil\w+|wheel|metadata|setup\.py)\b[^\n]*\b(?:fail\w*|error|not)\b|\bfailed with exit (?:code|status)/i,
  },
  {
    code: 'build-failed',
    subject: /\b(?:tcc|gcc|g\+\+|cl|clang|nvcc|hipcc|ptxas|cicc|fatbinary)(?:\.exe)?['"]|cuda_utils|\btriton\b/,
    trouble: /returned non-zero exit status|CalledProcessError|failed with exit|died due to/,
  },
  { code: 'flash-attn-missing', subject: /flash[-_ ]?attn|flash[-_ ]?attention/i, trouble: ABSENT },
  { code: 'triton-missing', subject: /triton/i, trouble: ABSENT },
  {
    code: 'triton-old',
    subject: /\btriton\b[^\n]*\bcuda\b/i,
    trouble: /\b(?:only supports?|too old|requires|not supported)\b/i,
  },
  {
    code: 'kernel-source',
    subject: /\b(?:ptxas|triton|nvrtc|hiprtc|PTX|cuModuleLoad\w*|kernel compil\w+)\b/i,
    trouble: FAULT,
  },
  { code: 'dynamo', subject: /\b(?:inductor|dynamo|torch\.compile|aot_?autograd)\b/i, trouble: FAULT },
  {
    code: 'win-dll',
    subject: /\b[\w-]+\.(?:dll|pyd)\b/i,
    trouble:
      /\bcan't find\b|\bnot found\b|\bmissing\b|could not (?:be )?(?:find|found|load|locate\w*)|failed to (?:import|load)|\[WinError/i,
  },
  {
    code: 'quant-gpu',
    subject: /\b(?:marlin|machete|awq|gptq|fp8|fp4|nvfp4|mxfp4|w8a8|w4a16|cutlass)\w*\b/i,
    trouble: /\b(?:not supported|unsupported|requires? (?:compute|capability|sm|a? ?gpu))\b/i,
  },
  { code: 'xformers-mismatch', subject: /xformers/i, trouble: FAILED },
  { code: 'bnb', subject: /bitsandbytes/i, trouble: FAILED },
  {
    code: 'extension-missing',
    subject: /\b\w*(?:_cuda|_kernels?|_ext|_C|_ops)\b/,
    trouble: /\b(?:can ?not|could not|unable to|failed to) import\b|No module named|please (?:re)?install/i,
  },
  {
    code: 'ort-provider',
    subject: /onnxruntime|ONNXRuntime|ExecutionProvider/,
    trouble: /\b(?:provider|cuda|tensorrt|gpu)\b[^\n]*\b(?:fail\w*|error|not|unable)/i,
  },
  {
    code: 'tensorrt-engine',
    subject: /\bTRT\b|tensorrt|nvinfer|NvDsInfer|NVDSINFER|trtexec|cuda ?engine/i,
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
    subject: /\bXLA\b|xla_extension|(?:Xla|Jax)RuntimeError|\bHLO\b|\bxla\/|xla\.gpu|XlaModule/,
    trouble: /\b(?:errors?|fail\w*|exception|aborted|fatal|invalid|raised)\b|Error\b|RET_CHECK/i,
  },
  {
    code: 'tf-no-gpu',
    subject: /tensorflow[^\n]*\b(?:gpu|cuda)/i,
    trouble: /\b(?:unable|cannot|could not|couldn't|failed|not be used|no gpu)\b/i,
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
    code: 'gguf-file',
    subject: /gguf|llama_model|llama_load/i,
    trouble: /\b(?:fail\w*|invalid|error|corrupt\w*|unable)\b/i,
  },
  {
    code: 'ollama-no-gpu',
    subject: /GPU discovery|discover\w*[^\n]*\bgpu|\bgpu\b[^\n]*discover/i,
    trouble: FAILED,
  },
  {
    code: 'ollama-no-gpu',
    subject: /offload[^\n]*layers\.(?:real|offload)=0\b|\bollama\b[^\n]*\bgpu\b|\/runners\/cpu\w*\//i,
    trouble: /layers\.\w+=0\b|\b(?:not|no|without|fail\w*|cpu)\b|runners\/cpu/i,
  },
  { code: 'oom', subject: /\bOOMed\b|\bOOM\b|out_of_memory|(?<!java\.lang\.)OutOfMemory/, trouble: /OOM|memory/i },
  {
    code: 'oom',
    subject:
      /\b(?:gpu|cuda|vram|device|video|hip|sycl|metal)\w*\b[^\n]*memory|memory[^\n]*\b(?:gpu|cuda|vram|device)\b/i,
    trouble: /\b(?:out of|insufficient|not enough|exhausted|exceed\w*|fail\w* to allocate|can(?:not|'t) allocate)\b/i,
  },
  {
    code: 'host-oom',
    subject: /\b(?:system|host|cpu) memory\b|\bRAM\b|DefaultCPUAllocator|\bMemoryError/i,
    trouble: /\b(?:out of|insufficient|not enough|can(?:not|'t) allocate|killed|exceed\w*)\b|\bMemoryError/i,
  },
  {
    code: 'no-matching-dist',
    subject: /\.whl\b|\bwheels?\b|\bindex-url\b/i,
    trouble: /\b404\b|\bnot (?:found|a supported wheel)|no (?:matching|compatible)|\bunsatisfiable\b/i,
  },
  {
    code: 'torch-no-gpu',
    subject:
      /is_available\(\)|Is CUDA available|(?:CUDA|GPU)(?: devices?| support| is| was| are| not)* ava\w{4,7}|torch sees/i,
    trouble: /\b(?:False|No|not)\b/i,
  },
  {
    code: 'driver-missing',
    subject: /\bnvidia driver|\blibcuda\b|\blibnvidia-ml\b|\bnvcuda\b|\bNVML\b/i,
    trouble: ABSENT,
  },
  {
    code: 'no-devices',
    subject:
      /\b(?:cuda|nvidia|render\w*|cycles|compute|requested|gpu)\b[^\n]*\b(?:gpus?|devices?)\b|\b(?:gpus?|devices?)\b[^\n]*\b(?:requested|cuda)\b/i,
    trouble:
      /\b(?:only )?(?:0|zero) (?:gpus?|devices?)\b|\b(?:no|none|not) (?:\w+ ){0,2}(?:found|detected|available|visible)\b|\bno (?:\w+ ){0,2}(?:gpus?|devices?)\b/i,
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
  { code: 'nvenc', subject: /\b(?:h264|hevc|av1)_(?:nvenc|cuvid)\b|\bnvenc\b|\bnvdec\b|\bcuvid\w*/i, trouble: FAILED },
  { code: 'profiler-access', subject: /cupti|\bCUPTI_\w+|\bnsys\b|\bncu\b/i, trouble: FAILED },
  {
    code: 'cuda-lib-missing',
    subject: /\bCUDA\b(?! error)/,
    trouble:
      /not linked|(?:not|isn't|improperly|incorrectly) (?:properly |correctly )?installed|installation (?:is )?(?:broken|invalid|incomplete|not found)/i,
  },
  {
    code: 'driver-missing',
    subject: /driver and runtime versions|(?:cuda|nvidia|gpu|display|graphics) drivers?\b|\bCUEW\b/i,
    trouble:
      /\b(?:error getting|not found|cannot|could not|failed|unable|not functional|missing|not installed|not loaded)\b|\bno\b[^\n]*\bdrivers? (?:was |were )?(?:found|detected|installed|available)/i,
  },
  {
    code: 'cuda-failed',
    subject:
      /\bcuInit\b|\bOPTIX_ERROR\w*|\bCUDA(?:_| )?(?:Exception|RuntimeError|DriverError)|\bcu(?:Ctx|Launch|Mem|Module|Stream|Event|Device|Func|Link)[A-Z]\w*|\bcuda(?:get|set|malloc|memcpy|launch|stream|event|device|error|host)\w*|\bCUDA (?:error|failure|failed|exception|call|runtime|kernel|context)\b|\bcuDriver\w+|__global__ function|thrust::system/,
    trouble: /\b(?:error|failed|failure|exception|not configured|cannot)\b|system_error/i,
  },
];

/** The pattern of each family, by the class it belongs to. Letters count the same in both cases. */
export const familiesOf: ReadonlyMap<string, readonly Pattern[]> = (() => {
  const found = new Map<string, Pattern[]>();
  FAMILIES.forEach(({ code, subject, trouble }, rank) => {
    const re = new RegExp(`^(?=[^\\n]*(?:${subject.source}))(?=[^\\n]*(?:${trouble.source}))[^\\n]*`, 'im');
    found.set(code, [...(found.get(code) ?? []), { ...weak(re), rank, family: true }]);
  });
  return found;
})();
