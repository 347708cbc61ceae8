// What the policy of a page (Content-Security-Policy) may forbid the CPU device: compiling WebAssembly, starting workers.

import { DeviceUnavailable } from '../../errors.ts';
import type { ThreadHost } from './host.ts';

/** The smallest module there is. */
const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** Refuses to open where WebAssembly cannot be compiled: every kernel would fail later. */
export function checkCompiling(): void {
  try {
    new WebAssembly.Module(empty);
  } catch (cause) {
    throw new DeviceUnavailable({
      code: 'WASM_FORBIDDEN',
      message: `createCpuDevice: WebAssembly cannot be compiled here: ${(cause as Error).message}`,
      fix: "Allow it in the page's Content-Security-Policy: script-src 'self' 'wasm-unsafe-eval'.",
      where: 'createCpuDevice',
      cause,
    });
  }
}

/** How workers are told of in the device's details where a page may start none. */
export const workersForbidden =
  "forbidden by the page's Content-Security-Policy; allow them with: worker-src 'self' blob:";

/** A worker that answers starts within this. One that has not by then is waited for no longer, and may still come. */
const answerMs = 2000;

/** Whether workers can be started here. */
export async function canWork(host: ThreadHost): Promise<boolean> {
  const { answers } = host;
  if (!answers) return true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), answerMs);
  });
  return Promise.race([answers(), late]).finally(() => clearTimeout(timer));
}
