// `doctor --fix`: the few actions that are safe to do for the user. Shown first, done only on consent, never as root unasked.
//
// Each writes or removes files of the user's own; none needs a password, replaces a file, or touches a driver or package.

import { describeCache } from '../detect/cache.ts';
import type { Ports } from '../ports.ts';
import { headlessIcdPath } from './checks-node.ts';
import type { Context, DoctorReport, FixAction } from './types.ts';

/** What a fix may do to the disk. */
export interface FixPort {
  /** Writes a file that does not exist yet, with its folders. */
  create(path: string, text: string): 'written' | 'exists' | 'failed';
}

export interface PlannedFix {
  readonly action: FixAction;
  readonly steps: readonly string[];
}

export interface AppliedFix {
  readonly action: FixAction;
  readonly ok: boolean;
  readonly detail: string;
}

const HEADLESS_ICD = `${JSON.stringify(
  { file_format_version: '1.0.1', ICD: { library_path: 'libEGL_nvidia.so.0', api_version: '1.3.0' } },
  null,
  2,
)}\n`;

interface Action {
  steps(context: Context): readonly string[];
  apply(context: Context, port: FixPort): { readonly ok: boolean; readonly detail: string };
}

const actions: Readonly<Record<FixAction, Action>> = {
  'clear-broken-cache': {
    steps: ({ ports }) => brokenEntries(ports).map((file) => `remove ${ports.cache.folder}/${file}`),
    apply({ ports }) {
      const broken = brokenEntries(ports);
      for (const file of broken) ports.cache.remove(file);
      const left = brokenEntries(ports).length;
      return {
        ok: left === 0,
        detail: left === 0 ? `removed ${broken.length} files` : `${left} files could not be removed`,
      };
    },
  },
  'write-headless-icd': {
    steps: (context) => [`write ${headlessIcdPath(context)}, which registers libEGL_nvidia.so.0 with Vulkan`],
    apply(context, port) {
      const path = headlessIcdPath(context);
      const outcome = port.create(path, HEADLESS_ICD);
      const detail = {
        written: `wrote ${path}`,
        exists: `${path} exists and was left as it is`,
        failed: `${path} could not be written`,
      };
      return { ok: outcome === 'written', detail: detail[outcome] };
    },
  },
};

function brokenEntries(ports: Ports): readonly string[] {
  return describeCache(ports, ports.cache)
    .filter(({ state }) => state === 'unreadable')
    .map(({ file }) => file);
}

export function planFixes(context: Context, report: DoctorReport): readonly PlannedFix[] {
  return report.supportedFixes.map((action) => ({ action, steps: actions[action].steps(context) }));
}

export function applyFixes(context: Context, plan: readonly PlannedFix[], port: FixPort): readonly AppliedFix[] {
  return plan.map(({ action }) => ({ action, ...actions[action].apply(context, port) }));
}
