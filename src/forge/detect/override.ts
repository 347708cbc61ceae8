// A machine described by the user, for images that build without a GPU and for advice about another machine.
//
// An override replaces detection, is shown in every result, and works where there is no GPU. A name that no table knows is an
// error that lists near ones: a wrong guess here would install the wrong build.

import { ArgumentError } from '../../errors.ts';
import { type Arch, type Fact, type Gpu, known, missing, type Platform } from '../machine.ts';
import { GIB, newGpu } from './draft.ts';
import { amdArchitecture, amdProducts } from './tables/amd-products.ts';
import { intelProducts } from './tables/intel-products.ts';
import { nvidiaChip } from './tables/nvidia-chips.ts';
import { nvidiaProducts } from './tables/nvidia-products.ts';

export interface Override {
  /** Product names ("RTX 4090"), PCI ids ("10de:2684"), "sm_89" or "gfx1100"; several for several cards. */
  readonly gpus?: readonly string[];
  readonly driver?: string;
  readonly platform?: Platform;
  readonly arch?: Arch;
}

/** The overrides the environment gives: GPUFORGE_GPU (comma-separated), GPUFORGE_DRIVER, GPUFORGE_OS, GPUFORGE_ARCH. */
export function overrideFromEnv(env: Readonly<Record<string, string | undefined>>): Override {
  return {
    ...(env.GPUFORGE_GPU ? { gpus: env.GPUFORGE_GPU.split(',').map((name) => name.trim()) } : {}),
    ...(env.GPUFORGE_DRIVER ? { driver: env.GPUFORGE_DRIVER } : {}),
    ...(env.GPUFORGE_OS ? { platform: oneOf(env.GPUFORGE_OS, ['linux', 'windows', 'macos'], 'GPUFORGE_OS') } : {}),
    ...(env.GPUFORGE_ARCH ? { arch: oneOf(env.GPUFORGE_ARCH, ['x64', 'arm64'], 'GPUFORGE_ARCH') } : {}),
  };
}

function oneOf<T extends string>(value: string, allowed: readonly T[], where: string): T {
  const found = allowed.find((entry) => entry === value);
  if (found !== undefined) return found;
  throw new ArgumentError({
    code: 'UNKNOWN_VALUE',
    message: `${where}: "${value}" is not one of ${allowed.join(', ')}`,
    fix: `Set it to one of ${allowed.join(', ')}, or unset it.`,
    where,
  });
}

export function isEmpty(override: Override): boolean {
  return Object.keys(override).length === 0;
}

export function describeOverride(override: Override): readonly string[] {
  return [
    ...(override.gpus ? [`GPU: ${override.gpus.join(', ')}`] : []),
    ...(override.driver ? [`driver: ${override.driver}`] : []),
    ...(override.platform ? [`operating system: ${override.platform}`] : []),
    ...(override.arch ? [`architecture: ${override.arch}`] : []),
  ];
}

/** A GPU from a name, a PCI id or a target id. */
export function gpuFromText(text: string, index: number): Gpu {
  const plain = normalize(text);
  const target = fromTarget(plain, index);
  if (target) return target;
  const candidates = catalogue();
  const exact =
    candidates.find((entry) => entry.pciId === text.trim().toLowerCase()) ??
    candidates.find((entry) => entry.keys.includes(plain)) ??
    shortest(candidates.filter((entry) => entry.keys.some((key) => key.endsWith(plain))));
  if (exact && plain !== '') return exact.gpu(index);
  const family = oneFamily(
    candidates.filter((entry) => plain !== '' && entry.keys.some((key) => key.startsWith(plain))),
    index,
  );
  if (family) return family;
  const near = [...new Set(candidates.filter((entry) => isNear(entry.label, text)).map((entry) => entry.label))];
  throw new ArgumentError({
    code: 'UNKNOWN_GPU',
    message: `GPU "${text}" is in no table`,
    fix:
      near.length > 0
        ? `Did you mean ${near.slice(0, 4).join(', ')}? A compute capability ("sm_89") or gfx id ("gfx1100") works too.`
        : 'Give a product name ("RTX 4090"), a PCI id ("10de:2684"), a compute capability ("sm_89") or a gfx id ("gfx1100").',
    where: 'override',
  });
}

/** "A100" covers several products: usable when all are one target, and the size is then not known unless they share it. */
function oneFamily(entries: readonly Candidate[], index: number): Gpu | undefined {
  const gpus = entries.map((entry) => entry.gpu(index));
  const first = gpus[0];
  if (first === undefined || new Set(gpus.map(targetOf)).size !== 1) return undefined;
  const sizes = new Set(gpus.map(({ memoryBytes }) => memoryBytes.value));
  const chosen = shortest(entries)?.gpu(index) ?? first;
  return sizes.size === 1 ? chosen : { ...chosen, memoryBytes: missing('this name covers products of several sizes') };
}

function targetOf(gpu: Gpu): string {
  return JSON.stringify([gpu.computeCapability.value, gpu.gfx.value, gpu.intelFamily.value]);
}

interface Candidate {
  readonly label: string;
  readonly keys: readonly string[];
  readonly pciId: string;
  readonly gpu: (index: number) => Gpu;
}

