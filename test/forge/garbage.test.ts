// Machines that lie: files with nonsense in them, files that vanish, tools that print anything. Detection and doctor must always
// come back, with every fact either sourced or explained.

import { describe, expect, it } from 'vitest';
import { detect } from '../../src/forge/detect/detect.ts';
import { rankGpus } from '../../src/forge/detect/score.ts';
import { examine } from '../../src/forge/doctor/doctor.ts';
import fc from '../support/properties.ts';
import { type Entry, type Fixture, play } from './fixtures/fixture.ts';
import { type MachineName, machine, machineNames } from './fixtures/machines.ts';
import { worldOf } from './fixtures/world.ts';

const garbage = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    '\n',
    '0',
    '-1',
    '0x',
    '0xffffffffffffffffff',
    'NaN',
    '99999999999999999999',
    'ERR!',
    '\u0000\u0000',
    'a:b:c\n'.repeat(50),
  ),
);

const damage = fc.oneof(
  { weight: 3, arbitrary: garbage.map((text): Entry => text) },
  { weight: 1, arbitrary: fc.constant<Entry>({ unreadable: true }) },
  { weight: 1, arbitrary: fc.constant<Entry | undefined>(undefined) },
  { weight: 1, arbitrary: fc.constant<Entry>({ link: '../nowhere' }) },
);

interface Damaged {
  readonly name: MachineName;
  readonly fixture: Fixture;
}

/** A machine with up to a dozen of its files damaged, its tools printing nonsense, and odd variables set. */
const damaged: fc.Arbitrary<Damaged> = fc.constantFrom(...machineNames).chain((name) => {
  const base = machine(name);
  const paths = Object.keys(base.files);
  const picks =
    paths.length === 0 ? fc.constant([]) : fc.array(fc.tuple(fc.constantFrom(...paths), damage), { maxLength: 12 });
  const variable = fc.option(
    fc.tuple(fc.constantFrom('CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', 'LD_LIBRARY_PATH'), garbage),
    { nil: undefined },
  );
  return fc.tuple(picks, fc.option(garbage, { nil: undefined }), variable).map(([changes, said, env]) => {
    const files: Record<string, Entry> = { ...base.files };
    for (const [path, entry] of changes) {
      if (entry === undefined) delete files[path];
      else files[path] = entry;
    }
    const tools = Object.fromEntries(
      Object.keys(base.tools ?? {}).map((tool) => [tool, { status: 0, stdout: said ?? '' }]),
    );
    const fixture: Fixture = {
      ...base,
      files,
      ...(said === undefined ? {} : { tools }),
      ...(env === undefined ? {} : { env: { ...base.env, [env[0]]: env[1] } }),
    };
    return { name, fixture };
  });
});

describe('damaged machines', () => {
  it('are still described, each fact with a source or a reason', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async ({ fixture }) => {
        const { machine: found } = await detect(play(fixture));
        for (const gpu of found.gpus) {
          for (const [field, fact] of Object.entries(gpu)) {
            if (typeof fact !== 'object' || fact === null || !('value' in fact)) continue;
            expect('source' in fact || ('reason' in fact && fact.reason !== ''), field).toBe(true);
          }
          if ('source' in gpu.memoryBytes) expect(gpu.memoryBytes.value).toBeGreaterThan(0);
          expect(gpu.usable).toBe(gpu.blockers.length === 0);
        }
        for (const { total } of rankGpus(found.gpus)) if (total !== null) expect(total >= 0 && total <= 100).toBe(true);
        expect(JSON.parse(JSON.stringify(found))).toEqual(found);
      }),
      { numRuns: 400 },
    );
  });

  it('are still examined: no check of the doctor fails by itself', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async ({ fixture }) => {
        const world = worldOf(fixture);
        const report = await examine(world, await detect(world.ports, { cache: false }), { offline: true });
        const codes = report.areas.flatMap(({ findings }) => findings.map(({ code }) => code));
        expect(codes).not.toContain('DOCTOR-CHECK');
        expect([0, 1, 2]).toContain(report.exitStatus);
      }),
      { numRuns: 120 },
    );
  });

  it('never come back from the cache as something else', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async ({ fixture }) => {
        const ports = play(fixture);
        const first = await detect(ports);
        const second = await detect(ports);
        const facts = (detection: typeof first) =>
          detection.machine.gpus.map(({ memoryFreeBytes: _, ...rest }) => rest);
        if (second.cached) expect(facts(second)).toEqual(facts(first));
      }),
      { numRuns: 120 },
    );
  });
});
