// A GPU from what a person writes: a product name, a PCI id, "sm_89", "gfx1100", a board, a processor or a chip.
//
// A name that no table knows, or that fits GPUs of different targets, is an error that lists the near ones: a wrong guess
// here would install the wrong build. Words of vendors and sellers do not count; a size in the name chooses between sizes.

import { ArgumentError } from '../../errors.ts';
import { type ComputeCapability, type Fact, type Gpu, known, missing } from '../machine.ts';
import { plainLine } from '../text/plain.ts';
import { type Candidate, candidates, size } from './candidates.ts';
import { matching } from './name-match.ts';
import { partOf, shareOf } from './name-parts.ts';
import { read, readings, type Wanted } from './name-read.ts';
import { ambiguous, unknown } from './name-refusals.ts';
import { chipIn, fromFamily, fromTarget } from './name-targets.ts';
import { unwrapped } from './name-wrap.ts';

/** No tool writes a name in a longer line; looking for the near ones of a whole file would take minutes. */
const MOST_NAME = 1000;

export function gpuFromText(given: string, index: number): Gpu {
  if (given.length > MOST_NAME) throw unknown(given, read(''), candidates());
  const text = unwrapped(plainLine(given.normalize('NFKC')));
  const chip = chipIn(text);
  let refused: unknown;
  for (const reading of readings(text)) {
    try {
      const gpu = find(reading, index, chip);
      if (gpu) return gpu;
    } catch (cause) {
      if (!(cause instanceof ArgumentError)) throw cause;
      refused ??= cause;
    }
  }
  const [first = text] = readings(text);
  throw refused ?? unknown(first, read(first), candidates());
}

/**
 * The GPU that the text names; undefined where it names none, an error where it names several. A chip that stands beside the
 * name decides between products of that name: lspci writes "GF108 [GeForce GT 730]" and "GK208B [GeForce GT 730]".
 */
function find(text: string, index: number, chip?: ComputeCapability): Gpu | undefined {
  const share = shareOf(text);
  const shared = share === undefined ? undefined : find(share, index, chip);
  if (shared) return shared;
  const wanted = read(text);
  const target = fromTarget(text, wanted, index);
  if (target) return target;
  const all = candidates();
  const byId = all.find((entry) => entry.pciId !== null && entry.pciId === text.trim().toLowerCase());
  if (byId) return byId.gpu(index);
  const named = wanted.key === '' ? ofMaker(all, text) : ofVendor(matching(all, wanted), text);
  const found = ofChip(named, chip);
  if (found.length === 0 && named.length > 0) return undefined;
  const gpus = found.map((entry) => entry.gpu(index));
  if (new Set(gpus.map(targetOf)).size > 1) throw ambiguous(text, found, gpus);
  const [first] = gpus;
  if (first) return isLine(found, wanted) ? ofLine(first, text) : sized(first, gpus, wanted);
  const family = fromFamily(text, index);
  if (family) return family;
  const part = partOf(text);
  return part === undefined ? undefined : find(part, index);
}

const VENDORS: readonly (readonly [Gpu['vendor'], RegExp])[] = [
  ['nvidia', /\b(?:nvidia|geforce|tesla|quadro)\b/i],
  ['amd', /\b(?:amd|ati|radeon|instinct)\b/i],
  ['intel', /\bintel\b/i],
];

const vendorOf = (text: string): Gpu['vendor'] | undefined => VENDORS.find(([, re]) => re.test(text))?.[0];

/** Two vendors sell an "840M": the vendor in the name decides. */
function ofVendor(found: readonly Candidate[], text: string): readonly Candidate[] {
  const vendor = vendorOf(text);
  return vendor === undefined ? found : found.filter((entry) => entry.vendor === vendor);
}

/** Those with this chip's capability; a chip that none of NVIDIA's has leaves none. */
function ofChip(found: readonly Candidate[], chip: ComputeCapability | undefined): readonly Candidate[] {
  if (chip === undefined) return found;
  return found.filter((entry) => {
    const cc = entry.gpu(0).computeCapability.value;
    return entry.vendor !== 'nvidia' || cc === null || (cc.major === chip.major && cc.minor === chip.minor);
  });
}

/** "GeForce" and "AMD" alone mean any GPU of that name. */
function ofMaker(all: readonly Candidate[], text: string): readonly Candidate[] {
  const maker = VENDORS.map(([, re]) => re.exec(text)?.[0].toLowerCase()).find((word) => word !== undefined);
  return maker === undefined ? [] : all.filter(({ label }) => label.toLowerCase().includes(maker));
}

/** One target, perhaps several sizes: a size that was given counts, else one that all share. */
function sized(first: Gpu, gpus: readonly Gpu[], wanted: Wanted): Gpu {
  if (wanted.memoryGiB !== undefined) return { ...first, memoryBytes: size(wanted.memoryGiB) };
  const sizes = new Set(gpus.map(({ memoryBytes }) => memoryBytes.value).filter((bytes) => bytes !== null));
  const one = gpus.find(({ memoryBytes }) => memoryBytes.value !== null) ?? first;
  if (sizes.size === 1 && gpus.length > 0 && !wanted.laptop) return one;
  const laptopHas = wanted.laptop && /laptop|mobile|max-q/i.test(String(first.name.value));
  return laptopHas || sizes.size === 0
    ? first
    : {
        ...first,
        name: withoutSize(first.name),
        memoryBytes: missing('this name covers products of several sizes'),
      };
}

/** The name of all sizes: "RTX 3060" is not the one with 8 GB that the table has too. */
const withoutSize = (name: Fact<string>): Fact<string> =>
  'source' in name ? { ...name, value: name.value.replace(/ \d+ ?GB$/, '') } : name;

/** "RTX PRO", "Xavier": several products of one target, and the name is none of theirs. */
const isLine = (found: readonly Candidate[], { key }: Wanted): boolean =>
  found.length > 1 && !/\d/.test(key) && !found.some(({ names }) => names.some((name) => read(name).key === key));

const ofLine = (first: Gpu, text: string): Gpu => ({
  ...first,
  name: known(plainLine(text).trim(), 'override'),
  memoryBytes: missing('this name covers products of several sizes'),
  units: missing('this name covers several products'),
});

const targetOf = ({ computeCapability, gfx, intelFamily: { value: family }, tegra }: Gpu): string =>
  // No build serves either of the families before Arc.
  JSON.stringify([computeCapability.value, gfx.value, family === 'gen' ? 'xe-lp' : family, tegra]);
