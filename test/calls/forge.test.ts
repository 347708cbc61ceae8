// The functions of Forge take what the others return: the checks of their arguments stand in the way of nothing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as forge from '../../src/forge/index.ts';
import * as routing from '../../src/governor/routing/index.ts';

it('goes from a machine to the files of an environment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gpuforge-forge-'));
  const ports = forge.nodePorts({ cacheFolder: folder, env: process.env });
  const override = { gpus: ['RTX 4090'], driver: '570', platform: 'linux', arch: 'x64' } as const;
  const detection = await forge.detect(ports, { cache: false, override });
  const { machine } = detection;
  expect(forge.detectJson(detection).schema).toBe('gpuforge.detect/1');
  expect(forge.rankGpus(machine.gpus)[0]).toEqual(forge.scoreGpu(machine.gpus[0]!));
  expect(forge.gpuFromText('RTX 4090', 0).vendor).toBe('nvidia');
  expect(forge.factValue(machine.gpus[0]!.computeCapability)).toEqual(forge.parseCc('8.9'));
  expect([forge.formatCc({ major: 8, minor: 9 }), forge.compareVersions('580.9', '580.65') < 0]).toEqual(['8.9', true]);
  expect(forge.joinReadings(ports, machine, [])).toHaveLength(1);

  const loaded = forge.loadTables();
  const { tables, reviewed } = loaded;
  const own = { mine: { extends: 'learning', packages: ['einops'] } };
  const profiles = forge.allProfiles(tables, own);
  const profile = forge.findProfile(profiles, 'mine');
  const asked = { machine, framework: 'pytorch', python: '3.12' } as const;
  const resolution = forge.resolve(tables, asked, reviewed);
  expect(resolution.status).toBe('ok');
  expect(forge.listBuilds(tables, asked).length).toBeGreaterThan(0);
  const request = { ...asked, name: 'demo', profile, profiles, mirrors: {}, minimal: false, dataReviewed: reviewed };
  const plan = forge.planEnvironment(tables, request);
  expect(forge.renderEnvironment(plan, ['uv']).map((f) => f.path)).toEqual(['pyproject.toml']);
  expect(forge.renderEnvironment(plan).length).toBeGreaterThan(3);

  const error = 'CUDA error: no kernel image is available for execution on the device';
  expect(forge.explain(error, { machine, tables: loaded, limit: 1 })).toHaveLength(1);
  const world = { ...forge.nodeWorld(ports), reach: async () => ({ ok: true, detail: '' }) };
  const doctor = await forge.examine(world, detection, { offline: true, tables: loaded, staleMonths: 6 });
  const report = await forge.buildReport(world, detection, doctor, '0.1.0');
  expect(forge.reportMarkdown(report)).toContain('### gpuforge report');
  const config = forge.loadConfig({ ...ports, env: { GPUFORGE_CONFIG: join(folder, 'config.json') } });
  expect(config.file.path).toBe(forge.configPath({ ...ports, env: { GPUFORGE_CONFIG: join(folder, 'config.json') } }));
  forge.changeConfig(config.file.path, 'env.python', '3.12');
  expect(forge.describeCache(ports, ports.cache)).toEqual([]);
  expect(forge.clearCache(ports.cache)).toBe(0);
  rmSync(folder, { recursive: true });
});

it('routers are made of what was opened', async () => {
  const store = await routing.openProfileStore(false);
  expect([store.folder, store.clear()]).toEqual([null, expect.any(Number)]);
  expect(routing.routingFolder(process.env, '/home/u')).toContain('routing');
  expect(routing.resolveRouting({ mode: 'off' }, process.env).mode).toBe('off');
  const work = [routing.typicalWork('reduction', 1000)];
  expect(routing.operationOf(work, null)).toBe('reduce');
  expect([routing.operationOf(work, 'transform'), routing.time(1500)]).toEqual(['transform', '1.5 ms']);
  const router = new routing.Router({}, new Map(), { devices: ['cpu'], hosts: ['cpu'] });
  expect(router.route('reduction', [1, 2, 3]).device).toBe('cpu');
});
