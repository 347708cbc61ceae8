// Memory that runs out: on the GPU, pinned on the host, on the host itself, on disk and in shared memory.

import { capture, code, phrase, symptom, weak } from '../patterns.ts';
import { asRoot, run, say, watchMemory } from '../steps.ts';
import type { Context, ErrorClass, RepairStep, Software } from '../types.ts';
import { bytesOf } from '../values.ts';
import { CUDA_NOTES, OLLAMA, VLLM } from './links.ts';

/** What makes a program smaller, in its own words. */
const smaller: Readonly<Partial<Record<Software, readonly RepairStep[]>>> = {
  ollama: [
    say('Take a smaller model or quantisation, or a shorter context: OLLAMA_CONTEXT_LENGTH=4096.'),
    say('Leave some layers to the CPU: /set parameter num_gpu 20; OLLAMA_GPU_OVERHEAD keeps memory free.'),
  ],
  'llama.cpp': [
    say('Put fewer layers on the GPU (-ngl), take a shorter context (-c) or a smaller quantisation.'),
    say('Smaller batches need smaller compute buffers: -b 512 -ub 128; -fa on, -ctk q8_0 -ctv q8_0 shrink the cache.'),
  ],
  vllm: [say('Lower --gpu-memory-utilization or --max-model-len, or split the model: --tensor-parallel-size 2.')],
  tensorflow: [say('Halve the batch; let TensorFlow take memory as it needs it: TF_FORCE_GPU_ALLOW_GROWTH=true.')],
  jax: [
    say(
      'JAX takes 75 % of the memory at the start: XLA_PYTHON_CLIENT_MEM_FRACTION=.5 or XLA_PYTHON_CLIENT_PREALLOCATE=false.',
    ),
  ],
};

/** Who draws has textures and a resolution in place of a batch. */
const DRAWS = /\b\w*D3D\d*\w*|\bDXGI\b|\bRender ?Texture|\brendering resource\b|\bRIF_ERROR|\bCycles\b/i;

const drawnSmaller: readonly RepairStep[] = [
  say('Lower the resolution, the size of the textures and the quality of shadows; close other programs that draw.'),
  say('A renderer can take tiles, or the CPU beside the GPU: both need less at a time.'),
];

