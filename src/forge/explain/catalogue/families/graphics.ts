// Vulkan, WebGPU, OpenCL, Metal and Level Zero.

import type { Family } from './types.ts';
import { ABSENT, FAULT, REFUSED } from './words.ts';

export const graphics: readonly Family[] = [
  {
    code: 'webgpu-no-adapter',
    subject: /^(?!.*\b(?:NVRM|LoRA|PEFT|network|ethernet|tokenizer|model)\b).*\badapters?\b/i,
    trouble:
      /\b(?:no|none|not|null|unable|failed|without)\b[^\n]*\b(?:gpu|wgpu|webgpu|graphics|suitable|found|adapter)/i,
  },
  {
    code: 'webgpu-limit',
    subject: /\b(?:WebGPU|GPUDevice|wgpu|workgroup)\b|\bGPU adapter\b/i,
    trouble: /\b(?:exceeds?|limit|too (?:large|big)|greater than|larger than)\b/i,
  },
  {
    code: 'vulkan-driver',
    subject: /\bvulkan|\bLoader Message\b|ERROR_INITIALIZATION_FAILED|\bICDs?\b|\bMESA\b/,
    trouble:
      /\b(?:drivers?|instance|loader|ICDs?|layers?)\b[^\n]*\b(?:not|no|fail\w*|unable|missing|incompatible|cannot)\b|\b(?:not|no|fail\w*|unable|missing|incompatible|cannot)\b[^\n]*\b(?:drivers?|devices?|instance|loader|ICDs?|layers?)\b|INITIALIZATION_FAILED|\bMESA\b[^\n]*\b(?:error|fail\w*)/i,
  },
  {
    code: 'vulkan-failed',
    subject:
      /^(?!.*(?:device type at start of|vulkan\/\w+\.h\w*\b)).*(?:\bvulkan|\bVK_|\bvk(?:create|enumerate|queue|alloc|get|device|cmd)\w+)/,
    trouble: FAULT,
  },
  { code: 'webgpu-failed', subject: /\b_?wgpu[A-Z]?\w*|\bWebGPU\b|\bdawn\b|\bWGSL\b|naga/i, trouble: REFUSED },
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
    subject: /\b\w*(?:MPS|GPU|Metal)\w*\.mm:\d+|\[MPS\w+ \w+|\bMPSGraph|\bmps\.\w+/,
    trouble: /\bunsupported|not (?:implemented|supported)/i,
  },
  {
    code: 'mps-failed',
    subject: /\b\w*(?:MPS|GPU|Metal)\w*\.mm:\d+|\[MPS\w+ \w+|\bMPSGraph|\bmps\.\w+|\bMTL[A-Z]\w+/,
    trouble: /failed assertion|\berror\b|mismatch|\bfailed\b/i,
  },
  {
    code: 'mps-op',
    subject: /\bconvolution_overrideable\b|_overrideable\b/,
    trouble: /not (?:supported|implemented)/i,
  },
  {
    code: 'mps-op',
    subject: /\bMPS\b|\bSparseMPS\b|\bMetalDevice\b|\bMetal(?= (?:device|backend))/,
    trouble: /\b(?:not (?:\w+ )?(?:implemented|supported)|could not run|unsupported|only support\w*)\b/i,
  },
  {
    code: 'mps-failed',
    subject: /-\[(?:IOGPU|MTL|AGX|_MTL)\w*|MTLDebug\w*|command encoder/,
    trouble: /failed assertion|error/i,
  },
  {
    code: 'mps-unavailable',
    subject: /\bggml_metal\w*|\bMPS\b|\bMTL\w+|\bMetal\b/,
    trouble: /\b(?:MPS|Metal|GPU|device|backend)\b[^\n]{0,30}\b(?:not available|unavailable)\b/i,
  },
  {
    code: 'mps-failed',
    subject: /\bggml_metal\w*|\bMPS\b|\bMTL\w+|\bMetal\b/,
    trouble: /\b(?:failed|(?<!bus )error)\b|Error Domain/i,
  },
  {
    code: 'xpu-failed',
    subject:
      /^(?!.*(?:DispatchKey|\bCUDA, HIP\b|these backends)).*\b(?:xpu|sycl|dpcpp\w*|level[ _-]zero|oneapi|ipex|ze_driver)\b|\bPI_ERROR|\bUR_RESULT|could not create (?:an engine|a primitive)/i,
    trouble: REFUSED,
  },
];
