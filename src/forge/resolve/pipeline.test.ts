// The whole way on recorded and constructed machines: files and driver answers in, detection, resolution, files out.

import { describe, expect, it } from 'vitest';
import { play } from '../../../test/forge/fixtures/fixture.ts';
import { machine, machineNames } from '../../../test/forge/fixtures/machines.ts';
import { loadTables } from '../data/tables.ts';
import { detect } from '../detect/detect.ts';
import { planEnvironment } from '../env/plan.ts';
import { render, usualFormats } from '../env/writers.ts';
import { allProfiles } from '../profiles/profiles.ts';
import { resolve } from './resolve.ts';

const { tables, reviewed } = loadTables();
const profiles = allProfiles(tables);

async function builds() {
  const table: Record<string, string> = {};
  for (const name of machineNames) {
    const { machine: found } = await detect(play(machine(name)));
    const result = resolve(tables, { machine: found, framework: 'pytorch' }, reviewed);
    table[name] =
      result.status === 'ok' ? `${result.choice.version} ${result.choice.variant}` : `none: ${result.waysOut[0]?.kind}`;
  }
  return table;
}

describe('detect, resolve and env on every fixture machine', () => {
  it('gives each the build that its GPU, driver and system allow', async () => {
    expect(await builds()).toMatchInlineSnapshot(`
      {
        "a100mig": "2.14.1 cu126",
        "a100x8": "2.14.1 cu126",
        "arcA770": "2.14.1 xpu",
        "arcB580": "2.14.1 xpu",
        "dockerNoDevices": "2.14.1 cu130",
        "dockerOneOfEight": "2.14.1 cu126",
        "gb10": "2.14.1 cu130",
        "gtx1080": "2.14.1 cu126",
        "h200": "2.14.1 cu130",
        "intelMac": "none: variant",
        "irisXe": "2.14.1 cpu",
        "jetsonNano": "none: container",
        "jetsonOrin": "2.8.0 jp6-cu126",
        "kepler": "2.7.1 cu118",
        "m3max": "2.14.1 mps",
        "mi300x": "2.13.0 rocm7.2",
        "mismatch": "2.14.1 cu126",
        "mixed": "2.14.1 cu126",
        "noDriver": "2.14.1 cu130",
        "noGpu": "2.14.1 cpu",
        "nouveau": "2.14.1 cu126",
        "nvmlHangs": "2.14.1 cu126",
        "optimus": "2.14.1 cu130",
        "rosetta": "2.14.1 mps",
        "rtx3060": "2.14.1 cu126",
        "rtx4090": "2.14.1 cu132",
        "rtx5090": "2.14.1 cu130",
        "rtx5090oldDriver": "2.11.0 cu128",
        "rx6700xt": "none: override",
        "rx7900xtx": "2.13.0 rocm7.2",
        "rx9070": "2.13.0 rocm7.2",
        "smiHangs": "2.14.1 cu126",
        "strixHalo": "2.13.0 rocm7.2",
        "uhd770": "2.14.1 cpu",
        "unknownCard": "none: cpu",
        "unreadableSysfs": "2.14.1 cpu",
        "vfio": "2.14.1 cpu",
        "virtioOnly": "2.14.1 cpu",
        "win4090": "2.14.1 cu126",
        "win7900xtx": "2.13.0 rocm10.0.0",
        "wsl2": "2.14.1 cu126",
        "wsl2noGpu": "2.14.1 cpu",
        "wsl2smi": "2.14.1 cu126",
      }
    `);
  });

  it.each([...machineNames])('%s: whatever is found, the files are made or the reason is told', async (name) => {
    const { machine: found } = await detect(play(machine(name)));
    for (const framework of ['pytorch', 'tensorflow', 'jax'] as const) {
      const result = resolve(tables, { machine: found, framework }, reviewed);
      if (result.status === 'none') {
        expect(result.reason).toMatch(/fits?/);
        expect(result.rejected.length).toBeGreaterThan(0);
        expect(() =>
          planEnvironment(tables, { name: 'x', machine: found, framework, profiles, dataReviewed: reviewed }),
        ).toThrow(/no build/);
        continue;
      }
      const files = render(
        planEnvironment(tables, { name: 'x', machine: found, framework, profiles, dataReviewed: reviewed }),
      );
      expect(files.length).toBeGreaterThanOrEqual(usualFormats.length);
      for (const file of files) expect(file.content).not.toMatch(/undefined|NaN|\[object/);
    }
  });
});
