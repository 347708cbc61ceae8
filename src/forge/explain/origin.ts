// Where a message comes from: which program prints it, on which system, about whose GPU. A fix follows these before it
// follows the machine at hand, because a text may have been carried here from another one.

import type { Platform, Vendor } from '../machine.ts';
import type { Software } from './types.ts';

const speakers: readonly (readonly [Software, RegExp])[] = [
  ['ollama', /\bollama\b|\bllama runner\b|source=(?:gpu|sched|server|routes|runner|types)\.go/i],
  [
    'llama.cpp',
    /\bggml\b|\bggml[_-]\w+|\bllama_(?:model|init|new|kv|context)\w*|\bllama\.cpp\b|\bGGML_ASSERT\b|\bgguf\b|llama-server/i,
  ],
  ['vllm', /\bvllm\b|\bEngineCore\b/i],
  ['onnxruntime', /onnxruntime|ONNXRuntimeError|CUDAExecutionProvider/i],
  ['cupy', /\bcupy\b|cupy_backends/i],
  ['numba', /\bnumba\b|NvvmSupportError/i],
  ['jax', /\bjax(?:lib)?\b|xla_extension|xla_bridge|XlaRuntimeError/i],
  ['tensorflow', /\btensorflow\b|\bkeras\b|\btf\.config\b|stream_executor|dso_loader|cudart_stub|TF-TRT/i],
  [
    'pytorch',
    /\btorch(?:vision|audio|run)?\b|pytorch|\bc10(?:d|::)|\baten\b|ProcessGroupNCCL|xformers|flash_?attn|deepspeed|bitsandbytes|transformers|diffusers|comfyui/i,
  ],
];

export function softwareIn(text: string): Software | undefined {
  return speakers.find(([, re]) => re.test(text))?.[0];
}

const systems: readonly (readonly [Platform, RegExp])[] = [
  [
    'windows',
    /\bWinError\b|(?:^|[\s"'(=]|\\\\\?\\)[A-Za-z]:\\\w|\b\w+\.dll\b|\bexit status 0xc0|PowerShell|\bwin_amd64\b|\bcl\.exe\b|\b(?:nvlddmkm|amdkmdag|amdwddmg|atikmdag|igdkmd\w*|dxgkrnl)\b|\bD3D1[12]\b|\bDXGI\b|\b[Dd]evice [Mm]anager\b|\bWindows (?:10|11|Server)\b/i,
  ],
  [
    'macos',
    /\.dylib\b|\bmacosx?_\d|\bMPS (?:backend|device|framework|Tensor)|\bon MPS\b|ggml_metal|\bMTLDevice\b|\/opt\/homebrew/i,
  ],
  [
    'linux',
    /\/(?:usr|proc|dev|opt|home|root|etc)\/\w|\/lib\/python3|\.so\b(?:\.\d+)*|\bmanylinux|\bapt(?:-get)?\b|\bdpkg\b|\bmodprobe\b/i,
  ],
];

/** The system that the text shows; undefined where it shows none or several. */
export function systemIn(text: string): Platform | undefined {
  const found = systems.filter(([, re]) => re.test(text));
  // A Windows path or DLL is decisive: compilers and wheels print Unix-like paths there too.
  return found[0]?.[0] === 'windows' || found.length === 1 ? found[0]?.[0] : undefined;
}

const vendors: readonly (readonly [Vendor, RegExp])[] = [
  ['apple', /\bMPS\b|\bApple GPU\b|\bMPSNDArray|\bmps(?::\d|'| device)|ggml_metal|\bkIOGPU|\bMTL[A-Z]/],
  [
    'amd',
    /\bHIP\b|\bhip(?:Error|RTC|BLAS|rtc|blas)|\bROC[mkr]|\brocm|\brocBLAS|\bgfx[0-9a-f]{3,4}\b|\bamdgpu\b|MIOpen|\/dev\/kfd|\bHSA_/i,
  ],
  ['intel', /\bXPU\b|\bxpu\b|level_zero|\bUR_RESULT_|\bPI_ERROR_|\bsycl\b|\boneAPI\b|\bi915\b/i],
  ['nvidia', /cuda|nvidia|\bnccl|cudnn|cublas|\bNVRM\b|\bsm_\d|nvcc|ptxas/i],
];

/** Whose GPU a line, else the whole text, speaks of. */
export function vendorIn(line: string, text: string): Vendor | undefined {
  const of = (source: string) => vendors.find(([, re]) => re.test(source))?.[0];
  return of(line) ?? of(text);
}
