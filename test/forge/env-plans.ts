// What the tests of environments share: a folder of their own, the command in it, and plans.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { capture } from '../../src/forge/config/testing.ts';
import { loadTables } from '../../src/forge/data/tables.ts';
import { type EnvFlags, runEnv } from '../../src/forge/env/command.ts';
import { planEnvironment } from '../../src/forge/env/plan.ts';
import type { Machine } from '../../src/forge/machine.ts';
import type { Ports } from '../../src/forge/ports.ts';
import { nodePorts } from '../../src/forge/ports-node.ts';
import { allProfiles, findProfile } from '../../src/forge/profiles/profiles.ts';
import { machines } from './fixtures/targets.ts';

export const { tables, reviewed } = loadTables();

/** The folder of the test that runs; made anew for each. */
export let folder = '';

/** Called once by a test file. */
export function useFolder(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gpuforge-env-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
}

export const ports = (env: Record<string, string> = {}): Ports =>
  nodePorts({ env: { HOME: folder, PATH: process.env.PATH, ...env }, cacheFolder: join(folder, 'cache') });

export async function run(
  name: string | undefined,
  flags: EnvFlags = {},
  on: Machine = machines['rtx4090-570']!,
  env: Record<string, string> = {},
) {
  const output = capture();
  const status = await runEnv(ports(env), name, flags, output, { machine: on, cwd: folder });
  return { status, out: output.out, err: output.err };
}

export const plan = (
  on: Machine,
  profile: string,
  rest: { framework?: 'pytorch' | 'jax' | 'tensorflow'; python?: string; minimal?: boolean } = {},
) => {
  const profiles = allProfiles(tables);
  return planEnvironment(tables, {
    name: 'demo',
    machine: on,
    framework: 'pytorch',
    profile: findProfile(profiles, profile),
    profiles,
    dataReviewed: reviewed,
    ...rest,
  });
};
