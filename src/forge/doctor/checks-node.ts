// Areas node and vulkan: what GPUForge itself needs to reach the GPU from Node.

import { libraryFolders } from '../detect/host.ts';
import { compareVersions, factValue, isGiven, type Machine } from '../machine.ts';
import { installing } from './packages.ts';
import { findPackage } from './programs.ts';
import { type Context, type Finding, finding, fix } from './types.ts';

/** As `engines` in package.json says. */
const isOld = (node: string): boolean =>
  compareVersions(node, '20.19') < 0 || (compareVersions(node, '21') >= 0 && compareVersions(node, '22.12') < 0);

export function checkNode({ ports, world, machine }: Context): readonly Finding[] {
  const found: Finding[] = [];
  const version = ports.node.replace(/^v/, '');
  if (isOld(version)) {
    found.push(
      finding('NODE-OLD', 'node', 'error', `Node ${version} is too old: 20.19, 22.12 or newer is needed`, {
        fix: fix('Install a current Node.', 'nvm install --lts'),
      }),
    );
  }
  const koffi = findPackage(ports, world.packageRoots, 'koffi');
  const webgpu = findPackage(ports, world.packageRoots, 'webgpu');
  const nvidia = machine.gpus.some((gpu) => gpu.vendor === 'nvidia' && !gpu.tegra);
  const gpu = machine.gpus.some((entry) => entry.vendor !== 'other');
  const libcuda = machine.drivers.nvidia?.libraries.find(({ soname }) => soname === 'libcuda.so.1');
  if (nvidia && !koffi) {
    found.push(
      finding('NODE-KOFFI', 'node', 'warning', 'koffi is not installed: the CUDA device cannot be opened', {
        evidence: world.packageRoots.map((root) => `looked from ${root} upwards`),
        fix: fix('Add it to the project.', 'npm install koffi'),
      }),
    );
  }
  if (gpu && !nvidia && !webgpu) {
    found.push(
      finding('NODE-WEBGPU', 'node', 'warning', 'webgpu is not installed: this GPU is reached from Node through it', {
        evidence: world.packageRoots.map((root) => `looked from ${root} upwards`),
        fix: fix('Add it to the project.', 'npm install webgpu'),
      }),
    );
  }
  if (nvidia && !isGiven(machine) && machine.drivers.nvidia?.loaded && machine.host.platform === 'linux' && !libcuda) {
    found.push(
      finding('NODE-LIBCUDA', 'node', 'error', 'libcuda.so.1 was not found: CUDA cannot be opened', {
        evidence: libraryFolders(ports).map((folder) => `not in ${folder}`),
        fix: fix(
          'source' in machine.host.container
            ? 'Start the container with the driver capability "compute".'
            : "Install the compute libraries of the driver's own version.",
          ...('source' in machine.host.container
            ? ['docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE']
            : installing('libcuda', machine.host, branchOf(machine))),
        ),
      }),
    );
  }
  const parts = [`Node ${version}`, koffi ? `koffi ${koffi.version}` : '', webgpu ? `webgpu ${webgpu.version}` : ''];
  const evidence = [koffi, webgpu].flatMap((entry) => (entry ? [entry.path] : []));
  if (libcuda) evidence.push(libcuda.path);
  return [finding('NODE-FOUND', 'node', 'ok', parts.filter((part) => part !== '').join(', '), { evidence }), ...found];
}

const branchOf = ({ drivers }: Machine): string =>
  drivers.nvidia === null ? '' : (factValue(drivers.nvidia.version)?.split('.')[0] ?? '');

const ICD_FOLDERS = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d'];

export interface Icd {
  readonly file: string;
  readonly library: string;
}

/** The drivers Vulkan would load: those of the variables if set, else those of the system's and the user's folders. */
function findIcds({ ports }: Context): readonly Icd[] {
  const { env, files, home } = ports;
  const chosen = env.VK_DRIVER_FILES ?? env.VK_ICD_FILENAMES;
  const userData = env.XDG_DATA_HOME || `${home}/.local/share`;
  const paths = chosen
    ? chosen.split(':')
    : [...ICD_FOLDERS, `${userData}/vulkan/icd.d`].flatMap((folder) =>
        (files.list(folder) ?? []).filter((name) => name.endsWith('.json')).map((name) => `${folder}/${name}`),
      );
  return paths.flatMap((file) => {
    const text = files.read(file);
    const library = text === undefined ? undefined : /"library_path"\s*:\s*"([^"]+)"/.exec(text)?.[1];
    return library ? [{ file, library }] : [];
  });
}

