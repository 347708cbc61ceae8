// "sm_89", "8.9", "gfx1100", "tegra234", "M3 Max", "GA102" and "Hopper" name no product, but are all that a resolver needs.

import { type ComputeCapability, type Fact, type Gpu, known, missing, parseCc } from '../machine.ts';
import { plainLine } from '../text/plain.ts';
import { amdGpu, intelGpu, nvidiaGpu, size } from './candidates.ts';
import { newGpu } from './draft.ts';
import type { Wanted } from './name-read.ts';
import { noTarget, severalTargets } from './name-refusals.ts';
import { amdArchitecture, gfxIds } from './tables/amd-products.ts';
import {
  architectureAliases,
  type NamedTarget,
  type NameFamily,
  nameFamilies,
  nameSeries,
  oldNvidiaChip,
} from './tables/name-families.ts';
import { architectureOf, nvidiaChipNamed, tegraSocs } from './tables/nvidia-chips.ts';
import { appleChips, computeCapabilities } from './tables/product-names.ts';

/** A target by its id; undefined where the text is none, an error where no GPU has this target. */
export function fromTarget(text: string, wanted: Wanted, index: number): Gpu | undefined {
  const plain = text.trim().toLowerCase();
  return (
    fromCapability(text, plain, index) ??
    fromGfx(text, plain, index) ??
    fromSoc(plain, index) ??
    fromApple(plain, wanted, index) ??
    fromArchitecture(text, plain, index) ??
    fromForm(plain, nameSeries, index)
  );
}

function fromCapability(text: string, plain: string, index: number): Gpu | undefined {
  const sm = /^(?:sm|compute(?: capability)?|cc)[ _:-]*(\d{1,2})\.?(\d)[af]?$|^(\d{1,2})\.(\d)[af]?$/.exec(plain);
  if (!sm) return undefined;
  const cc = { major: Number(sm[1] ?? sm[3]), minor: Number(sm[2] ?? sm[4]) };
  const name = `${cc.major}.${cc.minor}`;
  const written = (id: string) => `sm_${id.replace('.', '')}`;
  if (!computeCapabilities.includes(name)) throw noTarget(text, written(name), computeCapabilities.map(written));
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

function fromGfx(text: string, plain: string, index: number): Gpu | undefined {
  // rocminfo writes the features of a target behind it: "gfx90a:sramecc+:xnack-".
  const gfx = /^(?:amdgcn-amd-amdhsa--)?(gfx[\da-z]*)(?::[a-z]+[+-])*$/.exec(plain)?.[1];
  if (gfx === undefined) return undefined;
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

function fromSoc(plain: string, index: number): Gpu | undefined {
  const soc = /^(?:nvidia,? ?)?(tegra\d{3})$/.exec(plain)?.[1];
  const chip = soc === undefined ? undefined : tegraSocs[soc];
  return chip && nvidiaGpu(`NVIDIA ${soc}`, chip.cc, { tegra: true, memoryGiB: null })(index);
}

function fromApple(plain: string, wanted: Wanted, index: number): Gpu | undefined {
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

/** An architecture by its name alone ("Hopper", "RDNA 3"), from its members in the tables; an error where they differ. */
function fromArchitecture(text: string, plain: string, index: number): Gpu | undefined {
  const words = plain
    .replace(/^(?:nvidia|amd) |[ -](?:gpus?|architecture|generation)$/g, '')
    .replace(/^([rc]dna)(?=\d)/, '$1 ');
  const wanted = architectureAliases[words] ?? words;
  const targets: readonly NamedTarget[] = [
    ...computeCapabilities.filter((cc) => architectureOf(parseCc(cc)!)?.toLowerCase() === wanted).map((cc) => ({ cc })),
    ...gfxIds.filter((gfx) => amdArchitecture(gfx)!.architecture.toLowerCase() === wanted).map((gfx) => ({ gfx })),
  ];
  if (targets.length > 1) throw severalTargets(text, targets.map(targetName));
  return targets[0] && gpuOf(plainLine(text).trim(), targets[0], index);
}

/** The first word that reads like a chip of NVIDIA: "GA102", "GK107GLM". */
const chipName = (text: string): string | undefined =>
  /\b(g[fkmpvhab]\d{2}[\da-f]|tu1\d\d|ad1\d\d)b?(?:gl)?m?\b/i.exec(text)?.[1];

const chipCapability = (chip: string): ComputeCapability | undefined =>
  nvidiaChipNamed(chip)?.cc ?? parseCc(oldNvidiaChip(chip) ?? '');

/** The compute capability of the chip that stands in the text. */
export function chipIn(text: string): ComputeCapability | undefined {
  const chip = chipName(text);
  return chip === undefined ? undefined : chipCapability(chip);
}

/** The chip, processor or line that a name tells where it names no product. */
export function fromFamily(text: string, index: number): Gpu | undefined {
  const plain = plainLine(text)
    .replace(/\((?:r|tm|c)\)|[®™©]/gi, '')
    .trim();
  const chip = chipName(plain);
  const cc = chip && chipCapability(chip);
  if (cc) return nvidiaGpu(`NVIDIA ${chip.toUpperCase()}`, cc, { tegra: false, memoryGiB: null })(index);
  // Sellers call cards "Phoenix" and "Raptor" too.
  if (/\b(?:nvidia|geforce|quadro|tesla|rtx|gtx)\b|\brx \d/i.test(plain)) return undefined;
  return fromForm(plain, nameFamilies, index);
}

function fromForm(plain: string, families: readonly NameFamily[], index: number): Gpu | undefined {
  for (const [form, target] of families) {
    const found = form.exec(plain);
    if (found) return gpuOf(found[0], target, index);
  }
  return undefined;
}

const targetName = (target: NamedTarget): string =>
  'cc' in target ? `sm_${target.cc.replace('.', '')}` : 'gfx' in target ? target.gfx : target.family;

function gpuOf(name: string, target: NamedTarget, index: number): Gpu {
  if ('cc' in target) {
    const cc: ComputeCapability = parseCc(target.cc)!;
    return nvidiaGpu(branded('NVIDIA', name), cc, { tegra: target.tegra ?? false, memoryGiB: null })(index);
  }
  if ('gfx' in target) return amdGpu(branded('AMD', name), target.gfx, null)(index);
  return intelGpu(branded('Intel', name), target.family, null)(index);
}

const branded = (maker: string, name: string): string =>
  name.toLowerCase().startsWith(maker.toLowerCase()) ? name : `${maker} ${name}`;
