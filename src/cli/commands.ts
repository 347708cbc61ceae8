// All commands by name, in the order `--help` lists them. Each is loaded when it is called: to start one, the others cost nothing.

import type { Command } from 'commander';

type Register = (program: Command) => void;

const loadProbe = async () => (await import('./probe.ts')).computeProbe;

const commands: Readonly<Record<string, () => Promise<Register>>> = {
  tour: async () => (await import('./tour/command.ts')).register,
  detect: async () => (await import('./forge/detect.ts')).register,
  stats: async () => (await import('./stats.ts')).register,
  studio: async () => (await import('./studio.ts')).register,
  calibrate: async () => (await import('./calibrate.ts')).register,
  'explain-route': async () => (await import('./explain-route.ts')).register,
  lattice: async () => (await import('./lattice.ts')).register,
  field: async () => (await import('./field.ts')).register,
  worker: async () => (await import('./worker.ts')).register,
  jobs: async () => (await import('./jobs.ts')).register,
  profile: async () => (await import('./profile.ts')).register,
  doctor: async () => {
    const { register } = await import('./forge/doctor.ts');
    return (program) => register(program, loadProbe);
  },
  report: async () => {
    const { register } = await import('./forge/report.ts');
    return (program) => register(program, loadProbe);
  },
  resolve: async () => (await import('./forge/resolve.ts')).register,
  env: async () => (await import('./forge/env.ts')).register,
  verify: async () => (await import('./forge/verify.ts')).register,
  profiles: async () => (await import('./forge/profiles.ts')).register,
  data: async () => (await import('./forge/data.ts')).register,
  explain: async () => (await import('./forge/explain.ts')).register,
  config: async () => (await import('./forge/config.ts')).register,
  cache: async () => (await import('./forge/cache.ts')).register,
  completion: async () => (await import('./forge/completion.ts')).register,
};

/** The command of this name alone; all of them for any other word, and for those that look at the others. */
export async function registerCommands(program: Command, name?: string): Promise<void> {
  const own = name !== undefined && name !== 'completion' && Object.hasOwn(commands, name) ? commands[name] : undefined;
  const registers = await Promise.all((own ? [own] : Object.values(commands)).map((load) => load()));
  for (const register of registers) register(program);
}
