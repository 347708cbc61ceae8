// Areas place and libraries: containers, WSL, Rosetta, and what the library search path puts before the driver.

import { libraryAt } from '../detect/libraries.ts';
import { WSL_LIBRARIES } from '../detect/nvidia.ts';
import { installing } from './packages.ts';
import { findProgram } from './programs.ts';
import { type Context, type Finding, finding, fix } from './types.ts';

export function checkPlace(context: Context): readonly Finding[] {
  const { machine, ports } = context;
  const { host } = machine;
  const found: Finding[] = [];
  if (host.wsl === 1) {
    found.push(
      finding('WSL-1', 'place', 'error', 'WSL 1 has no GPU', {
        evidence: [`kernel ${host.kernel}`],
        fix: fix('Convert the distribution to WSL 2, from Windows.', 'wsl --set-version DISTRIBUTION 2'),
      }),
    );
  }
  if (host.wsl === 2) found.push(...wslTrouble(context));
  if (host.rosetta) {
    found.push(
      finding('PLACE-ROSETTA', 'place', 'error', 'this Node is an x64 build under Rosetta and cannot reach the GPU', {
        fix: fix('Install an arm64 Node.', 'arch -arm64 brew install node'),
      }),
    );
  }
  const nvidia = machine.gpus.some((gpu) => gpu.vendor === 'nvidia');
  const docker = findProgram(ports, 'docker') ?? findProgram(ports, 'podman');
  if (nvidia && docker && !('source' in host.container) && host.wsl === 0 && ports.platform === 'linux') {
    found.push(...toolkitTrouble(context, docker));
  }
  if (found.length > 0) return found;
  const where = [
    host.wsl === 2 ? 'WSL2' : '',
    'source' in host.container ? `${host.container.value} container` : '',
    'source' in host.cloud ? `cloud: ${host.cloud.value}` : '',
    'source' in host.hypervisor ? `virtual machine (${host.hypervisor.value})` : '',
    'source' in host.board ? host.board.value.model : '',
  ].filter((text) => text !== '');
  return [finding('PLACE-OK', 'place', 'ok', where.length === 0 ? 'no container, no WSL' : where.join(', '))];
}

function wslTrouble({ ports, machine }: Context): readonly Finding[] {
  const { files } = ports;
  const found: Finding[] = [];
  if (!files.exists('/dev/dxg')) {
    return [
      finding('WSL-NO-DXG', 'place', 'warning', 'Windows gives this WSL no GPU: /dev/dxg does not exist', {
        fix: fix(
          'Install the GPU driver in Windows (none in Linux), then update and restart WSL.',
          'wsl --update',
          'wsl --shutdown',
        ),
      }),
    ];
  }
  const linux = ['/usr/lib/x86_64-linux-gnu', '/usr/lib64']
    .map((folder) => libraryAt(ports, `${folder}/libcuda.so.1`, 'libcuda.so.1'))
    .find((library) => library !== undefined && !(files.resolve(library.path) ?? '').startsWith(WSL_LIBRARIES));
  if (linux) {
    found.push(
      finding(
        'WSL-LINUX-DRIVER',
        'place',
        'error',
        'a Linux NVIDIA driver is installed inside WSL and hides the one from Windows',
        {
          evidence: [`${linux.path} is ${linux.version ?? 'a Linux library'}`],
          fix: fix(
            'Remove it; WSL takes the driver from Windows.',
            "sudo apt purge 'nvidia-driver-*' 'libnvidia-compute-*'",
          ),
        },
      ),
    );
  }
  if (machine.drivers.nvidia === null && !files.exists(`${WSL_LIBRARIES}/libcuda.so.1`)) {
    found.push(
      finding(
        'WSL-NO-LIBRARIES',
        'place',
        'info',
        `${WSL_LIBRARIES} holds no CUDA library: the Windows driver is not NVIDIA's, or is too old`,
      ),
    );
  }
  return found;
}

