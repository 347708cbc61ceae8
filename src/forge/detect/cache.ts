// Keeps the last detection on disk, so that the next command starts nothing and wakes nothing.
//
// The key is made of files a plain read gives: boot, driver, PCI addresses, device nodes, bindings, visibility, overrides. A
// hit also re-reads the ids of the GPUs it remembers, so a swapped card misses. Entries are JSON with a schema version; another
// version, a broken file or a stamp from the future is a miss, never an error. Writing is a temporary file and a rename: two
// commands at once leave one whole entry, and a read-only disk changes nothing but speed.

import { MACHINE_SCHEMA, type Machine, missing } from '../machine.ts';
import type { CachePort, Ports } from '../ports.ts';
import { PCI_ROOT } from './pci.ts';
import { visibilityNames } from './visibility.ts';

const CACHE_SCHEMA = 1;
export const FULL_LIFE_MS = 24 * 3600 * 1000;
export const SHORT_LIFE_MS = 10 * 60 * 1000;
const FUTURE_LIMIT_MS = 5 * 60 * 1000;
const MOST_ENTRIES = 16;

interface Entry {
  readonly schema: number;
  readonly key: string;
  readonly createdMs: number;
  readonly lifeMs: number;
  readonly machine: Machine;
}

export interface CacheEntryInfo {
  readonly file: string;
  readonly bytes: number;
  readonly createdMs: number | null;
  readonly lifeMs: number | null;
  readonly gpus: readonly string[];
  readonly state: 'valid' | 'expired' | 'unreadable';
}

const DRIVERS = ['nvidia', 'nouveau', 'vfio-pci', 'amdgpu', 'i915', 'xe'];

/** Everything the result depends on, as one string; compared whole, never by its hash alone. */
export function cacheKey(ports: Ports, variant: string): string {
  const { files, env } = ports;
  // Without a kernel module to ask, the driver is known by its library.
  const libraryPath =
    ports.platform === 'windows'
      ? 'C:\\Windows\\System32\\nvml.dll'
      : files.exists('/dev/dxg')
        ? '/usr/lib/wsl/lib/libnvidia-ml.so.1'
        : undefined;
  const library = libraryPath === undefined ? undefined : files.stat(libraryPath);
  const parts: readonly (string | number | undefined)[] = [
    MACHINE_SCHEMA,
    variant,
    ports.platform,
    ports.arch,
    ports.bootId,
    ports.memoryBytes,
    files.read('/sys/module/nvidia/version')?.trim(),
    files.read('/sys/module/amdgpu/version')?.trim(),
    library && `${library.size}@${library.mtimeMs}`,
    files.exists('/.dockerenv') ? 'docker' : files.exists('/run/.containerenv') ? 'podman' : '',
    ports.user?.uid,
    ports.user?.gids.join(' '),
    files.list(PCI_ROOT)?.join(' '),
    ...DRIVERS.map((driver) => files.list(`/sys/bus/pci/drivers/${driver}`)?.filter(isAddress).join(' ')),
    files.list('/proc/driver/nvidia/gpus')?.join(' '),
    files.list('/dev')?.filter(isGpuNode).join(' '),
    files.list('/dev/dri')?.join(' '),
    ...visibilityNames.map((name) => env[name]),
  ];
  return JSON.stringify(parts.map((part) => part ?? null));
}

function isAddress(name: string): boolean {
  return name.includes(':');
}

function isGpuNode(name: string): boolean {
  return name.startsWith('nvidia') || name === 'kfd' || name === 'dxg';
}

export function readCache(ports: Ports, store: CachePort, key: string): Machine | undefined {
  const entry = parseEntry(store.read(fileOf(key)));
  if (!entry || entry.key !== key) return undefined;
  const age = ports.now() - entry.createdMs;
  if (age > entry.lifeMs || age < -FUTURE_LIMIT_MS) return undefined;
  if (!sameDevices(ports, entry.machine)) return undefined;
  return withoutReadings(entry.machine);
}

export function writeCache(ports: Ports, store: CachePort, key: string, machine: Machine, lifeMs = FULL_LIFE_MS): void {
  const short = machine.partial || machine.gpus.length === 0;
  const entry: Entry = {
    schema: CACHE_SCHEMA,
    key,
    createdMs: ports.now(),
    lifeMs: short ? Math.min(lifeMs, SHORT_LIFE_MS) : lifeMs,
    machine,
  };
  store.write(fileOf(key), JSON.stringify(entry));
  prune(store);
}

/** A card exchanged at the same address, without a reboot, changes only its ids. */
function sameDevices(ports: Ports, machine: Machine): boolean {
  return machine.gpus.every(({ pci }) => {
    if (pci === null || pci.address === '') return true;
    const at = `${PCI_ROOT}/${pci.address}`;
    return (
      ports.files.read(`${at}/vendor`)?.trim() === `0x${pci.vendorId}` &&
      ports.files.read(`${at}/device`)?.trim() === `0x${pci.deviceId}`
    );
  });
}

/** What changes by the second does not live in a cache. */
function withoutReadings(machine: Machine): Machine {
  const stale = missing('not kept in the cache');
  return { ...machine, gpus: machine.gpus.map((gpu) => ({ ...gpu, memoryFreeBytes: stale })) };
}

function parseEntry(text: string | undefined): Entry | undefined {
  if (text === undefined) return undefined;
  try {
    const entry = JSON.parse(text) as Partial<Entry> | null;
    if (entry?.schema !== CACHE_SCHEMA || entry.machine?.schema !== MACHINE_SCHEMA) return undefined;
    if (typeof entry.key !== 'string' || !Number.isFinite(entry.createdMs) || !Number.isFinite(entry.lifeMs))
      return undefined;
    return Array.isArray(entry.machine.gpus) ? (entry as Entry) : undefined;
  } catch {
    return undefined;
  }
}

/** Two 32-bit FNV-1a hashes: they only name the file; the key inside decides. */
function fileOf(key: string): string {
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ (code + i), 0x01000193);
  }
  const hex = (value: number) => (value >>> 0).toString(16).padStart(8, '0');
  return `detect-${hex(high)}${hex(low)}.json`;
}

function prune(store: CachePort): void {
  const entries = store.list().filter(({ name }) => isEntry(name));
  const old = [...entries].sort((a, b) => b.mtimeMs - a.mtimeMs).slice(MOST_ENTRIES);
  for (const { name } of old) store.remove(name);
}

function isEntry(name: string): boolean {
  return /^detect-[0-9a-f]{16}\.json$/.test(name);
}

export function describeCache(ports: Ports, store: CachePort): readonly CacheEntryInfo[] {
  return store
    .list()
    .filter(({ name }) => isEntry(name))
    .map(({ name, size }) => {
      const entry = parseEntry(store.read(name));
      const age = entry ? ports.now() - entry.createdMs : 0;
      const fresh = entry !== undefined && age <= entry.lifeMs && age >= -FUTURE_LIMIT_MS;
      return {
        file: name,
        bytes: size,
        createdMs: entry?.createdMs ?? null,
        lifeMs: entry?.lifeMs ?? null,
        gpus: entry?.machine.gpus.map((gpu) => ('source' in gpu.name ? gpu.name.value : gpu.id)) ?? [],
        state: entry === undefined ? 'unreadable' : fresh ? 'valid' : 'expired',
      };
    });
}

/** Removes every entry; returns how many. */
export function clearCache(store: CachePort): number {
  const entries = store.list().filter(({ name }) => isEntry(name) || name.endsWith('.tmp'));
  for (const { name } of entries) store.remove(name);
  return entries.length;
}
