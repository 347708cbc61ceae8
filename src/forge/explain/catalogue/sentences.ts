// What cudaGetErrorString says, whichever program prints it and however it frames it. The sentence counts where CUDA is named
// before it on its line, a file of CUDA's after it, or it stands in brackets as the samples of CUDA print it.

import { phrase } from '../patterns.ts';
import type { Pattern } from '../types.ts';

const SENTENCES: Readonly<Record<string, RegExp>> = {
  'kernel-fault':
    /misaligned address|an illegal instruction was encountered|illegal instruction|invalid program counter|hardware stack error|operation not supported on global\/shared address space/,
  'illegal-access': /illegal (?:memory )?(?:access|address)/,
  'cuda-invalid-value':
    /invalid (?:argument|value|resource handle|device context|context|pitch argument|device pointer|texture reference|source|image)|named symbol not found|context is destroyed|resource already mapped/,
  'launch-config':
    /function call is not configured|invalid configuration argument|too many resources requested|(?:too many|number of) threads per block/,
  'cuda-not-supported':
    /operation not (?:supported|permitted)(?! on global| when)|feature is not yet implemented|peer access (?:is )?not/,
  'cuda-fork': /initialization error|driver not initialized|not initialized/,
  'cuda-unknown': /unknown[ _]error(?! code)/,
  'device-busy': /(?:busy or|devices? (?:is|are)) unavailable/,
  'no-kernel-image': /no kernel image|invalid device (?:function|symbol)|device kernel image is invalid/,
  'no-devices': /no (?:CUDA-capable )?device (?:is |was )?(?:detected|found)|no CUDA-capable device/,
  'cvd-invalid': /invalid device (?:ordinal|id|number|index)/,
  'unsupported-ptx': /PTX JIT compil\w+|unsupported (?:PTX|toolchain)/,
  'launch-timeout': /launch timed out/,
  'ecc-uncorrectable': /uncorrectable ECC|uncorrectable NVLink/,
  'driver-too-old': /driver version is insufficient|requires (?:a )?newer driver/,
  'cuda-graph': /stream (?:is|was) captur\w+|while (?:the )?stream is capturing|unjoined work/,
};

const CUDA =
  /(?:cuda|\bGPUassert\b|\bcu(?:Ctx|Init|Launch|Mem|Module|Stream|Event|Device|Func|Link|Graph)\w*|thrust::|\bcub::|\.cuh?\b|nvrtc|\bNPP\b|\bGPU (?:error|kernel|device)|\bGpu API call)/;

/** A class with a wording of its own for the same line comes first. */
const BELOW = 60;

/** One pattern for each class that a sentence leads to. */
export const sentencesOf: ReadonlyMap<string, readonly Pattern[]> = new Map(
  Object.entries(SENTENCES).map(([name, words]) => [
    name,
    [
      {
        ...phrase(
          new RegExp(
            `${CUDA.source}[^\\n]{0,200}?(?:${words.source})|(?:${words.source})[^\\n]{0,100}\\.cuh?\\b|\\(error code (?:${words.source})`,
            'i',
          ),
        ),
        rank: BELOW,
      },
    ],
  ]),
);
