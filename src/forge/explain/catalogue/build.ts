// Faults of compilers, extensions and binary interfaces.

import { reinstall, run, safe, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

const UV = 'https://docs.astral.sh/uv/guides/integration/pytorch/';

export const buildClasses: readonly ErrorClass[] = [
  {
    code: 'ptxas-arch',
    severity: 'error',
    title: 'The compiler is older than the GPU',
    patterns: [
      { kind: 'capture', re: /Unsupported gpu architecture 'compute_(?<cc>\d+\w?)'/i },
      { kind: 'capture', re: /PTX version (?<ptx>[\d.]+) does not support target '(?<sm>sm_\w+)'/i },
      { kind: 'capture', re: /ptxas fatal\s*:[^\n]*'?(?<sm>sm_\d+\w?)'?/i },
    ],
    cause: ({ got }) =>
      `nvcc, Triton or XLA does not know ${got.sm ?? (got.cc ? `compute_${got.cc}` : 'this architecture')} yet.`,
    fix: (context) => [
      say('Install a version of the compiler (CUDA toolkit, Triton or the framework) that knows the architecture.'),
      ...reinstall(context),
    ],
    links: [
      'https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html',
      'https://github.com/tensorflow/tensorflow/issues/89272',
    ],
  },
  {
    code: 'unsupported-ptx',
    severity: 'error',
    title: 'The driver cannot compile the PTX of this build',
    patterns: [
      { kind: 'phrase', re: /provided PTX was compiled with an unsupported toolchain/i },
      { kind: 'code', re: /cudaErrorUnsupportedPtxVersion|CUDA_ERROR_UNSUPPORTED_PTX_VERSION/ },
    ],
    cuda: [222],
    cause: (context) =>
      `The driver${context.facts?.driver ? ` (${context.facts.driver})` : ''} is older than the toolkit of the build; minor-version compatibility does not cover PTX.`,
    fix: (context) => [...reinstall(context), say('Or install a driver at least as new as the toolkit.')],
    links: ['https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html'],
  },
  {
    code: 'nvcc-mismatch',
    severity: 'error',
    title: 'The extension is built with another CUDA than torch',
    patterns: [
      {
        kind: 'capture',
        re: /detected CUDA version \((?<nvcc>[\d.]+)\)\s+mismatches the version that was used to compile\s+PyTorch \((?<wanted>[\d.]+)\)/i,
      },
    ],
    cause: ({ got }) => `nvcc is of CUDA ${got.nvcc}, torch was built with ${got.wanted}.`,
    fix: ({ got }) => [
      run(
        `Install the CUDA ${got.wanted ?? ''} toolkit in the environment.`,
        'conda',
        'install',
        '-c',
        'conda-forge',
        `cuda-toolkit=${got.wanted ?? ''}`,
      ),
      say('Or take a prebuilt wheel of the extension for this torch and CUDA.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/cpp_extension.html'],
  },
  {
    code: 'nvcc-missing',
    severity: 'error',
    title: 'A source build needs the CUDA toolkit',
    patterns: [
      { kind: 'phrase', re: /CUDA_HOME environment variable is not set/i },
      {
        kind: 'phrase',
        re: /\bnvcc['"]?: (?:command )?not found|No such file or directory: ['"][^'"\n]*\bnvcc['"]|command not found: nvcc/i,
      },
    ],
    cause: () => 'A package is being built from source and finds no nvcc.',
    fix: () => [
      run('Install the toolkit in the environment.', 'conda', 'install', '-c', 'conda-forge', 'cuda-nvcc'),
      say('Or take a prebuilt wheel: the frameworks themselves need no toolkit.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/cpp_extension.html'],
  },
  {
    code: 'gcc-too-new',
    severity: 'error',
    title: 'The host compiler is newer than nvcc accepts',
    patterns: [
      { kind: 'capture', re: /unsupported GNU version! gcc versions later than (?<gcc>[\d.]+) are not supported/i },
      { kind: 'phrase', re: /unsupported GNU version!/i },
    ],
    cause: ({ got }) => `This nvcc accepts gcc up to ${got.gcc ?? 'an older version'}.`,
    fix: ({ got }) => [
      run(
        `Point nvcc at gcc ${got.gcc ?? ''}.`,
        'env',
        `NVCC_PREPEND_FLAGS=-ccbin=/usr/bin/g++-${got.gcc?.split('.')[0] ?? '13'}`,
        'python',
        '-m',
        'pip',
        'install',
        '.',
      ),
    ],
    links: ['https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html'],
  },
  {
    code: 'abi-symbol',
    severity: 'error',
    title: 'An extension was built for another torch',
    patterns: [{ kind: 'capture', re: /undefined symbol: (?<symbol>_ZNK?(?:R?2at|3c10|5torch)\w*)/ }],
    cause: () => 'A compiled extension and the installed torch do not belong together.',
    fix: () => [
      say('The path in the message names the package; reinstall it for the installed torch.'),
      safe(
        'Rebuild it without the cached wheel.',
        'python',
        '-m',
        'pip',
        'install',
        '--force-reinstall',
        '--no-cache-dir',
        '--no-build-isolation',
        'PACKAGE',
      ),
    ],
    links: ['https://docs.pytorch.org/docs/stable/cpp_extension.html'],
  },
  {
    code: 'torchvision-nms',
    severity: 'error',
    title: 'torch and torchvision do not belong together',
    patterns: [{ kind: 'phrase', re: /operator torchvision::nms does not exist/i }],
    cause: () => 'torchvision was built for another torch, or for another variant of it.',
    fix: (context) => {
      const result = context.resolve('pytorch');
      const vision =
        result?.status === 'ok' ? result.choice.companions.find((row) => row.name === 'torchvision') : undefined;
      if (result?.status !== 'ok' || !vision)
        return [say('Install both from one index in one command: the release matrix of PyTorch gives the pairs.')];
      const { choice } = result;
      return [
        safe(
          `Install the pair: torch ${choice.version} with torchvision ${vision.version}, from one index.`,
          'python',
          '-m',
          'pip',
          'install',
          '--force-reinstall',
          ...(choice.index ? ['--extra-index-url', choice.index.url] : []),
          ...choice.requirements.map((row) => `${row.name}${row.spec}`),
          `torchvision==${vision.version}`,
        ),
      ];
    },
    links: ['https://github.com/pytorch/vision#installation'],
  },
  {
    code: 'xformers-mismatch',
    severity: 'warning',
    title: 'xFormers was built for another torch',
    patterns: [
      { kind: 'phrase', re: /xFormers can't load C\+\+\/CUDA extensions/i },
      { kind: 'phrase', re: /xFormers wasn't buil[dt] with CUDA support/i },
    ],
    cause: () => 'Each xFormers wheel fits one version of torch.',
    fix: () => [
      safe('Let pip find the pair.', 'python', '-m', 'pip', 'install', '--force-reinstall', 'xformers'),
      run('See what it was built for.', 'python', '-m', 'xformers.info'),
    ],
    links: ['https://github.com/facebookresearch/xformers#installing-xformers'],
  },
  {
    code: 'flash-attn-gpu',
    severity: 'error',
    title: 'FlashAttention needs a newer GPU',
    patterns: [{ kind: 'phrase', re: /FlashAttention only supports Ampere GPUs or newer/i }],
    cause: (context) =>
      `FlashAttention 2 runs from compute capability 8.0 on${context.facts && context.facts.gpus.length > 0 ? `; here is ${context.facts.gpus.join(', ')}` : ''}.`,
    fix: () => [say('Use attn_implementation="sdpa": PyTorch\'s own attention runs on every GPU.')],
    links: ['https://github.com/Dao-AILab/flash-attention#installation-and-features'],
  },
  {
    code: 'bf16-unsupported',
    severity: 'warning',
    title: 'The GPU has no bfloat16',
    patterns: [
      {
        kind: 'phrase',
        re: /(?:Current CUDA Device|Your setup|this device|This GPU)[^\n]{0,40} (?:does not|doesn't) support bf(?:loat)?16/i,
      },
      { kind: 'capture', re: /Bfloat16 is only supported on GPUs with compute capability of at least (?<cc>[\d.]+)/i },
    ],
    cause: () => 'bfloat16 in hardware begins with compute capability 8.0.',
    fix: () => [say('Use float16 instead: dtype=torch.float16, or --fp16 in place of --bf16.')],
    links: ['https://docs.pytorch.org/docs/stable/amp.html'],
  },
  {
    code: 'triton-missing',
    severity: 'warning',
    title: 'Triton is not installed',
    patterns: [
      { kind: 'phrase', re: /No module named 'triton'/i },
      { kind: 'phrase', re: /Cannot find a working triton installation|TritonMissing/i },
    ],
    cause: () => 'torch.compile and some kernels need Triton, which ships with the Linux CUDA wheels only.',
    fix: (context) => [
      ...(context.facts?.machine.host.platform === 'windows'
        ? [run('On Windows install its port.', 'python', '-m', 'pip', 'install', 'triton-windows')]
        : [...reinstall(context)]),
      say('Or run without torch.compile.'),
    ],
    links: ['https://github.com/triton-lang/triton'],
  },
  {
    code: 'numpy2',
    severity: 'error',
    title: 'A package was built for NumPy 1',
    patterns: [
      { kind: 'capture', re: /compiled using NumPy 1\.x cannot be run in\s+NumPy (?<numpy>[\d.]+)/i },
      { kind: 'phrase', re: /_ARRAY_API not found/ },
      { kind: 'phrase', re: /numpy\.dtype size changed, may indicate binary incompatibility/i },
    ],
    cause: ({ got }) =>
      `A compiled package expects NumPy 1; installed is ${got.numpy ? `NumPy ${got.numpy}` : 'NumPy 2'}.`,
    fix: () => [
      safe('Go back to NumPy 1 in this environment.', 'python', '-m', 'pip', 'install', 'numpy<2'),
      say('Or upgrade the package that the traceback names; current ones support NumPy 2.'),
    ],
    links: ['https://numpy.org/doc/stable/numpy_2_0_migration_guide.html'],
  },
  {
    code: 'glibc',
    severity: 'error',
    title: 'The distribution is older than the wheel',
    patterns: [{ kind: 'capture', re: /version [`'"]?(?<symbol>GLIBC(?:XX)?_[\d.]+)['"`]? not found/i }],
    cause: ({ got, facts }) => {
      const libc = facts && 'source' in facts.machine.host.glibc ? facts.machine.host.glibc.value : undefined;
      return `The wheel needs ${got.symbol ?? 'a newer C library'}${libc ? `; this system has glibc ${libc}` : ''}. Current wheels are built for glibc 2.28 and newer.`;
    },
    fix: ({ got }) => [
      ...(got.symbol?.startsWith('GLIBCXX')
        ? [run('libstdc++ alone can come from conda-forge.', 'conda', 'install', '-c', 'conda-forge', 'libstdcxx-ng')]
        : []),
      say('Use a newer distribution, or a container: gpuforge env NAME --format docker writes one.'),
    ],
    links: ['https://github.com/pypa/manylinux'],
  },
  {
    code: 'bnb',
    severity: 'error',
    title: 'bitsandbytes does not fit the CUDA version',
    patterns: [
      { kind: 'phrase', re: /CUDA Setup failed despite (?:CUDA|GPU) being available/i },
      { kind: 'capture', re: /(?<library>libbitsandbytes_cuda\d+\w*\.(?:so|dll))/i },
    ],
    cause: ({ got }) =>
      `${got.library ?? 'The library for the installed CUDA variant'} is not part of the installed bitsandbytes.`,
    fix: () => [
      safe(
        'Install a current version; it holds all CUDA variants.',
        'python',
        '-m',
        'pip',
        'install',
        '--upgrade',
        'bitsandbytes',
      ),
      run('Let it check itself.', 'python', '-m', 'bitsandbytes'),
    ],
    links: ['https://huggingface.co/docs/bitsandbytes/main/en/installation', UV],
  },
];
