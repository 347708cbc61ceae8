// Starting the process of an isolated device, and knowing when it has ended.
//
// The process shares one file with its parent, unlinked as soon as both have it open: nothing is left behind however
// either of them ends. It does not keep the parent alive.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DeviceUnavailable } from '../../../errors.ts';
import { environmentFor } from './environment.ts';
import { fileBytes, Ring } from './ring.ts';

export type IsolatedKind = 'cuda' | 'webgpu' | 'cpu';

export interface ChildSpec {
  readonly kind: IsolatedKind;
  /** Options of the device, as plain values. */
  readonly options: unknown;
  /** The built child.ts; looked for beside this file when not given. */
  readonly script?: string | undefined;
  /** Added to what it gets of the parent's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** What the child has said on standard error is kept up to here, for the reason of a loss. */
const keptText = 4096;

export class ChildHost {
  readonly ring: Ring;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #fd: number;
  readonly #bells: Socket;
  #said = '';
  #ended: string | null = null;
  #lastLook = 0;
  /** When it was first seen stopped, in a row of looks; 0 if it runs. */
  #stoppedAt = 0;
  #waits = 0;

  /** `onBell` is called when the child has something to say, `onEnd` when it has ended, with how. */
  constructor(spec: ChildSpec, onBell: () => void, onEnd: (how: string) => void) {
    const script = spec.script ?? findScript();
    const { fd, path } = sharedFile();
    this.#fd = fd;
    try {
      this.#child = spawn(process.execPath, [script, spec.kind, JSON.stringify(spec.options)], {
        stdio: ['pipe', 'pipe', 'pipe', fd],
        env: { ...environmentFor(process.env), ...spec.env },
        windowsHide: true,
      });
    } finally {
      rmSync(path, { force: true });
    }
    const child = this.#child;
    this.pid = child.pid ?? 0;
    const stdin = child.stdin as unknown as Socket;
    this.#bells = child.stdout as unknown as Socket;
    const errors = child.stderr as unknown as Socket;
    this.ring = new Ring(fd, 'parent', () => void stdin.write(bell));
    this.#bells.on('data', (chunk: Uint8Array) => {
      this.ring.heard(chunk.length);
      onBell();
    });
    errors.on('data', (chunk: Uint8Array) => {
      this.#said = (this.#said + new TextDecoder().decode(chunk)).slice(-keptText);
    });
    const end = (how: string): void => {
      if (this.#ended !== null) return;
      this.#ended = how;
      onEnd(how);
    };
    child.on('error', (e) => end(`could not be started: ${e.message}`));
    child.on('exit', (code, signal) => end(signal ? `ended by ${signal}` : `ended with status ${code}`));
    // A child that is gone makes writing to it fail; its end is reported once, above.
    stdin.on('error', () => {});
    child.unref();
    for (const socket of [stdin, this.#bells, errors]) socket.unref();
  }

  /** The last that it said on standard error. */
  get said(): string {
    return this.#said.trim();
  }

  /** While something is waited for, the process stays. */
  hold(): void {
    if (this.#waits++ === 0) this.#bells.ref();
  }

  letGo(): void {
    if (--this.#waits === 0) this.#bells.unref();
  }

  /** Whether it still runs; for waits in which no event can arrive. Looks at the system at most every 20 ms. */
  alive(): boolean {
    if (this.#ended !== null) return false;
    const now = performance.now();
    if (now - this.#lastLook < 20) return true;
    this.#lastLook = now;
    const state = stateOf(this.pid);
    this.#stoppedAt = state === 'stopped' ? this.#stoppedAt || now : 0;
    return state !== 'ended';
  }

  /** For how long it has been stopped by a signal, in ms, as far as `alive` has seen. */
  get stoppedMs(): number {
    return this.#stoppedAt === 0 ? 0 : performance.now() - this.#stoppedAt;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends the conversation; the file goes with the last process that has it open. */
  dispose(): void {
    this.#child.stdin?.end();
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.destroy();
    closeSync(this.#fd);
  }
}

const bell = new Uint8Array(1);

type ProcessState = 'runs' | 'stopped' | 'ended';

const byLetter: Readonly<Record<string, ProcessState>> = { Z: 'ended', X: 'ended', T: 'stopped' };

/** A process that has ended but whose end was not collected yet still has a number: its state tells. */
function stateOf(pid: number): ProcessState {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return byLetter[stat[stat.lastIndexOf(')') + 2]!] ?? 'runs';
    } catch {
      return 'ended';
    }
  }
  if (process.platform !== 'win32') {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'latin1' });
    return stdout.trim() === '' ? 'ended' : (byLetter[stdout.trim()[0]!] ?? 'runs');
  }
  try {
    process.kill(pid, 0);
    return 'runs';
  } catch {
    return 'ended';
  }
}

let files = 0;

/** A file of the right size, in shared memory if there is room for it. */
function sharedFile(): { fd: number; path: string } {
  let last: unknown;
  for (const folder of ['/dev/shm', tmpdir()]) {
    const path = join(folder, `gpuforge-${process.pid}-${files++}-${Math.random().toString(36).slice(2)}`);
    let fd: number | null = null;
    try {
      fd = openSync(path, 'wx+', 0o600);
      // Written, not only sized: a small shared-memory folder says now that it is full, not in the middle of a transfer.
      const zeros = new Uint8Array(1 << 20);
      for (let at = 0; at < fileBytes; ) at += writeSync(fd, zeros, 0, Math.min(zeros.length, fileBytes - at), at);
      return { fd, path };
    } catch (e) {
      last = e;
      if (fd !== null) closeSync(fd);
      rmSync(path, { force: true });
    }
  }
  throw new DeviceUnavailable({
    code: 'NO_SHARED_FILE',
    message: `isolation: no folder for ${fileBytes} bytes shared with the device's process: ${last}`,
    fix: 'Make room in /dev/shm or in the folder of temporary files (TMPDIR).',
    where: 'isolation',
    cause: last,
  });
}

/** In the package the child is a file beside this one; from the sources, the built one is taken. */
function findScript(): string {
  const places = ['./gpu-child.js', '../gpu-child.js', '../../../../dist/gpu-child.js'];
  const found = places.map((p) => fileURLToPath(new URL(p, import.meta.url))).find((p) => existsSync(p));
  if (found) return found;
  throw new DeviceUnavailable({
    code: 'NO_CHILD_SCRIPT',
    message: 'isolation: gpu-child.js is not beside the library',
    fix: 'Bundlers leave it out: mark gpuforge as external, or give the path of node_modules/gpuforge/dist/gpu-child.js.',
    where: 'isolation',
  });
}
