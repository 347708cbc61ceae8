// WebGPU in Node: Dawn from the optional package `webgpu`, and the Vulkan driver it needs on headless NVIDIA hosts.
//
// NVIDIA's usual Vulkan entry names a library that wants an X server; the EGL variant of the same driver does not. Where
// nothing else is chosen and no real GPU answers, a driver file that names the EGL library is written to a temporary
// folder and used for this process's search alone. Nothing is left on globalThis or in the environment.

import { messageOf } from './errors.ts';

/** Only what is used of Node, so that browser bundles need no shims: the modules are named at run time. */
interface Fs {
  existsSync(path: string): boolean;
  readdirSync(path: string): string[];
  mkdtempSync(prefix: string): string;
  writeFileSync(path: string, text: string): void;
  rmSync(path: string, options: { recursive: boolean; force: boolean }): void;
}
interface Os {
  tmpdir(): string;
  totalmem(): number;
}
interface Dawn {
  create(flags: string[]): GPU;
}

export interface Environment {
  readonly platform: string;
  readonly env: Record<string, string | undefined>;
}

const load = <T>(name: string): Promise<T> => import(/* @vite-ignore */ /* webpackIgnore: true */ name) as Promise<T>;

export type NodeGpu =
  | { readonly kind: 'gpu'; readonly gpu: GPU; readonly hostBytes: number; readonly driver: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly fix: string };

// The variables are the loader's: if one of them is set, somebody has chosen a driver already.
const driverVariables = ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES', 'VK_ADD_DRIVER_FILES'] as const;

const libraryFolders = [
  '/usr/local/nvidia/lib64',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/lib64',
  '/usr/lib/wsl/lib',
];

/** The first folder that holds a library, those of LD_LIBRARY_PATH before the usual ones. */
export function findLibrary(name: string, env: Environment['env'], exists: (path: string) => boolean): string | null {
  const own = (env.LD_LIBRARY_PATH ?? '').split(':').filter((f) => f.startsWith('/'));
  for (const folder of [...own, ...libraryFolders]) if (exists(`${folder}/${name}`)) return `${folder}/${name}`;
  return null;
}

/** Whether any file names a Vulkan driver, in the places where its loader looks for them. */
export function namesDriver(env: Environment['env'], fs: Pick<Fs, 'existsSync' | 'readdirSync'>): boolean {
  const given = driverVariables.map((v) => env[v] ?? '').join(':');
  if (given.split(':').some((f) => f !== '' && fs.existsSync(f))) return true;
  if (env.VK_DRIVER_FILES || env.VK_ICD_FILENAMES) return false;
  const home = env.HOME ?? '';
  const roots = [
    env.XDG_CONFIG_HOME || `${home}/.config`,
    env.XDG_CONFIG_DIRS || '/etc/xdg',
    '/etc:/usr/local/etc:/run/opengl-driver/share',
    env.XDG_DATA_HOME || `${home}/.local/share`,
    env.XDG_DATA_DIRS || '/usr/local/share:/usr/share',
    '/usr/local/share:/usr/share',
  ].flatMap((r) => r.split(':'));
  return roots.some((root) => {
    const folder = `${root}/vulkan/icd.d`;
    return fs.existsSync(folder) && fs.readdirSync(folder).some((f) => f.endsWith('.json'));
  });
}

/** The text of a Vulkan driver file that names one library. */
export const driverFile = (library: string): string =>
  JSON.stringify({ file_format_version: '1.0.1', ICD: { library_path: library, api_version: '1.3.0' } });

