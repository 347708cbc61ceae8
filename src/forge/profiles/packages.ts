// Which packages of a profile go into an environment, which are left out there, and why.
//
// Everything that decides is data: a package's frameworks, backends, platforms, Python range and compute capability. What
// cannot install on the target is named with its reason; nothing disappears in silence.

import type { Backend, Framework, PackageRow, PlatformTag, Tables } from '../data/schemas.ts';
import { type ComputeCapability, compareCc, compareVersions, parseCc } from '../machine.ts';
import { type Profile, REQUIREMENT } from './profiles.ts';

export interface PackageTarget {
  readonly framework: Framework;
  readonly backend: Backend;
  readonly platform: PlatformTag;
  readonly python: string;
  /** The lowest compute capability of the GPUs used; undefined off CUDA. */
  readonly cc: ComputeCapability | undefined;
  /** Memory of the largest GPU used; undefined when unknown, 0 without a GPU. */
  readonly memoryGiB: number | undefined;
}

export interface PackageUse {
  readonly name: string;
  readonly extras: readonly string[];
  /** The range for project files: ">=2.0", or "" for any. */
  readonly range: string;
  /** The exact version confirmed for this Python, "==2.4.6"; null where none is. */
  readonly pin: string | null;
  /** Its name on conda-forge; null where it is not there or not known. */
  readonly conda: string | null;
  /** True when it is bound to the framework, so it must come from where the framework comes from. */
  readonly bound: boolean;
}

export interface Selection {
  readonly packages: readonly PackageUse[];
  /** Packages that install only by hand: an extra of the project file. */
  readonly optional: readonly PackageUse[];
  readonly left: readonly { readonly name: string; readonly why: string }[];
  readonly notes: readonly string[];
}

export function selectPackages(tables: Tables, profile: Profile, target: PackageTarget, minimal = false): Selection {
  const left: { name: string; why: string }[] = [];
  const notes: string[] = [];
  let names: readonly string[] = minimal ? ['numpy'] : [...profile.base, ...profile.added];
  if (!minimal && target.framework !== 'pytorch') names = [...names, ...profile[target.framework]];

  const low = profile.lowMemory;
  if (
    !minimal &&
    low &&
    target.memoryGiB !== undefined &&
    target.backend !== 'cpu' &&
    target.memoryGiB < low.belowGiB
  ) {
    const dropped = low.drop.filter((name) => names.includes(name));
    for (const name of dropped) left.push({ name, why: `the GPU has less than ${low.belowGiB} GB` });
    names = names.filter((name) => !low.drop.includes(name));
    const added = low.add.filter((name) => !names.includes(name) && misfit(rowOf(tables, name), target) === undefined);
    if (added.length > 0 || dropped.length > 0) {
      notes.push(
        `below ${low.belowGiB} GB of GPU memory ${low.text}${added.length > 0 ? ` (${added.join(', ')} added)` : ''}`,
      );
    }
    names = [...names, ...added];
  }

  const use = (wanted: string): PackageUse | undefined => {
    const row = rowOf(tables, wanted);
    if (!row) return ownPackage(wanted);
    const why = misfit(row, target);
    if (why !== undefined) {
      left.push({ name: row.name, why });
      return undefined;
    }
    const extra = profile.extras[row.name];
    const pin = row.pins.find((entry) => within(target.python, entry.pythonMin, entry.pythonMax));
    return {
      name: row.name,
      extras: extra === undefined ? [] : [extra],
      range: `>=${row.min}`,
      pin: pin ? `==${pin.version}` : null,
      // conda-forge splits Ray's extras into packages of their own.
      conda: row.name === 'ray' && extra !== undefined ? `ray-${extra}` : row.conda,
      bound: row.frameworks !== null,
    };
  };
  const packages = names.map(use).filter((entry) => entry !== undefined);
  const optional = minimal ? [] : profile.optional.map(use).filter((entry) => entry !== undefined);
  return { packages, optional, left, notes };
}

function rowOf(tables: Tables, name: string): PackageRow | undefined {
  return tables.packages.packages.find((row) => row.name === name);
}

const within = (version: string, min: string, max: string): boolean =>
  compareVersions(version, min) >= 0 && compareVersions(version, max) <= 0;

/** Why a package cannot be installed on the target; undefined when it can. */
function misfit(row: PackageRow | undefined, target: PackageTarget): string | undefined {
  if (!row) return undefined;
  const because = row.why ? `: ${row.why}` : '';
  if (row.frameworks && !row.frameworks.includes(target.framework)) return `not for ${target.framework}${because}`;
  if (row.backends && !row.backends.includes(target.backend)) return `not for ${target.backend}${because}`;
  if (row.platforms && !row.platforms.includes(target.platform)) return `not for ${target.platform}${because}`;
  if (row.pythonMin !== null && compareVersions(target.python, row.pythonMin) < 0)
    return `needs Python ${row.pythonMin}${because}`;
  if (row.pythonMax !== null && compareVersions(target.python, row.pythonMax) > 0)
    return `not yet for Python ${target.python}${because}`;
  const lowest = row.minCc === null ? undefined : parseCc(row.minCc);
  if (lowest && (!target.cc || compareCc(target.cc, lowest) < 0))
    return `needs compute capability ${row.minCc}${because}`;
  return undefined;
}

/** A package of the user's own, which no table knows. */
function ownPackage(wanted: string): PackageUse {
  const [, name = wanted, extra, spec = ''] = REQUIREMENT.exec(wanted) ?? [];
  const exact = /^==[0-9][A-Za-z0-9.+!]*$/.test(spec) ? spec : null;
  return { name: name.toLowerCase(), extras: extra ? [extra] : [], range: spec, pin: exact, conda: null, bound: false };
}
