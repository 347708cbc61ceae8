import { describe, expect, it } from 'vitest';
import { machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import { catalogue } from './catalogue/index.ts';
import { explain } from './explain.ts';
import { softwareIn, systemIn, vendorIn } from './origin.ts';
import { fitSteps } from './steps.ts';
import { cudaNumbers } from './values.ts';

const commands = (text: string, on?: (typeof machines)[string]): string =>
  explain(text, on ? { machine: on } : {})[0]!
    .fix.map((step) => `${step.text} ${(step.command ?? []).join(' ')}`)
    .join('\n');

describe('a fix follows the text', () => {
  it('names the framework of the error, not the default one', () => {
    const tf =
      "W tensorflow/dso_loader.cc:60] Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file";
    expect(commands(tf)).toContain('--framework tensorflow');
    expect(
      commands('jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed'),
    ).toContain('--framework jax');
    expect(commands('onnxruntime Failed to create CUDAExecutionProvider.')).toContain('onnxruntime-gpu');
    expect(
      commands('CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file'),
    ).toContain('cupy-cuda12x');
    expect(commands('ggml was not compiled with any CUDA arch <= 750', machines['gtx1080ti-580']!)).toContain(
      '-DCMAKE_CUDA_ARCHITECTURES=61',
    );
    expect(commands('Error: llama runner process has terminated: CUDA error: no kernel image is available')).toContain(
      'Update Ollama',
    );
    for (const text of [tf, 'CuPy failed to load libnvrtc.so.12: cannot open shared object file'])
      expect(commands(text)).not.toContain('--framework pytorch');
  });

  it('knows no sudo, no apt and no LD_LIBRARY_PATH on Windows', () => {
    const texts = [
      'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\x\\torch\\lib\\cudnn64_9.dll"',
      "C:\\app> nvidia-smi\r\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
      'C:\\x\\venv> RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR',
      'C:\\x> docker: Error response from daemon: unknown or invalid runtime name: nvidia',
      'C:\\x> RuntimeError: CUDA unknown error',
    ];
    for (const text of texts) {
      expect(explain(text)[0]!.os, text).toBe('windows');
      expect(commands(text), text).not.toMatch(/\bsudo\b|apt-get|modprobe|systemctl|LD_LIBRARY_PATH|\benv -u\b|dmesg/);
      expect(explain(text)[0]!.fix.length).toBeGreaterThan(0);
    }
    // The machine decides where the text shows no system.
    expect(commands('RuntimeError: CUDA unknown error', machines['rtx4090-windows']!)).not.toMatch(/modprobe|sudo/);
    const blocking = explain('RuntimeError: CUDA error: device-side assert triggered', {
      machine: machines['rtx4090-windows']!,
    })[0]!;
    expect(blocking.fix[0]!.text).toContain('$env:CUDA_LAUNCH_BLOCKING = "1"');
    expect(blocking.fix[0]!.command).toEqual(['python', 'your_script.py']);
  });

  it('answers errors of other GPUs with their own tools', () => {
    expect(commands('RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB)')).not.toContain('nvidia-smi');
    expect(commands('torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB')).toContain('rocm-smi');
    expect(commands('torch.OutOfMemoryError: XPU out of memory. Tried to allocate 8.06 GiB')).toContain('xpu-smi');
    for (const text of [
      'RuntimeError: MPS backend out of memory',
      "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.",
      "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device.",
    ])
      expect(commands(text, machines['m3-max']!)).not.toMatch(/nvidia|sudo|CUDA/);
  });

  it('follows the interface, the vendor and the kind of package that a message names', () => {
    const vaapi = commands(
      '[AVHWDeviceContext @ 0x5600] Failed to initialise VAAPI connection: -1 (unknown libva error).',
    );
    expect(vaapi).toContain('vainfo');
    expect(vaapi).not.toContain('NVIDIA_DRIVER_CAPABILITIES');
    expect(
      commands('C:\\x> [h264_qsv @ 0x1] Error initializing an internal MFX session: unsupported (-3)'),
    ).not.toMatch(/vainfo|render/);
    expect(commands('[h264_nvenc @ 0x1] No capable devices found')).toContain('NVIDIA_DRIVER_CAPABILITIES');
    expect(commands('E: Unable to locate package rocm-hip-sdk')).toContain('amdgpu-install --uninstall');
    expect(commands('Consult /var/lib/dkms/amdgpu/6.8.5/build/make.log for more information.')).toMatch(
      /dkms\/amdgpu.*--no-dkms/s,
    );
    expect(commands('Pcie atomics not enabled, hostcall not supported')).toMatch(/slot of the processor/);
    expect(commands('Pcie atomics not enabled, hostcall not supported')).not.toContain('modprobe');
    expect(commands('CMake Error at CMakeLists.txt:40 (message):\n  CUDA: OpenCV requires the module cudev')).toMatch(
      /CMAKE_PREFIX_PATH/,
    );
    expect(commands('Error: no available backend found. ERR: [wasm] backend not found')).toContain(
      'executionProviders',
    );
    const addon =
      'Error: The specified module could not be found.\n\\\\?\\C:\\x\\node_modules\\tfjs-node-gpu\\lib\\tfjs_binding.node';
    expect(commands(addon)).toMatch(/npm rebuild[\s\S]*Visual C\+\+/);
    expect(commands(addon)).not.toContain('pip install');
  });

  it('does not apply the facts of this machine to a text from another system', () => {
    const text =
      'A:\\ComfyUI\\python.exe: NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation.';
    const [first] = explain(text, { machine: machines['gtx1080ti-580']! });
    expect(first!.evidence.facts).toEqual([]);
    expect(first!.fix[0]!.command).toEqual(['gpuforge', 'resolve', '--framework', 'pytorch']);
  });

  it('reads a variable that hides devices only as far as it goes', () => {
    const seen = (value: string) => {
      const one = machine({ gpus: [nvidia('x', '8.9', 24)], driver: '580.95.05' });
      return explain('RuntimeError: No CUDA GPUs are available', {
        machine: { ...one, visibility: [{ name: 'CUDA_VISIBLE_DEVICES', value }] },
      })[0]!.cause;
    };
    expect(seen('0')).not.toContain('hides every device');
    expect(seen('')).toContain('hides every device');
    expect(seen('-1')).toContain('hides every device');
    expect(seen('3')).toContain('hides every device');
  });

  it('asks the program of the error for its GPU, and installs the build of its framework', () => {
    const general = { got: {}, line: '', facts: undefined, resolve: () => undefined, os: undefined, vendor: undefined };
    /** These belong to PyTorch, whoever reports them. */
    const ofTorch = /^(?:xpu|mps)-|^torch|^not-compiled-cuda$/;
    for (const row of catalogue)
      for (const software of ['tensorflow', 'jax', 'ollama', 'llama.cpp', 'onnxruntime', 'cupy', 'numba'] as const) {
        const steps = row.fix({ ...general, software }).map(({ text, command }) => `${text} ${command?.join(' ')}`);
        if (!ofTorch.test(row.code))
          expect(steps.join('\n'), `${row.code} of ${software}`).not.toMatch(
            /--framework pytorch|import torch|torch\.back/,
          );
      }
    expect(commands('ERROR: No matching distribution found for cupy-cuda12x, needed by tensorflow')).not.toContain(
      '--framework pytorch',
    );
    // A server does not end by itself, so nothing starts it unasked.
    const server = explain('ollama: CUDA error: no CUDA-capable device is detected')[0]!;
    expect(server.fix.some(({ command, automatic }) => command?.includes('serve') && automatic)).toBe(false);
  });

  it('looks at the memory of a GPU with the tool of its vendor', () => {
    const wrong = 'WRONG mps        Apple GPU  512x512 matmul + tanh in 0.4 ms, error 3.10e-01';
    expect(commands(wrong)).not.toMatch(/nvidia/);
    expect(commands(wrong.replace('mps        Apple GPU', 'cuda:0     NVIDIA RTX'))).toContain('nvidia-smi');
    expect(commands('RuntimeError: HIP error: CUBLAS_STATUS_ALLOC_FAILED when calling hipblasCreate')).toMatch(
      /rocm-smi/,
    );
    const onMac = catalogue.flatMap((row) =>
      fitSteps(
        row.fix({
          got: {},
          line: '',
          facts: undefined,
          resolve: () => undefined,
          software: undefined,
          os: 'macos',
          vendor: 'apple',
        }),
        'macos',
      ).map(({ command }) => command?.[0]),
    );
    expect(onMac).not.toContain('nvidia-smi');
  });

  it('has only commands of Windows for Windows, whatever the class', () => {
    const general = {
      got: {},
      line: '',
      facts: undefined,
      resolve: () => undefined,
      software: undefined,
      vendor: undefined,
    };
    for (const row of catalogue)
      for (const { command, text } of fitSteps(row.fix({ ...general, os: 'windows' }), 'windows')) {
        expect(command?.[0] ?? '', row.code).not.toMatch(
          /^(?:env|sudo|apt-get|dnf|systemctl|modprobe|dmesg|ldconfig|lspci|update-initramfs|usermod)$/,
        );
        expect(text, row.code).not.toMatch(/\b(?:sudo|apt-get|systemctl)\b|LD_LIBRARY_PATH=/);
      }
  });

  it('never pins a cuDNN by hand', () => {
    for (const text of [
      'RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED',
      'Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0',
    ])
      expect(commands(text, machines['rtx4090-595']!)).not.toContain('nvidia-cudnn-cu');
  });
});

describe('numbers', () => {
  it('of a compiler or a shell are no CUDA errors', () => {
    const nvcc = "error: command '/usr/local/cuda/bin/nvcc' failed with exit status 2";
    expect(cudaNumbers(nvcc)).toEqual([]);
    expect(explain(nvcc)[0]!.code).toBe('build-failed');
    expect(cudaNumbers('/usr/local/cuda-12.4/bin/nvcc returned 1')).toEqual([]);
    // Runtimes before 10.1 numbered otherwise: 48 of then is 209 of today.
    expect(cudaNumbers('cuda runtime error (48) : no kernel image').map((row) => row.number)).toEqual([209]);
    expect(cudaNumbers('cuInit failed with error 100').map((row) => row.number)).toEqual([100]);
    expect(cudaNumbers('CUDA error(719), unspecified launch failure').map((row) => row.number)).toEqual([719]);
  });

  it('of NCCL in shared memory do not fill the disk', () => {
    expect(
      explain(
        'misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-W (size 9637888), error: No space left on device (28)',
      ).map((row) => row.code),
    ).toEqual(['shm']);
  });
});

describe('where a text comes from', () => {
  it.each([
    ['Traceback: File "/venv/lib/python3.12/site-packages/torch/x.py"', 'pytorch', 'linux', undefined],
    ['C:\\Users\\x\\ollama\\server.log', 'ollama', 'windows', undefined],
    ['ggml_metal_init: error', 'llama.cpp', 'macos', 'apple'],
    ['HIP error: invalid device function gfx1031', undefined, undefined, 'amd'],
    ['level_zero backend failed', undefined, undefined, 'intel'],
  ] as const)('%s', (text, software, system, vendor) => {
    expect(softwareIn(text)).toBe(software);
    expect(systemIn(text)).toBe(system);
    expect(vendorIn(text, text)).toBe(vendor);
  });
});

describe('the failures of our own verify.py', () => {
  it.each([
    ["FAIL  import torch: ModuleNotFoundError: No module named 'torch'", 'framework-missing'],
    [
      'FAIL  import torch: OSError: libcudart.so.12: cannot open shared object file: No such file or directory',
      'cuda-lib-missing',
    ],
    ['FAIL  torch sees no GPU: torch.cuda.is_available() is False', 'torch-no-gpu'],
    ['FAIL  torch sees no Intel GPU: torch.xpu.is_available() is False', 'xpu-none'],
    ['FAIL  torch sees no Apple GPU: torch.backends.mps.is_available() is False', 'mps-unavailable'],
    ['FAIL  tensorflow sees no GPU', 'tf-no-gpu'],
    ['FAIL  jax sees no GPU: it fell back to the CPU', 'jax-no-gpu'],
    ['FAIL  no device is visible', 'torch-no-gpu'],
    [
      'FAIL  cuda:0     NVIDIA RTX  RuntimeError: CUDA error: no kernel image is available for execution on the device',
      'no-kernel-image',
    ],
    ['WRONG cuda:0     NVIDIA RTX 4090  512x512 matmul + tanh in 0.4 ms, error 3.10e-01', 'verify-wrong'],
  ])('%s', (text, code) => expect(explain(text)[0]?.code).toBe(code));
});