function catalogue(): readonly Candidate[] {
  const nvidia = nvidiaProducts().map(({ deviceId, name, memoryGiB, units }): Candidate => {
    const chip = nvidiaChip(deviceId);
    return {
      label: name,
      keys: [normalize(name)],
      pciId: `10de:${deviceId}`,
      gpu: (index) =>
        newGpu({
          id: `override:${index}`,
          vendor: 'nvidia',
          name: known(name, 'override'),
          kind: known(name.includes('GB10') ? 'integrated' : 'discrete', 'pci-table'),
          chip: chip ? known(chip.chip, 'pci-table') : missing('not in the tables'),
          architecture: chip ? known(chip.architecture, 'pci-table') : missing('not in the tables'),
          computeCapability: chip ? known(chip.cc, 'pci-table') : missing('not in the tables'),
          memoryBytes: size(memoryGiB),
          units: units === null ? missing('not in the product table') : known(units, 'pci-table'),
          unified: chip?.chip === 'GB20B',
          mig: missing('not detected: given by the user'),
        }),
    };
  });
  const amd = amdProducts().map((product): Candidate => {
    const architecture = amdArchitecture(product.gfx);
    return {
      label: product.name,
      keys: spread(product.name),
      pciId: `1002:${product.deviceId}`,
      gpu: (index) =>
        newGpu({
          id: `override:${index}`,
          vendor: 'amd',
          name: known(product.name, 'override'),
          kind: known(architecture?.integrated ? 'integrated' : 'discrete', 'pci-table'),
          chip: known(product.chip, 'pci-table'),
          architecture: architecture ? known(architecture.architecture, 'pci-table') : missing('not in the tables'),
          gfx: known(product.gfx, 'pci-table'),
          memoryBytes: size(product.memoryGiB),
          unified: architecture?.integrated ?? false,
        }),
    };
  });
  const intel = intelProducts().map(
    (product): Candidate => ({
      label: product.name,
      keys: [normalize(product.name)],
      pciId: `8086:${product.deviceId}`,
      gpu: (index) =>
        newGpu({
          id: `override:${index}`,
          vendor: 'intel',
          name: known(product.name, 'override'),
          kind: known(product.integrated ? 'integrated' : 'discrete', 'pci-table'),
          architecture: known(product.architecture, 'pci-table'),
          intelFamily: known(product.family, 'pci-table'),
          memoryBytes: size(product.memoryGiB),
          unified: product.integrated,
        }),
    }),
  );
  return [...nvidia, ...amd, ...intel];
}

function size(gib: number | null): Fact<number> {
  return gib === null
    ? missing('this product comes in several sizes')
    : known(gib * GIB, 'pci-table', 'nominal size of the product');
}

/** "sm_89", "8.9" and "gfx1100" name no product, but are all a resolver needs. */
function fromTarget(plain: string, index: number): Gpu | undefined {
  const sm = /^(?:sm|cc)?(\d{1,2})(\d)$/.exec(plain.replace('.', ''));
  if (sm && /^(sm|cc)|\./.test(plain)) {
    const cc = { major: Number(sm[1]), minor: Number(sm[2]) };
    return newGpu({
      id: `override:${index}`,
      vendor: 'nvidia',
      name: known(`NVIDIA GPU with compute capability ${cc.major}.${cc.minor}`, 'override'),
      computeCapability: known(cc, 'override'),
      memoryBytes: missing('a target id tells no memory size'),
      mig: missing('not detected: given by the user'),
    });
  }
  if (/^gfx\d{3,4}[0-9a-f]?$/.test(plain)) {
    const architecture = amdArchitecture(plain);
    return newGpu({
      id: `override:${index}`,
      vendor: 'amd',
      name: known(`AMD ${plain}`, 'override'),
      kind: architecture
        ? known(architecture.integrated ? 'integrated' : 'discrete', 'pci-table')
        : missing('unknown gfx'),
      architecture: architecture ? known(architecture.architecture, 'pci-table') : missing('not in the tables'),
      gfx: known(plain, 'override'),
      memoryBytes: missing('a target id tells no memory size'),
    });
  }
  const apple = /^(?:apple)?(m\d+(?:pro|max|ultra)?)$/.exec(plain);
  if (apple) {
    const chip = apple[1]!.replace(
      /^m(\d+)(.*)$/,
      (_, n, kind) => `M${n}${kind ? ` ${kind[0].toUpperCase()}${kind.slice(1)}` : ''}`,
    );
    return newGpu({
      id: `override:${index}`,
      vendor: 'apple',
      name: known(`Apple ${chip} GPU`, 'override'),
      kind: known('integrated', 'override'),
      chip: known(`Apple ${chip}`, 'override'),
      architecture: known('Apple silicon', 'override'),
      memoryBytes: missing('told by the machine itself only'),
      unified: true,
    });
  }
  return undefined;
}

function normalize(name: string): string {
  return name
    .toLowerCase()
    .replace(/nvidia|geforce|amd|radeon|intel|graphics|tesla|instinct/g, '')
    .replace(/[^a-z0-9.]/g, '');
}

/** "Radeon RX 7900 XT/7900 XTX" answers to "RX 7900 XT" and to "RX 7900 XTX". */
function spread(name: string): readonly string[] {
  const [first = '', ...rest] = name.split('/');
  const prefix = /^(.*?)\d/.exec(first)?.[1] ?? '';
  return [
    normalize(name),
    normalize(first),
    ...rest.map((part) => normalize(/^[A-Za-z]/.test(part) ? part : prefix + part)),
  ];
}

function shortest(entries: readonly Candidate[]): Candidate | undefined {
  return [...entries].sort((a, b) => a.label.length - b.label.length)[0];
}

function isNear(label: string, text: string): boolean {
  const digits = /\d{3,4}/.exec(text)?.[0];
  return digits !== undefined && label.includes(digits.slice(0, -1));
}
