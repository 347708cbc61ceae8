// The vendors' libraries: missing, failing, or not for this GPU.

import type { Family } from './types.ts';
import { ABSENT, FAILED, FAULT } from './words.ts';

export const libraries: readonly Family[] = [
  { code: 'cudnn-missing', subject: /cudnn/i, trouble: /\brequires? cudnn\b(?! ?(?:v|version|>|\d))/i },
  { code: 'cudnn-missing', subject: /cudnn/i, trouble: ABSENT },
  { code: 'cudnn-missing', subject: /cudnn\w*\.(?:dll|so)/i, trouble: /not (?:be )?(?:configured|installed|loaded)/i },
  {
    code: 'cudnn-failed',
    subject: /^(?!.*(?:error adding symbols|undefined reference|\[GIE\])).*cudnn(?!_status_success)/i,
    trouble: FAULT,
  },
  { code: 'amdgpu-old', subject: /\blib(?:amdhip|hip|hsa|roc|MIOpen|rccl)\w*\.so/i, trouble: ABSENT },
  {
    code: 'xpu-none',
    subject: /\blibze_\w+|\bze_loader|level[ _-]zero (?:loader|driver)|intel gpu driver|\bintel-ext-pt\w*|\blibsycl/i,
    trouble: ABSENT,
  },
  {
    code: 'xpu-none',
    subject: /^(?!.*(?:DispatchKey|these backends)).*\b(?:xpu|sycl|dpcpp|level[ _-]zero|oneapi)\b[^\n]*\bdevices?\b/i,
    trouble: /\b(?:zero|no|none|not found|unavailable|is 0)\b/i,
  },
  {
    code: 'cuda-lib-missing',
    subject:
      /\blib(?:cu(?:dart|dnn|blas|fft|rand|sparse|solver|pti|dss|tensor|file|dadevrt|inj)|nv(?!idia-ml))\w*\.so|\b(?:nvrtc|cudart|cudadevrt|cublas|cusparse|cusolver|cufft|curand|nvjitlink|libnpp|libcudart)|\b(?:cu|nv)\w+64_\w+\.dll|\bcu(?:pti|dart|blas|dnn|fft|rand|sparse|solver)\w*\.dll/i,
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
    trouble: /permission|denied|cannot|failed|no such file|not permitted|\bEPERM\b|\bEACCES\b/i,
  },
  {
    code: 'hip-none',
    subject: /\b(?:rocm|hip|hsa|kfd|amdgpu)\b[^\n]*\b(?:gpus?|devices?|agents?)\b/i,
    trouble: /\b(?:no|none|not|unable|failed)\b/i,
  },
  { code: 'hip-failed', subject: /\bhipError\w*|\bHIP error\b/, trouble: FAULT },
  {
    code: 'hip-invalid-fn',
    subject: /\bgfx[0-9a-f]{3,4}\b/,
    trouble:
      /\b(?:not (?:a )?support\w*|unsupported|invalid|no (?:[\w-]+ )?(?:kernel|binary|code object)\w*|not recognized|not compatible)\b/i,
  },
  {
    code: 'amdgpu-old',
    subject: /\b(?:ROCM_PATH|HIP_PATH|ROCM_HOME|hipcc|hipconfig|amdclang\S*|hipInfo|rocm-smi|rocminfo)\b/i,
    trouble: /\bnot found\b|does not exist|no such file|not set|could not find|command not found/i,
  },
];
