// The steps that several classes share, and how a list of steps is made to fit the system it is for.

import type { Framework } from '../data/schemas.ts';
import { type ComputeCapability, compareCc, compareVersions, factValue, type Platform } from '../machine.ts';
import { nameOf } from '../resolve/wheels.ts';
import type { Context, RepairStep, Software } from './types.ts';

export const say = (text: string): RepairStep => ({ text, needsRoot: false, automatic: false });
export const run = (text: string, ...command: string[]): RepairStep => ({
  text,
  command,
  needsRoot: false,
  automatic: false,
});
export const asRoot = (text: string, ...command: string[]): RepairStep =>
  command.length > 0
    ? { text, command, needsRoot: true, automatic: false }
    : { text, needsRoot: true, automatic: false };
/** Safe to automate after a dry run. Holds no placeholder: what stands there is what runs. */
export const safe = (text: string, ...command: string[]): RepairStep => ({
  text,
  command,
  needsRoot: false,
  automatic: true,
});

const pip = (...args: string[]): readonly [string, ...string[]] => ['python', '-m', 'pip', 'install', ...args];
export const install = (text: string, ...packages: string[]): RepairStep =>
  safe(text, ...pip('--upgrade', ...packages));

/** The framework whose build decides; undefined for programs that bring their own. */
export function frameworkOf(software: Software | undefined): Framework | undefined {
  return software === 'tensorflow' || software === 'jax' || software === 'pytorch' ? software : undefined;
}

/** The framework that a package belongs to, by its name. */
export const frameworkNamed = (name: string): Framework | undefined =>
  /tensorflow/i.test(name) ? 'tensorflow' : /jax/i.test(name) ? 'jax' : /torch/i.test(name) ? 'pytorch' : undefined;

/** Installs the build that fits this machine; without the machine's facts, how to find it. */
export function reinstall(context: Context, wanted?: Framework): readonly RepairStep[] {
  const { software } = context;
  if (wanted === undefined && software !== undefined && frameworkOf(software) === undefined) {
    const own = programs[software as keyof typeof programs];
    return own(context);
  }
  const framework = wanted ?? frameworkOf(software) ?? 'pytorch';
  const result = context.resolve(framework);
  if (!result)
    return [
      run(
        `Find the build that fits the GPU and the driver, then install it.`,
        'gpuforge',
        'resolve',
        '--framework',
        framework,
      ),
    ];
  if (result.status === 'none') {
    return [say(result.reason), ...result.waysOut.slice(0, 3).map((way) => say(`Way out: ${way.text}.`))];
  }
  const { choice } = result;
  const specs = choice.requirements.map(
    (row) => `${row.name}${row.extras.length > 0 ? `[${row.extras.join(',')}]` : ''}${row.spec}`,
  );
  const index = choice.index ? ['--extra-index-url', choice.index.url] : [];
  return [
    safe(
      `Install ${nameOf(choice)}, the build that fits this machine (${result.summary}).`,
      ...pip('--force-reinstall', ...index, ...specs),
    ),
  ];
}

/** CUDA 13 packages need driver 580; below it, and where the driver is unknown, the CUDA 12 ones. */
const cudaMajor = ({ facts }: Context): 12 | 13 =>
  facts?.driver !== undefined && compareVersions(facts.driver, '580') >= 0 && !below(lowestCc(facts), 7, 5) ? 13 : 12;

const lowestCc = (facts: Context['facts']): ComputeCapability | undefined =>
  facts?.machine.gpus
    .map((gpu) => factValue(gpu.computeCapability))
    .filter((cc): cc is ComputeCapability => cc !== undefined)
    .reduce<ComputeCapability | undefined>(
      (low, cc) => (low === undefined || compareCc(cc, low) < 0 ? cc : low),
      undefined,
    );

const below = (cc: ComputeCapability | undefined, major: number, minor: number): boolean =>
  cc !== undefined && compareCc(cc, { major, minor }) < 0;

