// Forge for the page: detect, doctor, resolve and environment files. Only reads: nothing is installed, and nothing is written, not
// even the cache of the detection. Flags come from a fixed list, and none of them is a path.

import { loadConfig } from '../forge/config/file.ts';
import { mirrorsOf } from '../forge/env/mirrors.ts';
import {
  allProfiles,
  type ComputeProbe,
  detect,
  detectJson,
  examine,
  type Format,
  findProfile,
  formats,
  nodePorts,
  nodeWorld,
  planEnvironment,
  renderEnvironment,
  resolve,
} from '../forge/index.ts';
import { prepare, wishes } from '../forge/resolve/command.ts';
import { type MachineFlags, machineFor } from '../forge/resolve/machine-for.ts';
import { ArgumentError } from '../index.ts';
import { type Answer, type ApiRequest, json, problem, problemOf } from './http/reply.ts';

export interface ForgeApi {
  call(request: ApiRequest): Promise<Answer | undefined>;
}

type Flags = Readonly<Record<string, string>>;
type Run = (flags: Flags, probe: ComputeProbe | undefined) => Promise<unknown>;

const machineNames = ['for', 'forInstance', 'driver', 'os', 'arch'] as const;
const wishNames = ['framework', 'python', 'cpuOnly'] as const;
/** Examining a machine starts processes: asked again within this time, the answer is the same. */
const freshMs = 10_000;
const longestFlag = 200;

const routes: Readonly<Record<string, { readonly flags: readonly string[]; readonly run: Run }>> = {
  '/api/forge/detect': {
    flags: [],
    run: async () => detectJson(await detect(nodePorts(), { cache: false })),
  },
  '/api/forge/doctor': {
    flags: [],
    run: async (_, computeProbe) => {
      const ports = nodePorts();
      const detection = await detect(ports, { cache: false });
      return examine(nodeWorld(ports), detection, { offline: true, ...(computeProbe ? { computeProbe } : {}) });
    },
  },
  '/api/forge/resolve': {
    flags: [...machineNames, ...wishNames],
    run: async (flags) => {
      const ports = nodePorts();
      const { loaded } = prepare(ports, {});
      const machine = await machineFor(ports, machineFlags(flags), { cache: false });
      return resolve(loaded.tables, { ...wishes(loadConfig(ports), wishFlags(flags)), machine }, loaded.reviewed);
    },
  },
  '/api/forge/env': {
    flags: [...machineNames, ...wishNames, 'name', 'profile', 'minimal', 'format'],
    run: async (flags) => {
      const ports = nodePorts();
      const { config, loaded } = prepare(ports, {});
      const profiles = allProfiles(loaded.tables, config.profiles);
      const plan = planEnvironment(loaded.tables, {
        ...wishes(config, wishFlags(flags)),
        name: flags.name || 'environment',
        machine: await machineFor(ports, machineFlags(flags), { cache: false }),
        ...(flags.profile ? { profile: findProfile(profiles, flags.profile) } : {}),
        profiles,
        mirrors: mirrorsOf(config),
        minimal: flags.minimal === 'true',
        dataReviewed: loaded.reviewed,
      });
      return {
        schema: 'gpuforge.env/1',
        name: plan.name,
        profile: plan.profile.name,
        profiles: profiles.map((p) => p.name),
        choice: plan.choice,
        warnings: plan.warnings,
        files: renderEnvironment(plan, flags.format ? formatsOf(flags.format) : undefined),
      };
    },
  },
};

export function createForgeApi(probe?: ComputeProbe): ForgeApi {
  const running = new Map<string, { readonly at: number; readonly answer: Promise<Answer> }>();
  return {
    call: async ({ method, path, query }) => {
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (!route) return undefined;
      if (method !== 'GET') return problem(405, `${path} is only for reading.`);
      try {
        const flags = flagsOf(query, route.flags, path);
        const key = `${path}?${new URLSearchParams(flags)}`;
        const known = running.get(key);
        if (known && Date.now() - known.at < freshMs) return await known.answer;
        const answer = route.run(flags, probe).then((value) => json(value), problemOf);
        running.set(key, { at: Date.now(), answer });
        if (running.size > 32) running.delete(running.keys().next().value!);
        return await answer;
      } catch (error) {
        return problemOf(error);
      }
    },
  };
}

function flagsOf(query: URLSearchParams, known: readonly string[], path: string): Flags {
  const flags: Record<string, string> = {};
  for (const [name, value] of query) {
    if (name === 'program' || value === '') continue;
    if (!known.includes(name))
      throw bad(`${path}: there is no flag '${name}'`, `Flags here are ${known.join(', ') || 'none'}.`);
    if (value.length > longestFlag) throw bad(`${path}: ${name} is too long`, `Use up to ${longestFlag} characters.`);
    flags[name] = value;
  }
  return flags;
}

const machineFlags = ({ for: gpu, forInstance, driver, os, arch }: Flags): MachineFlags => ({
  ...(gpu ? { for: [gpu] } : {}),
  ...(forInstance ? { forInstance } : {}),
  ...(driver ? { driver } : {}),
  ...(os ? { os } : {}),
  ...(arch ? { arch } : {}),
});

const wishFlags = ({ framework, python, cpuOnly }: Flags) => ({
  ...(framework ? { framework } : {}),
  ...(python ? { python } : {}),
  ...(cpuOnly === 'true' ? { cpuOnly: true } : {}),
});

const formatsOf = (text: string): readonly Format[] =>
  text.split(',').map((name) => {
    const found = formats.find((f) => f === name);
    if (found) return found;
    throw bad(`there is no format '${name}'`, `Formats are ${formats.join(', ')}.`);
  });

const bad = (message: string, fix: string): ArgumentError =>
  new ArgumentError({ code: 'BAD_REQUEST', message, fix, where: 'studio.forge' });
