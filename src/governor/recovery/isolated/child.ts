// The process in which a device lives when it is isolated: `node gpu-child.js KIND OPTIONS`.
//
// Standard input and output carry bells, one byte each; file 3 is the shared file. It ends when the parent closes the
// device or is gone, and when the device is lost: a poisoned driver is not used again.

import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Device } from '../../../devices/device.ts';
import { Outbox } from './outbox.ts';
import { down } from './records.ts';
import { Ring } from './ring.ts';
import { DeviceServer } from './server.ts';

interface Opened {
  readonly devices: readonly Device[];
  readonly refused: readonly { readonly id: string; readonly reason: string; readonly fix: string }[];
}

const openers: Readonly<Record<string, (options: never) => Promise<Opened>>> = {
  cuda: async (options) => (await import('../../../devices/cuda/discover.ts')).openCudaDevices(options),
  webgpu: async (options) => (await import('../../../devices/webgpu/open.ts')).openWebGpuDevices(options),
  cpu: async (options) => {
    const { createCpuDevice } = await import('../../../devices/cpu/device.ts');
    return { devices: [await createCpuDevice(options)], refused: [] };
  },
};

const sharedFile = 3;
const bell = new Uint8Array(1);

async function main(kind: string, options: string): Promise<void> {
  const ring = new Ring(sharedFile, 'child', () => {
    try {
      writeSync(1, bell, 0, 1);
    } catch {
      // The parent is gone; the end of standard input says so too.
    }
  });
  const { devices, refused } = await openers[kind]!(JSON.parse(options) as never);
  const [device, ...others] = devices;
  if (!device) {
    new Outbox(ring).text(down.hello, 0, JSON.stringify({ refused }));
    return;
  }
  for (const d of others) await d.close();
  const server = new DeviceServer(device, ring, () => process.exit(0));
  process.stdin.on('data', (chunk: Uint8Array) => server.woken(chunk.length));
  process.on('uncaughtException', (e) => server.lost(`${e}`));
  process.on('unhandledRejection', (e) => server.lost(`${e}`));
  server.start();
  watchParent();
}

/** Ends the process when the parent is gone even if this thread waits for a device that never answers. */
function watchParent(): void {
  const source = `
    const parent = process.ppid;
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 1000);
  `;
  new Worker(source, { eval: true }).unref();
}

process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
// An interrupt in the terminal reaches the whole group; the parent decides when this process ends.
process.on('SIGINT', () => {});
main(process.argv[2] ?? '', process.argv[3] ?? '{}').catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
});
