// Builds that do not fit: tensors, kernels, compilers, extensions.

import { COMPILER } from '../../lines.ts';
import type { Family } from './types.ts';
import { ABSENT, FAILED, FAULT } from './words.ts';

/** What pip and its like say of a package that they could not build: they speak, whatever the package is called. */
export const installers: readonly Family[] = [
  {
    code: 'build-failed',
    subject:
      /@local_config_(?:cuda|rocm|tensorrt|nccl)|cuda_configure\.bzl|\bBUILD(?:\.bazel)?:\d+:\d+: \S+ \S*(?:cuda|gpu|nccl|\.cu)/i,
    trouble: /\bERROR\b|\bno such package\b|\bfailed\b/,
  },
  {
    code: 'build-failed',
    subject:
      /\b(?:flash|xformers|apex|llama|bitsandbytes|deepspeed|torch|vllm|mamba|causal|spconv|cupy|triton|detectron2|mmcv|pytorch3d|gptq|awq|exllama|sageattention|tiny-?cuda|nvdiffrast|ggml|onnx|tensorrt|sgl|kaolin|diff-gaussian|simple-knn|gsplat|horovod|natten|hqq|dgl|cumm|grouped[-_]gemm|fused|pointnet|minkowski|groundingdino|nvidia|transformer[-_]engine|ctranslate2)[\w-]*|rasteriz\w+|\w*cuda\w*/i,
    trouble:
      /\bfailed to build\b(?! \w+ engine)|building wheel for [^\n]*\berror\b|failed building wheel|could not build wheels|building \S+ (?!engine)\S+ failed|could not install packages due to(?!.*\.whl'?$)|metadata-generation-failed|did not run successfully/i,
  },
];

export const builds: readonly Family[] = [
  {
    code: 'device-mismatch',
    subject:
      /\bsame device\b|expected device \S+ but got|expects device type: \w+ but|\bdifferent (?:devices?|GPUs)\b|\bwrong device\b|\bon device\b[^\n]*\bon device\b/i,
    trouble: /\b(?:should|must|expected|be on|located|found|got|but|cannot|can't)\b/i,
  },
  {
    code: 'half-on-cpu',
    subject: /\b(?:float16|fp16|half(?: precision)?|bfloat16)\b/i,
    trouble: /\b(?:cannot|can't|not|un)[^\n]{0,30}\bcpu\b|\bcpu\b[^\n]{0,40}\bnot (?:supported|implemented)\b/i,
  },
  {
    code: 'dtype-mixed',
    subject:
      /\bk(?:Float16|Half|BFloat16|Float)\b[^\n]*\bk(?:Float16|Half|BFloat16|Float)\b|c10::(?:Half|BFloat16)[^\n]*\bfloat\b|\bfloat\b[^\n]*c10::(?:Half|BFloat16)/,
    trouble: /\b(?:expected|must match|but (?:got|found)|same|mismatch)\b/i,
  },
  {
    code: 'dtype-mixed',
    subject: /\b(?:Half|BFloat16|float16|bfloat16|fp16|bf16)\b[^\n]*\b(?:Float|float32|fp32|Half|BFloat16)\b/,
    trouble: /\b(?:same dtype|must match|dtypes? (?:to )?match|mismatch|expected|but (?:got|found))\b/i,
  },
  {
    code: 'bf16-unsupported',
    subject: /^(?!.*(?:\bMPS\b|\bcpu\b|flash)).*\b(?:bf16|bfloat16)\b/i,
    trouble:
      /\b(?:not (?:be )?support\w*|n't support\w*|unsupported|only support\w*|requires?)\b[^\n]*\b(?:gpus?|devices?|hardware|ampere|sm_?\d\d|compute capability|architectures?|cards?)\b/i,
  },
  {
    code: 'quant-gpu',
    subject: /\b(?:fp8\w*|float8\w*|e4m3\w*|e5m2\w*|nvfp4|mxfp4|fp4|int4)\b/i,
    trouble:
      /\b(?:not (?:be )?support\w*|unsupported|unavailable|only support\w*|requires?)\b[^\n]*\b(?:gpus?|devices?|hardware|hopper|ada|blackwell|sm_?\d\d|compute capability|architectures?|platforms?)\b/i,
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
  { code: 'no-kernel-image', subject: /\bfmha_\w+_sm\d+/, trouble: /\bFATAL\b|built for|not (?:supported|available)/i },
  {
    code: 'flash-attn-gpu',
    subject: /\bsage_?attn?\w*|sageattention|flash_?infer\w*|flash_?mla\w*/i,
    trouble: /\b(?:architecture|sm_?\d+|compute capability|not new enough|GPU)\b/i,
  },
  {
    code: 'hip-invalid-fn',
    subject: /\bHIP\b[^\n]*\b(?:kernel|kernal|binary|fatbin)|\.(?:fatbin|hipfb|hsaco)\b/i,
    trouble: ABSENT,
  },
  {
    code: 'not-compiled-cuda',
    subject: /\b(?:GPU|CUDA|ROCm|HIP|CUBLAS|cuDNN|OpenCL)\b/,
    trouble:
      /\b(?:re)?(?:compile|build)\b[^\n]{0,30}\b(?:USE|WITH|ENABLE)_(?:CUDA|GPU|HIP|ROCM)\b|\b(?:not|without|wasn't|isn't)\b[^\n]{0,30}\b(?:enabled|compiled?|built|included)\b[^\n]{0,30}\b(?:build|support|binary|version|package|wheel)\b|\bonly cpu ops\b|-DUSE_(?:GPU|CUDA)\b/i,
  },
  {
    code: 'nvcc-missing',
    subject:
      /\bnvcc\b|\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAToolkit|\bCUDA (?:toolkit|toolset|SDK|compiler|packages|headers|include files)\b/i,
    trouble: ABSENT,
  },
  {
    code: 'nvcc-mismatch',
    subject: /\bCUDA(?: toolkit)? version|\bnvcc\b/i,
    trouble: /\b(?:mismatch\w*|does not match|different|incompatible)\b/i,
  },
  {
    code: 'deepspeed-op',
    subject:
      /op_builder|(?:deepspeed|\bds_|\bJIT (?:load|compil\w+ (?:of )?op))[^\n]*\b(?:ops?|cpu_adam|fused_\w+|async_io|transformer_inference|sparse_attn|ninja|extension|build|compil\w+)\b/i,
    trouble: FAILED,
  },
  {
    code: 'build-failed',
    subject:
      /\b(?:vulkan|CL|hip|rocm|sycl|level_zero|cudnn\w*|nccl|cub|thrust|cutlass|torch|ATen|c10|cu(?:da|blas|fft|rand|sparse|solver)\w*|nv\w+)[\w/-]*\.(?:h|hpp|cuh)\b|\.cu(?:\.o)?\b/i,
    trouble: /\bfatal error\b|no such file|cannot open (?:include|source) file/i,
  },
  {
    code: 'build-failed',
    subject: /cuda|cudnn|cublas|\bcub::|thrust|cutlass|\bnv\w+|\bat::|\bc10::|\btorch\b|\.cuh?\b|tensorrt/i,
    trouble: COMPILER,
  },
  {
    code: 'build-failed',
    subject: /cuda|\bnvcc\b|\.cu\.o\b|torch|tensorrt/i,
    trouble: /\bmake(?:\[\d+\])?: \*\*\* \[|\bninja: build stopped\b|^FAILED: /,
  },
  {
    code: 'build-failed',
    subject:
      /package configuration file provided by "(?:Torch|CUDNN|NCCL|TensorRT|CUTLASS|rmm|cudf|raft|Thrust|CUB|CCCL|nvcomp)"/i,
    trouble: /could not find/i,
  },
  {
    code: 'build-failed',
    subject: /\b(?:nvcc|hipcc|cicc|nvlink)\b/,
    trouble: /\b(?:fatal|error)\b|nonzero exit status/i,
  },
  {
    code: 'build-failed',
    subject:
      /\b(?:flash[-_ ]?attn|xformers|apex|llama-cpp|bitsandbytes|nvcc)|\.cu\b|\bcmake[^\n]*\b(?:cuda|hip|rocm|sycl|ggml)/i,
    trouble:
      /\b(?:build|compil\w+|wheel|metadata|setup\.py)\b[^\n]*\b(?:fail\w*|error|not)\b|\bfailed with exit (?:code|status)/i,
  },
  {
    code: 'build-failed',
    subject: /\b(?:tcc|gcc|g\+\+|cl|clang|nvcc|hipcc|ptxas|cicc|fatbinary)(?:\.exe)?['"]|cuda_utils|\btriton\b/,
    trouble: /returned non-zero exit status|CalledProcessError|failed with exit|died due to/,
  },
  {
    code: 'build-failed',
    subject:
      /\b(?:lib)?(?:torch|cuda|cu(?:dart|dnn|blas|fft|rand|solver|sparse|init|driver|device|ctx|mem|module|launch|stream|event)|c10|nccl|nv\w+|hip\w*|roc\w+)|\b(?:\w+_gpus?|gpu_\w+)\(|-l(?:OpenCL|vulkan|ze_loader|sycl|GLX_nvidia)\b/i,
    trouble:
      /\bcannot find -l|error adding symbols|undefined reference (?:to|for)|file in wrong format|collect2: error|\bLNK\d{4}\b/i,
  },
  {
    code: 'flash-attn-input',
    subject: /flash[-_ ]?att(?:n|ention)/i,
    trouble:
      /\bonly supports? (?:fp16|bf16|float|head|dtype|half)|\bhead[ _]dim\w*\b[^\n]*\b(?:must|at most|multiple)|\b(?:expected|requires?) [^\n]*\b(?:fp16|bf16|half|float16|bfloat16)/i,
  },
  { code: 'flash-attn-missing', subject: /flash[-_ ]?attn|flash[-_ ]?attention/i, trouble: ABSENT },
  {
    code: 'triton-missing',
    subject: /\btriton\b/i,
    trouble:
      /\btriton['"`]?(?: package| module)? (?:is |was |could )?not (?:be )?(?:found|installed|available|imported)|No module named ['"]triton|(?:find|import|load|locate)(?:ing)? (?:a (?:matching|working) |the )?['"`]?triton\b/i,
  },
  {
    code: 'triton-old',
    subject: /\btriton\b[^\n]*\bcuda\b/i,
    trouble: /\b(?:only supports?|too old|requires|not supported)\b/i,
  },
  {
    code: 'ptxas-missing',
    subject: /\bptxas\b/i,
    trouble:
      /n[o']t (?:be )?(?:find|found|contain|locate|installed)\b|\bno such file\b|\bmissing\b|\bneither\b[^\n]*\bavailable\b/i,
  },
  { code: 'dynamo', subject: /\bInductorError\b|\bBackendCompilerFailed\b/, trouble: FAULT },
  {
    code: 'kernel-source',
    subject: /\b(?:ptxas|triton|nvrtc|hiprtc|PTX|cuModuleLoad\w*|kernel compil\w+)\b/i,
    trouble: FAULT,
  },
  { code: 'dynamo', subject: /\b(?:inductor|dynamo|torch\.compile|aot_?autograd)\b/i, trouble: FAULT },
  {
    code: 'win-dll',
    subject: /^(?!.*(?:UserWarning|you can ignore)).*\b[\w-]+\.(?:dll|pyd)\b/i,
    trouble:
      /\bcan't find\b|\bnot found\b|\bmissing\b|could not (?:be )?(?:find|found|load|locate\w*)|\berror with\b|failed to (?:import|load)|\[WinError/i,
  },
  {
    code: 'quant-gpu',
    subject: /\b(?:marlin|machete|kv_cache_dtype|awq|gptq|fp8|fp4|nvfp4|mxfp4|w8a8|w4a16|cutlass)\w*\b/i,
    trouble: /\b(?:not supported|unsupported|requires? (?:compute|capability|sm|a? ?gpu))\b/i,
  },
  {
    code: 'xformers-mismatch',
    subject: /xformers/i,
    trouble:
      /\b(?:mismatch\w*|incompatible|not compatible|compiled|built (?:for|with|against)|versions?)\b|(?:can(?:not|'t)|could ?n[o']t|fail\w* to|unable to) (?:load|import)|\bextensions?\b|No such operator|forget to build|\binstalled correctly\b/i,
  },
  {
    code: 'xformers-operator',
    subject: /xformers|memory_efficient_attention/i,
    trouble: /(?<!such )\boperator\b(?!.*forget to build)|not supported|unsupported|could not run/i,
  },
  { code: 'bnb', subject: /bitsandbytes/i, trouble: FAILED },
  {
    code: 'extension-missing',
    subject:
      /\b(?:apex|transformer[ _]engine|flashinfer|deep_?gemm|deep_?ep|mamba_ssm|causal_conv1d|spconv|tinycudann|pytorch3d|detectron2|mmcv|natten|sageattention|torch_(?:scatter|sparse|cluster)|nvdiffrast|gsplat|kaolin|faiss)\b/i,
    trouble:
      /\b(?:was|is|were|are|be) (?:not |required|needed)|\bnot (?:be )?(?:found|installed|available|imported)\b|\bplease (?:re)?install\b/i,
  },
  {
    code: 'extension-missing',
    subject:
      /\blib(?:rmm|cudf|cuml|cugraph|raft|ucp|ucx|kvikio|faiss)\w*\.so|\b(?!libcuda\.|libcudart|libcudnn)\w*(?:gpu|cuda|_nms|roi_)\w*(?:\.cpython-[\w-]+)?\.so\b/i,
    trouble: ABSENT,
  },
  {
    code: 'extension-missing',
    subject: /\b\w*(?:_cuda|_kernels?|_ext|_C|_ops)\b/,
    trouble: /\b(?:can ?not|could not|unable to|failed to) import\b|No module named|please (?:re)?install/i,
  },
];
