// Hundreds of product names at once: at least 98 % are understood, refusals say why, and near misses get a suggestion.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { namesIn } from '../../src/forge/detect/name-wrap.ts';
import { gpuFromText } from '../../src/forge/detect/names.ts';
import type { Gpu } from '../../src/forge/machine.ts';
import { instanceOf } from '../../src/forge/resolve/instances.ts';

const INSTANCE = /^(?:standard_|(?:ml\.)?[a-z]\d\w*(?:-\w+)?\.\d*\w+$|a\dx?-|g\d-standard|[bv]m\.)/i;

const rows = readFileSync(new URL('./fixtures/product-names.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.includes(' => ') && !line.startsWith('#'))
  .map((line) => line.split(' => ') as [name: string, expected: string]);

function answer(name: string): { readonly got: string; readonly fix: string } {
  try {
    return { got: targetOf(gpuFromText(INSTANCE.test(name) ? instanceOf(name).gpu : name, 0)), fix: '' };
  } catch (cause) {
    const { message, fix = '' } = cause as Error & { fix?: string };
    return { got: message.includes('fits several GPUs') ? 'amb' : '?', fix };
  }
}

const written = readFileSync(new URL('./fixtures/names-by-target.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .flatMap((line) => {
    const [, target = '', names = ''] = /^(.*?): (.*)$/.exec(line) ?? [];
    return names.split(' | ').map((name) => [name, target] as const);
  });

/** A list counts as one answer where all its cards have one target. */
function answers(text: string): { readonly got: string; readonly fix: string } {
  const all = namesIn(text).map(answer);
  const refused = all.find(({ got }) => got === 'amb' || got === '?');
  return refused ?? { got: [...new Set(all.map(({ got }) => got))].join(' and '), fix: '' };
}

const letters = (text: string): string => text.toLowerCase().replace(/[^a-z\d]/g, '');

function fits(expected: string, { got, fix }: { readonly got: string; readonly fix: string }): boolean {
  const refused = got === 'amb' || got === '?';
  if (expected === 'refused') return refused;
  if (!expected.startsWith('near ')) return got === expected;
  return refused && letters(fix).includes(letters(expected.slice('near '.length)));
}

function targetOf({ vendor, computeCapability: { value: cc }, gfx, intelFamily: { value: family } }: Gpu): string {
  if (vendor === 'apple') return 'apple';
  if (cc) return `${cc.major}.${cc.minor}`;
  return gfx.value ?? (family === 'gen' || family === 'xe-lp' ? 'old' : String(family));
}

/** Names in the wild: the target of all cards that the text names, with the product and the memory of the first. */
const inTheWild = ['names-in-the-wild', 'names-printed', 'names-logged', 'names-third']
  .flatMap((file) => readFileSync(new URL(`./fixtures/${file}.txt`, import.meta.url), 'utf8').split('\n'))
  .filter((line) => line.includes(' => ') && !line.startsWith('#'))
  .map((line) => {
    const [name = '', expected = ''] = line.split(' => ');
    const [targets = '', product = '', memory = ''] = expected.split(';').map((part) => part.trim());
    return { name, targets: targets.split('/'), product, memory };
  });

function inTheWildAnswer(name: string): { readonly got: string; readonly gpu?: Gpu; readonly fix: string } {
  try {
    const names = INSTANCE.test(name) ? [instanceOf(name).gpu] : namesIn(name);
    const gpus = names.map((one, index) => gpuFromText(one, index));
    return { got: [...new Set(gpus.map(targetOf))].join(' and '), gpu: gpus[0]!, fix: '' };
  } catch (cause) {
    return { got: 'refused', fix: (cause as { fix?: string }).fix ?? '' };
  }
}

function wrongInTheWild({ name, targets, product, memory }: (typeof inTheWild)[number]): string | undefined {
  const { got, gpu, fix } = inTheWildAnswer(name);
  const hit = targets.find((one) =>
    one.startsWith('?~') ? got === 'refused' && new RegExp(one.slice(2), 'i').test(fix) : one === got,
  );
  if (hit === undefined) return `${name}: ${got} ${fix}, not ${targets.join(' or ')}`;
  if (gpu === undefined) return undefined;
  const bytes = gpu.memoryBytes.value;
  const size = bytes === null ? '-' : String(bytes / 2 ** 30);
  if (memory === '-' && /\d ?GB/.test(String(gpu.name.value))) return `${name}: ${gpu.name.value} tells a size`;
  if (!letters(String(gpu.name.value)).includes(letters(product))) return `${name}: ${gpu.name.value}, not ${product}`;
  return memory === '' || memory === size ? undefined : `${name}: ${size} GiB, not ${memory}`;
}

function right(name: string, expected: string): boolean {
  const { got, fix } = answer(name);
  return expected
    .split('/')
    .some((one) =>
      one.startsWith('?') ? got === '?' && (one === '?' || new RegExp(one.slice(2), 'i').test(fix)) : one === got,
    );
}

describe('product names', () => {
  it('are understood, or refused with the reason', () => {
    const wrong = rows
      .filter(([name, expected]) => !right(name, expected))
      .map(([name, expected]) => `${name}: ${JSON.stringify(answer(name))}, not ${expected}`);
    expect(rows.length).toBeGreaterThanOrEqual(600);
    expect(wrong).toEqual([]);
  });

  it('of more than a thousand writings give their target, or are refused', () => {
    const wrong = written
      .map(([name, expected]) => ({ name, expected, got: answers(name) }))
      .filter(({ expected, got }) => !fits(expected, got))
      .map(({ name, expected, got }) => `${name}: ${JSON.stringify(got)}, not ${expected}`);
    expect(written.length).toBeGreaterThanOrEqual(1150);
    expect(wrong).toEqual([]);
  });

  it('in the words of tools, shops and people give target, product and memory, or are refused', () => {
    expect(inTheWild.length).toBeGreaterThanOrEqual(950);
    expect(inTheWild.filter(({ targets }) => /^(?:refused|\?)/.test(targets[0]!)).length).toBeGreaterThanOrEqual(130);
    expect(inTheWild.flatMap((row) => wrongInTheWild(row) ?? [])).toEqual([]);
  });

  it.each([
    ['RTX 6000', /RTX PRO 6000.*RTX 6000 Ada.*Quadro RTX 6000/],
    ['GeForce', /GeForce RTX 50.*GeForce RTX 40/],
    ['Radeon', /Radeon.* 9070.*Radeon RX 90/],
    ['Blackwell', /sm_100.*sm_120/],
    ['RDNA 3', /gfx1100.*gfx1103/],
  ])('"%s" is ambiguous, and the fix shows products or targets that differ', (name, fix) => {
    expect(answer(name).got).toBe('amb');
    expect(answer(name).fix).toMatch(fix);
  });
});
