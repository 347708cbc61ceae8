// `explain --fix`: the steps that are safe to automate, shown first and run on consent. Without a shell, one at a time, never
// with root, never what downloads where the network is off; the first failure ends it.

import type { ProcessPort } from '../ports.ts';
import type { Output } from '../style.ts';
import { shell } from '../text/quote.ts';
import type { Explanation, RepairStep } from './types.ts';

/** Longest time one step may take: it may download gigabytes. */
const LIMIT_MS = 30 * 60_000;

export interface RepairOptions {
  readonly processes: ProcessPort;
  /** Consent given beforehand, by --yes. */
  readonly yes: boolean;
  readonly isRoot: boolean;
  /** The setting network.offline: steps that download are not run. */
  readonly offline: boolean;
  /** Asks a yes-or-no question; undefined when nobody can answer. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

export const automatic = (found: readonly Explanation[]): readonly RepairStep[] =>
  (found[0]?.fix ?? []).filter((step) => step.automatic && !step.needsRoot && step.command !== undefined);

/** Installers fetch what they install; uv fetches a Python that is not there. */
const downloads = ({ command = [] }: RepairStep): boolean =>
  command.some((word) => ['install', 'sync', 'create'].includes(word)) ||
  (command.includes('uv') && command.includes('--python'));

/** True when all steps were done. Only the best explanation is acted on. */
export async function repair(found: readonly Explanation[], output: Output, options: RepairOptions): Promise<boolean> {
  const steps = automatic(found);
  if (steps.length === 0) {
    output.warn('\nNothing that --fix may do; the steps above are for you.\n');
    return false;
  }
  output.warn('\n--fix would run:\n');
  for (const step of steps) output.warn(`  ${step.command!.map(shell).join(' ')}\n`);
  if (options.isRoot) {
    output.warn('Not done: this is root. Run it as yourself.\n');
    return false;
  }
  if (options.offline && steps.some(downloads)) {
    output.warn('Not done: the network is off (network.offline or --offline), and these steps download.\n');
    return false;
  }
  const agreed = options.yes || (options.confirm !== undefined && (await options.confirm('Do this? [y/N] ')));
  if (!agreed) {
    output.warn('Nothing was changed. Add --yes to do it.\n');
    return false;
  }
  for (const step of steps) {
    const [program = '', ...args] = step.command!;
    const result = await options.processes.run(program, args, { timeoutMs: LIMIT_MS });
    if (result.outcome === 'exited' && result.status === 0) {
      output.warn(`  done: ${program} ${args[0] ?? ''}\n`);
      continue;
    }
    const why =
      result.outcome === 'not-found'
        ? `${program} is not installed`
        : result.stderr.trim().split('\n').at(-1) || `it ended with ${result.status ?? result.outcome}`;
    output.warn(`  failed: ${why}\nThe steps after it were not run.\n`);
    return false;
  }
  return true;
}
