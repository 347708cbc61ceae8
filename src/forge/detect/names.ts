// A GPU from what a person writes: a product name, a PCI id, "sm_89", "gfx1100" or a board.
//
// A name that no table knows, or that fits GPUs of different targets, is an error that lists the near ones: a wrong guess
// here would install the wrong build. Words of vendors and sellers do not count; a size in the name chooses between sizes.

import { ArgumentError } from '../../errors.ts';
import { nearest } from '../data/schema.ts';
import { type Fact, type Gpu, known, missing } from '../machine.ts';
import { plainLine } from '../text/plain.ts';
import { type Candidate, candidates, size } from './candidates.ts';
import { newGpu } from './draft.ts';
import { partOf } from './name-parts.ts';
import { amdArchitecture, gfxIds } from './tables/amd-products.ts';
import { architectureOf } from './tables/nvidia-chips.ts';
import { appleChips, computeCapabilities } from './tables/product-names.ts';

export function gpuFromText(given: string, index: number): Gpu {
  const text = fromLspci(withoutLabel(given.normalize('NFKC')));
  const wanted = read(text);
  const target = fromTarget(text, wanted, index);
  if (target) return target;
  const all = candidates();
  const byId = all.find((entry) => entry.pciId !== null && entry.pciId === text.trim().toLowerCase());
  if (byId) return byId.gpu(index);
  if (wanted.key !== '') {
    const found = ofVendor(matching(all, wanted), text);
    const gpus = found.map((entry) => entry.gpu(index));
    if (new Set(gpus.map(targetOf)).size > 1) throw ambiguous(text, found, gpus);
    const [first] = gpus;
    if (first) return sized(first, gpus, wanted);
  }
  const part = partOf(text);
  if (part !== undefined) return gpuFromText(part, index);
  throw unknown(text, wanted, all);
}

/** "Chipset Model: Apple M2": tools print the name behind a label. */
const withoutLabel = (text: string): string =>
  text.replace(
    /^\s*(?:chipset model|(?:card|device|product|marketing) (?:name|model|series)|model|name|gpu ?\d*|graphics)\s*:\s*/i,
    '',
  );

const VENDORS: readonly (readonly [Gpu['vendor'], RegExp])[] = [
  ['nvidia', /\b(?:nvidia|geforce|tesla|quadro)\b/i],
  ['amd', /\b(?:amd|ati|radeon|instinct)\b/i],
  ['intel', /\bintel\b/i],
];

/** Two vendors sell an "840M": the vendor in the name decides. */
function ofVendor(found: readonly Candidate[], text: string): readonly Candidate[] {
  const vendor = VENDORS.find(([, re]) => re.test(text))?.[0];
  return vendor === undefined ? found : found.filter((entry) => entry.gpu(0).vendor === vendor);
}

/** "AD102 [GeForce RTX 4090] [10de:2684] (rev a1)": lspci names the chip first, and several products by strokes. */
function fromLspci(text: string): string {
  const brackets = [...text.matchAll(/\[([^[\]]*\d[^[\]]*)\]/g)].map(([, inside]) => inside!.trim());
  const id = brackets.find((inside) => /^[\da-f]{4}:[\da-f]{4}$/i.test(inside));
  const product = brackets.find((inside) => !/^[\da-f]{4}(?::[\da-f]{4})?$/i.test(inside));
  return product?.split(/ ?\/ ?/)[0] ?? id ?? text;
}

interface Wanted {
  /** All that counts of the name, joined. */
  readonly key: string;
  readonly words: readonly string[];
  readonly memoryGiB: number | undefined;
  readonly laptop: boolean;
}

