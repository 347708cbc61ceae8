// Profiles and learned corrections on a disk: one file per device, named by everything that decides its speed. Node only.
//
// A file is written under a temporary name and renamed, so that processes can share the folder; it holds its own checksum, and
// one that does not check out is treated as missing.

import { makeFolder } from '../../base/folder.ts';
import { environment, importNode } from '../../base/platform.ts';
import type { Device } from '../../devices/device.ts';
import type { SavedCorrections } from './corrections.ts';
import type { Learned } from './model.ts';
import { parseProfile } from './profile.ts';
import { fingerprintOf, type Known, type ProfileStore } from './store.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The user's cache folder for routing: XDG rules, `GPUFORGE_CACHE_DIR` first. */
export function routingFolder(env: Environment, home: string): string {
  if (env.GPUFORGE_CACHE_DIR) return `${env.GPUFORGE_CACHE_DIR}/routing`;
  return `${env.XDG_CACHE_HOME || (env.LOCALAPPDATA ?? `${home}/.cache`)}/gpuforge/routing`;
}

/** A folder, or null for the user's. */
export async function openDisk(folder: string | null): Promise<ProfileStore> {
  const node: Node = {
    fs: (await importNode('fs')) as Node['fs'],
    os: (await importNode('os')) as Node['os'],
    crypto: (await importNode('crypto')) as Node['crypto'],
  };
  return new DiskStore(node, folder ?? routingFolder(environment(), node.os.homedir()));
}

interface Node {
  readonly fs: typeof import('node:fs');
  readonly os: typeof import('node:os');
  readonly crypto: typeof import('node:crypto');
}

interface Body extends Known {
  readonly fingerprint: string;
}

class DiskStore implements ProfileStore {
  readonly folder: string;
  readonly #node: Node;
  readonly #host: string;

  constructor(node: Node, folder: string) {
    this.#node = node;
    this.folder = folder;
    const cpus = node.os.cpus();
    this.#host = [node.os.platform(), node.os.arch(), cpus[0]?.model ?? '', cpus.length, process.versions.v8].join(' ');
  }

  load(device: Device): Known | null {
    const fingerprint = fingerprintOf(device, this.#host);
    try {
      const { sum, body } = JSON.parse(this.#node.fs.readFileSync(this.#file(fingerprint), 'utf8'));
      if (typeof body !== 'string' || sum !== this.#hash(body)) return null;
      const known = JSON.parse(body) as Body;
      const profile = parseProfile(known.profile);
      if (!profile || profile.device !== device.id || known.fingerprint !== fingerprint) return null;
      return { profile, learned: parseLearned(known.learned), measuredAt: Number(known.measuredAt) || 0 };
    } catch {
      return null;
    }
  }

  save(device: Device, known: Known): void {
    const { fs, crypto } = this.#node;
    const fingerprint = fingerprintOf(device, this.#host);
    const file = this.#file(fingerprint);
    const temporary = `${file}.${crypto.randomUUID()}.tmp`;
    try {
      const body = JSON.stringify({ fingerprint, ...known } satisfies Body);
      makeFolder(fs, this.folder, 0o700);
      fs.writeFileSync(temporary, JSON.stringify({ sum: this.#hash(body), body }));
      fs.renameSync(temporary, file);
    } catch {
      this.#remove(temporary);
    }
  }

  clear(): number {
    try {
      const files = this.#node.fs.readdirSync(this.folder).filter((f) => f.endsWith('.json') || f.endsWith('.tmp'));
      for (const f of files) this.#remove(`${this.folder}/${f}`);
      return files.length;
    } catch {
      return 0;
    }
  }

  #remove(file: string): void {
    try {
      this.#node.fs.rmSync(file, { force: true });
    } catch {
      // The folder itself cannot be used.
    }
  }

  #hash(text: string): string {
    return this.#node.crypto.createHash('sha256').update(text).digest('hex');
  }

  #file(fingerprint: string): string {
    return `${this.folder}/${this.#hash(fingerprint).slice(0, 32)}.json`;
  }
}

function parseLearned(value: unknown): Learned | null {
  const v = value as Learned | null;
  return v && isSaved(v.kernels) && isSaved(v.calls) && Number.isFinite(v.transferLog) ? v : null;
}

function isSaved(v: SavedCorrections | null | undefined): boolean {
  const rows = (list: unknown, width: number): boolean =>
    Array.isArray(list) && list.every((r) => Array.isArray(r) && r.length === width && r.every(Number.isFinite));
  return Boolean(v) && rows(v?.programs, 4) && rows(v?.classes, 3);
}
