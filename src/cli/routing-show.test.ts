import { expect, it } from 'vitest';
import { bothProfiles, cpuProfile } from '../../test/support/routing.ts';
import type { Output, Style } from '../forge/style.ts';
import { Router } from '../governor/routing/router.ts';
import { elements } from './explain-route.ts';
import { profileText, routeText, runExplainRoute } from './routing-show.ts';

const same = (text: string): string => text;
const plain: Style = { bold: same, dim: same, red: same, green: same, yellow: same };

it('reads sizes as people write them', () => {
  expect(['1000', '64k', '1M', '2^20', '1e6', '1.5k', '0'].map(elements)).toEqual([
    1000,
    65536,
    2 ** 20,
    2 ** 20,
    1e6,
    1536,
    0,
  ]);
  for (const bad of ['', 'many', '-1', '1.5', '2^', '1kk']) expect(() => elements(bad)).toThrow('number of elements');
});

it('shows a profile with its rates', () => {
  const text = profileText(cpuProfile, true, plain);
  expect(text).toContain('cpu  a CPU  measured in 100 ms');
  expect(text).toMatch(/bring 16 MiB\s+1\.7 ms\s+10\.0 GB\/s/);
  expect(text).toMatch(/matrix product\s+5\.4 ms\s+50\.0 GFLOP\/s/);
  expect(profileText(cpuProfile, false, plain)).toContain('known');
});

it('shows a decision, the chosen device first, with bars', () => {
  const router = new Router({ explore: false }, bothProfiles);
  const text = routeText(router.explain('reduction', 1 << 24, { at: 'cuda:0' }), plain);
  expect(text).toContain('reduction of 16,777,216 elements, data in cuda:0');
  expect(text).toContain('→ cuda:0  gpu_optimal: the least predicted cost');
  const [, , , first, second] = text.split('\n');
  expect(first).toContain('cuda:0');
  expect(second).toContain('cpu');
  expect(second!.match(/█/g)).toHaveLength(24);
});

it('refuses devices that are not there, as text and as JSON', async () => {
  let [written, warned] = ['', ''];
  const out: Output = {
    write: (t) => void (written += t),
    warn: (t) => void (warned += t),
    isTTY: false,
    columns: 80,
  };
  expect(await runExplainRoute('reduction', 10, { at: 'tpu' }, out)).toBe(2);
  expect({ written, warned }).toMatchObject({ written: '', warned: expect.stringContaining("no device 'tpu'") });
  expect(await runExplainRoute('reduction', 10, { at: 'tpu', json: true }, out)).toBe(2);
  expect(JSON.parse(written).error).toMatchObject({ code: 'NO_DEVICE', fix: expect.stringContaining('host') });
});
