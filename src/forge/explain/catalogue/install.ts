// Faults of installing: Python, pip, uv, conda, disk and network; and of the frameworks finding their GPU parts.

import { reinstall, run, safe, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

export const installClasses: readonly ErrorClass[] = [
  {
    code: 'no-matching-dist',
    severity: 'error',
    title: 'No wheel fits this Python or this index',
    patterns: [
      {
        kind: 'capture',
        re: /No matching distribution found for (?<package>(?:torch(?:vision|audio)?|tensorflow|jax(?:lib)?)(?:\[[\w,-]+\])?(?:[=<>~!]=?[\w.+*]+)?)/i,
      },
      { kind: 'capture', re: /has no wheels with a matching (?<what>Python (?:version|implementation|ABI)|platform)/i },
    ],
    cause: ({ got }) =>
      `${got.package ?? 'The package'} has no wheel for this ${got.what ?? 'Python or platform'}${got.python ? ` (Python ${got.python})` : ''}, or the index does not carry it.`,
    fix: (context) => {
      const framework = /tensorflow/i.test(context.got.package ?? '')
        ? 'tensorflow'
        : /jax/i.test(context.got.package ?? '')
          ? 'jax'
          : 'pytorch';
      const result = context.resolve(framework);
      if (result?.status !== 'ok')
        return [run('Ask which Python and index do match.', 'gpuforge', 'resolve', '--framework', framework)];
      const { choice } = result;
      return [
        safe(
          `Make an environment with Python ${choice.python}; ${choice.pythonRange.join(' to ')} fit.`,
          'uv',
          'venv',
          '--python',
          choice.python,
        ),
        ...reinstall(context, framework),
      ];
    },
    links: ['https://pytorch.org/get-started/locally/'],
  },
  {
    code: 'pep668',
    severity: 'error',
    title: 'The system Python refuses installs',
    patterns: [{ kind: 'code', re: /externally-managed-environment/i }],
    cause: () => 'The distribution manages this Python (PEP 668); pip may not change it.',
    fix: () => [
      safe('Make a virtual environment.', 'python3', '-m', 'venv', '.venv'),
      safe('Or let uv make one.', 'uv', 'venv'),
    ],
    links: ['https://peps.python.org/pep-0668/'],
  },
  {
    code: 'hash-timeouts',
    severity: 'warning',
    title: 'The download broke',
    patterns: [
      { kind: 'code', re: /\bReadTimeoutError\b|\bIncompleteRead\(|\bHashMismatch\b/ },
      { kind: 'phrase', re: /THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE/ },
      {
        kind: 'phrase',
        re: /Failed to download distribution due to network timeout\. Try increasing UV_HTTP_TIMEOUT/i,
      },
    ],
    cause: () => 'The connection ended too early, or what came is not what was announced.',
    fix: () => [
      safe('Try again with more patience.', 'env', 'UV_HTTP_TIMEOUT=300', 'uv', 'sync'),
      safe(
        'pip has an option for it.',
        'python',
        '-m',
        'pip',
        'install',
        '--timeout',
        '120',
        '--retries',
        '10',
        '-r',
        'requirements.txt',
      ),
      run('A mirror that is nearer.', 'gpuforge', 'config', 'set', 'mirrors.pypi', 'https://…'),
    ],
    links: ['https://docs.astral.sh/uv/reference/environment/'],
  },
  {
    code: 'disk-full',
    severity: 'critical',
    title: 'The disk is full',
    patterns: [
      { kind: 'phrase', re: /No space left on device/i },
      { kind: 'code', re: /\[Errno 28\]|\bENOSPC\b/ },
    ],
    cause: () => 'The disk, or the folder for temporary files, has no room left; CUDA builds take several gigabytes.',
    fix: () => [
      run('See what is full.', 'df', '-h'),
      run('Empty the package caches, if you agree.', 'uv', 'cache', 'clean'),
      run('pip has one too.', 'python', '-m', 'pip', 'cache', 'purge'),
      say('If only /tmp is small, point TMPDIR at a larger folder.'),
    ],
    links: ['https://docs.astral.sh/uv/concepts/cache/'],
  },
  {
    code: 'conda-unsat',
    severity: 'error',
    title: 'conda cannot meet the request',
    patterns: [
      { kind: 'code', re: /\b(?:LibMamba)?UnsatisfiableError\b/ },
      { kind: 'capture', re: /nothing provides (?:requested )?(?<what>__cuda\S*)/i },
    ],
    cause: ({ got }) =>
      got.what
        ? `No CUDA driver is visible to conda (${got.what}), so GPU packages are ruled out.`
        : 'The packages exclude each other, or come from channels that do not fit together.',
    fix: (context) => {
      const cuda = context.facts?.machine.drivers.nvidia?.cuda;
      const version = cuda && 'source' in cuda ? cuda.value : '12.8';
      return [
        safe(
          'Where no GPU is visible, say which CUDA the target has.',
          'env',
          `CONDA_OVERRIDE_CUDA=${version}`,
          'conda',
          'env',
          'create',
          '-f',
          'environment.yml',
        ),
        say('Use conda-forge alone, without the pytorch and nvidia channels.'),
      ];
    },
    links: ['https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html'],
  },
  {
    code: 'conda-missing',
    severity: 'error',
    title: 'conda is not installed',
    patterns: [
      { kind: 'phrase', re: /\bconda: (?:command )?not found|command not found: conda|'conda' is not recognized as/i },
    ],
    cause: () => 'No conda is on the path.',
    fix: () => [
      run('Install Miniforge, or write files for uv instead.', 'gpuforge', 'env', 'NAME', '--format', 'uv,verify'),
    ],
    links: ['https://github.com/conda-forge/miniforge'],
  },
  {
    code: 'conda-tos',
    severity: 'error',
    title: "The terms of Anaconda's channels are not accepted",
    patterns: [
      { kind: 'code', re: /CondaToSNonInteractiveError/ },
      { kind: 'phrase', re: /Terms of Service have not been accepted for the following channels/i },
    ],
    cause: () => 'The default channels ask for a licence; conda-forge does not.',
    fix: () => [
      run('Use conda-forge alone.', 'conda', 'config', '--remove', 'channels', 'defaults'),
      run('And add it.', 'conda', 'config', '--add', 'channels', 'conda-forge'),
    ],
    links: ['https://conda-forge.org/docs/user/faq/'],
  },
  {
    code: 'tf-no-gpu',
    severity: 'warning',
    title: 'TensorFlow runs without the GPU',
    patterns: [
      { kind: 'phrase', re: /Could not find cuda drivers on your machine, GPU will not be used/i },
      { kind: 'phrase', re: /Cannot dlopen some GPU libraries/i },
    ],
    cause: (context) =>
      context.facts?.machine.host.platform === 'windows'
        ? 'TensorFlow has no GPU build for Windows since 2.11; WSL2 has.'
        : 'TensorFlow finds no CUDA libraries: they come with tensorflow[and-cuda].',
    fix: (context) => reinstall(context, 'tensorflow'),
    links: ['https://www.tensorflow.org/install/pip'],
  },
  {
    code: 'jax-plugin-mix',
    severity: 'error',
    title: 'Parts of JAX do not fit together',
    patterns: [
      { kind: 'capture', re: /PJRT[^\n]*(?:already registered|version mismatch|is not compatible)/i },
      {
        kind: 'capture',
        re: /jaxlib version (?<jaxlib>[\d.]+) is newer than and incompatible with jax version (?<jax>[\d.]+)/i,
      },
      { kind: 'phrase', re: /jaxlib version [\d.]+ is newer/i },
    ],
    cause: ({ got }) =>
      got.jaxlib
        ? `jaxlib ${got.jaxlib} and jax ${got.jax} are of different versions.`
        : 'The cuda12 and cuda13 plugins are in one environment, or plugin and jaxlib differ.',
    fix: (context) => [
      safe(
        'Remove both plugin sets.',
        'python',
        '-m',
        'pip',
        'uninstall',
        '-y',
        'jax-cuda12-plugin',
        'jax-cuda12-pjrt',
        'jax-cuda13-plugin',
        'jax-cuda13-pjrt',
        'jaxlib',
        'jax',
      ),
      ...reinstall(context, 'jax'),
    ],
    links: ['https://docs.jax.dev/en/latest/installation.html'],
  },
  {
    code: 'jax-no-gpu',
    severity: 'warning',
    title: 'JAX runs without the GPU',
    patterns: [
      {
        kind: 'phrase',
        re: /An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed/i,
      },
    ],
    cause: () => 'Only the CPU part of JAX is installed.',
    fix: (context) => reinstall(context, 'jax'),
    links: ['https://docs.jax.dev/en/latest/installation.html'],
  },
  {
    code: 'host-oom',
    severity: 'warning',
    title: 'The memory of the computer is full',
    patterns: [
      {
        kind: 'capture',
        re: /DefaultCPUAllocator: (?:not enough memory|can't allocate memory)(?:: you tried to allocate (?<bytes>\d+) bytes)?/i,
      },
      {
        kind: 'capture',
        re: /Out of memory: Killed process (?<pid>\d+) \((?<process>[^)]+)\)|oom-kill:[^\n]*task=(?<task>[\w.-]+)/i,
      },
      {
        kind: 'weak',
        re: /^(?:.*: line \d+:\s+\d+ )?Killed(?:\s+(?:python|torchrun|accelerate|uv|pip|jupyter)\b.*)?$/m,
      },
      { kind: 'weak', re: /(?:exit(?:ed)?(?: with)?(?: code| status)?:? |returned )137\b/i },
    ],
    cause: ({ got }) =>
      got.bytes
        ? `The program asked for ${(Number(got.bytes) / 1024 ** 3).toFixed(1)} GiB of main memory.`
        : 'The system ended the process because main memory ran out (exit status 137).',
    fix: () => [
      run('Confirm it in the kernel log.', 'dmesg', '--ctime'),
      say('Fewer DataLoader workers, a smaller batch, or load the weights in parts (low_cpu_mem_usage=True).'),
    ],
    links: ['https://docs.kernel.org/admin-guide/mm/concepts.html'],
  },
];
