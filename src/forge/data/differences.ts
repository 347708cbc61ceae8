// Where the tables and their publishers differ, and the tables with those differences taken over.
//
// Only what a page states is taken: builds of a new PyTorch release with the Pythons and kernels that it lists, Python
// ranges, what counts as stable, and the kind of a driver branch. The CUDA version of a new driver branch and the targets of
// ROCm wheels stand in neither page: they are left to the next version of this program. Pure.

import { compareVersions } from '../machine.ts';
import type { TableName, Tables } from './schemas.ts';
import {
  DRIVER_RELEASES,
  RELEASE_MD,
  type UpstreamBranch,
  type UpstreamPytorch,
  type UpstreamRelease,
} from './upstream.ts';

export interface Difference {
  readonly table: TableName;
  readonly text: string;
}

export interface Upstream {
  readonly pytorch: UpstreamPytorch | undefined;
  readonly branches: readonly UpstreamBranch[] | undefined;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** The tables that change, whole; empty when nothing differs. */
  readonly tables: Partial<Pick<Tables, 'pytorch' | 'cuda'>>;
}

type Pytorch = Tables['pytorch'];
type Build = Pytorch['cuda'][number];

/** `today` as "2026-11-16": a release whose day lies ahead is not out, and changed rows carry it. */
export function compareTables(tables: Tables, upstream: Upstream, today: string): Comparison {
  const pytorch = upstream.pytorch ? comparePytorch(tables.pytorch, upstream.pytorch, today) : { found: [] };
  const cuda = upstream.branches ? compareBranches(tables.cuda, upstream.branches, today) : { found: [] };
  return {
    differences: [
      ...pytorch.found.map((text) => ({ table: 'pytorch' as const, text })),
      ...cuda.found.map((text) => ({ table: 'cuda' as const, text })),
    ],
    tables: {
      ...('table' in pytorch && pytorch.found.length > 0 ? { pytorch: pytorch.table } : {}),
      ...('table' in cuda && cuda.found.length > 0 ? { cuda: cuda.table } : {}),
    },
  };
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

function comparePytorch(
  table: Pytorch,
  upstream: UpstreamPytorch,
  today: string,
): { readonly found: readonly string[]; readonly table: Pytorch } {
  const found: string[] = [];
  const out = upstream.releases.filter(({ day }) => day === null || day <= today);
  const newest = table.releases[0]!;
  let next: Pytorch = { ...table, reviewed: today };
  for (const release of [...out].reverse()) {
    const known = table.releases.find(({ version }) => minorOf(version) === release.minor);
    if (known) next = withKnown(next, known, release, today, found);
    else if (compareVersions(release.minor, minorOf(newest.version)) > 0) {
      found.push(
        `PyTorch ${release.minor} is out${release.released ? ` (${release.released})` : ''}; the tables end with ${newest.version}`,
      );
      next = withNew(next, release, upstream, today);
    }
  }
  return { found, table: next };
}

/** A release that the tables know: its Pythons, and which of its CUDA builds count as stable. */
function withKnown(
  table: Pytorch,
  known: Pytorch['releases'][number],
  release: UpstreamRelease,
  today: string,
  found: string[],
): Pytorch {
  const { version } = known;
  let next = table;
  const fits = known.pythonMax === release.pythonMax || known.pythonMax === release.pythonTried;
  if (known.pythonMin !== release.pythonMin || !fits) {
    found.push(
      `PyTorch ${version}: Python ${known.pythonMin} to ${known.pythonMax} here, ${release.pythonMin} to ${release.pythonMax} there`,
    );
    next = {
      ...next,
      releases: next.releases.map((row) =>
        row.version === version
          ? { ...row, pythonMin: release.pythonMin, pythonMax: release.pythonMax, source: RELEASE_MD, reviewed: today }
          : row,
      ),
    };
  }
  const told = [...release.stable, ...release.experimental];
  const missing = told.filter((cuda) => !table.cuda.some((row) => row.release === version && row.cuda === cuda));
  if (missing.length > 0) found.push(`PyTorch ${version}: no row for CUDA ${missing.join(', ')}`);
  const wrong = (row: Build): boolean =>
    row.release === version && told.includes(row.cuda) && row.stable !== release.stable.includes(row.cuda);
  const flags = new Map(table.cuda.filter(wrong).map((row) => [row.variant, row.stable] as const));
  for (const [variant, stable] of flags)
    found.push(
      `PyTorch ${version} ${variant}: ${stable ? 'stable' : 'experimental'} here, ${stable ? 'experimental' : 'stable'} there`,
    );
  if (flags.size === 0) return next;
  return {
    ...next,
    cuda: next.cuda.map((row) =>
      wrong(row) ? { ...row, stable: !row.stable, source: RELEASE_MD, reviewed: today } : row,
    ),
  };
}

/** A release that the tables do not know: what the page does not tell is taken from the newest one that they do. */
function withNew(table: Pytorch, release: UpstreamRelease, upstream: UpstreamPytorch, today: string): Pytorch {
  const before = table.releases[0]!;
  const version = `${release.minor}.0`;
  const origin = { source: RELEASE_MD, reviewed: today };
  // torchvision counts fifteen minor versions ahead of torch 2.
  const vision = `0.${Number(release.minor.split('.')[1]) + 15}.*`;
  const builds: Build[] = [...release.stable, ...release.experimental].flatMap((cuda) => {
    const common = {
      release: version,
      variant: `cu${cuda.replace('.', '')}`,
      backend: 'cuda' as const,
      cuda,
      stable: release.stable.includes(cuda),
      note: null,
      ...origin,
    };
    const x64 = upstream.x64.get(cuda);
    const arm64 = upstream.arm64.get(cuda);
    const platforms = ['linux-x64', 'windows-x64'] as const;
    return [
      ...(x64
        ? [
            {
              ...common,
              cubins: x64.cubins,
              ptx: x64.ptx,
              ptxPlatforms: x64.ptx === null ? [] : x64.ptxOnlyLinux ? platforms.slice(0, 1) : platforms,
              platforms,
            },
          ]
        : []),
      ...(arm64
        ? [
            {
              ...common,
              cubins: arm64.cubins,
              ptx: arm64.ptx,
              ptxPlatforms: arm64.ptx === null ? [] : (['linux-arm64'] as const),
              platforms: ['linux-arm64'] as const,
            },
          ]
        : []),
    ];
  });
  return {
    ...table,
    releases: [
      {
        ...before,
        version,
        released: release.released ?? today.slice(0, 7),
        pythonMin: release.pythonMin,
        pythonMax: release.pythonMax,
        torchvision: vision,
        ...origin,
      },
      ...table.releases,
    ],
    cuda: [...builds, ...table.cuda],
    plain: [
      ...table.plain
        .filter((row) => row.release === before.version)
        .map((row) => ({ ...row, release: version, ...origin })),
      ...table.plain,
    ],
  };
}

function compareBranches(
  table: Tables['cuda'],
  upstream: readonly UpstreamBranch[],
  today: string,
): { readonly found: readonly string[]; readonly table: Tables['cuda'] } {
  const found: string[] = [];
  const newest = Math.max(...table.branches.map(({ branch }) => branch));
  const support = table.support.map((row) => {
    const told = upstream.find(({ branch }) => branch === row.branch);
    if (!told || told.kind === row.kind) return row;
    found.push(`driver branch ${row.branch}: ${row.kind} here, ${told.kind} there`);
    return { ...row, kind: told.kind, source: DRIVER_RELEASES, reviewed: today };
  });
  const added = upstream
    .filter(({ branch }) => branch > newest && !table.support.some((row) => row.branch === branch))
    .map(({ branch, kind }) => {
      found.push(`driver branch ${branch} (${kind}) is out; the tables end with ${newest}`);
      return { branch, kind, until: null, source: DRIVER_RELEASES, reviewed: today };
    });
  return { found, table: { ...table, reviewed: today, support: [...support, ...added] } };
}