function toolkitTrouble({ ports, machine }: Context, engine: string): readonly Finding[] {
  const toolkit = ['nvidia-ctk', 'nvidia-container-runtime', 'nvidia-container-cli'].find((name) =>
    findProgram(ports, name),
  );
  const cdi = ['/etc/cdi/nvidia.yaml', '/var/run/cdi/nvidia.yaml'].find((file) => ports.files.exists(file));
  if (toolkit || cdi) return [];
  return [
    finding(
      'CTR-TOOLKIT',
      'place',
      'warning',
      'containers cannot use the GPU: the NVIDIA container toolkit is not installed',
      {
        evidence: [
          `${engine} is there; nvidia-ctk and a CDI file are not`,
          'docker would say: could not select device driver ""',
        ],
        fix: fix(
          "Install the toolkit from NVIDIA's repository, then tell the engine.",
          ...installing('containerToolkit', machine.host),
          engine.endsWith('podman')
            ? 'sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml'
            : 'sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker',
        ),
      },
    ),
  ];
}

const cudaLibraries = [
  'libcudart.so',
  'libcublas.so',
  'libcudnn.so',
  'libnvJitLink.so',
  'libcusparse.so',
  'libnccl.so',
];

export function checkLibraries({ ports, machine }: Context): readonly Finding[] {
  if (ports.platform !== 'linux') return [finding('LIB-NONE', 'libraries', 'skipped', 'only checked on Linux')];
  const folders = (ports.env.LD_LIBRARY_PATH ?? '').split(':').filter((folder) => folder !== '');
  const found: Finding[] = [];
  const driver = machine.drivers.nvidia;
  const version = driver && 'source' in driver.version ? driver.version.value : undefined;
  for (const folder of folders) {
    const libcuda = folder.startsWith(WSL_LIBRARIES)
      ? undefined
      : libraryAt(ports, `${folder}/libcuda.so.1`, 'libcuda.so.1');
    if (/\/stubs\/?$/.test(folder)) {
      found.push(
        finding(
          'LIB-STUBS',
          'libraries',
          'error',
          'LD_LIBRARY_PATH holds the stubs of the toolkit, which cannot run anything',
          {
            evidence: [folder],
            fix: fix('Take the folder off the path.', withoutFolder(folders, folder)),
          },
        ),
      );
    } else if (libcuda && version && libcuda.version !== null && libcuda.version !== version) {
      found.push(
        finding(
          'LIB-COMPAT',
          'libraries',
          'error',
          `LD_LIBRARY_PATH puts libcuda ${libcuda.version} before the driver's ${version}`,
          {
            evidence: [libcuda.path, 'forward-compatibility libraries work on data-centre GPUs only'],
            fix: fix('Take the folder off the path.', withoutFolder(folders, folder)),
          },
        ),
      );
    } else {
      const shadows = (ports.files.list(folder) ?? []).filter((name) =>
        cudaLibraries.some((library) => name.startsWith(library)),
      );
      if (shadows.length > 0) {
        found.push(
          finding(
            'LIB-SHADOW',
            'libraries',
            'warning',
            'LD_LIBRARY_PATH puts a CUDA toolkit before the libraries of the wheels',
            {
              evidence: [`${folder} holds ${shadows.slice(0, 3).join(', ')}`],
              fix: fix('Unset it for Python work; frameworks bring their own CUDA.', withoutFolder(folders, folder)),
            },
          ),
        );
      }
    }
  }
  if (found.length > 0) return found;
  const summary = folders.length === 0 ? 'LD_LIBRARY_PATH is not set' : 'nothing on LD_LIBRARY_PATH hides the driver';
  return [finding('LIB-OK', 'libraries', 'ok', summary, { evidence: folders })];
}

function withoutFolder(folders: readonly string[], folder: string): string {
  const rest = folders.filter((entry) => entry !== folder);
  return rest.length === 0 ? 'unset LD_LIBRARY_PATH' : `export LD_LIBRARY_PATH="${rest.join(':')}"`;
}
