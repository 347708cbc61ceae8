// Faults of CUDA calls and kernels: what a kernel did, how it was launched, what a call refused.

import { capture, named, phrase, symptom } from '../patterns.ts';
import { reinstall, run, say } from '../steps.ts';
import type { Context, ErrorClass, RepairStep } from '../types.ts';
import { OTHER_GPU } from './cuda.ts';
import { CUDA_NOTES, RUNTIME } from './links.ts';

const BLOCKING: RepairStep = run(
  'Run again with blocking launches to get the right line.',
  'env',
  'CUDA_LAUNCH_BLOCKING=1',
  'python',
  'your_script.py',
);

export const kernelClasses: readonly ErrorClass[] = [
  {
    code: 'device-assert',
    severity: 'error',
    title: 'An assertion failed inside a kernel',
    patterns: [
      phrase(/device-side assert triggered/i),
      capture(/\.cuh?:\d+:? Assertion `(?<assertion>[^`]+)` failed/),
      capture(/\bblock: \[\d+,\d+,\d+\], thread: \[[\d,]+\] Assertion `(?<assertion>[^`]+)` failed/i),
      phrase(
        /Assertion `(?:srcIndex < srcSelectDimSize|t >= 0 && t < n_classes|input_val >= zero|index >= -sizes|probability tensor)/i,
      ),
    ],
    cuda: [710],
    explains: ['cuda-failed', 'cublas-init', 'cublas-failed', 'cudnn-failed'],
    cause: ({ got }) =>
      `An index or a label in the program is out of range${got.assertion ? ` (${got.assertion})` : ''}; the line shown is not the one that failed, because kernels run later.`,
    fix: () => [
      BLOCKING,
      say('Check that every label lies below the number of classes and every token below the size of the embedding.'),
    ],
    links: [CUDA_NOTES],
  },
  {
    code: 'illegal-access',
    severity: 'error',
    title: 'A kernel touched memory it does not own',
    patterns: [
      phrase(
        /an illegal memory access was encountered|\bIllegal address in (?:CUDA|HIP|OptiX)\b|Invalid __(?:global|shared|local)__ (?:read|write|atomic) of size \d+/i,
      ),
      {
        ...phrase(/^(?!\s*[-*•])[^\n]*\billegal memory access\b/im, /\b(?:cuda|cudnn|nvidia|rtx|gtx|tesla)\b/i),
        rank: 60,
      },
    ],
    cuda: [700],
    unless: OTHER_GPU,
    cause: () => 'A kernel has a fault, or the card is overclocked. The process cannot go on: its context is lost.',
    fix: () => [
      run('Find the kernel.', 'compute-sanitizer', 'python', 'your_script.py'),
      BLOCKING,
      say('Run the card at stock clocks.'),
    ],
    links: ['https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html'],
  },
  {
    code: 'kernel-fault',
    severity: 'error',
    title: 'A kernel crashed',
    patterns: [
      phrase(
        /unspecified launch failure|\bCUDA error: (?:misaligned address|an illegal instruction was encountered|invalid program counter|hardware stack error)/i,
      ),
    ],
    cuda: [714, 715, 716, 717, 718, 719],
    unless: /\bhip\b|hipError/i,
    cause: () =>
      'A kernel ran into a fault of its own: a bug in a compiled extension, a broken build, or an unstable card.',
    fix: () => [
      BLOCKING,
      run('Or find the kernel.', 'compute-sanitizer', 'python', 'your_script.py'),
      say('Update the extension that the traceback names; run the card at stock clocks and look at its temperature.'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'launch-config',
    severity: 'error',
    title: 'A kernel was launched with sizes that the GPU does not take',
    patterns: [
      phrase(
        /\b(?:CUDA|HIP)[^\n]{0,20}error[^\n]{0,12}: invalid configuration argument|too many resources requested for launch/i,
      ),
      capture(
        /(?:set|setting) the (?:allowed )?(?<what>dynamic shared\s+memory) size to (?<required>\d+)|uses too much (?<resource>shared data) \((?<used>0x[0-9a-f]+) bytes, (?<most>0x[0-9a-f]+) max\)/i,
      ),
      capture(
        /OutOfResources: out of resource: (?<what>[\w ]+?)(?:, )?Required: (?<required>\d+)(?:, )?Hardware limit: (?<limit>\d+)/i,
      ),
    ],
    cuda: [9, 52, 701, 720],
    explains: ['cuda-invalid-value'],
    cause: ({ got }) =>
      got.required && got.limit
        ? `A Triton kernel wants ${got.required} of ${got.what}; this GPU gives ${got.limit}.`
        : got.what || got.resource
          ? 'The kernel wants more shared memory than a block may have on this GPU.'
          : 'The kernel asks for more threads, blocks or registers than the GPU has, or the tensor is empty.',
    fix: ({ got }) => [
      got.what || got.resource
        ? say(
            'Lower the block sizes or num_stages of the kernel; consumer cards have less shared memory than data-centre ones.',
          )
        : say('Check for empty tensors and very large batches, and update the extension that launches the kernel.'),
      BLOCKING,
    ],
    links: [RUNTIME],
  },
  {
    code: 'cuda-invalid-value',
    severity: 'error',
    title: 'CUDA was called with something invalid',
    patterns: [
      phrase(
        /\bCUDA(?: driver| runtime)? error[^\n]{0,12}: (?:invalid argument|invalid resource handle|invalid device context|named symbol not found)/i,
      ),
    ],
    cuda: [1, 12, 13, 21, 201, 400, 500, 709],
    cause: () => 'A call got a handle, a size or a kernel that does not belong to this device or this context.',
    fix: (context) => [
      BLOCKING,
      say(
        'Parts built for different CUDA versions show themselves this way: reinstall the framework and its extensions together.',
      ),
      ...reinstall(context),
    ],
    links: [RUNTIME],
  },
  {
    code: 'cuda-not-supported',
    severity: 'error',
    title: 'The GPU or the system does not offer this operation',
    patterns: [
      phrase(/\bCUDA(?: driver| runtime)? error[^\n]{0,12}: operation not (?:supported|permitted)(?! on global)/i),
      phrase(/peer access is not supported between these two devices/i),
    ],
    cuda: [217, 704, 705, 800, 801],
    cause: () =>
      'Peer-to-peer copies, managed memory, graphs or profiling are not available here: WSL, virtual GPUs and consumer cards lack some of them.',
    fix: () => [
      run('Try without peer-to-peer.', 'env', 'NCCL_P2P_DISABLE=1', 'python', 'your_script.py'),
      say('In WSL and on virtual GPUs, switch off pinned and managed memory and CUDA graphs.'),
    ],
    links: [RUNTIME],
  },
  {
    code: 'launch-timeout',
    severity: 'error',
    title: 'A kernel ran longer than the display allows',
    patterns: [
      phrase(/kIOGPUCommandBufferCallbackError(?:Timeout|ImpactingInteractivity)|Caused GPU Timeout Error/),
      phrase(/the launch timed out and was terminated/i),
    ],
    cuda: [702],
    explains: ['device-lost', 'mps-op', 'native-crash'],
    cause: ({ vendor }) =>
      vendor === 'apple'
        ? 'macOS ends work that keeps the GPU busy, or waiting for the processor, for some seconds.'
        : 'The card drives a display, and the system ends kernels that block it for some seconds.',
    fix: (context: Context) => [
      say('Split the work into shorter kernels, or use a card that drives no display.'),
      ...(context.os === 'windows'
        ? [say('Windows waits two seconds: the registry value TdrDelay sets another time.')]
        : []),
    ],
    links: [RUNTIME],
  },
  {
    code: 'cuda-failed',
    severity: 'error',
    title: 'A CUDA call failed',
    patterns: [
      symptom(
        /\bCUDA(?: driver| runtime| kernel)? (?:error|failure)(?: \d+)?(?: at [^\n:]+(?::\d+)?)?: (?<what>[A-Za-z][^\n]{3,120})/,
      ),
      symptom(
        /\b(?:CUDARuntimeError|CUDADriverError|CudaAPIError|CudaSupportError|CUDAException|CudaException)\b[^\n]{0,120}/,
      ),
      named(
        /\b(?:CUDA_ERROR_[A-Z_]+|cudaError[A-Z]\w+|(?:OPTIX|NVRTC|NVJITLINK)_ERROR_(?!BUILTIN|COMPILATION)[A-Z_]+)\b[^\n]{0,120}/,
      ),
      symptom(/\bggml_cuda_\w+: \w+ failed\b|\b\w+ ?== ?(?:cudaSuccess|CUDA_SUCCESS)\b[^\n]{0,40}\bfailed\b/),
      symptom(/INTERNAL ASSERT FAILED at "[^"\n]*\b(?:c10|ATen|torch\/csrc)\/cuda\/[^"\n]*"/),
    ],
    cudaOther: true,
    unless: /\bcudaError_?t\b|cudaErrorSuccess|CUDA kernel errors might be/,
    cause: ({ got }) =>
      `CUDA reports ${got.what ? `"${got.what.trim()}"` : 'an error'}; the words are its own, and the line shown may lie after the call that failed.`,
    fix: (context) => [BLOCKING, run('Rule out the machine.', 'gpuforge', 'doctor', '-v'), ...reinstall(context)],
    links: [RUNTIME],
  },
  {
    code: 'cuda-graph',
    severity: 'error',
    title: 'A CUDA graph could not be recorded',
    patterns: [
      symptom(/Capture (?:CUDA|cuda) graph failed: ?(?<why>[^\n]{0,120})/),
      phrase(
        /operation not permitted [^\n]*captur|operation would make the legacy stream|hipErrorStreamCapture\w+|operation failed due to a previous error during capture|Cannot prepare for replay during capturing|output of CUDAGraphs that has been overwritten|\bduring CUDA graph capture/i,
      ),
    ],
    cuda: [900, 901, 902, 903, 904, 905, 906, 907, 908, 910],
    explains: ['cuda-failed', 'cuda-not-supported', 'hip-failed'],
    cause: ({ got }) => `While kernels were recorded for replay, one failed${got.why ? `: ${got.why.trim()}` : ''}.`,
    fix: () => [
      say(
        'Run once without graphs, so that the real error shows: --disable-cuda-graph (SGLang), --enforce-eager (vLLM), TORCH_COMPILE_DISABLE=1.',
      ),
      say('Too little memory is the usual reason: lower --mem-fraction-static or --gpu-memory-utilization.'),
    ],
    links: [CUDA_NOTES],
  },
];
