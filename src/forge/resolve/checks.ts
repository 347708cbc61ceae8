// The conditions under which a wheel is acceptable, as a table of checks.
//
// A wheel is acceptable when every check passes. A check that passes gives the steps of the proof; one that fails gives the
// reason. The rules are those of CUDA's binary compatibility: a cubin runs on the same major capability from its minor up,
// never between desktop and Tegra parts; PTX runs on anything newer when the driver is at least as new as the toolkit.

import type { Tables } from '../data/schemas.ts';
import { compareCc, compareVersions, formatCc, parseCc } from '../machine.ts';
import { branchOf, driverAtLeast, familyMinimum, firstBranchFor } from './drivers.ts';
import { smOf } from './facts.ts';
import type { CheckName, CudaContent, ProofStep, Target, TargetGpu, Wheel } from './types.ts';
import { nameOf } from './wheels.ts';

export interface Passed {
  readonly ok: true;
  readonly steps: readonly ProofStep[];
  readonly minorVersionCompatibility?: boolean;
}

export interface Failed {
  readonly ok: false;
  readonly reason: string;
  /** See Rejection.brief. */
  readonly brief?: string;
  readonly source: string;
}

interface Check {
  readonly name: CheckName;
  readonly run: (wheel: Wheel, target: Target, tables: Tables) => Passed | Failed;
}

const passed = (check: CheckName, fact: string, source: string): Passed => ({
  ok: true,
  steps: [{ check, fact, source }],
});
const nothing: Passed = { ok: true, steps: [] };
const failed = (reason: string, source: string, brief?: string): Failed =>
  brief === undefined ? { ok: false, reason, source } : { ok: false, reason, source, brief };

export const checks: readonly Check[] = [
  { name: 'platform', run: platform },
  { name: 'vendor', run: vendor },
  { name: 'kernels', run: kernels },
  { name: 'gpu-driver', run: gpuDriver },
  { name: 'driver', run: driver },
  { name: 'libc', run: libc },
  { name: 'macos', run: macos },
  { name: 'python', run: python },
];

function platform(wheel: Wheel, target: Target): Passed | Failed {
  if (wheel.l4t !== undefined && target.gpus.some((gpu) => gpu.tegra) && (target.l4t ?? wheel.l4t) !== wheel.l4t) {
    return failed(`${wheel.variant} is for L4T ${wheel.l4t}; this board runs L4T ${target.l4t}`, wheel.source);
  }
  return target.platform !== undefined && wheel.platforms.includes(target.platform)
    ? passed('platform', `${wheel.variant} has wheels for ${target.platformText}`, wheel.source)
    : failed(
        `${wheel.variant} has no wheel for ${target.platformText} (only ${wheel.platforms.join(', ')})`,
        wheel.source,
      );
}

export const MAKERS = { nvidia: 'NVIDIA', amd: 'AMD', intel: 'Intel', apple: 'Apple' } as const;

/** Whose GPUs a backend computes on. */
export const VENDOR_OF = { cuda: 'nvidia', rocm: 'amd', xpu: 'intel', mps: 'apple' } as const;

function vendor(wheel: Wheel, target: Target): Passed | Failed {
  if (wheel.backend === 'cpu') return nothing;
  const wanted = VENDOR_OF[wheel.backend];
  return target.gpus.length > 0 && target.gpus.every((gpu) => gpu.vendor === wanted)
    ? nothing
    : failed(`${wheel.variant} is for GPUs of ${MAKERS[wanted]}`, wheel.source);
}

function kernels(wheel: Wheel, target: Target, tables: Tables): Passed | Failed {
  const steps: ProofStep[] = [];
  for (const gpu of target.gpus) {
    const result = kernelsFor(wheel, gpu, target, tables);
    if (!result.ok) return result;
    for (const step of result.steps) if (!steps.some((other) => other.fact === step.fact)) steps.push(step);
  }
  return { ok: true, steps };
}

function kernelsFor(wheel: Wheel, gpu: TargetGpu, target: Target, tables: Tables): Passed | Failed {
  if (wheel.cuda) return cudaKernels(wheel, wheel.cuda, gpu, target, tables);
  if (wheel.gfx) {
    if (gpu.gfx === undefined) return failed(`the gfx target of ${gpu.name} is not known`, wheel.source);
    return wheel.gfx.includes(gpu.gfx)
      ? passed('kernels', `${wheel.variant} holds kernels for ${gpu.gfx} (${gpu.name})`, wheel.source)
      : failed(
          `${wheel.variant} holds no kernels for ${gpu.gfx} (${gpu.name})`,
          wheel.source,
          `${gpu.gfx} is not in {}`,
        );
  }
  if (wheel.families) {
    if (gpu.family === undefined) return failed(`the family of ${gpu.name} is not known`, wheel.source);
    return wheel.families.includes(gpu.family)
      ? passed('kernels', `${wheel.variant} is validated on ${gpu.family} (${gpu.name})`, wheel.source)
      : failed(`${wheel.variant} is not validated on ${gpu.family} (${gpu.name})`, wheel.source);
  }
  return nothing;
}

