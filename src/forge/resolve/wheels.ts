// Every build that the tables know, as one flat list of wheels that the checks treat alike.
//
// The frameworks publish in different ways (PyTorch one index per variant, TensorFlow and JAX extras on PyPI, AMD an index
// with a device extra per target); those differences end here.

import type { Framework, Tables } from '../data/schemas.ts';
import type { Requirement, Wheel } from './types.ts';

const PYTORCH_INDEX = 'https://download.pytorch.org/whl/';

const expanders: Readonly<Record<Framework, (tables: Tables) => readonly Wheel[]>> = { pytorch, tensorflow, jax };

/** The search for ways out asks for the same list many times. */
const expanded = new WeakMap<Tables, Map<Framework, readonly Wheel[]>>();

export function wheelsOf(tables: Tables, framework: Framework): readonly Wheel[] {
  const known = expanded.get(tables) ?? new Map<Framework, readonly Wheel[]>();
  expanded.set(tables, known);
  const wheels = known.get(framework) ?? expanders[framework](tables);
  known.set(framework, wheels);
  return wheels;
}

const own = (name: string, spec: string, extras: readonly string[] = []): Requirement => ({
  name,
  extras,
  spec,
  own: true,
});
const pypi = (name: string, spec: string, extras: readonly string[] = []): Requirement => ({
  name,
  extras,
  spec,
  own: false,
});

function pytorch(tables: Tables): readonly Wheel[] {
  const wheels: Wheel[] = [];
  for (const release of tables.pytorch.releases) {
    const common = {
      framework: 'pytorch',
      version: release.version,
      pythonMin: release.pythonMin,
      pythonMax: release.pythonMax,
      companions: [
        { name: 'torchvision', version: release.torchvision },
        { name: 'torchaudio', version: release.torchaudio },
      ],
      note: null,
    } as const;
    // A local tag pins the build: +cu126 exists on one index only. PyPI's wheels carry none.
    const tagged = (variant: string) => ({
      index: { name: `pytorch-${variant.replaceAll('.', '')}`, url: `${PYTORCH_INDEX}${variant}` },
      requirements: () => [own('torch', `==${release.version}+${variant}`)],
    });
    for (const row of tables.pytorch.cuda) {
      if (row.release !== release.version) continue;
      wheels.push({
        ...common,
        ...tagged(row.variant),
        variant: row.variant,
        backend: 'cuda',
        platforms: row.platforms,
        stable: row.stable,
        glibc: release.glibc,
        cuda: {
          version: row.cuda,
          cubins: row.cubins,
          ptx: row.ptx,
          ptxPlatforms: row.ptxPlatforms,
          minCc: null,
          maxCc: null,
          minDriver: null,
        },
        note: row.note,
        source: row.source,
      });
    }
    for (const row of tables.pytorch.rocm) {
      if (row.release !== release.version) continue;
      wheels.push({
        ...common,
        ...tagged(row.variant),
        variant: row.variant,
        backend: 'rocm',
        platforms: row.platforms,
        stable: true,
        glibc: release.glibc,
        gfx: row.gfx,
        source: row.source,
      });
    }
    for (const row of tables.pytorch.plain) {
      if (row.release !== release.version) continue;
      // On a Mac one plain wheel from PyPI serves both the GPU and the CPU.
      const mac = row.variant === 'mps';
      const wheel: Wheel = {
        ...common,
        ...(mac ? { index: null, requirements: () => [pypi('torch', `==${release.version}`)] } : tagged(row.variant)),
        variant: row.variant,
        backend: row.backend,
        platforms: row.platforms,
        stable: true,
        ...(mac ? { macosMin: 14 } : { glibc: release.glibc }),
        ...(row.families ? { families: row.families } : {}),
        source: row.source,
      };
      wheels.push(wheel);
      if (mac) wheels.push({ ...wheel, variant: 'cpu', backend: 'cpu' });
    }
  }
  for (const row of tables.pytorch.jetson) {
    wheels.push({
      framework: 'pytorch',
      version: row.version,
      variant: row.variant,
      backend: 'cuda',
      platforms: ['linux-arm64'],
      pythonMin: row.python,
      pythonMax: row.python,
      stable: true,
      l4t: row.l4t,
      cuda: {
        version: row.cuda,
        cubins: row.cubins,
        ptx: null,
        ptxPlatforms: [],
        minCc: null,
        maxCc: null,
        minDriver: null,
      },
      index: { name: `jetson-${row.variant}`, url: row.index },
      requirements: () => [own('torch', `==${row.version}`)],
      companions: [{ name: 'torchvision', version: row.torchvision }],
      note: `built for JetPack ${row.jetpack} (L4T ${row.l4t}) and its Python ${row.python}; the desktop wheels hold no kernels for Tegra`,
      source: row.source,
    });
  }
  for (const row of tables.rocm.wheels) {
    if (row.framework !== 'pytorch') continue;
    wheels.push({
      framework: 'pytorch',
      version: row.version,
      variant: `rocm${row.rocm}`,
      backend: 'rocm',
      platforms: row.platforms,
      pythonMin: row.pythonMin,
      pythonMax: row.pythonMax,
      stable: true,
      glibc: '2.28',
      gfx: row.gfx,
      index: { name: 'amd-rocm', url: row.index },
      requirements: (gfx) => [own('torch', `==${row.version}+rocm${row.rocm}`, [`device-${gfx ?? 'all'}`])],
      companions: row.torchvision ? [{ name: 'torchvision', version: `${row.torchvision}+rocm${row.rocm}` }] : [],
      note: "from AMD's own index; the ROCm runtime comes inside the wheels",
      source: row.source,
    });
  }
  return wheels;
}

