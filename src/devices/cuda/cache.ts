// Compiled kernels on disk.
//
// One file per cubin, named by the SHA-256 of everything that decides its contents (PTX text, architecture, driver,
// format), holding a checksum and the bytes. Files are written under a temporary name and renamed, so that processes can
// share the folder; a file that does not check out is treated as missing. When the folder outgrows its limit, the least
// recently used files go. Any failure of the disk only means a slower start, never an error.

import { makeFolder } from '../../base/folder.ts';

export interface CubinStore {
  get(ptx: string): Uint8Array | undefined;
  put(ptx: string, cubin: Uint8Array): void;
  /** The file is wrong although its checksum is right (the driver refused it). */
  drop(ptx: string): void;
}

export const noStore: CubinStore = { get: () => undefined, put: () => {}, drop: () => {} };

type Node = {
  fs: typeof import('node:fs');
  path: typeof import('node:path');
  crypto: typeof import('node:crypto');
};

const magicText = 'GFCUBIN1';
const headerBytes = 8 + 32;

export interface CacheOptions {
  readonly folder: string;
  /** Architecture, driver version: whatever else decides the result. */
  readonly salt: string;
  readonly maxBytes?: number;
}

/** The cache folder of the user, by the XDG rules. */
export function defaultCacheFolder(env: Readonly<Record<string, string | undefined>>, home: string): string {
  const base = env.XDG_CACHE_HOME || (env.LOCALAPPDATA ?? `${home}/.cache`);
  return `${base}/gpuforge/cubin`;
}

export async function openCubinCache(options: CacheOptions): Promise<CubinStore> {
  const node: Node = {
    fs: await import('node:fs'),
    path: await import('node:path'),
    crypto: await import('node:crypto'),
  };
  return new DiskCache(node, options);
}

class DiskCache implements CubinStore {
  readonly #node: Node;
  readonly #folder: string;
  readonly #salt: string;
  readonly #maxBytes: number;
  #sinceTrim = 0;
  #made = false;

  constructor(node: Node, options: CacheOptions) {
    this.#node = node;
    this.#folder = options.folder;
    this.#salt = options.salt;
    this.#maxBytes = options.maxBytes ?? 256 * 2 ** 20;
  }

  get(ptx: string): Uint8Array | undefined {
    const { fs } = this.#node;
    const file = this.#fileOf(ptx);
    try {
      const bytes = fs.readFileSync(file);
      const body = bytes.subarray(headerBytes);
      if (
        bytes.length > headerBytes &&
        bytes.toString('latin1', 0, 8) === magicText &&
        this.#sum(body).equals(bytes.subarray(8, headerBytes))
      ) {
        // Marks it as used, for the trim.
        const now = new Date();
        fs.utimesSync(file, now, now);
        return body;
      }
      fs.rmSync(file, { force: true });
    } catch {
      // Missing or unreadable: compile again.
    }
    return undefined;
  }

  put(ptx: string, cubin: Uint8Array): void {
    const { fs, crypto } = this.#node;
    const file = this.#fileOf(ptx);
    const temporary = `${file}.${crypto.randomUUID()}.tmp`;
    try {
      if (!this.#made) makeFolder(fs, this.#folder, 0o700);
      this.#made = true;
      fs.writeFileSync(temporary, Buffer.concat([Buffer.from(magicText, 'latin1'), this.#sum(cubin), cubin]));
      fs.renameSync(temporary, file);
      this.#sinceTrim += cubin.length;
      if (this.#sinceTrim > this.#maxBytes / 8) this.#trim();
    } catch {
      this.#remove(temporary);
    }
  }

  drop(ptx: string): void {
    this.#remove(this.#fileOf(ptx));
  }

  #remove(file: string): void {
    try {
      this.#node.fs.rmSync(file, { force: true });
    } catch {
      // The folder itself may be unusable; then there is nothing to remove.
    }
  }

  #sum(bytes: Uint8Array): Buffer {
    return this.#node.crypto.createHash('sha256').update(bytes).digest();
  }

  #fileOf(ptx: string): string {
    const hash = this.#node.crypto.createHash('sha256').update(this.#salt).update('\0').update(ptx).digest('hex');
    return this.#node.path.join(this.#folder, `${hash}.cubin`);
  }

  #trim(): void {
    const { fs, path } = this.#node;
    this.#sinceTrim = 0;
    const hourAgo = Date.now() - 3_600_000;
    const files: { file: string; size: number; used: number }[] = [];
    for (const name of fs.readdirSync(this.#folder)) {
      const file = path.join(this.#folder, name);
      try {
        const { size, mtimeMs } = fs.statSync(file);
        if (name.endsWith('.cubin')) files.push({ file, size, used: mtimeMs });
        else if (name.endsWith('.tmp') && mtimeMs < hourAgo) fs.rmSync(file, { force: true });
      } catch {
        // Another process was faster.
      }
    }
    files.sort((a, b) => b.used - a.used);
    let total = 0;
    for (const { file, size } of files) {
      total += size;
      if (total > this.#maxBytes) fs.rmSync(file, { force: true });
    }
  }
}
