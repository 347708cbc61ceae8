// Profiles and learned corrections kept between runs: one file per device, named by everything that decides its speed.
//
// A file is written under a temporary name and renamed, so that processes can share the folder; it holds its own checksum, and
// one that does not check out is treated as missing. Where there is no disk (browsers) or it cannot be used, what was
// measured lives in memory for as long as the process. A failing disk only means measuring again, never an error.

import { importNode, isNode } from '../../base/platform.ts';
import { version } from '../../base/version.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { SavedCorrections } from './corrections.ts';
import type { Learned } from './model.ts';
import { type Profile, parseProfile } from './profile.ts';

/** Raised when what is measured, or how it is stored, changes its meaning. */
export const schema = 4;

export interface Known {
  readonly profile: Profile;
  readonly learned: Learned | null;
  /** When it was measured, ms since 1970. */
  readonly measuredAt: number;
}

export interface ProfileStore {
  /** Where it keeps things; null in memory. */
  readonly folder: string | null;
  load(device: Device): Known | null;
  save(device: Device, known: Known): void;
  /** Forgets all devices; returns how many files that were. */
  clear(): number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The user's cache folder for routing: XDG rules, `GPUFORGE_CACHE_DIR` first. */
export function routingFolder(env: Environment, home: string): string {
  if (env.GPUFORGE_CACHE_DIR) return `${env.GPUFORGE_CACHE_DIR}/routing`;
  return `${env.XDG_CACHE_HOME || (env.LOCALAPPDATA ?? `${home}/.cache`)}/gpuforge/routing`;
}

/** Everything about a device that decides its speed. Details that are computed when asked for are left out. */
export function fingerprintOf(device: Device, host: string): string {
  const details = Object.entries(Object.getOwnPropertyDescriptors(device.caps.details))
    .filter(([, d]) => d.get === undefined)
    .map(([name, d]) => `${name}=${d.value}`)
    .sort();
  return [`schema ${schema}`, version, host, device.id, device.caps.name, ...details].join('\n');
}

/** `cache`: a folder, null for the user's, false for memory only. */
export async function openProfileStore(cache: string | false | null): Promise<ProfileStore> {
  if (cache === false || !isNode()) return new MemoryStore();
  const node: Node = {
    fs: (await importNode('fs')) as Node['fs'],
    os: (await importNode('os')) as Node['os'],
    crypto: (await importNode('crypto')) as Node['crypto'],
  };
  return new DiskStore(node, cache ?? routingFolder(process.env, node.os.homedir()));
}

const shared = new Map<string, Known>();

class MemoryStore implements ProfileStore {
  readonly folder = null;

  load(device: Device): Known | null {
    return shared.get(fingerprintOf(device, '')) ?? null;
  }

  save(device: Device, known: Known): void {
    shared.set(fingerprintOf(device, ''), known);
  }

  clear(): number {
    const { size } = shared;
    shared.clear();
    return size;
  }
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
      fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
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

/** Profiles and learned corrections of devices, as far as they are known. */
export function loadAll(
  store: ProfileStore,
  devices: readonly Device[],
): { readonly known: Map<DeviceId, Known>; readonly unknown: Device[] } {
  const known = new Map<DeviceId, Known>();
  const unknown: Device[] = [];
  for (const device of devices) {
    const found = store.load(device);
    if (found) known.set(device.id, found);
    else unknown.push(device);
  }
  return { known, unknown };
}