function cudaKernels(wheel: Wheel, cuda: CudaContent, gpu: TargetGpu, target: Target, tables: Tables): Passed | Failed {
  const { cc } = gpu;
  if (wheel.l4t !== undefined && !gpu.tegra) return failed(`${wheel.variant} is for Tegra boards`, wheel.source);
  if (!cc) return failed(`the compute capability of ${gpu.name} is not known`, wheel.source);
  const sm = smOf(cc);
  if (cuda.maxCc && compareCc(cc, parseCc(cuda.maxCc.cc) ?? cc) > 0) {
    return failed(
      `${wheel.framework} ${wheel.version} does not run on ${sm} (${gpu.name}): ${cuda.maxCc.why}`,
      cuda.maxCc.source,
    );
  }
  if (cuda.cubins === null) {
    // Wheels for arm64 are for servers; from Thor on, boards run them too.
    if (gpu.tegra && cc.major < 11)
      return failed(`${wheel.variant} holds no kernels for ${sm} (${gpu.name})`, wheel.source);
    const lowest = parseCc(cuda.minCc ?? '0.0');
    return !lowest || compareCc(cc, lowest) >= 0
      ? passed(
          'kernels',
          `${wheel.variant} compiles for compute capability ${cuda.minCc} and newer; ${gpu.name} has ${formatCc(cc)}`,
          wheel.source,
        )
      : failed(
          `${wheel.variant} needs compute capability ${cuda.minCc}; ${gpu.name} has ${formatCc(cc)}`,
          wheel.source,
          `{} would need compute capability ${cuda.minCc}`,
        );
  }
  const fitting = cuda.cubins.filter((text) => {
    const cubin = parseCc(text);
    if (!cubin) return false;
    if (gpu.tegra || isTegra(tables, text)) return compareCc(cubin, cc) === 0;
    return cubin.major === cc.major && cubin.minor <= cc.minor;
  });
  const best = fitting.at(-1);
  if (best !== undefined) {
    const cubin = parseCc(best) ?? cc;
    const how = compareCc(cubin, cc) === 0 ? '' : ', which run on every newer part of the same major';
    return passed('kernels', `${wheel.variant} holds ${smOf(cubin)} kernels${how}; ${gpu.name} is ${sm}`, wheel.source);
  }
  const ptx = cuda.ptx === null ? undefined : parseCc(cuda.ptx);
  const ptxHere =
    ptx && target.platform !== undefined && cuda.ptxPlatforms.includes(target.platform) && compareCc(ptx, cc) <= 0;
  if (ptxHere && target.driverCuda !== undefined && compareVersions(target.driverCuda, cuda.version) >= 0) {
    return passed(
      'kernels',
      `${wheel.variant} holds PTX for ${cuda.ptx}, which the driver (CUDA ${target.driverCuda}) compiles for ${sm} (${gpu.name})`,
      wheel.source,
    );
  }
  if (ptxHere && target.driverCuda !== undefined)
    return failed(
      `${wheel.variant} of ${wheel.version} has only PTX of CUDA ${cuda.version} for ${sm} (${gpu.name}), which the driver (CUDA ${target.driverCuda}) cannot compile`,
      wheel.source,
      `newer releases have only PTX of CUDA ${cuda.version} for ${sm}, which needs a newer driver`,
    );
  const held = cuda.cubins.map((text) => `sm_${text.replace('.', '')}`).join(', ');
  const why = gpu.tegra ? '; kernels of desktop parts do not run on Tegra' : '';
  return failed(
    `${wheel.variant} holds no kernels for ${sm} (${gpu.name}): it has ${held}${why}`,
    wheel.source,
    `${sm} is not in {}`,
  );
}

const isTegra = (tables: Tables, cc: string): boolean =>
  tables.compute.capabilities.some((row) => row.tegra && row.cc === cc);

