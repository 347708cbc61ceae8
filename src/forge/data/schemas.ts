// What each data file holds. Every row carries its public source and the day on which it was last compared with it.

import { dictionary, flag, type Infer, list, nullable, number, object, oneOf, type Schema, text } from './schema.ts';

const version = text(/^\d+(\.\d+)*$/, 'a dotted version');
const minor = text(/^\d+\.\d+$/, 'a version such as 3.12');
const cc = text(/^\d{1,2}\.\d$/, 'a compute capability such as 8.6');
const gfx = text(/^gfx[0-9a-f]{3,4}$/, 'a target such as gfx1100');
const day = text(/^\d{4}-\d{2}-\d{2}$/, 'a day such as 2026-11-15');
const url = text(/^https:\/\/[^\s]+$/, 'an https address');

const platformTag = oneOf('linux-x64', 'linux-arm64', 'windows-x64', 'macos-arm64', 'macos-x64');
export const backend = oneOf('cuda', 'rocm', 'xpu', 'mps', 'cpu');
export const framework = oneOf('pytorch', 'tensorflow', 'jax');
const family = oneOf(
  'alchemist',
  'battlemage',
  'ponte-vecchio',
  'meteor-lake',
  'arrow-lake',
  'lunar-lake',
  'panther-lake',
  'xe-lp',
  'gen',
);

type Fields = Readonly<Record<string, Schema<unknown>>>;
const row = <R extends Fields>(fields: R) => object({ ...fields, source: url, reviewed: day });
const file = <R extends Fields>(tables: R) =>
  object({ schema: number({ min: 1, max: 1 }), title: text(), reviewed: day, ...tables });

const pythonRange = { pythonMin: minor, pythonMax: minor };

export const schemas = {
  cuda: file({
    families: list(row({ family: text(/^\d+$/), linux: version, windows: version })),
    toolkits: list(row({ cuda: minor, linux: version, windows: nullable(version) })),
    branches: list(row({ branch: number({ min: 300, whole: true }), cuda: minor })),
    support: list(
      row({
        branch: number({ min: 300, whole: true }),
        kind: oneOf('long-term', 'production', 'feature'),
        until: nullable(text(/^\d{4}-\d{2}$/)),
      }),
    ),
    images: list(row({ cuda: minor, image: text(/^[a-z0-9./-]+:[\w.-]+$/) })),
  }),
  compute: file({
    capabilities: list(
      row({
        cc,
        architecture: text(),
        firstCuda: minor,
        lastCuda: nullable(minor),
        lastDriver: nullable(number({ whole: true })),
        tegra: flag,
      }),
    ),
  }),
  pytorch: file({
    releases: list(
      row({
        version,
        released: text(/^\d{4}-\d{2}$/),
        ...pythonRange,
        torchvision: text(/^\d+\.\d+\.(\d+|\*)$/),
        torchaudio: version,
        /** The manylinux floor of its Linux wheels. */
        glibc: minor,
      }),
    ),
    cuda: list(
      row({
        release: version,
        variant: text(/^cu\d{3}$/),
        backend: oneOf('cuda'),
        cuda: minor,
        cubins: list(cc),
        ptx: nullable(cc),
        ptxPlatforms: list(platformTag),
        platforms: list(platformTag),
        stable: flag,
        note: nullable(text()),
      }),
    ),
    rocm: list(row({ release: version, variant: text(/^rocm[\d.]+$/), gfx: list(gfx), platforms: list(platformTag) })),
    plain: list(
      row({
        release: version,
        variant: oneOf('cpu', 'mps', 'xpu'),
        backend: oneOf('cpu', 'mps', 'xpu'),
        platforms: list(platformTag),
        families: nullable(list(family)),
      }),
    ),
    // NVIDIA's builds for Tegra boards, by the L4T release that the board runs.
    jetson: list(
      row({
        l4t: text(/^\d+$/),
        jetpack: text(/^\d+$/),
        version,
        torchvision: version,
        variant: text(/^jp\d+-cu\d{3}$/),
        cuda: minor,
        cubins: list(cc),
        python: minor,
        index: url,
      }),
    ),
    // The last release of a platform that is no longer built for.
    retired: list(row({ platform: platformTag, version, ...pythonRange, note: text() })),
  }),
  rocm: file({
    targets: list(row({ gfx, architecture: text(), products: text() })),
    wheels: list(
      row({
        framework: oneOf('pytorch', 'jax'),
        version,
        torchvision: nullable(version),
        rocm: version,
        gfx: list(gfx),
        platforms: list(platformTag),
        ...pythonRange,
        index: url,
      }),
    ),
    containers: list(row({ framework, image: text(), versions: text(), python: minor, gfx: list(gfx) })),
  }),
  tensorflow: file({
    releases: list(
      row({
        version,
        ...pythonRange,
        glibc: minor,
        cuda: minor,
        cubins: list(cc),
        ptx: nullable(cc),
        maxCc: cc,
        minDriver: version,
        gpuPlatforms: list(platformTag),
        cpuPlatforms: list(platformTag),
      }),
    ),
    limits: list(row({ minCc: cc, text: text() })),
  }),
  jax: file({
    releases: list(row({ version, ...pythonRange, glibc: minor, plugins: list(text(/^cuda\d+$/)) })),
    plugins: list(
      row({
        extra: text(/^cuda\d+$/),
        cuda: minor,
        minCc: cc,
        minDriver: version,
        platforms: list(platformTag),
        note: nullable(text()),
      }),
    ),
    cpu: list(row({ platforms: list(platformTag) })),
  }),
  python: file({ versions: list(row({ version: minor })) }),
  xid: file({
    xids: list(row({ xid: number({ min: 1, whole: true }), meaning: text(), action: text(), hardware: flag })),
  }),
  packages: file({
    packages: list(
      row({
        name: text(/^[a-z0-9][a-z0-9._-]*$/, 'a normalised package name'),
        extra: nullable(text()),
        conda: nullable(text(/^[a-z0-9_.-]+$/)),
        min: version,
        pins: list(object({ version, ...pythonRange })),
        frameworks: nullable(list(framework)),
        backends: nullable(list(backend)),
        platforms: nullable(list(platformTag)),
        pythonMin: nullable(minor),
        pythonMax: nullable(minor),
        minCc: nullable(cc),
        why: nullable(text()),
      }),
    ),
  }),
  profiles: file({
    profiles: list(
      row({
        name: text(/^[a-z][a-z0-9_]*$/),
        title: text(),
        intent: text(),
        base: list(text()),
        added: list(text()),
        optional: list(text()),
        jax: list(text()),
        tensorflow: list(text()),
        extras: dictionary(text()),
        minGiB: number({ min: 0 }),
        recommendedGiB: number({ min: 0 }),
        pin: oneOf('range', 'exact'),
        vision: flag,
        use: oneOf('bounded', 'open'),
        lowMemory: nullable(
          object({ belowGiB: number({ min: 0 }), add: list(text()), drop: list(text()), text: text() }),
        ),
      }),
    ),
  }),
} as const;

export type TableName = keyof typeof schemas;
export type Tables = { readonly [K in TableName]: Infer<(typeof schemas)[K]> };
export type Framework = Infer<typeof framework>;
export type Backend = Infer<typeof backend>;
export type PlatformTag = Infer<typeof platformTag>;
export type PackageRow = Tables['packages']['packages'][number];
export type ProfileRow = Tables['profiles']['profiles'][number];
