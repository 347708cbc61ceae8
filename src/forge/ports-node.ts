// The port on the real machine: Node's own file and process calls.
//
// Existence is asked before reading, because a thrown ENOENT costs more than the whole probe it stands for. Values that
// cost something are read when first used. Nothing happens at import.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../base/folder.ts';
import { clock } from './clock.ts';
import { loadFfi, loadNative } from './detect/ffi.ts';
import { type Nvml, startNvml } from './detect/nvml.ts';
import type { Arch, Platform } from './machine.ts';
import type {
  CachePort,
  FilePort,
  FileStat,
  NvmlAnswer,
  NvmlDevice,
  NvmlPort,
  Ports,
  ProcessPort,
  RunResult,
} from './ports.ts';
import { readRegular } from './regular-file.ts';

const MOST_OUTPUT = 4 * 1024 * 1024;

export interface NodePortOptions {
  /** Path of the built nvml-child.js; looked for beside this file when not given. */
  readonly nvmlChild?: string;
  /**
   * Where NVML runs. `child` (the default) survives a driver that never answers; `none` asks in this process, which spares
   * a process start and hangs with the driver.
   */
  readonly isolation?: 'child' | 'none';
  readonly cacheFolder?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export function nodePorts(options: NodePortOptions = {}): Ports {
  const env = options.env ?? process.env;
  const platform = platformOf(process.platform);
  const processes = nodeProcesses();
  return {
    files: nodeFiles,
    processes,
    nvml: options.isolation === 'none' ? directNvml() : childNvml(processes, () => options.nvmlChild ?? findChild()),
    cache: folderCache(options.cacheFolder ?? cacheFolder(platform, env)),
    env,
    platform,
    arch: archOf(process.arch),
    get user() {
      if (!process.getuid || !process.getgroups || !process.getgid) return undefined;
      return { uid: process.getuid(), gids: [process.getgid(), ...process.getgroups()] };
    },
    home: homeOf(env),
    node: process.version,
    get kernel() {
      return os.release();
    },
    get cpuModel() {
      return platform === 'linux' ? linuxCpu() : (os.cpus()[0]?.model.trim() ?? '');
    },
    get cores() {
      return os.availableParallelism();
    },
    get memoryBytes() {
      return os.totalmem();
    },
    get bootId() {
      return bootId(platform);
    },
    now: () => Date.now(),
  };
}

/** Without HOME (a service, a bare container) the account database still knows; a HOME that is no whole path counts as none. */
function homeOf(env: Readonly<Record<string, string | undefined>>): string {
  return whole(env.HOME) ?? whole(env.USERPROFILE) ?? (attempt(() => os.userInfo().homedir) || '');
}

/** A path from the root; others would make folders wherever the program was started. */
const whole = (folder: string | undefined): string | undefined =>
  folder !== undefined && (path.isAbsolute(folder) || path.win32.isAbsolute(folder)) ? folder : undefined;

function platformOf(name: NodeJS.Platform): Platform {
  return name === 'linux' ? 'linux' : name === 'win32' ? 'windows' : name === 'darwin' ? 'macos' : 'other';
}

function archOf(name: string): Arch {
  return name === 'x64' || name === 'arm64' ? name : 'other';
}

/** The first record of /proc/cpuinfo; the rest repeats it once a core. */
function linuxCpu(): string {
  const text = readHead('/proc/cpuinfo', 4096) ?? '';
  return /^model name\s*:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? '';
}

function bootId(platform: Platform): string {
  if (platform === 'linux') return nodeFiles.read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  // The start of the machine to the half minute: uptime and clock drift apart a little.
  return String(Math.round((Date.now() / 1000 - os.uptime()) / 30));
}

/** The folder for cached results: XDG, or the platform's own. Joined by hand: the first call of `path.join` costs a tenth of a hit. */
export function cacheFolder(platform: Platform, env: Readonly<Record<string, string | undefined>>): string {
  if (env.GPUFORGE_CACHE_DIR) return env.GPUFORGE_CACHE_DIR;
  const home = homeOf(env) || `${os.tmpdir()}${path.sep}gpuforge-${process.getuid?.() ?? 'user'}`;
  const below = (...names: readonly string[]): string => names.join(path.sep);
  switch (platform) {
    case 'windows':
      return below(env.LOCALAPPDATA ?? below(home, 'AppData', 'Local'), 'gpuforge', 'cache');
    case 'macos':
      return below(home, 'Library', 'Caches', 'gpuforge');
    case 'linux':
    case 'other':
      return below(whole(env.XDG_CACHE_HOME) ?? below(home, '.cache'), 'gpuforge');
    default:
      return platform satisfies never;
  }
}

/** The beginning of a file that would be long to generate. */
function readHead(file: string, bytes: number): string | undefined {
  return attempt(() => {
    const handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    try {
      const buffer = Buffer.alloc(bytes);
      return buffer.toString('utf8', 0, fs.readSync(handle, buffer, 0, bytes, null));
    } finally {
      fs.closeSync(handle);
    }
  });
}

/** The text of a regular file; undefined where there is none. Asking first is cheaper than an error. */
function readText(file: string): string | undefined {
  return fs.existsSync(file) ? attempt(() => readRegular(file)) : undefined;
}

const nodeFiles: FilePort = {
  read: readText,
  exists: (file) => fs.existsSync(file),
  list(folder) {
    if (!fs.existsSync(folder)) return undefined;
    try {
      return fs.readdirSync(folder).sort();
    } catch {
      return undefined;
    }
  },
  link(file) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    return stat?.isSymbolicLink() ? attempt(() => fs.readlinkSync(file)) : undefined;
  },
  resolve(file) {
    return fs.existsSync(file) ? attempt(() => fs.realpathSync.native(file)) : undefined;
  },
  stat(file) {
    const stat = attempt(() => fs.statSync(file, { throwIfNoEntry: false }));
    return stat ? toStat(stat) : undefined;
  },
};

