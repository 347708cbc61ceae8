// The steps that several classes share.

import type { Framework } from '../data/schemas.ts';
import { nameOf } from '../resolve/wheels.ts';
import type { Context, Step } from './types.ts';

export const say = (text: string): Step => ({ text, needsRoot: false, automatic: false });
export const run = (text: string, ...command: string[]): Step => ({
  text,
  command,
  needsRoot: false,
  automatic: false,
});
export const asRoot = (text: string, ...command: string[]): Step =>
  command.length > 0
    ? { text, command, needsRoot: true, automatic: false }
    : { text, needsRoot: true, automatic: false };
/** Safe to automate after a dry run. */
export const safe = (text: string, ...command: string[]): Step => ({
  text,
  command,
  needsRoot: false,
  automatic: true,
});

/** Installs the build that fits this machine; without the machine's facts, how to find it. */
export function reinstall(context: Context, framework: Framework = 'pytorch'): readonly Step[] {
  const result = context.resolve(framework);
  if (!result)
    return [
      run(
        `Find the build that fits the GPU and the driver, then install it.`,
        'gpuforge',
        'resolve',
        '--framework',
        framework,
      ),
    ];
  if (result.status === 'none') {
    return [say(result.reason), ...result.waysOut.slice(0, 3).map((way) => say(`Way out: ${way.text}.`))];
  }
  const { choice } = result;
  const specs = choice.requirements.map(
    (row) => `${row.name}${row.extras.length > 0 ? `[${row.extras.join(',')}]` : ''}${row.spec}`,
  );
  const index = choice.index ? ['--extra-index-url', choice.index.url] : [];
  return [
    safe(
      `Install ${nameOf(choice)}, the build that fits this machine (${result.summary}).`,
      'python',
      '-m',
      'pip',
      'install',
      '--force-reinstall',
      ...index,
      ...specs,
    ),
  ];
}

export const unset = (variable: string, text: string): Step =>
  safe(text, 'env', '-u', variable, 'python', '-c', 'import torch; print(torch.cuda.is_available())');

/** " (found: RTX 4090, driver 570)" or nothing. */
export function here(context: Context): string {
  const { facts } = context;
  if (!facts || facts.gpus.length === 0) return '';
  return ` (found: ${facts.gpus.join(', ')}${facts.driver ? `, driver ${facts.driver}` : ''})`;
}
