// Who speaks, and what kind of trouble: the answer of each pair.
//
// A speaker is known by its name or by its voice: the prefix, the file names and the code names of its messages. Kinds are
// worded in many ways and mean the same from every mouth. A speaker's row holds the kinds that lead somewhere of its own;
// `otherwise` is what its troubles come to when no kind is named, and counts only in the second look.

import type { Family } from './types.ts';
import { STRONG } from './words.ts';

/** From the telling kind to the vague one. */
const KINDS = {
  killed:
    /\b(?:exit\w*|return\w*|terminat\w*|died)\b[^\n]{0,30}?(?:-9\b|\b137\b)|\bSIGKILL\b|\bsignal 9\b|\boom-?kill/i,
  crash:
    /\bSIG(?:SEGV|ABRT|BUS|ILL|FPE)\b|received signal \d+|pointer being freed was not allocated|segmentation fault|segfault|bus error|access violation|core dumped|\bEXC_(?:BAD_ACCESS|CRASH|BREAKPOINT|BAD_INSTRUCTION)\b|0xC0000(?:005|409|374)\b|\b(?:exit\w*|return\w*|signal|failed)\b[^\n]{0,30}?(?:-11\b|-6\b|\b139\b|\b134\b|\bsignal 11\b)|stack smashing|double free|heap corruption/i,
  memory:
    /\bout of (?:\w+ )?memory\b|\bOOM\b(?! killer)|out_of_\w*memory|OutOfMemory|\b(?:insufficient|not enough|no more) (?:\w+ )?(?:memory|VRAM)\b|\b(?:fail\w*|unable|cannot|could ?n.t) (?:to )?(?:\w+ )?alloc\w*[^\n]*|alloc\w* (?:\w+ )?fail\w*|bad_alloc|memory (?:is )?exhausted|exceed\w* [^\n]{0,30}memory/i,
  lost: /\bdevice[ _-]?(?:was |is )?(?:lost|removed|hung|reset)\b|DEVICE_LOST|GPU (?:hang|reset)/i,
  // Who cannot be reached has a kind of its own.
  timeout: /\btimed? ?out\b(?![^\n]*\bconnect)|deadline exceeded|TimeoutError|\bgot stuck\b|without making progress/i,
  symbol: /undefined symbol|symbol (?:lookup error|not found)|unresolved external|procedure entry point/i,
  permission:
    /permission denied|access (?:is )?denied|not permitted|insufficient (?:privileges|permissions)|\bEACCES\b/i,
  network:
    /connection (?:refused|reset|closed)|network (?:is )?unreachable|could not resolve|no route to host|\btimed? ?out\b[^\n]*\bconnect/i,
  mismatch:
    /\bmismatch\w*|(?:built|compiled|linked) (?:with|for|against) (?:a |an )?(?:different|later|newer|older|another|other)|\bincompatible\b|not compatible|\bdo(?:es)? not match\b|version[^\n]{0,40}\b(?:expected|required|but (?:got|found|have))\b|\brequires? [^\n]{0,30}version|too (?:old|new)\b/i,
  arch: /\b(?:compute[ _]capabilit\w+|sm_?\d{2,3}\b|gfx\d\w+|CUDA arch\w*|GPU architecture)[^\n]*\b(?:not (?:\w+ )?(?:supported|compatible|available|implemented|recognized|included|built|found)|lacks?|too (?:old|new|low)|below|minimum|incompatible|unsupported|unknown|invalid)\b|\b(?:not supported|unsupported|unknown|invalid|unable to|could not find|no (?:compatible|suitable|kernels?|binary)|requires?|needs)\b[^\n]*\b(?:compute[ _]capabilit\w+|sm_?\d{2,3}\b|gfx\d\w+|CUDA arch\w*|GPU architecture)|no kernel image/i,
  unbuilt:
    /\b(?:not|wasn't|isn't|without)\b[^\n]{0,30}\b(?:compiled|built|linked)\b[^\n]{0,20}\b(?:with|support|cuda|gpu)|\b(?:compiled|built) without\b|without (?:CUDA|GPU|ROCm|HIP) support|CPU[- ]only (?:build|version|wheel)|installed (?:a |the )?CPU (?:build|version|wheel)/i,
  none: /\bno (?:\w+[ -]){0,3}(?:gpus?|devices?|adapters?|platforms?|accelerators?)\b[^\n]{0,20}(?:found|detected|available|visible|$)|\b(?:gpus?|devices?|adapters?)\b[^\n]{0,12}\b(?:not (?:found|detected|available|visible)|unavailable|is null)\b|could not find (?:any|a suitable|an appropriate) (?:gpu|device|adapter)|(?:fail\w* to|cannot|could not|unable to) (?:find|get) (?:an? )?(?:\w+ )?adapter|fail\w* to find an appropriate/i,
  compile:
    /\b(?:compil\w+|build\w*|ptxas|nvcc)\b[^\n]{0,60}\b(?:fail\w*|errors?)\b|\b(?:failed to|can(?:not|'t)|could not|unable to) (?:compile|build)\b/i,
  absent:
    /cannot open shared object|\bno such file\b|\b(?:cannot|can't|could ?n.t|could not|unable to|fail\w* to)\b[^\n]{0,20}\b(?:load|open|find|locate|import)\b|\bnot (?:be )?(?:found|installed|loaded|located)\b|\bmissing\b|No module named/i,
} as const satisfies Readonly<Record<string, RegExp>>;

type KindName = keyof typeof KINDS;

interface Speaker {
  readonly voice: RegExp;
  readonly kinds: Partial<Readonly<Record<KindName, string>>>;
  readonly otherwise?: string;
}

const CRASH = { killed: 'host-oom', crash: 'native-crash' } as const;

/** From the narrow voice to the wide one. */
const SPEAKERS: readonly Speaker[] = [
  {
    voice: /bitsandbytes|\bCUDA[ _]SETUP\b|\bBNB_\w+/i,
    kinds: { crash: 'native-crash', absent: 'bnb', mismatch: 'bnb', unbuilt: 'bnb', symbol: 'bnb' },
    otherwise: 'bnb',
  },
  {
    voice: /\bdeepspeed\b|op_builder/i,
    kinds: { ...CRASH, memory: 'oom', mismatch: 'nvcc-mismatch', compile: 'deepspeed-op', timeout: 'nccl-timeout' },
  },
  {
    voice:
      /\[TRT\]|\[GIE\]|\bIInfer\w+|nvinfer1::|\btensorrt|trtexec|nvinfer|onnx2trt|\bModelImporter\.cpp|\bbuiltin_op_importers\.cpp|\bUNSUPPORTED_NODE\b|importFallbackPlugin|\bPlugin not found\b|\[E\] (?:Engine|Parsing|Failed to (?:parse|create engine))|buildSerializedNetwork|\bError Code \d+: |\[\w+\.(?:cpp|h)::\w+::\d+\]|\bIBuilder\b|\bengine could not be created/i,
    kinds: { crash: 'native-crash' },
    otherwise: 'tensorrt-engine',
  },
  {
    voice: /\[\w+ @ (?:0x)?[0-9a-f]{6,16}\]|\bAVHWDeviceContext\b/,
    kinds: { none: 'nvenc', memory: 'nvenc', absent: 'nvenc' },
  },
  {
    voice:
      /onnxruntime|\bOrt(?:Exception|Session|Status|Api)\w*|\w+ExecutionProvider\b|\bDml(?:Operator|Device|Execution)\w*|\bDirectML\b/i,
    kinds: { ...CRASH, memory: 'oom' },
    otherwise: 'ort-failed',
  },
  {
    voice: /\bopenvino\w*|\bintel_(?:gpu|npu)\b|\bclDNN\w*|\[CLDNN|\bov::|\[(?:GPU|NPU)\] /i,
    kinds: { crash: 'native-crash', memory: 'oom', none: 'openvino', mismatch: 'openvino', absent: 'openvino' },
    otherwise: 'openvino',
  },
  {
    voice: /\bPJRT|\bxla_bridge\b|jax[_-]?(?:cuda|rocm|plugin|lib)\w*|\b(?:Xla|Jax)RuntimeError|\bxla_extension\b/i,
    kinds: { crash: 'native-crash', memory: 'oom', mismatch: 'jax-plugin-mix', symbol: 'jax-plugin-mix' },
    otherwise: 'xla-failed',
  },
  {
    voice: /\bollama\b|\bllama runner\b|\bllm server\b|source=\w+\.go:\d+/i,
    kinds: {
      crash: 'native-crash',
      memory: 'oom',
      timeout: 'ollama-timeout',
      none: 'ollama-no-gpu',
      network: 'ollama-down',
    },
  },
  {
    voice:
      /\bggml\w*|\bllama[._]?cpp|\bllama_\w+|\bllama-(?:server|cli|bench)|koboldcpp|whisper_\w+|\bload_(?:tensors|backend|model)\b:|\bllm_load_\w+|\bcommon_(?:init|load)\w*:|\bgguf_\w+|\bsrv +\w+:|\bllamafile\b|stable-diffusion\.cpp|\bsd_ctx\w*/i,
    kinds: { ...CRASH, memory: 'oom', arch: 'no-kernel-image', unbuilt: 'llama-cpu-build', none: 'llama-cpu-build' },
    otherwise: 'llama-failed',
  },
  {
    voice:
      /\bvllm\b|\bsglang\b|\bsgl_kernel\b|\b(?:ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?\w+\.py:\d+\]|\btext_generation_(?:server|launcher)\b|\bturbomind\b|\bShard\w* (?:\d+ )?(?:failed|cannot)|\blmdeploy\b|\bEngineCore\w*|\btext-generation-(?:inference|launcher)\b/i,
    kinds: { ...CRASH, memory: 'vllm-memory', arch: 'no-kernel-image', symbol: 'abi-symbol', none: 'vllm-device' },
    otherwise: 'vllm-engine',
  },
  {
    voice: /flash[-_ ]?att(?:n|ention)/i,
    kinds: { symbol: 'abi-symbol', arch: 'flash-attn-gpu', compile: 'build-failed', absent: 'flash-attn-missing' },
  },
  { voice: /xformers/i, kinds: { symbol: 'abi-symbol', mismatch: 'xformers-mismatch', unbuilt: 'xformers-mismatch' } },
  {
    voice: /\btriton\b/i,
    kinds: { arch: 'triton-old', mismatch: 'triton-old', compile: 'kernel-source' },
  },
  {
    voice: /\bcupy\w*|\bcupyx\b/i,
    kinds: { memory: 'oom', mismatch: 'cupy-broken', absent: 'cupy-broken', compile: 'kernel-source' },
  },
  {
    voice: /\bnumba\b|\bcudadrv\b/i,
    kinds: { memory: 'oom', absent: 'nvvm-missing', mismatch: 'unsupported-ptx', none: 'no-devices' },
  },
  {
    voice: /\bMIOpen\w*/i,
    kinds: { memory: 'oom', absent: 'miopen', compile: 'miopen', mismatch: 'miopen' },
    otherwise: 'miopen',
  },
  {
    voice:
      /\brocm\w*|\bhip(?:Error\w*|cc|BLAS|[A-Z]\w+)?\b|\bhsa\w*|\bamdgpu\b|\bkfd\b|\bgfx\d\w+|\broc(?:blas|fft|sparse|solver|rand|tracer|profiler|prim|r)\b|\bamd(?:_comgr|hip64|smi|_smi)\w*|\bhip(?:blaslt|rtc|sparse|solver|fft)\w*|\bROCR_\w+|\blib(?:amdhip|hsa-runtime|rocm|hip)\w*/i,
    kinds: {
      crash: 'hip-fault',
      memory: 'oom',
      permission: 'hip-perm',
      arch: 'hip-invalid-fn',
      none: 'hip-none',
      mismatch: 'amdgpu-old',
    },
  },
  {
    voice:
      /^(?!.*DispatchKey).*\b(?:xpu|sycl|dpcpp|oneapi|ipex)\b|level[ _-]zero|\bUR_RESULT|\bPI_ERROR|onednn|\bze_(?:result|init|driver|intel|loader)\w*|\bzes?(?:Init|Driver|Device|Context|Module|Kernel|Command|Mem)\w+|\bZES?_(?:RESULT|LOADER|ENABLE)\w*|\blibze_\w+|\blib(?:sycl|ur_adapter|pi_level)\w*|\bocloc\b|\bintel[-_]ext(?:ension)?[-_](?:pt|for)\w*/i,
    kinds: { memory: 'oom', lost: 'xpu-lost', none: 'xpu-none' },
    otherwise: 'xpu-failed',
  },
  {
    voice:
      /\bMPS\b|\bMPS(?:Graph|Device|Core|NDArray|Matrix|CNN)|\bMTL\w+|\bAGX\w+|\bIOGPU\w+|\bmlx(?:\.core|::|: )|\bmetal::\w+|\.metal(?:lib)?\b|ggml_metal|\bmetal_\w+|\bMetal\b|\bmps(?:_device|:\d|'|$)/,
    kinds: { crash: 'native-crash', memory: 'oom', none: 'mps-unavailable', unbuilt: 'mps-unavailable' },
    otherwise: 'mps-failed',
  },
  {
    voice:
      /\b_?wgpu\w*|\bwebgpu\b|\bGPUDevice\b|request(?:Adapter|Device)\b|navigator\.gpu|\bnaga\b|\bWGSL\b|\bUnsupportedCapability\b|\bGPU(?:Validation|OutOfMemory|Internal|Pipeline)Error\b|\bTint\b|\[Invalid \w+(?: \([^)]*\))?\]|\b(?:dawn|emdawn)\w*/i,
    kinds: { lost: 'device-lost', none: 'webgpu-no-adapter', memory: 'oom' },
    otherwise: 'webgpu-failed',
  },
  {
    voice:
      /^(?!.*(?:device type at start of|vulkan\/\w+\.h\w*\b)).*(?:\bvulkan|\bVK_\w+|\bvk[A-Z]\w+|\bMoltenVK\b|\bVUID-)/,
    kinds: { crash: 'native-crash', memory: 'oom', lost: 'device-lost' },
    otherwise: 'vulkan-failed',
  },
  {
    voice:
      /\bopencl\b|\bpyopencl\b|\bCL_[A-Z_]{4,}|\bcl(?:Get|Create|Build|Enqueue|Set|Finish|Release|Wait)[A-Z]\w+|\bpocl\b|\bclinfo\b/,
    kinds: { memory: 'opencl-failed', none: 'opencl-none', compile: 'kernel-source', absent: 'opencl-none' },
    otherwise: 'opencl-failed',
  },
  {
    voice:
      /\b(?:nccl|rccl)\w*|ProcessGroup(?:NCCL|Gloo)|\bc10d\b|torch\.distributed|\bDist(?:Backend|Network|Store)Error\b|\boneCCL\b/i,
    kinds: { timeout: 'nccl-timeout', network: 'nccl-network', symbol: 'nvjitlink-symbol' },
    otherwise: 'nccl',
  },
  {
    voice: /\bgloo\b/i,
    kinds: { timeout: 'nccl-timeout', network: 'nccl-network' },
    otherwise: 'nccl-network',
  },
  {
    voice: /(?<![\\/.-])\bzluda\w*/i,
    kinds: { crash: 'native-crash', memory: 'oom' },
    otherwise: 'zluda',
  },
  {
    voice:
      /\blibGL\b|\blibEGL\b|\bGLX\w*|\bEGL(?:_\w+| \w+)?\b|\beglInit\w+|\bOpenGL\b|\bGLError\b|\bGLFW\b|\bGL context\b|MESA-LOADER|_dri\.so\b/,
    kinds: { crash: 'native-crash', memory: 'oom' },
    otherwise: 'gl-driver',
  },
  {
    voice: /\b(?:rmm|cudf|cuml|cugraph|raft)\b|\bRMM_\w+|\bRMM\b/,
    kinds: { crash: 'native-crash', memory: 'oom', absent: 'extension-missing' },
    otherwise: 'cuda-failed',
  },
  {
    voice:
      /tinycudann|\bmmcv\b|\bapex\b|detectron2|spconv|pytorch3d|torch_(?:scatter|sparse|cluster)|gsplat|nvdiffrast|\bextension\b[^\n]*\bcuda|causal_conv1d|mamba_ssm/i,
    kinds: { symbol: 'abi-symbol', arch: 'no-kernel-image', unbuilt: 'extension-missing', compile: 'build-failed' },
  },
  {
    voice: /\btensorflow\b|stream_executor|dso_loader|\bkeras\b/i,
    kinds: { ...CRASH, memory: 'oom', none: 'tf-no-gpu' },
  },
  {
    voice: /\bcuda\w*|\bGPU\b|\bVRAM\b/i,
    kinds: { memory: 'oom' },
  },
  {
    voice: /\bcuda\w*|\bcu(?:blas|dnn|fft|rand|sparse|solver)\w*|\btorch\b|\bnvidia\b/i,
    kinds: { crash: 'native-crash', arch: 'no-kernel-image', unbuilt: 'not-compiled-cuda' },
  },
];

/** The pairs with a kind, for lines that hold both. */
export const pairs: readonly Family[] = SPEAKERS.flatMap(({ voice, kinds }) =>
  (Object.keys(KINDS) as KindName[]).flatMap((kind) => {
    const code = kinds[kind];
    return code === undefined ? [] : [{ code, subject: voice, trouble: KINDS[kind] }];
  }),
);

/** What a speaker's troubles come to when no kind is named. */
export const leftovers: readonly Family[] = SPEAKERS.flatMap(({ voice, otherwise }) =>
  otherwise === undefined ? [] : [{ code: otherwise, subject: voice, trouble: STRONG }],
);