function toStat(stat: fs.Stats): FileStat {
  const kind = stat.isFile()
    ? 'file'
    : stat.isDirectory()
      ? 'directory'
      : stat.isCharacterDevice() || stat.isBlockDevice()
        ? 'device'
        : 'other';
  return { kind, size: stat.size, mtimeMs: stat.mtimeMs, mode: stat.mode, uid: stat.uid, gid: stat.gid };
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

function nodeProcesses(): ProcessPort {
  let spawned = 0;
  return {
    get spawned() {
      return spawned;
    },
    run(file, args, { timeoutMs }) {
      spawned++;
      return runProcess(file, args, timeoutMs);
    },
  };
}

/** The child leads its own group, so that what it started ends with it; after the limit nothing of it keeps us alive. */
async function runProcess(file: string, args: readonly string[], timeoutMs: number): Promise<RunResult> {
  const start = clock();
  // Loading this costs as much as a whole detection, and most detections start nothing.
  const { spawn } = await import('node:child_process');
  const group = process.platform !== 'win32';
  return new Promise((resolve) => {
    const out: string[] = [];
    const err: string[] = [];
    let size = 0;
    let settled = false;
    const finish = (outcome: RunResult['outcome'], status: number | null) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      resolve({ outcome, status, stdout: out.join(''), stderr: err.join(''), ms: clock() - start });
    };
    const child = spawn(file, [...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: group, windowsHide: true });
    const collect = (into: string[]) => (chunk: string) => {
      size += chunk.length;
      if (size <= MOST_OUTPUT) into.push(chunk);
    };
    child.stdout.setEncoding('utf8').on('data', collect(out));
    child.stderr.setEncoding('utf8').on('data', collect(err));
    child.on('error', (error: NodeJS.ErrnoException) => finish(error.code === 'ENOENT' ? 'not-found' : 'failed', null));
    child.on('close', (status) => finish(status === null ? 'failed' : 'exited', status));
    const timer = setTimeout(() => {
      finish('timeout', null);
      attempt(() => (group && child.pid ? process.kill(-child.pid, 'SIGKILL') : child.kill('SIGKILL')));
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
    }, timeoutMs);
  });
}

