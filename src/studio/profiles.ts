// Profiles in the studio: files that were named when it was started, profilers of the program, and uploads, which stay in memory and never
// reach the disk. Each is checked before anything of it is shown, and opens as the offline page of gpuforge/profile.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { ArgumentError, ForgeError, formatBytes } from '../index.ts';
import {
  compareProfiles,
  type KernelSummary,
  type ProfileFile,
  type Profiler,
  profilePage,
  readProfile,
  suggest,
} from '../profile/index.ts';
import { type Answer, type ApiRequest, json, problem, problemOf, profileBody } from './http/reply.ts';
import type { FirstKernel, ProfileRow } from './types.ts';

interface Held {
  readonly id: string;
  readonly name: string;
  readonly from: ProfileRow['from'];
  /** What is wrong with it, or null. */
  readonly problem: string | null;
  load(): Promise<ProfileFile>;
}

/** Uploads kept; the oldest goes. */
const mostUploads = 8;
const shownSuggestions = 5;

export class Profiles {
  #held: Held[] = [];
  #next = 1;

  constructor(files: readonly string[], profilers: readonly Profiler[]) {
    for (const [i, profiler] of profilers.entries())
      this.#add(profilers.length > 1 ? `profiler ${i + 1}` : 'this program', 'profiler', null, () =>
        profiler.collect(),
      );
    for (const file of files) this.#addFile(file);
  }

  /** Undefined if the path is none of ours. */
  async call(request: ApiRequest): Promise<Answer | undefined> {
    const { method, path, query } = request;
    try {
      if (path === '/api/profiles' && method === 'POST') return await this.#upload(request);
      if (method !== 'GET')
        return path.startsWith('/api/profiles') ? problem(405, `${path} is only for reading.`) : undefined;
      if (path === '/api/profiles') return json({ profiles: await Promise.all(this.#held.map(rowOf)) });
      if (path === '/api/profiles/compare') return await this.#compare(query);
      const id = /^\/profile\/([a-z0-9]{1,12})$/.exec(path)?.[1];
      return id === undefined ? undefined : await this.#page(this.#find(id));
    } catch (error) {
      return problemOf(error);
    }
  }

  #add(name: string, from: Held['from'], trouble: string | null, load: Held['load']): Held {
    const held: Held = { id: `p${this.#next++}`, name, from, problem: trouble, load };
    this.#held.push(held);
    return held;
  }

  #addFile(file: string): void {
    const name = file.split(/[\\/]/).at(-1)!;
    try {
      const profile = readProfile(readSmall(file));
      this.#add(name, 'file', null, async () => profile);
    } catch (error) {
      // Shown on the page: one bad file is no reason to hide the others.
      this.#add(name, 'file', words(error), () => Promise.reject(error));
    }
  }

  async #upload({ body, query }: ApiRequest): Promise<Answer> {
    const profile = readProfile((await body(profileBody)).toString('utf8'));
    const name = (query.get('name') ?? 'uploaded').slice(0, 200);
    const held = this.#add(name, 'upload', null, async () => profile);
    const uploads = this.#held.filter((h) => h.from === 'upload');
    if (uploads.length > mostUploads) this.#held = this.#held.filter((h) => h !== uploads[0]);
    return json(await rowOf(held));
  }

  async #compare(query: URLSearchParams): Promise<Answer> {
    const [before, after] = await Promise.all(['before', 'after'].map((k) => this.#find(query.get(k) ?? '').load()));
    return json(compareProfiles(before!, after!));
  }

  async #page(held: Held): Promise<Answer> {
    const body = (await profilePage(await held.load(), { title: held.name })).join('');
    return {
      status: 200,
      type: 'text/html; charset=utf-8',
      body,
      // Its script and its style are in it: the policy names them by their hashes, and allows nothing else.
      headers: { 'content-security-policy': `${policyOf(body)}; frame-ancestors 'none'` },
    };
  }

  #find(id: string): Held {
    const found = this.#held.find((h) => h.id === id);
    if (found) return found;
    throw new ArgumentError({
      code: 'NO_PROFILE',
      message: `there is no profile '${id}'`,
      fix: 'The list of profiles has those that there are.',
      where: 'studio',
    });
  }
}

/** A file that is not larger than an upload may be. */
function readSmall(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    if (size > profileBody)
      throw new ArgumentError({
        code: 'PROFILE_TOO_LARGE',
        message: `the file has ${formatBytes(size)}; a profile may have ${formatBytes(profileBody)}`,
        fix: 'Use gpuforge profile view for it, or record less: Profiler({ capacity }).',
        where: 'studio',
      });
    return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
}

const words = (error: unknown): string =>
  error instanceof ForgeError
    ? error.message.replace('\n  fix:', '')
    : error instanceof Error
      ? error.message
      : String(error);

const policyOf = (html: string): string =>
  (/http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? "default-src 'none'").replaceAll(
    '&#39;',
    "'",
  );

async function rowOf({ id, name, from, problem: trouble, load }: Held): Promise<ProfileRow> {
  const base = { id, name, from };
  try {
    if (trouble !== null) throw new Error(trouble);
    const p = await load();
    return {
      ...base,
      problem: null,
      createdAt: p.createdAt,
      wallMs: p.wallMs,
      devices: p.machine.devices.map((d) => `${d.id} (${d.name})`),
      operations: Object.keys(p.summary).length,
      calls: p.entries.length,
      kernels: p.kernels.length,
      first: firstOf(Object.values(p.kernelSummary)),
      suggestions: suggest(p).slice(0, shownSuggestions),
    };
  } catch (error) {
    const empty = { createdAt: null, wallMs: null, devices: [], operations: 0, calls: 0, kernels: 0, first: null };
    return { ...base, ...empty, problem: words(error), suggestions: [] };
  }
}

/** The kernel at which most time can be won: the time above what the device could do at best, or all of it where that is not known. */
function firstOf(kernels: readonly KernelSummary[]): FirstKernel | null {
  const known = kernels.filter((k): k is KernelSummary & { total: number } => k.total !== null && k.total > 0);
  const all = known.reduce((sum, k) => sum + k.total, 0);
  const gain = (k: (typeof known)[number]): number => k.total * (1 - Math.min(1, k.roofline ?? 0));
  const [first] = [...known].sort((a, b) => gain(b) - gain(a));
  if (!first) return null;
  const { name, device, count, total, roofline, bound } = first;
  return { name, device, count, totalMs: total, share: total / all, roofline, bound };
}