const programs = {
  ollama: () => [
    say('Update Ollama: each release brings its own CUDA and ROCm libraries.'),
    run('Then read which library it picked and why.', 'ollama', 'serve'),
  ],
  'llama.cpp': (context) => {
    const cc = lowestCc(context.facts);
    return [
      run(
        `Build it for this GPU${cc ? '' : '; the number is its compute capability without the point'}.`,
        'cmake',
        '-B',
        'build',
        ...(context.vendor === 'amd' ? ['-DGGML_HIP=ON'] : ['-DGGML_CUDA=ON']),
        ...(context.vendor === 'amd'
          ? [`-DGPU_TARGETS=${context.got.gfx ?? 'native'}`]
          : [`-DCMAKE_CUDA_ARCHITECTURES=${cc ? `${cc.major}${cc.minor}` : 'native'}`]),
      ),
      run('And compile.', 'cmake', '--build', 'build', '--config', 'Release'),
    ];
  },
  vllm: () => [
    run(
      'vLLM pins its own torch: install both together, into a fresh environment.',
      'uv',
      'pip',
      'install',
      '--upgrade',
      'vllm',
      '--torch-backend=auto',
    ),
  ],
  onnxruntime: () => [
    safe(
      'Only one of the packages may be installed.',
      'python',
      '-m',
      'pip',
      'uninstall',
      '-y',
      'onnxruntime',
      'onnxruntime-gpu',
    ),
    safe(
      'Install the GPU package with the CUDA and cuDNN libraries that it needs.',
      ...pip('onnxruntime-gpu[cuda,cudnn]'),
    ),
  ],
  cupy: (context) => [
    context.vendor === 'amd'
      ? say('Install the CuPy wheel for your ROCm version: cupy-rocm-6-0 or newer.')
      : safe(
          `Install the CuPy wheel for CUDA ${cudaMajor(context)}, with its libraries.`,
          ...pip('--upgrade', `cupy-cuda${cudaMajor(context)}x[ctk]`),
        ),
  ],
  numba: (context) => [
    install('Install the CUDA target of Numba with its libraries.', `numba-cuda[cu${cudaMajor(context)}]`),
  ],
} satisfies Readonly<Record<Exclude<Software, Framework>, (context: Context) => readonly RepairStep[]>>;

const python = (program: string): readonly [string, ...string[]] => ['python', '-c', program];
const TORCH = python('import torch; print(torch.cuda.is_available())');

const PROBES: Readonly<Record<Software, readonly [string, ...string[]]>> = {
  pytorch: TORCH,
  vllm: TORCH,
  tensorflow: python('import tensorflow as tf; print(tf.config.list_physical_devices("GPU"))'),
  jax: python('import jax; print(jax.devices())'),
  onnxruntime: python('import onnxruntime; print(onnxruntime.get_available_providers())'),
  cupy: python('import cupy; cupy.show_config()'),
  numba: python('from numba import cuda; cuda.detect()'),
  ollama: ['ollama', 'serve'],
  'llama.cpp': ['llama-server', '--list-devices'],
};

/** How the program of the error is asked for a GPU. */
export const probe = ({ software }: Context): readonly [string, ...string[]] => PROBES[software ?? 'pytorch'];

/** Asks without a variable. Only a question in Python ends by itself, so only that may be automated. */
export const unset = (context: Context, variable: string, text: string): RepairStep => {
  const [program, ...rest] = probe(context);
  return (program === 'python' ? safe : run)(text, 'env', '-u', variable, program, ...rest);
};

