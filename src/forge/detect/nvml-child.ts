// The process in which NVML runs, so that a driver that never answers costs a time limit and not the command.
//
//   node nvml-child.js query LIBRARY          one line of JSON: driver, CUDA version, devices
//   node nvml-child.js watch LIBRARY MS       one line of JSON each MS milliseconds, until standard input ends
//
// Standard output carries JSON lines only. A failure is a line with `error` and exit status 1.

import { clock } from '../clock.ts';
import { loadFfi } from './ffi.ts';
import { openNvml } from './nvml.ts';

async function main(mode: string | undefined, library: string | undefined, interval: string | undefined) {
  if (!library) throw new Error('usage: nvml-child query|watch LIBRARY [MS]');
  const ffi = await loadFfi();
  const start = clock();
  const nvml = openNvml(ffi, library);
  if (mode === 'watch') {
    const tell = () => say({ at: Date.now(), devices: nvml.telemetry() });
    tell();
    setInterval(tell, Math.max(50, Number(interval) || 1000));
    process.stdin.on('end', () => process.exit(0)).resume();
    return;
  }
  const devices = nvml.devices();
  // The end of the process closes the library, and sooner than nvmlShutdown would.
  say({ driver: nvml.driver, cuda: nvml.cuda, devices, ms: clock() - start });
}

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

main(process.argv[2], process.argv[3], process.argv[4]).catch((error: unknown) => {
  const missing = (error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
  say({ error: error instanceof Error ? error.message : String(error), kind: missing ? 'no-ffi' : 'failed' });
  process.exitCode = 1;
});