/** The built child lies beside the bundle, or one folder up when this code is in a chunk folder. */
export function findChild(): string | undefined {
  const beside = ['./nvml-child.js', '../nvml-child.js'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  return beside.find((file) => fs.existsSync(file));
}

function childNvml(processes: ProcessPort, find: () => string | undefined): NvmlPort {
  return {
    startsNode: true,
    async query(library, timeoutMs): Promise<NvmlAnswer> {
      const script = find();
      if (script === undefined) return { outcome: 'no-ffi', detail: 'nvml-child.js is not beside this program', ms: 0 };
      const result = await processes.run(process.execPath, [script, 'query', library], { timeoutMs });
      if (result.outcome === 'timeout') {
        return { outcome: 'timeout', detail: `no answer within ${timeoutMs} ms; ended`, ms: result.ms };
      }
      return parseAnswer(result);
    },
  };
}

/** NVML in this process: it starts while the caller does whatever it does after `prepare`. */
function directNvml(): NvmlPort {
  let prepared: { readonly library: string; readonly opening: Promise<Nvml> } | undefined;
  const open = async (library: string): Promise<Nvml> => startNvml(await loadFfi(), library);
  return {
    prepare(library) {
      // The start is under way when this returns: what the caller reads next takes no time of its own. What goes wrong is told
      // by the query. If none comes, the library waits for the next one.
      const ffi = loadNative();
      if (ffi === undefined) return;
      const opening = startNvml(ffi, library);
      opening.catch(() => {});
      prepared = { library, opening };
    },
    async query(library): Promise<NvmlAnswer> {
      const start = clock();
      const opening = prepared?.library === library ? prepared.opening : open(library);
      prepared = undefined;
      try {
        const nvml = await opening;
        const devices = nvml.devices();
        // Closing takes milliseconds; the answer need not wait for it, and the card may sleep again after it.
        setImmediate(() => nvml.close());
        return { outcome: 'ok', driver: nvml.driver, cuda: nvml.cuda, devices, ms: clock() - start };
      } catch (error) {
        const absent = (error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
        const detail = error instanceof Error ? error.message : String(error);
        return { outcome: absent ? 'no-ffi' : 'failed', detail, ms: clock() - start };
      }
    },
  };
}

interface ChildLine {
  readonly error?: string;
  readonly kind?: 'no-ffi' | 'failed';
  readonly driver?: string | null;
  readonly cuda?: string | null;
  readonly devices?: readonly NvmlDevice[];
}

function parseAnswer(result: RunResult): NvmlAnswer {
  const line = attempt(() => JSON.parse(result.stdout.trim().split('\n').at(-1) ?? '') as ChildLine);
  if (line?.devices) {
    return {
      outcome: 'ok',
      driver: line.driver ?? null,
      cuda: line.cuda ?? null,
      devices: line.devices,
      ms: result.ms,
    };
  }
  const detail = line?.error ?? (result.stderr.trim().split('\n')[0] || `exit status ${result.status ?? 'none'}`);
  return { outcome: line?.kind ?? 'failed', detail, ms: result.ms };
}

/** A folder of this user: nothing is written into one that somebody else put there, or through a link of somebody else. */
function ownFolder(folder: string): boolean {
  const uid = process.getuid?.();
  if (uid === undefined) return true;
  const link = fs.lstatSync(folder);
  return link.uid === uid && fs.statSync(folder).uid === uid;
}

function folderCache(folder: string): CachePort {
  return {
    folder,
    read: (name) => readText(`${folder}${path.sep}${name}`),
    write(name, text) {
      attempt(() => {
        makeFolder(fs, folder, 0o700);
        if (!ownFolder(folder)) return;
        const temporary = path.join(folder, `${name}.${process.pid}.${process.hrtime.bigint().toString(36)}.tmp`);
        fs.writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
        fs.renameSync(temporary, path.join(folder, name));
      });
    },
    list() {
      return (nodeFiles.list(folder) ?? []).flatMap((name) => {
        const stat = nodeFiles.stat(path.join(folder, name));
        return stat?.kind === 'file' ? [{ name, size: stat.size, mtimeMs: stat.mtimeMs }] : [];
      });
    },
    remove(name) {
      attempt(() => fs.rmSync(path.join(folder, name), { force: true }));
    },
  };
}