const APPLE_MEMORY = 'Close other programs: the GPU shares the memory of the Mac (Activity Monitor shows who uses it).';
const MEMORY: Readonly<Record<'nvidia' | 'amd' | 'intel', readonly [string, ...string[]]>> = {
  nvidia: ['nvidia-smi'],
  amd: ['rocm-smi', '--showmeminfo', 'vram'],
  intel: ['xpu-smi', 'ps'],
};
/** Who uses the memory of the GPU, asked with the tool of its vendor. */
export const watchMemory = ({ vendor }: Context, text = 'See what else uses the memory.'): RepairStep =>
  vendor === 'apple'
    ? say(APPLE_MEMORY)
    : run(text, ...MEMORY[vendor === 'amd' || vendor === 'intel' ? vendor : 'nvidia']);

/** How a driver gets onto the system of the error. */
export function installDriver(context: Context): readonly RepairStep[] {
  if (context.os === 'windows')
    return [
      say('Install the current driver from nvidia.com/drivers, or with the NVIDIA app, then restart.'),
      run('Then look again.', 'nvidia-smi'),
    ];
  if (context.facts?.wsl)
    return [say('Install the driver in Windows only; never a Linux driver inside WSL. Then run: wsl --shutdown.')];
  if (context.facts?.inContainer)
    return [
      say(
        'The host has the driver, the container must get it: docker run --gpus all, with the NVIDIA container toolkit.',
      ),
    ];
  return [
    asRoot('Install the driver: R580 for Maxwell, Pascal and Volta; R595 or newer otherwise.'),
    run('Then look again.', 'gpuforge', 'doctor'),
  ];
}

/** " (found: RTX 4090, driver 570)" or nothing. */
export function here(context: Context): string {
  const { facts } = context;
  if (!facts || facts.gpus.length === 0) return '';
  return ` (found: ${facts.gpus.join(', ')}${facts.driver ? `, driver ${facts.driver}` : ''})`;
}

/** Programs that exist on Linux only. */
const LINUX_ONLY = new Set([
  'amdgpu-install',
  'apt-get',
  'df',
  'dkms',
  'dmesg',
  'ldconfig',
  'lspci',
  'modprobe',
  'mokutil',
  'nvidia-ctk',
  'reboot',
  'rmmod',
  'scontrol',
  'sinfo',
  'slurmd',
  'systemctl',
  'uname',
  'update-initramfs',
  'usermod',
  'vainfo',
]);
const NOT_ON_MAC = new Set([...LINUX_ONLY, 'nvidia-smi', 'rocm-smi', 'xpu-smi', 'compute-sanitizer']);

/** The steps that can be done on this system, spelled for it. */
export function fitSteps(steps: readonly RepairStep[], os: Platform | undefined): readonly RepairStep[] {
  if (os !== 'windows' && os !== 'macos') return steps;
  const missing = os === 'windows' ? LINUX_ONLY : NOT_ON_MAC;
  const fitting = steps.flatMap((step) => {
    const program = step.command?.[0];
    if (program !== undefined && missing.has(program)) return [];
    return os === 'windows' && program === 'env' ? onWindows(step) : [step];
  });
  return fitting.length > 0
    ? fitting
    : [run('See what this machine has and what blocks it.', 'gpuforge', 'doctor', '-v')];
}

/** `env NAME=value program` and `env -u NAME program`, as PowerShell does them. */
function onWindows(step: RepairStep): readonly RepairStep[] {
  const words = [...(step.command ?? []).slice(1)];
  const before: string[] = [];
  while (words.length > 0) {
    const [word = ''] = words;
    if (word === '-u') {
      const name = words[1] ?? '';
      if (name === 'LD_LIBRARY_PATH') return [];
      before.push(`Remove-Item Env:${name}`);
      words.splice(0, 2);
    } else if (/^[A-Z_]\w*=/.test(word)) {
      const at = word.indexOf('=');
      before.push(`$env:${word.slice(0, at)} = "${word.slice(at + 1)}"`);
      words.shift();
    } else break;
  }
  return [
    { ...step, text: `${step.text} In PowerShell first: ${before.join('; ')}.`, command: words, automatic: false },
  ];
}
