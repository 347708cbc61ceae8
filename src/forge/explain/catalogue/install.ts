// Faults of installing: Python, pip, uv, conda and the network.

import { GPU_DISTRIBUTION } from '../packages.ts';
import { capture, code, phrase, symptom } from '../patterns.ts';
import { asRoot, frameworkNamed, frameworkOf, reinstall, run, safe, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

const GPU_PACKAGE = new RegExp(`(?:${GPU_DISTRIBUTION})(?![\\w-])`);

/** The name of a package without its version and extras. */
const bare = (requirement: string): string => /^[\w.-]+/.exec(requirement)?.[0] ?? 'PACKAGE';

export const installClasses: readonly ErrorClass[] = [
  {
    code: 'no-matching-dist',
    severity: 'error',
    title: 'No wheel fits this Python or this system',
    patterns: [
      capture(
        new RegExp(
          `(?:No matching distribution found for|Could not find a version that satisfies the requirement) (?<package>${GPU_PACKAGE.source}(?:\\[[\\w,-]+\\])?(?:[=<>~!]=?[\\w.+*]+)?)`,
          'i',
        ),
      ),
      phrase(
        /\b(?:torch|CUDA)\b[^\n]{0,30}\bwheels?\b[^\n]{0,20}\b(?:not available|missing|unavailable)\b[^\n]{0,20}\bPython\b/i,
      ),
      capture(
        /Because (?<package>[\w.-]+)\S* has no wheels with a matching (?<what>Python (?:version|implementation|ABI)|platform)/i,
      ),
      capture(/has no wheels with a matching (?<what>Python (?:version|implementation|ABI)|platform)/i),
      capture(
        /Distribution `(?<package>[\w.-]+==[\w.+]+)[^`]*` can't be installed because it doesn't have a source distribution or wheel for the current platform/i,
      ),
      phrase(/(?:doesn't have a source distribution or|has no|no) (?:compatible )?wheels? for the current platform/i),
      phrase(/does not (?:currently )?(?:build|provide|publish|have) (?:\w+ )?wheels for/i),
      capture(/(?<package>\S+\.whl) is not a supported wheel on this platform/i),
      capture(
        new RegExp(
          `(?<package>${GPU_PACKAGE.source}[^\\n]{0,30}) requires a different Python|Package '(?<name>${GPU_PACKAGE.source})' requires a different Python`,
          'i',
        ),
      ),
      capture(new RegExp(`Because there (?:is|are) no versions? of (?<package>${GPU_PACKAGE.source}[^\\s,]*)`, 'i')),
      capture(new RegExp(`Because only the following versions of (?<package>${GPU_PACKAGE.source})`, 'i')),
      capture(
        new RegExp(
          `Because (?<package>${GPU_PACKAGE.source})\\S* was not found in the (?:package registry|provided package locations)`,
          'i',
        ),
      ),
      capture(
        new RegExp(`(?<package>${GPU_PACKAGE.source}) [\\d.]\\S* does not provide the extra '(?<extra>[\\w-]+)'`, 'i'),
      ),
      capture(new RegExp(`Couldn't install (?<package>${GPU_PACKAGE.source})\\b`, 'i')),
      capture(/we only found wheels for `(?<package>[\w.-]+)`|`(?<name>[\w.-]+)`[^\n]*only has wheels (?:for|with)/i),
      capture(new RegExp(`No matching distribution found for (?<package>\\S+) \\(from ${GPU_PACKAGE.source}`, 'i')),
    ],
    cause: ({ got }) =>
      `${got.package ?? got.name ?? 'The package'} has no wheel for this ${got.what ?? 'Python or platform'}${got.python ? ` (Python ${got.python})` : ''}, or the index does not carry it.`,
    fix: (context) => {
      const name = context.got.package ?? context.got.name ?? '';
      const framework = frameworkNamed(name) ?? frameworkOf(context.software);
      if (framework === undefined)
        return [
          say('Its page on pypi.org lists the wheels: take a Python and a system that one of them is for.'),
          run('See which versions fit this Python.', 'python', '-m', 'pip', 'index', 'versions', bare(name)),
        ];
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
    code: 'pip-conflict',
    severity: 'error',
    title: 'Packages ask for versions that exclude each other',
    patterns: [
      code(/\bResolutionImpossible\b/),
      capture(
        new RegExp(
          `Cannot install [^\\n]*\\b(?<package>${GPU_PACKAGE.source})[^\\n]*because these package versions have conflicting`,
          'i',
        ),
      ),
      capture(
        new RegExp(
          `The conflict is caused by:(?:\\n[^\\n]*){0,4}?\\n\\s*(?:The user requested|(?<first>[\\w.-]+)\\S* \\S+ depends on) (?<package>${GPU_PACKAGE.source})`,
          'i',
        ),
      ),
      capture(
        new RegExp(
          `The user requested (?<package>${GPU_PACKAGE.source})[^\\n]*\\n\\s*(?<first>[\\w.-]+) \\S+ depends on`,
          'i',
        ),
      ),
      capture(
        new RegExp(
          `(?<first>[\\w.-]+) [\\d.]\\S* requires (?<package>${GPU_PACKAGE.source})[^\\n]{0,120}?, but you have (?<have>[^\\n]+?) which is incompatible`,
          'i',
        ),
      ),
      capture(
        /(?<first>(?:torch|tensorflow|jax|mxnet|cupy|cudf|numba|paddle|onnx|nvidia)[\w.-]*) \S+ has requirement (?<package>[\w-]+)[^\n]*, but you'll have (?<have>[^\n]+?) which is incompatible/i,
      ),
      capture(
        new RegExp(
          `No solution found when resolving[\\s\\S]{0,300}?depends? on (?<package>${GPU_PACKAGE.source})`,
          'i',
        ),
      ),
      capture(
        new RegExp(
          `Because (?<package>${GPU_PACKAGE.source})\\S* depends on [^\\n]*(?:we can conclude|cannot be used|incompatible)`,
          'i',
        ),
      ),
      symptom(
        /we\s+can\s+conclude\s+that\s+your\s+(?:project's\s+)?requirements\s+are\s+(?:unsatisfiable|incompatible)/i,
      ),
      symptom(/pip's dependency resolver does not currently take into account all the packages that are installed/i),
    ],
    cause: ({ got }) =>
      got.have
        ? `${got.first} wants another ${got.package} than the installed ${got.have}.`
        : 'Two packages want different versions of a third, often of torch or numpy.',
    fix: (context) => [
      say('Start from an empty environment and install the framework and the packages in one command.'),
      ...reinstall(context),
      run('Or let a solver write the whole set.', 'gpuforge', 'env', 'NAME', '--format', 'uv,verify'),
    ],
    links: ['https://pip.pypa.io/en/stable/topics/dependency-resolution/'],
  },
  {
    code: 'framework-missing',
    severity: 'error',
    title: 'The framework is not installed in this Python',
    patterns: [
      capture(
        /No module named ['"](?<module>torch\w*|_?pywrap_tensorflow\w*|tensorflow\w*|tensorrt\w*|jax\w*|onnx\w*|cu(?:py|df|ml|graph|spatial|dnn|da)\w*|pycuda|dask_cud\w+|pynv\w*|nvidia\w*|rmm|numba\w*|xformers|bitsandbytes|deepspeed|vllm|sgl\w*|flashinfer|llama_cpp|ctranslate2|intel_extension\w*|paddle\w*|mxnet|dgl\w*|auto_gptq|gptqmodel|awq|mamba_ssm|apex|spconv|detectron2|mmcv|pytorch3d|kaolin|nvdiffrast\w*)['"]/i,
      ),
      capture(
        new RegExp(
          `PackageNotFoundError: (?:No package metadata was found for )?(?<module>${GPU_DISTRIBUTION})(?![\\w-])`,
          'i',
        ),
      ),
      capture(/No module named (?<module>torch|tensorflow|jax|cupy|onnxruntime|tensorrt|pycuda)\b/),
      capture(
        /\b(?:[Ee]rror|[Cc]annot)\b[^\n]*\b(?<module>[Cc]u[Pp]y|[Pp]y[Tt]orch|[Tt]ensor[Ff]low|JAX) is not installed/,
      ),
    ],
    unless: /\bUserWarning\b/,
    cause: ({ got }) =>
      `${got.module ?? 'The package'} is missing in the Python that ran: another environment is active, or it was never installed.`,
    fix: (context) => [
      run('See which Python runs.', 'python', '-c', 'import sys; print(sys.executable)'),
      ...(context.got.module && /^(?:torch|tensorflow|jax)/.test(context.got.module)
        ? reinstall(context, frameworkNamed(context.got.module))
        : [run('Install it there.', 'python', '-m', 'pip', 'install', context.got.module ?? 'PACKAGE')]),
    ],
    links: ['https://pytorch.org/get-started/locally/'],
  },
  {
    code: 'long-path',
    severity: 'error',
    title: 'A path is longer than Windows allows',
    patterns: [
      phrase(
        /enable Windows Long Path support|Windows Long Path support enabled|path (?:is )?too long|Filename too long/i,
      ),
      capture(/No such file or directory: ['"](?<path>[A-Za-z]:(?:\\{1,2}[^\\'"\n]+){6,}\\{1,2}[^\\'"\n]{40,})['"]/),
    ],
    explains: ['build-failed', 'win-dll'],
    cause: () =>
      'Packages with deep folders (flash-attn, CUTLASS) go past the 260 characters that Windows allows by default.',
    fix: () => [
      asRoot(
        'Allow long paths: set LongPathsEnabled to 1 under HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem, then restart.',
      ),
      say(
        'Or shorten the way there: set TEMP to a folder such as C:\\t; for git: git config --system core.longpaths true.',
      ),
    ],
    links: ['https://pip.pypa.io/warnings/enable-long-paths'],
  },
  {
    code: 'pep668',
    severity: 'error',
    title: 'The system Python refuses installs',
    patterns: [code(/externally-managed-environment|\bis externally managed\b/i)],
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
      code(/\bReadTimeoutError\b|\bIncompleteRead\(|\bHashMismatch\b|\bProtocolError\b[^\n]*Connection broken/),
      phrase(
        /\bFailed to fetch \S*(?:nvidia|cuda|cudnn|\bcu\w+|rocm|amdgpu|intel)\S*[^\n]*(?:Hash Sum mismatch|Connection (?:failed|timed out)|Undetermined Error)/i,
      ),
      phrase(/THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE/),
      phrase(/Failed to download distribution due to network timeout\. Try increasing UV_HTTP_TIMEOUT/i),
      phrase(
        /HTTPSConnectionPool\([^\n]*(?:download\.pytorch\.org|pypi\.org|files\.pythonhosted|conda\.anaconda|huggingface\.co)[^\n]*(?:Max retries|timed out)/i,
      ),
      phrase(
        /(?:CondaHTTPError|Failed to fetch: `https:\/\/download\.pytorch|error sending request for url[^\n]*(?:pytorch|pypi))/i,
      ),
      phrase(
        /CERTIFICATE_VERIFY_FAILED[^\n]*(?:pytorch|nvidia|pypi|conda|hugging)|(?:pytorch|nvidia|pypi|conda|hugging)[^\n]*CERTIFICATE_VERIFY_FAILED/i,
      ),
    ],
    cause: () => 'The connection ended too early, or what came is not what was announced.',
    fix: ({ line }) =>
      /\bFailed to fetch (?:file|https?):/.test(line)
        ? [
            asRoot('Throw away what came only in part.', 'apt-get', 'clean'),
            asRoot('Read the lists anew, then install again.', 'apt-get', 'update'),
          ]
        : [
            safe('Try again with more patience.', 'env', 'UV_HTTP_TIMEOUT=300', 'uv', 'sync'),
            run(
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
            run('A mirror that is nearer.', 'gpuforge', 'config', 'set', 'mirrors.pypi', 'https://MIRROR/simple'),
          ],
    links: ['https://docs.astral.sh/uv/reference/environment/'],
  },
  {
    code: 'conda-unsat',
    severity: 'error',
    title: 'conda cannot meet the request',
    patterns: [
      code(/\b(?:LibMamba)?UnsatisfiableError\b/),
      capture(/nothing provides (?:requested )?(?<what>__cuda\S*)/i),
      capture(/nothing provides (?:requested )?(?<what>\S+)[^\n]* needed by \S+/i),
      code(/\b(?:PackagesNotFoundError|ResolvePackageNotFound|DependencyNeedsBuildingError)\b/),
      capture(
        /(?<what>__cuda[^\n]{0,20}),? (?:but|which|is) (?:there are no|conflicts|missing)|feature:\|@\/linux-64::__cuda/i,
      ),
      capture(/package (?<what>\S+) has constraint [^\n]* conflicting with/i),
      phrase(/Could not solve for environment specs|\bconflicts? with any installable versions? previously reported/i),
      symptom(/Found conflicts! Looking for incompatible packages/i),
      symptom(/Solving environment: failed(?! with (?:initial frozen|repodata|current))/i),
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
    patterns: [phrase(/\bconda: (?:command )?not found|command not found: conda|'conda' is not recognized as/i)],
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
      code(/CondaToSNonInteractiveError/),
      phrase(/Terms of Service have not been accepted for the following channels/i),
    ],
    cause: () => 'The default channels ask for a licence; conda-forge does not.',
    fix: () => [
      run('Use conda-forge alone.', 'conda', 'config', '--remove', 'channels', 'defaults'),
      run('And add it.', 'conda', 'config', '--add', 'channels', 'conda-forge'),
    ],
    links: ['https://conda-forge.org/docs/user/faq/'],
  },
  {
    code: 'numpy2',
    severity: 'error',
    title: 'A package was built for another NumPy',
    patterns: [
      capture(/compiled using NumPy 1\.x cannot be run in\s+NumPy (?<numpy>[\d.]+)/i),
      phrase(/_ARRAY_API not found|module compiled against API version 0x\w+ but this version of numpy is/i),
      phrase(/numpy\.dtype size changed, may indicate binary incompatibility/i),
      capture(
        /module 'numpy' has no attribute '(?<name>bool8|float_|complex_|unicode_|string_|NaN|Inf|infty|product|cumproduct|row_stack|in1d|trapz|alltrue|sometrue|round_|asfarray|mat|sctypes)'|`?np\.(?<removed>\w+)`? was removed in the NumPy 2\.0 release/i,
      ),
      phrase(/numpy\.core\.multiarray failed to import|RuntimeError: Numpy is not available/i),
      capture(
        /(?:needs|requires) NumPy (?<numpy>[\d.]+) or less|numpy[<=]=?(?<wanted>[\d.]+)[^\n]{0,40}(?:but you have|is required)/i,
      ),
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
    title: 'The distribution is older than the build',
    patterns: [
      capture(/version [`'"]?(?<symbol>(?:GLIBC(?:XX)?|CXXABI)_[\d.]+)['"`]? not found/i),
      capture(/(?<symbol>GLIBC(?:XX)?_[\d.]+) (?:is )?(?:required|not found)/i),
    ],
    explains: ['bnb', 'abi-symbol', 'extension-missing'],
    cause: ({ got, facts }) => {
      const libc = facts && 'source' in facts.machine.host.glibc ? facts.machine.host.glibc.value : undefined;
      return `The build needs ${got.symbol ?? 'a newer C library'}${libc ? `; this system has glibc ${libc}` : ''}. Current wheels are built for glibc 2.28 and newer.`;
    },
    fix: ({ got }) => [
      ...(got.symbol?.startsWith('GLIBCXX') || got.symbol?.startsWith('CXXABI')
        ? [run('libstdc++ alone can come from conda-forge.', 'conda', 'install', '-c', 'conda-forge', 'libstdcxx-ng')]
        : []),
      say('Use a newer distribution, or a container: gpuforge env NAME --format docker writes one.'),
    ],
    links: ['https://github.com/pypa/manylinux'],
  },
];