export const memoryClasses: readonly ErrorClass[] = [
  {
    code: 'oom',
    severity: 'warning',
    title: 'The memory of the GPU is full',
    patterns: [
      capture(/(?:CUDA|HIP|XPU|MPS backend|Metal)(?: driver| runtime)?(?: error)?[ :]{1,3}out of memory\b/i),
      capture(/(?:\b(?:cuda|hip)(?: runtime)? error|THCudaCheck FAIL)[ (:]{0,3}\d*\)?[^\n]{0,160}?: out of memory/i),
      code(
        /\b(?:torch|c10)(?:\.cuda|\.xpu)?(?:\.|::)OutOfMemoryError|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory|(?:UR_RESULT|PI|ZE_RESULT)_ERROR_OUT_OF_(?:DEVICE_MEMORY|HOST_MEMORY)/,
      ),
      capture(
        /(?:(?:cuda|hip)Malloc|cuMem)\w*[^\n]{0,40}(?:failed|error)[^\n]{0,20}out of memory|(?:cuda|hip)Malloc(?:Async|Managed)? failed/i,
      ),
      capture(
        /RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate)|ResourceExhaustedError[^\n]*(?:OOM|failed to allocate)|OOM when allocating tensor|\ba?n? ResourceExhaustedError\b/i,
      ),
      code(
        /\bInsufficient memory on (?:the )?(?:accelerator|GPU|device)\b|\b(?:CUDA|CNMEM|CUBLAS|CUDNN|CUSOLVER|CUFFT)_?STATUS_OUT_OF_MEMORY|\bCNMEM_STATUS_OUT_OF_MEMORY|\bVK_ERROR_OUT_OF_DEVICE_MEMORY|\bErrorOutOfDeviceMemory|\bE_OUTOFMEMORY\b|kIOGPUCommandBufferCallbackErrorOutOfMemory|Command buffer execution failed: Insufficient Memory/,
      ),
      capture(
        /(?:failed|unable) to allocate (?:(?:the )?(?:CUDA|ROCm|Vulkan|SYCL|Metal|HIP)\d*|buffer for|backend|compute(?: pp)?|KV|kv[ -]cache)[ \w]*(?:buffers?|cache)(?: of size (?<bytes>\d+))?/i,
      ),
      capture(
        /(?:allocation|allocating|Device memory allocation) of (?:size )?\d+[^\n]{0,30} failed/i,
        /ggml|vulkan|cuda|gpu/i,
      ),
      phrase(
        /Invalid buffer size: [\d.]+ [GM]i?B|Allocation is out of device memory on current platform|GPU out of memory|not enough (?:GPU|video|device|graphics) memory|insufficient (?:GPU|video|device) memory/i,
      ),
      {
        ...code(
          /\b(?:0x)?8007000e\b/i,
          /\b\w*(?:D3D|DXGI)\w*|\bRender ?Texture|\bCreate\w*(?:Texture|Resource|Buffer|Heap)\w*|\bDirectX\b/i,
        ),
        named: true,
      },
      phrase(/Dst tensor is not initialized/i),
      capture(
        /OutOfMemoryError: (?:Out of memory allocating|Allocation on device)|cupy\.cuda\.memory\.OutOfMemoryError|OutOfMemoryError: [^\n]*allocating/i,
      ),
      capture(/NvMapMemAlloc\w*: ?\d* ?error 12|NvRmMem\w+[^\n]*error 12/i),
      capture(
        /\b(?:cuda|hip|gpu|vram|device|metal|vulkan|xpu|webgpu)\b[^\n]{0,60}\bout of (?:gpu |device |video )?memory\b/i,
      ),
      phrase(
        /out of (?:gpu|device|video|graphics|vram) memory|(?:not enough|insufficient|exceeds? (?:the )?(?:available|free)?) ?(?:VRAM|GPU RAM)|Failed to allocate memory for requested buffer of size|bfc_arena\.cc[^\n]*Failed to allocate/i,
      ),
      symptom(/Tried to allocate [\d.]+ ?[GMK]i?B/i),
      phrase(/\bNot enough memory left\b/i, /wgpu|vulkan|webgpu|dx12|metal|gpu/i),
      code(/\bERROR_OUT_OF_DEVICE_MEMORY\b|VK_ERROR_OUT_OF_(?:HOST|POOL)_MEMORY/),
      symptom(
        /(?:llama|ggml|model|main|srv|whisper)\w*[^\n]{0,60}failed to (?:create|initialize|init) (?:the |llama_)?context\b(?! with model)|failed to (?:create|initialize) (?:the )?llama_context/i,
      ),
      phrase(/No executable batch size found|Allocate too much memory for the GPU memory pool/i),
      code(/HSA_STATUS_ERROR_OUT_OF_RESOURCES[^\n]*Available Free mem/),
      phrase(/\bMemory allocation error on worker \d+|\bNV_ERR_NO_MEMORY\b/i),
      capture(/\bResource exhausted: (?:failed to allocate|OOM|out of memory)|\(error code out of memory\)/i),
      capture(
        /\bGPU \d+ has a total capacity of (?<total>[\d.]+ [KMGT]i?B) of which (?<free>[\d.]+ [KMGT]i?B) is free/,
      ),
    ],
    cuda: [2],
    explains: ['ollama-runner', 'vllm-engine', 'nccl', 'cublas-init', 'cudnn-failed', 'ort-provider'],
    cause: ({ got, facts }) => {
      const parts = [
        got.tried && `it asked for ${got.tried}`,
        got.free && `${got.free} was free`,
        got.total && `of ${got.total}`,
      ].filter(Boolean);
      const memory = facts?.machine.gpus
        .map((gpu) => ('source' in gpu.memoryBytes ? gpu.memoryBytes.value : 0))
        .reduce((a, b) => Math.max(a, b), 0);
      const size = !got.total && memory ? `; the GPU has ${Math.round(memory / 1024 ** 3)} GiB` : '';
      return `The program wants more memory than the GPU has left${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${size}.`;
    },
    fix: (context: Context) => {
      const { got, software } = context;
      const reserved = bytesOf(got.reserved);
      const tried = bytesOf(got.tried);
      const fragmented = reserved !== undefined && tried !== undefined && reserved >= tried;
      const own = DRAWS.test(context.line) ? drawnSmaller : software === undefined ? undefined : smaller[software];
      return [
        ...(fragmented && own === undefined
          ? [
              run(
                `${got.reserved} lie reserved but unused, so memory is fragmented: let segments grow.`,
                'env',
                'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
                'python',
                'your_script.py',
              ),
            ]
          : []),
        ...(own ?? [
          say('Halve the batch, and accumulate gradients over two steps.'),
          say('Load the weights in 4 or 8 bits, or use bf16 and activation checkpointing.'),
        ]),
        watchMemory(context),
      ];
    },
    links: [CUDA_NOTES],
  },
  {
    code: 'vllm-memory',
    severity: 'error',
    title: 'vLLM has too little GPU memory for its cache',
    patterns: [
      phrase(/not enough (?:GPU )?memory\b[^\n]{0,60}--mem-fraction-static/i),
      phrase(/No available memory for the cache blocks|cannot (?:currently )?support max_model_len=\d+/i),
      capture(
        /Free memory on device[^\n]*(?<free>[\d.]+)\/(?<total>[\d.]+) GiB[^\n]*less than desired GPU memory utilization/i,
      ),
      phrase(/less than desired GPU memory utilization/i),
      capture(
        /(?:max(?:imum)? seq(?:uence)? len(?:gth)?|max_model_len)[^\n]{0,20}\(?(?<length>\d+)\)?[^\n]{0,80}(?:KV cache|larger than the maximum number of tokens)/i,
      ),
      capture(/(?<need>[\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory/i),
    ],
    explains: ['vllm-engine', 'oom'],
    cause: ({ got }) =>
      got.need
        ? `One request of full length needs ${got.need} GiB of cache, more than is left beside the weights.`
        : 'Weights and work space leave too little of the share of GPU memory that vLLM may use.',
    fix: (context) => [
      say('Shorten the context: --max-model-len 8192. That is what the cache is reserved for.'),
      say(
        'Raise --gpu-memory-utilization (0.9 is the usual value) when the GPU is otherwise empty; lower it when other programs use it.',
      ),
      say('Use a quantised model, --kv-cache-dtype fp8, --enforce-eager, or more GPUs: --tensor-parallel-size 2.'),
      watchMemory(context),
    ],
    links: [VLLM],
  },
  {
    code: 'pinned-memory',
    severity: 'warning',
    title: 'Pinned host memory cannot be had',
    patterns: [
      capture(/failed to allocate (?<size>[\d.,]+ [KMG]iB) of pinned memory/i),
      capture(
        /(?:cudaHostAlloc|cudaMallocHost|cudaHostRegister|cuMemHostAlloc|cuMemAllocHost|hipHostMalloc)[^\n]{0,60}(?:failed|error)/i,
      ),
      phrase(
        /Host and device pointers? do(?:n'?t| not) match with \w+HostRegister|Cannot pin memory|(?:failed|unable) to pin memory|pin memory thread exited unexpectedly/i,
      ),
    ],
    cause: ({ got }) =>
      `${got.size ?? 'The memory'} could not be locked in RAM; the program goes on with slower copies, or stops.`,
    fix: () => [
      say('Free main memory; in WSL raise the limit in .wslconfig, because only half of the RAM can be pinned there.'),
      say('Switch pinning off: pin_memory=False, or GGML_CUDA_NO_PINNED=1 for llama.cpp.'),
    ],
    links: [CUDA_NOTES],
  },
  {
    code: 'mlock',
    severity: 'warning',
    title: 'The weights may not be locked in memory',
    patterns: [capture(/failed to mlock (?<bytes>\d+)-byte buffer/i), phrase(/Try increasing RLIMIT_MEMLOCK/i)],
    cause: () => 'The limit for locked memory is lower than the model. It is a warning: the model loads anyway.',
    fix: () => [
      say('Leave --mlock out, or raise the limit: ulimit -l unlimited; LimitMEMLOCK=infinity for a service.'),
    ],
    links: ['https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md'],
  },
  {
    code: 'host-oom',
    severity: 'warning',
    title: 'The memory of the computer is full',
    patterns: [
      phrase(/internal compiler error: Killed|Killed signal terminated program cc1plus/i),
      capture(
        /DefaultCPUAllocator: (?:not enough memory|can't allocate memory)(?:: you tried to allocate (?<bytes>\d+) bytes)?/i,
      ),
      symptom(/\bexit(?:s|ed)? with (?:return|exit) ?code ?[=:]? ?-9\b|\(exit ?code: ?-9\)/i),
      phrase(/\bpthread_create(?:\(\))? failed/i),
      phrase(/\bnode running low on memory\b|ray\.exceptions\.OutOfMemoryError/i),
      phrase(/Detected \d+ oom[-_]kill event|killed by the cgroup out-of-memory handler/i),
      capture(
        /\bKilled process (?<pid>\d+) \((?<process>[^)]+)\)(?:,|:| total-vm)|\bnode was low on resource: memory|oom-kill:[^\n]*task=(?<task>[\w.-]+)/i,
      ),
      capture(
        /requires more system memory \((?<need>[\d.]+ ?[KMGT]i?B)\) than is available \((?<free>[\d.]+ ?[KMGT]i?B)\)/i,
      ),
      phrase(/you may not have enough (?:available )?memory to (?:run|load) (?:this|the) model/i),
      capture(/llama runner[^\n]*signal: killed|runner terminated[^\n]*signal: killed/i),
      capture(/numpy\.[\w.]*ArrayMemoryError|Unable to allocate [\d.]+ [KMGT]iB for an array/i),
      phrase(/DataLoader worker \(pid\(?s?\)? [\d, ]+\) (?:is killed by signal: Killed|exited unexpectedly)/i),
      weak(/^(?:.*: line \d+:\s+\d+ )?Killed(?:\s+(?:python|torchrun|accelerate|uv|pip|jupyter)\b.*)?$/m),
      weak(
        /(?:\bexit(?:ed)?(?: with)?(?: code| status)?:? |returned )137\b|\bWorker \(pid:\d+\) was sent (?:code 137|SIGKILL)|exitcode\s*:\s*-9\b/i,
      ),
      symptom(
        /\[Errno 12\] Cannot allocate memory|Cannot allocate memory \(12\)|\bfork\b[^\n]{0,40}Cannot allocate memory/,
      ),
      phrase(/^\s*MemoryError\s*$/m),
    ],
    explains: ['ollama-runner', 'build-failed'],
    cause: ({ got }) =>
      got.bytes
        ? `The program asked for ${(Number(got.bytes) / 1024 ** 3).toFixed(1)} GiB of main memory.`
        : got.need
          ? `The model needs ${got.need} of main memory; ${got.free} are free.`
          : 'The system ended the process because main memory ran out (exit status 137).',
    fix: ({ software }) => [
      ...(software === 'ollama' || software === 'llama.cpp'
        ? [say('Take a smaller model or quantisation, a shorter context, or close other programs.')]
        : [
            run('Confirm it in the kernel log.', 'dmesg', '--ctime'),
            say('Fewer DataLoader workers, a smaller batch, or load the weights in parts (low_cpu_mem_usage=True).'),
            say('Builds of extensions: MAX_JOBS=2 keeps fewer compilers in memory.'),
          ]),
    ],
    links: ['https://docs.kernel.org/admin-guide/mm/concepts.html', OLLAMA],
  },
  {
    code: 'win-paging',
    severity: 'error',
    title: 'The paging file of Windows is too small',
    patterns: [code(/\[?WinError 1455\]?|\bos error 1455\b/i), phrase(/paging file is too small\b/i)],
    explains: ['win-dll', 'host-oom'],
    cause: () => 'Windows reserves memory for every CUDA library of every process, and the paging file cannot hold it.',
    fix: () => [
      say(
        'Let Windows manage the paging file, or set it to twice the RAM: System, Advanced, Performance, Virtual memory.',
      ),
      say('Fewer DataLoader workers: each loads the CUDA libraries again.'),
    ],
    links: ['https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file'],
  },
  {
    code: 'shm',
    severity: 'error',
    title: 'The shared memory of the container is too small',
    patterns: [
      phrase(
        /insufficient shared memory \(shm\)|workers are out of shared memory|Please try to raise your shared memory limit/i,
      ),
      capture(/Bus error[^\n]*shared memory/i),
      capture(
        /(?:creating|attaching to|opening|mmap\w*|extend)[^\n]{0,40}(?:shared memory(?: segment)?|\/dev\/shm)[^\n]*/i,
        /NCCL|shm/,
      ),
      capture(/NCCL WARN Call to posix_fallocate failed ?: ?No space left on device/i),
      capture(
        /No space left on device[^\n]*\/dev\/shm|\/dev\/shm[^\n]*No space left on device|unable to (?:write|mmap|open)[^\n]*<?\/torch_\d+/i,
      ),
      phrase(/DataLoader worker[^\n]*killed by signal: Bus error/i),
    ],
    explains: ['disk-full', 'nccl', 'host-oom'],
    cause: () => 'DataLoader workers and NCCL pass data through /dev/shm, of which Docker gives 64 MB.',
    fix: () => [
      run('Give the container the memory of the host.', 'docker', 'run', '--ipc=host', '--gpus=all', 'IMAGE'),
      say('Or --shm-size=8g; in Kubernetes an emptyDir with medium: Memory on /dev/shm; num_workers=0 confirms it.'),
      run('Outside a container see what fills it.', 'df', '-h', '/dev/shm'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/multiprocessing.html'],
  },
  {
    code: 'disk-full',
    severity: 'critical',
    title: 'The disk is full',
    patterns: [
      phrase(/No space left on device/i),
      // torch.save, when the disk takes no more.
      phrase(/inline_container\.cc:\d+\] ?\. unexpected pos \d+ vs \d+|PytorchStreamWriter failed writing file/),
      code(/\[Errno 28\]|\bENOSPC\b|\[WinError 112\]/),
      symptom(/There is not enough space on the disk/i),
    ],
    unless: /NCCL|\/dev\/shm|shm\.h|shmutils/,
    cause: () => 'The disk, or the folder for temporary files, has no room left; CUDA builds take several gigabytes.',
    fix: () => [
      run('See what is full.', 'df', '-h'),
      run('Empty the package caches, if you agree.', 'uv', 'cache', 'clean'),
      run('pip has one too.', 'python', '-m', 'pip', 'cache', 'purge'),
      say('If only /tmp is small, point TMPDIR at a larger folder.'),
      asRoot('Docker keeps old layers: docker system prune.'),
    ],
    links: ['https://docs.astral.sh/uv/concepts/cache/'],
  },
];
