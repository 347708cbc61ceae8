// gpuforge report

import type { Command } from 'commander';
import type { ComputeProbe } from '../../forge/doctor/types.ts';
import { offlineOption, offlinePorts } from './offline.ts';

const examples = `
Examples:
  $ gpuforge report                 a Markdown block to paste into an issue
  $ gpuforge report | pbcopy
  $ gpuforge report --json`;

export function register(program: Command, loadProbe?: () => Promise<ComputeProbe>): void {
  offlineOption(program.command('report'))
    .description('print a short, anonymised description of this machine to paste into an issue')
    .option('--json', 'machine-readable output, schema gpuforge.report/1')
    .addHelpText('after', examples)
    .action(async (flags: { readonly json?: boolean; readonly offline?: boolean }) => {
      const [{ runReport }, { nodeWorld }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/doctor/command.ts'),
        import('../../forge/doctor/world-node.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      // Loaded inside the probe: a core that cannot be loaded is a finding, not the end of the command.
      const computeProbe: ComputeProbe | undefined = loadProbe && (async (leave) => (await loadProbe())(leave));
      const options = { ...flags, ...(computeProbe ? { computeProbe } : {}) };
      process.exitCode = await runReport(
        nodeWorld(nodePorts(offlinePorts(flags))),
        options,
        processOutput(),
        program.version() ?? 'unknown',
      );
    });
}