function gpuDriver(wheel: Wheel, target: Target, tables: Tables): Passed | Failed {
  if (!wheel.cuda || target.driver === undefined || target.driverCuda === undefined) return nothing;
  for (const gpu of target.gpus) {
    const row = gpu.cc && tables.compute.capabilities.find((candidate) => candidate.cc === formatCc(gpu.cc!));
    if (!row) continue;
    if (row.lastDriver !== null && branchOf(target.driver) > row.lastDriver + 9) {
      return failed(
        `driver ${target.driver} no longer drives ${row.architecture} (${gpu.name}): R${row.lastDriver} is its last branch`,
        row.source,
      );
    }
    // Tegra drivers follow JetPack, not the desktop branches.
    if (!row.tegra && compareVersions(row.firstCuda, target.driverCuda) > 0) {
      const first = firstBranchFor(tables, row.firstCuda);
      return failed(
        `driver ${target.driver} (CUDA ${target.driverCuda}) is too old for ${gpu.name} itself: ${row.architecture} ${row.cc} needs R${first?.branch} or newer`,
        row.source,
      );
    }
  }
  return nothing;
}

function driver(wheel: Wheel, target: Target, tables: Tables): Passed | Failed {
  const { cuda } = wheel;
  if (!cuda) return nothing;
  if (wheel.l4t !== undefined)
    return passed('driver', `${wheel.variant} is built for the driver of L4T ${wheel.l4t}`, wheel.source);
  const family = familyMinimum(tables, cuda.version, target.driverColumn);
  const minimum = target.driverColumn === 'linux' ? (cuda.minDriver ?? family?.driver) : family?.driver;
  if (minimum === undefined) return failed(`no driver is known that runs CUDA ${cuda.version}`, wheel.source);
  const source = family?.source ?? wheel.source;
  if (target.driver === undefined) return failed('the driver is not known', source);
  if (!driverAtLeast(target.driver, minimum)) {
    const where = target.wsl ? ' (WSL2 uses the Windows driver)' : '';
    return failed(
      `${wheel.variant} needs driver ${minimum} or newer${where}; here it is ${target.driver}`,
      source,
      `{} would need driver ${minimum} or newer`,
    );
  }
  const says = target.driverAssumed ? `driver R${target.driver} (assumed)` : `driver ${target.driver}`;
  if (target.driverCuda !== undefined && compareVersions(target.driverCuda, cuda.version) >= 0) {
    return passed(
      'driver',
      `${says} reports CUDA ${target.driverCuda}, not below the ${cuda.version} of ${wheel.variant}`,
      source,
    );
  }
  return {
    ok: true,
    minorVersionCompatibility: true,
    steps: [
      {
        check: 'driver',
        fact: `${says} reports CUDA ${target.driverCuda ?? 'unknown'}, below ${cuda.version}; ${wheel.variant} still runs by minor-version compatibility, which needs driver ${minimum}`,
        source,
      },
    ],
  };
}

function libc(wheel: Wheel, target: Target): Passed | Failed {
  if (target.musl) return failed('no wheel is published for musl (Alpine); glibc is needed', wheel.source);
  if (wheel.glibc === undefined || target.glibc === undefined || target.platform?.startsWith('linux') !== true)
    return nothing;
  return compareVersions(target.glibc, wheel.glibc) >= 0
    ? nothing
    : failed(
        `the wheels need glibc ${wheel.glibc}; here it is ${target.glibc}`,
        wheel.source,
        `newer releases need glibc ${wheel.glibc}; here it is ${target.glibc}`,
      );
}

function macos(wheel: Wheel, target: Target): Passed | Failed {
  if (wheel.macosMin === undefined || target.macos === undefined) return nothing;
  return target.macos >= wheel.macosMin
    ? passed('macos', `macOS ${target.macos} is not below ${wheel.macosMin}, which the wheel needs`, wheel.source)
    : failed(`the wheel needs macOS ${wheel.macosMin}; here it is ${target.macos}`, wheel.source);
}

function python(wheel: Wheel, target: Target): Passed | Failed {
  const range = `${wheel.pythonMin} to ${wheel.pythonMax}`;
  if (target.python === undefined) return nothing;
  const tooOld = compareVersions(target.python, wheel.pythonMin) < 0;
  const fits = !tooOld && compareVersions(target.python, wheel.pythonMax) <= 0;
  return fits
    ? passed('python', `Python ${target.python} lies within ${range}`, wheel.source)
    : failed(
        `${nameOf(wheel)} needs Python ${range}; ${target.python} was asked for`,
        wheel.source,
        // Releases part in the end of the range that was missed, not in the other.
        tooOld
          ? `newer releases need Python ${wheel.pythonMin} at least`
          : `newer releases end at Python ${wheel.pythonMax}`,
      );
}