const NOISE =
  /\b(?:nvidia|geforce|amd|ati|radeon|intel|graphics|tesla|instinct|quadro|gpus?|cards?|video|series|generation|gen|edition|workstation|server|accelerator|data ?center|founders|corporation|inc|asus|msi|gigabyte|zotac|evga|palit|pny|sapphire|xfx|powercolor|tuf|lenovo|dell|hp|acer|rog strix|rog|aorus|ventus(?: \dx)?|suprim|nitro\+?|founder's|passive|oc|oem|developer kit|dev kit|lite hash rate|lhr|nvgpu|hbm[23]e?|gddr\d\w?|vf|gme|ls|ac|50th anniversary|rev\. ?[a-z]|\d+-core)\b|\((?:r|tm|c)\)|[®™©]/g;
const LAPTOP = /\b(?:laptop|mobile|notebook|max-?q|max-?p|with max-?q design)\b/g;
const SIZE = /\b(\d{1,3}) ?(?:gib|gb|g)\b/;

/** "NVIDIA GeForce RTX 4060 Ti (16 GB)" is the words rtx, 4060, ti with 16 GiB. */
function read(name: string): Wanted {
  const plain = plainLine(name)
    .toLowerCase()
    .replaceAll('_', ' ')
    // "5060ti16g": the size begins where the name ends.
    .replace(/(\d(?:ti|super|xtx|xt|gre))(?=\d{1,2} ?g)/g, '$1 ');
  const laptop = plain.match(LAPTOP) !== null;
  const gib = SIZE.exec(plain)?.[1];
  const words = plain
    .replace(LAPTOP, ' ')
    .replace(NOISE, ' ')
    .replace(SIZE, ' ')
    // "4090ti", "7900xtx" and "rtx4090" are written together as often as apart.
    .replace(/(\d)(ti|super|xtx|xt|gre)\b/g, '$1 $2')
    .replace(/\b(rtx|gtx|gt|rx|mx|titan|arc|quadro)(?=\d)/g, '$1 ')
    .replace(/\b(16[56]0|20[678]0|40[78]0)s\b/g, '$1 super')
    .replace(/\b(4070)tis\b/g, '$1 ti super')
    .split(/[^a-z0-9+]+/)
    .filter((word) => word !== '');
  return { key: words.join(' '), words, memoryGiB: gib === undefined ? undefined : Number(gib), laptop };
}

/** The products that a name can mean: the same name, else those that begin or end with it at a word. */
function matching(all: readonly Candidate[], wanted: Wanted): readonly Candidate[] {
  const rows = rowsOf(all);
  const same = rows.filter(({ names }) => names.some((name) => name.key === wanted.key));
  const joined = wanted.words.join('');
  const glued =
    same.length > 0 ? same : rows.filter(({ names }) => names.some((name) => name.words.join('') === joined));
  if (glued.length > 0) return narrow(glued, wanted);
  // A name without a number ("RTX") is no product.
  if (!/\d/.test(wanted.key)) return [];
  const within = rows.filter(({ names }) =>
    names.some((name) => name.key.startsWith(`${wanted.key} `) || name.key.endsWith(` ${wanted.key}`)),
  );
  return narrow(within.length > 0 ? within : inside(rows, wanted), wanted);
}

/** Words that make another product of the one before them, a count, or a second number: with one of these nothing is guessed. */
const DECIDES = /^(?:ti|super|xtx?|gre|d|m|s|le|se|ada|blackwell|max|pro|v2|dual|plus|\d+x|x\d+|\d{4,})$/;

/** A line with its number ("rtx 4090"), or a word that is one ("mi300x", "780m"). */
const PRODUCT = /\b(?:rtx|gtx|gt|rx|arc|titan|vega)\b.*\d{2}|\b(?=\w*[a-z])(?=\w*\d{2})\w{4,}\b/;

/** Shops add words of their own ("Gaming X Trio"): one product inside the name counts, where nothing beside it may mean another. */
function inside(rows: readonly Row[], wanted: Wanted): readonly Row[] {
  const text = ` ${wanted.key} `;
  const found = (row: Row): readonly string[] =>
    row.names.map(({ key }) => key).filter((key) => PRODUCT.test(key) && text.includes(` ${key} `));
  const keys = [...new Set(rows.flatMap(found))].sort((one, other) => other.length - one.length);
  const [best] = keys;
  if (best === undefined || keys.some((key) => !` ${best} `.includes(` ${key} `))) return [];
  const beside = text.replace(` ${best} `, ' ').split(' ');
  return beside.some((word) => DECIDES.test(word)) ? [] : rows.filter((row) => found(row).includes(best));
}

type Row = { readonly entry: Candidate; readonly names: readonly Wanted[] };

const rowsRead = new WeakMap<readonly Candidate[], readonly Row[]>();

/** The names of all products as `read` gives them, worked out once. */
function rowsOf(all: readonly Candidate[]): readonly Row[] {
  const known = rowsRead.get(all) ?? all.map((entry) => ({ entry, names: entry.names.map(read) }));
  rowsRead.set(all, known);
  return known;
}

/** A size or "laptop" in the name chooses, where a product has it. */
function narrow(rows: readonly Row[], wanted: Wanted): readonly Candidate[] {
  const kind = rows.filter(({ names }) => names.some((name) => name.laptop === wanted.laptop));
  const left = kind.length > 0 ? kind : rows;
  const fits = left.filter(({ entry }) => wanted.memoryGiB !== undefined && entry.memoryGiB === wanted.memoryGiB);
  return (fits.length > 0 ? fits : left).map(({ entry }) => entry);
}

/** One target, perhaps several sizes: a size that was given counts, else one that all share. */
function sized(first: Gpu, gpus: readonly Gpu[], wanted: Wanted): Gpu {
  if (wanted.memoryGiB !== undefined) return { ...first, memoryBytes: size(wanted.memoryGiB) };
  const sizes = new Set(gpus.map(({ memoryBytes }) => memoryBytes.value).filter((bytes) => bytes !== null));
  const one = gpus.find(({ memoryBytes }) => memoryBytes.value !== null) ?? first;
  if (sizes.size === 1 && gpus.length > 0 && !wanted.laptop) return one;
  const laptopHas = wanted.laptop && /laptop|mobile/i.test(String(first.name.value));
  return laptopHas || sizes.size === 0
    ? first
    : { ...first, memoryBytes: missing('this name covers products of several sizes') };
}

const targetOf = (gpu: Gpu): string =>
  JSON.stringify([gpu.computeCapability.value, gpu.gfx.value, gpu.intelFamily.value, gpu.tegra]);

/** "sm_89", "8.9", "gfx1100" and "M3 Max" name no product, but are all a resolver needs. */
function fromTarget(text: string, wanted: Wanted, index: number): Gpu | undefined {
  const plain = text.trim().toLowerCase();
  const sm = /^(?:sm|compute|cc)[ _-]?(\d{1,2})\.?(\d)[af]?$|^(\d{1,2})\.(\d)$/.exec(plain);
  if (sm) {
    const cc = { major: Number(sm[1] ?? sm[3]), minor: Number(sm[2] ?? sm[4]) };
    const name = `${cc.major}.${cc.minor}`;
    if (!computeCapabilities.includes(name))
      throw noTarget(
        text,
        `sm_${name.replace('.', '')}`,
        computeCapabilities.map((id) => `sm_${id.replace('.', '')}`),
      );
    const architecture = architectureOf(cc);
    return newGpu({
      id: `override:${index}`,
      vendor: 'nvidia',
      name: known(`NVIDIA GPU with compute capability ${name}`, 'override'),
      computeCapability: known(cc, 'override'),
      ...(architecture ? { architecture: known(architecture, 'pci-table') as Fact<string> } : {}),
      memoryBytes: missing('a target id tells no memory size'),
      mig: missing('not detected: given by the user'),
    });
  }
  // rocminfo writes the features of a target behind it: "gfx90a:sramecc+:xnack-".
  const gfx = /^(?:amdgcn-amd-amdhsa--)?(gfx[0-9a-f]+)(?::[a-z]+[+-])*$/.exec(plain)?.[1];
  if (gfx !== undefined) {
    const architecture = amdArchitecture(gfx);
    if (!architecture) throw noTarget(text, gfx, gfxIds);
    return newGpu({
      id: `override:${index}`,
      vendor: 'amd',
      name: known(`AMD ${gfx}`, 'override'),
      kind: known(architecture.integrated ? 'integrated' : 'discrete', 'pci-table'),
      architecture: known(architecture.architecture, 'pci-table'),
      gfx: known(gfx, 'override'),
      memoryBytes: missing('a target id tells no memory size'),
    });
  }
  if (/tesla|quadro|grid/.test(plain)) return undefined;
  const apple = /^(?:apple ?)?(m\d) ?(pro|max|ultra)?$/.exec(wanted.key);
  if (!apple || !appleChips[apple[1]!]?.includes(apple[2] ?? '')) return undefined;
  const chip = `${apple[1]!.toUpperCase()}${apple[2] ? ` ${apple[2][0]!.toUpperCase()}${apple[2].slice(1)}` : ''}`;
  return newGpu({
    id: `override:${index}`,
    vendor: 'apple',
    name: known(`Apple ${chip} GPU`, 'override'),
    kind: known('integrated', 'override'),
    chip: known(`Apple ${chip}`, 'override'),
    architecture: known('Apple silicon', 'override'),
    memoryBytes: wanted.memoryGiB === undefined ? missing('told by the machine itself only') : size(wanted.memoryGiB),
    unified: true,
  });
}

function noTarget(text: string, id: string, ids: readonly string[]): ArgumentError {
  const near = nearest(id, ids);
  return refusal(
    text,
    'names a target that does not exist',
    `${near ? `Did you mean ${near}? ` : ''}Known are ${ids.slice(-12).join(', ')} and older ones.`,
  );
}

function ambiguous(text: string, found: readonly Candidate[], gpus: readonly Gpu[]): ArgumentError {
  const labels = [...new Set(found.map(({ label }) => label))];
  const targets = [
    ...new Set(
      gpus.map(({ computeCapability: { value }, gfx }) => (value ? `sm_${value.major}${value.minor}` : gfx.value)),
    ),
  ];
  return refusal(
    text,
    'fits several GPUs that need different builds',
    labels.length > 1
      ? `Write which one: ${labels.slice(0, 6).join(', ')}.`
      : `It was sold with several chips: give the target instead, ${targets.join(' or ')}.`,
  );
}

function unknown(text: string, wanted: Wanted, all: readonly Candidate[]): ArgumentError {
  const near = suggestions(wanted, all);
  return refusal(
    text,
    'is in no table',
    near.length > 0
      ? `Did you mean ${near.join(', ')}? A compute capability ("sm_89") or gfx id ("gfx1100") works too.`
      : 'Give a product name ("RTX 4090"), a PCI id ("10de:2684"), a compute capability ("sm_89") or a gfx id ("gfx1100").',
  );
}

const refusal = (text: string, what: string, fix: string): ArgumentError =>
  new ArgumentError({
    code: 'UNKNOWN_GPU',
    message: `GPU "${plainLine(text).slice(0, 80)}" ${what}`,
    fix,
    where: 'override',
  });

/** The product within the name, those it begins, those that differ by an edit or two, then those with nearly the same number. */
function suggestions(wanted: Wanted, all: readonly Candidate[]): readonly string[] {
  if (wanted.key === '' || wanted.key.length > 60) return [];
  const labels = new Map<string, string>();
  for (const { entry, names } of rowsOf(all))
    for (const name of names) {
      const key = name.words.join('');
      if (!labels.has(key) || /laptop/i.test(labels.get(key)!)) labels.set(key, entry.label);
    }
  const joined = wanted.words.join('');
  const keys = [...labels.keys()];
  const within = keys
    .filter((key) => /\d{2}/.test(key) && joined.startsWith(key))
    .sort((one, other) => other.length - one.length)
    .slice(0, 1);
  const longer = keys.filter((key) => key.startsWith(joined)).slice(0, 2);
  const close = nearest(joined, keys);
  const near = [...within, ...longer, ...(close === undefined ? [] : [close]), ...alike(wanted, keys)];
  return [...new Set(near.map((key) => labels.get(key)!))].slice(0, 4);
}

/** Numbers of the same length that differ in the last digit, else in the last two: of the same line first. */
function alike(wanted: Wanted, keys: readonly string[]): readonly string[] {
  const digits = /\d{2,5}/.exec(wanted.key)?.[0];
  if (digits === undefined) return [];
  const line = /^[a-z]+/.exec(wanted.key)?.[0] ?? '';
  const numbered = (free: number) => {
    const number = new RegExp(`(?<!\\d)${digits.slice(0, -free)}\\d{${free}}(?!\\d)`);
    return keys.filter((key) => number.test(key));
  };
  const [one, two] = [numbered(1), digits.length > 2 ? numbered(2) : []];
  const same = (key: string) => line !== '' && key.startsWith(line);
  return [...one.filter(same), ...two.filter(same), ...one];
}
