// Processes and devices that ended, and symbols that do not resolve.

import type { Family } from './types.ts';
import { DIED, FAILED, FAULT, LOST } from './words.ts';

export const faults: readonly Family[] = [
  {
    code: 'native-crash',
    subject: /com\.Metal\b|\bMTL[A-Z]\w+|libmlx|AGXMetal|mlx::core/,
    trouble: /MTLReportFailure|check_error|\bCrashed\b|EXC_(?:CRASH|BAD_ACCESS)|abort_message/,
  },
  {
    code: 'device-lost',
    subject: /^(?!.*GPU_IS_LOST).*(?:\b(?:logical|parent|gpu|vulkan|graphics|d3d\d*|wgpu)\b|ERROR_DEVICE)/i,
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
];
