// Faults of AMD, Intel and Apple GPUs, of containers, WSL and of graphics drivers used for computing.

import { asRoot, here, reinstall, run, safe, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

const ROCM = 'https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/quick-start.html';
const TOOLKIT = 'https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html';

export const platformClasses: readonly ErrorClass[] = [
  {
    code: 'hip-invalid-fn',
    severity: 'error',
    title: 'The build has no kernels for this AMD GPU',
    patterns: [
      { kind: 'code', re: /hipErrorNoBinaryForGpu|hipErrorInvalidDeviceFunction/ },
      { kind: 'phrase', re: /HIP error: (?:invalid device function|no kernel image is available)/i },
      { kind: 'capture', re: /no kernel image[^\n]*(?<gfx>gfx[0-9a-f]{3,4})/i },
    ],
    cause: (context) =>
      `The wheel holds no kernels for ${context.got.gfx ?? 'the gfx target of this GPU'}${here(context)}.`,
    fix: (context) => [
      ...reinstall(context),
      say(
        'HSA_OVERRIDE_GFX_VERSION makes a near relative pass as supported; AMD does not support it and it can crash, so only as a last resort.',
      ),
    ],
    links: ['https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html'],
  },
  {
    code: 'hip-perm',
    severity: 'error',
    title: 'The user may not open the AMD GPU',
    patterns: [
      { kind: 'capture', re: /\/dev\/kfd[^\n]*Permission denied|Permission denied[^\n]*\/dev\/kfd/i },
      { kind: 'capture', re: /hsa_init[^\n]*(?:HSA_STATUS_ERROR_OUT_OF_RESOURCES|ROCR_\w+)/i },
      { kind: 'phrase', re: /is not member of "(?:render|video)" group/i },
    ],
    cause: () => '/dev/kfd and /dev/dri/renderD* are open to the groups render and video only.',
    fix: () => [
      asRoot('Join the groups, then log in again.', 'usermod', '-aG', 'render,video', 'YOUR_USER'),
      say('In a container: --device=/dev/kfd --device=/dev/dri --group-add=render --group-add=video.'),
    ],
    links: [ROCM],
  },
  {
    code: 'hip-none',
    severity: 'error',
    title: 'ROCm sees no GPU',
    patterns: [
      { kind: 'phrase', re: /No HIP GPUs are available/i },
      { kind: 'code', re: /hipErrorNoDevice/ },
    ],
    cause: (context) =>
      context.facts && !context.facts.amd
        ? 'This machine shows no AMD GPU.'
        : 'The amdgpu driver or /dev/kfd is missing, or the user may not open it.',
    fix: () => [
      run('See what is there and what blocks it.', 'gpuforge', 'doctor', '-v'),
      asRoot('Load the driver.', 'modprobe', 'amdgpu'),
    ],
    links: [ROCM],
  },
  {
    code: 'rocblas-tensile',
    severity: 'error',
    title: 'rocBLAS has no kernels for this AMD GPU',
    patterns: [{ kind: 'capture', re: /Cannot read [^\n]*TensileLibrary[^\n]*/i }],
    cause: ({ got }) => `The installed rocBLAS does not support ${got.gfx ?? 'this gfx target'}.`,
    fix: (context) => reinstall(context),
    links: ['https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html'],
  },
  {
    code: 'xpu-none',
    severity: 'error',
    title: 'PyTorch sees no Intel GPU',
    patterns: [
      { kind: 'phrase', re: /Failed to initialize XPU devices/i },
      { kind: 'phrase', re: /XPU device count is zero/i },
    ],
    cause: () => 'The Level Zero driver is missing, or the GPU is not one that PyTorch supports.',
    fix: () => [
      asRoot(
        'Install the driver packages.',
        'apt-get',
        'install',
        '-y',
        'intel-opencl-icd',
        'libze-intel-gpu1',
        'libze1',
      ),
      say('The user must be in the group render.'),
    ],
    links: ['https://docs.pytorch.org/docs/2.15/notes/get_start_xpu.html'],
  },
  {
    code: 'mps-op',
    severity: 'warning',
    title: 'The operation does not exist on Apple GPUs',
    patterns: [
      { kind: 'capture', re: /The operator '(?<op>[\w:.]+)' is not currently implemented for the MPS device/i },
      { kind: 'phrase', re: /not currently implemented for the MPS device/i },
    ],
    cause: ({ got }) => `${got.op ?? 'This operation'} is not implemented for MPS.`,
    fix: () => [
      safe('Let the CPU do what the GPU cannot.', 'env', 'PYTORCH_ENABLE_MPS_FALLBACK=1', 'python', 'your_script.py'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/notes/mps.html'],
  },
  {
    code: 'docker-gpu',
    severity: 'error',
    title: 'Docker has no GPU runtime',
    patterns: [
      {
        kind: 'phrase',
        re: /could not select device driver ""? ?with capabilities: \[\[gpu\]\]|could not select device driver "[^"\n]*" with capabilities/i,
      },
      { kind: 'capture', re: /unresolvable CDI devices? (?<device>nvidia\.com\/gpu=\S+)/i },
    ],
    cause: () => 'The NVIDIA container toolkit is not installed or not configured.',
    fix: () => [
      asRoot('Install the toolkit.', 'apt-get', 'install', '-y', 'nvidia-container-toolkit'),
      asRoot('Tell Docker of it.', 'nvidia-ctk', 'runtime', 'configure', '--runtime=docker'),
      asRoot('Restart Docker.', 'systemctl', 'restart', 'docker'),
      asRoot(
        'For Podman and CDI write the device list instead.',
        'nvidia-ctk',
        'cdi',
        'generate',
        '--output=/etc/cdi/nvidia.yaml',
      ),
    ],
    links: [TOOLKIT],
  },
  {
    code: 'docker-nvidia-cli',
    severity: 'error',
    title: 'The container asks for more than the driver gives',
    patterns: [
      {
        kind: 'capture',
        re: /nvidia-container-cli: requirement error: unsatisfied condition: cuda\s*>=\s*(?<cuda>[\d.]+)/i,
      },
      { kind: 'capture', re: /nvidia-container-cli: initialization error: (?<what>[^\n]+)/i },
    ],
    cause: ({ got, facts }) =>
      got.cuda
        ? `The image wants a driver for CUDA ${got.cuda}${facts?.driver ? `; here is driver ${facts.driver}` : ''}.`
        : `The container runtime found no working driver on the host: ${got.what ?? 'see the line'}.`,
    fix: ({ got }) =>
      got.cuda
        ? [
            run('Write a Dockerfile whose image fits the driver.', 'gpuforge', 'env', 'NAME', '--format', 'docker'),
            asRoot('Or update the driver of the host.'),
          ]
        : [run('Check the driver on the host first.', 'nvidia-smi'), say('Inside WSL only the Windows driver counts.')],
    links: [TOOLKIT],
  },
  {
    code: 'shm',
    severity: 'error',
    title: 'The shared memory of the container is too small',
    patterns: [
      {
        kind: 'phrase',
        re: /insufficient shared memory \(shm\)|workers are out of shared memory|Please try to raise your shared memory limit/i,
      },
      { kind: 'capture', re: /Bus error[^\n]*shared memory/i },
    ],
    cause: () => 'DataLoader workers and NCCL pass data through /dev/shm, of which Docker gives 64 MB.',
    fix: () => [
      run('Give the container the memory of the host.', 'docker', 'run', '--ipc=host', '--gpus=all', 'IMAGE'),
      say('Or --shm-size=8g; or num_workers=0 to confirm it.'),
    ],
    links: ['https://docs.pytorch.org/docs/stable/multiprocessing.html'],
  },
  {
    code: 'wsl-lib',
    severity: 'warning',
    title: 'WSL set-up of the CUDA library',
    patterns: [{ kind: 'phrase', re: /libcuda\.so\.1 is not a symbolic link/i }],
    holds: (facts) => (facts.machine.host.platform === 'linux' ? facts.wsl : undefined),
    cause: () => 'WSL puts a copy where ldconfig expects a link. It is a warning: CUDA works.',
    fix: () => [say('Nothing must be done. Only the Windows driver counts; never install a Linux driver inside WSL.')],
    links: ['https://docs.nvidia.com/cuda/wsl-user-guide/index.html'],
  },
  {
    code: 'vulkan-driver',
    severity: 'error',
    title: 'Vulkan finds no usable driver',
    patterns: [
      { kind: 'code', re: /VK_ERROR_INCOMPATIBLE_DRIVER|ERROR_INCOMPATIBLE_DRIVER/ },
      { kind: 'phrase', re: /vulkan: No DRI3 support detected|Found no drivers!|Couldn't load Vulkan/i },
    ],
    cause: () =>
      'No Vulkan driver file (ICD) fits; without a display, NVIDIA needs the one that names libEGL_nvidia.so.0.',
    fix: () => [
      run('See which driver files there are.', 'gpuforge', 'doctor', '-v'),
      say('Headless NVIDIA: point VK_ICD_FILENAMES at a file whose library_path is libEGL_nvidia.so.0.'),
    ],
    links: ['https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md'],
  },
  {
    code: 'webgpu-no-adapter',
    severity: 'error',
    title: 'WebGPU finds no adapter',
    patterns: [
      {
        kind: 'phrase',
        re: /Failed to (?:create|get|find)(?: a)?(?: suitable)? (?:Web)?GPU adapter|No (?:available|appropriate|suitable) (?:WebGPU |GPU)?adapters?\b/i,
      },
      { kind: 'phrase', re: /navigator\.gpu is undefined/i },
    ],
    cause: () => 'The browser or Dawn found no graphics driver that it trusts for WebGPU.',
    fix: () => [
      run('Check the graphics stack.', 'gpuforge', 'doctor'),
      say('In Chromium look at chrome://gpu; on Linux --enable-features=Vulkan may be needed.'),
    ],
    links: ['https://github.com/gpuweb/gpuweb/wiki/Implementation-Status'],
  },
];