/** Dawn, with a driver that answers if there is one. */
export async function openDawn(
  process: Environment,
  power: GPUPowerPreference,
  toggles: readonly string[] = [],
): Promise<NodeGpu> {
  let dawn: Dawn;
  try {
    const { create } = await load<Dawn>('webgpu');
    const enabled = toggles.length > 0 ? [`enable-dawn-features=${toggles.join(',')}`] : [];
    dawn = { create: (flags) => create([...flags, ...enabled]) };
  } catch (error) {
    const missing = (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND' && /'webgpu'/.test(messageOf(error));
    return {
      kind: 'refused',
      reason: missing
        ? 'the optional package webgpu (Dawn) is not installed'
        : `the package webgpu could not be loaded: ${messageOf(error)}`,
      fix: missing
        ? 'npm install webgpu'
        : 'npm install webgpu@latest, on a platform it ships a binary for (linux, darwin, win32; x64, arm64)',
    };
  }
  const [fs, os] = await Promise.all([load<Fs>('node:fs'), load<Os>('node:os')]);
  const found = await search(dawn, process, power, fs, os);
  if (found) return { kind: 'gpu', gpu: found.gpu, hostBytes: os.totalmem(), driver: found.driver };
  return { kind: 'refused', ...noAdapter(process, fs) };
}

interface Found {
  readonly gpu: GPU;
  readonly driver: string;
}

async function search(
  dawn: Dawn,
  process: Environment,
  power: GPUPowerPreference,
  fs: Fs,
  os: Os,
): Promise<Found | null> {
  const egl =
    process.platform === 'linux' && driverVariables.every((v) => !process.env[v])
      ? findLibrary('libEGL_nvidia.so.0', process.env, fs.existsSync)
      : null;
  const headless = !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY;
  // Dawn writes to stderr when Vulkan has no driver at all, so it is not asked then.
  const usual = async (): Promise<Found | null> =>
    process.platform !== 'linux' || namesDriver(process.env, fs)
      ? attempt(dawn, process, power, os, 'default', {})
      : null;
  if (!egl) return usual();
  const viaEgl = async (): Promise<Found | null> => {
    const folder = fs.mkdtempSync(`${os.tmpdir()}/gpuforge-vulkan-`);
    try {
      fs.writeFileSync(`${folder}/nvidia_egl.json`, driverFile(egl));
      return await attempt(dawn, process, power, os, egl, { VK_ICD_FILENAMES: `${folder}/nvidia_egl.json` });
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  };
  return headless ? ((await viaEgl()) ?? (await usual())) : ((await usual()) ?? (await viaEgl()));
}

/** Asks for an adapter with these variables set, and puts the environment back. */
async function attempt(
  dawn: Dawn,
  process: Environment,
  power: GPUPowerPreference,
  os: Os,
  driver: string,
  variables: Record<string, string>,
): Promise<Found | null> {
  // Without a runtime directory some Vulkan layers complain on stderr.
  const set = { ...(process.env.XDG_RUNTIME_DIR ? {} : { XDG_RUNTIME_DIR: os.tmpdir() }), ...variables };
  const before = Object.keys(set).map((k) => [k, process.env[k]] as const);
  Object.assign(process.env, set);
  try {
    const gpu = dawn.create(['disable-dawn-features=timestamp_quantization']);
    const adapter = await gpu.requestAdapter({ powerPreference: power });
    return adapter ? { gpu, driver } : null;
  } catch {
    return null;
  } finally {
    for (const [k, v] of before) {
      if (v === undefined) delete process.env[k];
      else process.env[k] = v;
    }
  }
}

function noAdapter(process: Environment, fs: Fs): { reason: string; fix: string } {
  const reason = 'WebGPU (Dawn) found no adapter';
  if (process.platform !== 'linux') return { reason, fix: 'Install or update the driver of the GPU.' };
  if (!findLibrary('libvulkan.so.1', process.env, fs.existsSync)) {
    return {
      reason: `${reason}: the Vulkan loader libvulkan.so.1 is not installed`,
      fix: 'apt-get install libvulkan1 (Debian, Ubuntu) or dnf install vulkan-loader (Fedora, RHEL), and the driver of the GPU',
    };
  }
  const chosen = driverVariables.find((v) => process.env[v]);
  if (chosen) {
    return {
      reason: `${reason}: the Vulkan driver that ${chosen} names gave none (${process.env[chosen]})`,
      fix: `Unset ${chosen}, or let it name the driver file of a GPU that is there.`,
    };
  }
  return {
    reason: `${reason}: no Vulkan driver answered`,
    fix: 'Install the Vulkan driver of the GPU (NVIDIA: the driver package with libEGL_nvidia.so.0; AMD and Intel: mesa-vulkan-drivers), or set VK_ICD_FILENAMES to a software driver such as vk_swiftshader_icd.json.',
  };
}