function tensorflow(tables: Tables): readonly Wheel[] {
  return tables.tensorflow.releases.flatMap((release): Wheel[] => {
    const limit = tables.tensorflow.limits[0];
    const common = {
      framework: 'tensorflow',
      version: release.version,
      pythonMin: release.pythonMin,
      pythonMax: release.pythonMax,
      glibc: release.glibc,
      stable: true,
      index: null,
      companions: [],
      note: null,
      source: release.source,
    } as const;
    const wheels: Wheel[] = [
      {
        ...common,
        variant: 'and-cuda',
        backend: 'cuda',
        platforms: release.gpuPlatforms,
        cuda: {
          version: release.cuda,
          cubins: release.cubins,
          ptx: release.ptx,
          ptxPlatforms: release.gpuPlatforms,
          minCc: null,
          maxCc: limit ? { cc: release.maxCc, why: limit.text, source: limit.source } : null,
          minDriver: release.minDriver,
        },
        requirements: () => [pypi('tensorflow', `==${release.version}`, ['and-cuda'])],
      },
      {
        ...common,
        variant: 'cpu',
        backend: 'cpu',
        platforms: release.cpuPlatforms,
        requirements: () => [pypi('tensorflow', `==${release.version}`)],
      },
    ];
    return wheels.filter((wheel) => wheel.platforms.length > 0);
  });
}

function jax(tables: Tables): readonly Wheel[] {
  const wheels: Wheel[] = [];
  for (const release of tables.jax.releases) {
    const common = {
      framework: 'jax',
      version: release.version,
      pythonMin: release.pythonMin,
      pythonMax: release.pythonMax,
      glibc: release.glibc,
      stable: true,
      index: null,
      companions: [],
    } as const;
    for (const plugin of tables.jax.plugins) {
      if (!release.plugins.includes(plugin.extra)) continue;
      wheels.push({
        ...common,
        variant: plugin.extra,
        backend: 'cuda',
        platforms: plugin.platforms,
        cuda: {
          version: plugin.cuda,
          cubins: null,
          ptx: null,
          ptxPlatforms: [],
          minCc: plugin.minCc,
          maxCc: null,
          minDriver: plugin.minDriver,
        },
        requirements: () => [pypi('jax', `==${release.version}`, [plugin.extra])],
        note: plugin.note,
        source: plugin.source,
      });
    }
    for (const row of tables.jax.cpu) {
      wheels.push({
        ...common,
        variant: 'cpu',
        backend: 'cpu',
        platforms: row.platforms,
        requirements: () => [pypi('jax', `==${release.version}`)],
        note: null,
        source: row.source,
      });
    }
  }
  for (const row of tables.rocm.wheels) {
    if (row.framework !== 'jax') continue;
    const tag = `==${row.version}+rocm${row.rocm}`;
    wheels.push({
      framework: 'jax',
      version: row.version,
      variant: `rocm${row.rocm}`,
      backend: 'rocm',
      platforms: row.platforms,
      pythonMin: row.pythonMin,
      pythonMax: row.pythonMax,
      stable: true,
      gfx: row.gfx,
      index: { name: 'amd-rocm', url: row.index },
      requirements: (gfx) => [
        pypi('jax', `==${row.version}`),
        pypi('jaxlib', `==${row.version}`),
        own('jax-rocm10-plugin', tag),
        own('jax-rocm10-pjrt', tag),
        own('rocm', `==${row.rocm}`, ['libraries', `device-${gfx ?? 'all'}`]),
      ],
      companions: [],
      note: "the plugin comes from AMD's own index, jax and jaxlib of the same version from PyPI",
      source: row.source,
    });
  }
  return wheels;
}

/** "torch 2.14.1 cu126" */
export function nameOf(wheel: {
  readonly framework: Framework;
  readonly version: string;
  readonly variant: string;
}): string {
  return `${PRODUCT[wheel.framework]} ${wheel.version} ${wheel.variant}`;
}

export const PRODUCT: Readonly<Record<Framework, string>> = { pytorch: 'torch', tensorflow: 'tensorflow', jax: 'jax' };
