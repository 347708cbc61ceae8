// `gpuforge profile`: measure a program, look at profiles, compare them, and fail on regressions.

import type { Command } from 'commander';
import type { ProfileFlags, ProfileRun } from './profile-show.ts';

const examples = `
Examples:
  gpuforge profile run -- node app.mjs             measures a program as it is; writes profile.json
  gpuforge profile run --html p.html -- node app.mjs
  gpuforge profile show profile.json               where the time went, as text
  gpuforge profile view profile.json               the same as a page
  gpuforge profile compare old.json new.json
  gpuforge profile gate profile.json --update      remembers this machine's times in profile-baseline.json
  gpuforge profile gate profile.json               0 no regression, 1 regression, 2 bad request, 3 cannot judge
`;

export function register(program: Command): void {
  const profile = program
    .command('profile')
    .description('measure a program and see where the time went')
    .addHelpText('after', examples);
  const go = async (what: ProfileRun, files: readonly string[], flags: ProfileFlags): Promise<void> => {
    const [{ runProfile }, { processOutput }] = await Promise.all([
      import('./profile-show.ts'),
      import('../forge/style.ts'),
    ]);
    process.exitCode = await runProfile(what, files, flags, processOutput());
  };
  profile
    .command('run')
    .description('run a program and write its profile; the status is that of the program')
    .argument('<command...>', 'the program and its arguments, behind --')
    .option('--out <file>', 'the profile', 'profile.json')
    .option('--html <file>', 'a page with the profile as well')
    .option('--detailed', 'measure kernels one by one; the program takes longer')
    .passThroughOptions()
    .action((command: string[], flags: ProfileFlags) => go('run', command, flags));
  profile
    .command('show')
    .description('print a profile as text')
    .argument('<file>', 'a profile')
    .option('--top <n>', 'operations and kernels that are listed', '10')
    .option('--json', 'the summary as data, schema gpuforge.profile-summary/1')
    .action((file: string, flags: ProfileFlags) => go('show', [file], flags));
  profile
    .command('view')
    .description('open a profile as a page; without a file, a page that loads one')
    .argument('[file]', 'a profile')
    .option('--html <file>', 'write the page there')
    .option('--no-open', 'only write the page')
    .action((file: string | undefined, flags: ProfileFlags) => go('view', file ? [file] : [], flags));
  profile
    .command('compare')
    .description('compare the time of calls in two profiles')
    .argument('<before>', 'a profile')
    .argument('<after>', 'a profile')
    .option('--json', 'machine-readable output, schema gpuforge.comparison/1')
    .action((before: string, after: string, flags: ProfileFlags) => go('compare', [before, after], flags));
  profile
    .command('gate')
    .description('fail if operations became slower than the baseline of this machine')
    .argument('<file>', 'a profile')
    .option('--baseline <file>', 'the baseline', 'profile-baseline.json')
    .option('--update', 'make this profile the baseline of its machine')
    .option('--json', 'machine-readable output, schema gpuforge.gate/1')
    .action((file: string, flags: ProfileFlags) => go('gate', [file], flags));
}
