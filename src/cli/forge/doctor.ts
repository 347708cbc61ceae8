// gpuforge doctor

import type { Command } from 'commander';
import type { DoctorFlags } from '../../forge/doctor/command.ts';
import type { ComputeProbe } from '../../forge/doctor/types.ts';
import { offlineOption, offlinePorts } from './offline.ts';

const examples = `
Examples:
  $ gpuforge doctor                    a line for each area, with the command that fixes what is wrong
  $ gpuforge doctor -v                 with the evidence and the stable code of every finding
  $ gpuforge doctor --python .venv     examine the frameworks in another environment
  $ gpuforge doctor --json --offline   for scripts; standard output is JSON only
  $ gpuforge doctor --fix --yes        do the safe repairs after showing them

Exit status: 0 nothing wrong, 1 warnings only, 2 at least one error.`;

/** `loadProbe` gives the real run on each device where the core is built in; without it the verdict stays "unverified". */
export function register(program: Command, loadProbe?: () => Promise<ComputeProbe>): void {
  offlineOption(program.command('doctor'))
    .description('find out what keeps GPUs from being used here, and how to fix it')
    .option('--json', 'machine-readable output, schema gpuforge.doctor/1')
    .option('-v, --verbose', 'also show the evidence and the code of every finding')
    .option('--python <path>', 'the interpreter or environment folder to examine')
    .option('--deep', 'ask the drivers even if that wakes a sleeping card')
    .option('--fix', 'show the repairs that are safe, and do them if you agree')
    .option('--yes', 'agree to --fix beforehand')
    .option('--allow-root', 'let --fix work as root')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async (flags: DoctorFlags) => {
      const [{ runDoctor }, { nodeFixPort, nodeWorld }, { nodePorts }, { processOutput }, { confirmer }] =
        await Promise.all([
          import('../../forge/doctor/command.ts'),
          import('../../forge/doctor/world-node.ts'),
          import('../../forge/ports-node.ts'),
          import('../../forge/style.ts'),
          import('./confirm.ts'),
        ]);
      const confirm = confirmer();
      // Loaded inside the probe: a core that cannot be loaded is a finding, not the end of the command.
      const computeProbe: ComputeProbe | undefined = loadProbe && (async (leave) => (await loadProbe())(leave));
      process.exitCode = await runDoctor(nodeWorld(nodePorts(offlinePorts(flags))), flags, processOutput(), {
        fixPort: nodeFixPort,
        ...(computeProbe ? { computeProbe } : {}),
        ...(confirm ? { confirm } : {}),
      });
    });
}
