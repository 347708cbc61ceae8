// The Vulkan driver for all sides of one run: what the environment names, NVIDIA's headless one, else the SwiftShader of the tests.

import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareGpu } from '../../scripts/software-gpu.mjs';

const folders = [
  '/usr/local/nvidia/lib64',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
];

/** Variables for the child processes, and what they name. */
export function chooseDriver(env = process.env) {
  const base = { XDG_RUNTIME_DIR: env.XDG_RUNTIME_DIR ?? tmpdir() };
  const chosen = env.VK_ICD_FILENAMES ?? env.VK_DRIVER_FILES;
  if (chosen) return { env: base, driver: chosen };
  const own = (env.LD_LIBRARY_PATH ?? '').split(':').filter(Boolean);
  const egl = [...own, ...folders].map((f) => join(f, 'libEGL_nvidia.so.0')).find((f) => existsSync(f));
  if (egl) {
    const file = join(mkdtempSync(join(tmpdir(), 'gpuforge-bench-')), 'nvidia_egl.json');
    writeFileSync(
      file,
      JSON.stringify({ file_format_version: '1.0.1', ICD: { library_path: egl, api_version: '1.3.0' } }),
    );
    return { env: { ...base, VK_ICD_FILENAMES: file }, driver: egl };
  }
  const { dawn } = softwareGpu(env);
  return { env: { ...base, ...dawn }, driver: dawn.VK_ICD_FILENAMES ?? 'default' };
}