export function headlessIcdPath({ ports }: Context): string {
  return `${ports.env.XDG_DATA_HOME || `${ports.home}/.local/share`}/vulkan/icd.d/nvidia_headless_icd.json`;
}

export function checkVulkan(context: Context): readonly Finding[] {
  const { ports, machine } = context;
  if (ports.platform !== 'linux') return [finding('VK-NONE', 'vulkan', 'skipped', 'only checked on Linux')];
  const loader = libraryFolders(ports).find((folder) => ports.files.exists(`${folder}/libvulkan.so.1`));
  const icds = findIcds(context);
  const nvidia = machine.gpus.some((entry) => entry.vendor === 'nvidia' && entry.usable && !entry.tegra);
  // An NVIDIA card is reached through CUDA; every other one only through Vulkan.
  const needed = !nvidia && machine.gpus.some((entry) => entry.vendor !== 'other' && entry.usable);
  const evidence = icds.map(({ file, library }) => `${file} loads ${library}`);
  if (!loader) {
    const status = needed ? 'warning' : 'info';
    return [
      finding('VK-LOADER', 'vulkan', status, 'no Vulkan loader: WebGPU from Node will not find a device', {
        evidence,
        fix: fix('Install the loader.', ...installing('vulkanLoader', machine.host)),
      }),
    ];
  }
  if (icds.length === 0) {
    return [
      finding(
        'VK-NO-ICD',
        'vulkan',
        needed ? 'warning' : 'info',
        'the Vulkan loader is there, but no driver is registered with it',
        {
          evidence: [`${loader}/libvulkan.so.1`],
          fix: fix('Install the driver of the GPU, or the software one.', ...installing('vulkanDrivers', machine.host)),
        },
      ),
    ];
  }
  const found: Finding[] = [];
  const display = ports.env.DISPLAY || ports.env.WAYLAND_DISPLAY;
  const glx = icds.find(({ library }) => library.includes('libGLX_nvidia'));
  const egl = icds.some(({ library }) => library.includes('libEGL_nvidia'));
  if (glx && !egl && !display) {
    found.push(
      finding(
        'VK-HEADLESS',
        'vulkan',
        'warning',
        "NVIDIA's Vulkan driver is registered in the form that needs a display",
        {
          evidence: [`${glx.file} loads ${glx.library}`, 'neither DISPLAY nor WAYLAND_DISPLAY is set'],
          fix: {
            text: `Register libEGL_nvidia.so.0, which works without a display (gpuforge doctor --fix writes ${headlessIcdPath(context)}).`,
            commands: ['gpuforge doctor --fix'],
            action: 'write-headless-icd',
          },
        },
      ),
    );
  }
  if (nvidia && machine.host.wsl === 0 && !icds.some(({ library }) => library.includes('nvidia'))) {
    found.push(
      finding(
        'VK-NO-NVIDIA',
        'vulkan',
        'info',
        "NVIDIA's Vulkan driver is not registered: WebGPU will not see the card; CUDA does",
        {
          evidence,
        },
      ),
    );
  }
  const missing = icds.filter(({ library }) => library.startsWith('/') && !ports.files.exists(library));
  if (missing.length > 0) {
    found.push(
      finding('VK-BROKEN-ICD', 'vulkan', 'warning', 'a registered Vulkan driver points to a file that does not exist', {
        evidence: missing.map(({ file, library }) => `${file} loads ${library}`),
        fix: fix('Reinstall the driver, or remove the file.', ...missing.map(({ file }) => `sudo rm ${file}`)),
      }),
    );
  }
  if (found.length > 0) return found;
  return [
    finding('VK-OK', 'vulkan', 'ok', `loader and ${icds.length} driver${icds.length === 1 ? '' : 's'}`, { evidence }),
  ];
}
