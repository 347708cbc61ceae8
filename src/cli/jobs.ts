// `gpuforge jobs`: what is in a queue, and what becomes of it.

import { Argument, type Command } from 'commander';

const jobActions = ['list', 'show', 'cancel', 'retry', 'remove'] as const;
export type JobAction = (typeof jobActions)[number];

export interface JobFlags {
  readonly redis: string;
  readonly prefix?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
}

const examples = `
Examples:
  gpuforge jobs list                          all jobs, with their progress
  gpuforge jobs show ID --watch               one job, until it ends
  gpuforge jobs retry ID                      its dead letters once more
  gpuforge jobs list --json                   schema gpuforge.jobs/1
`;

export function register(program: Command): void {
  program
    .command('jobs')
    .description('list, show, cancel, retry or remove the jobs of a queue')
    .addArgument(new Argument('<action>', 'what to do').choices(jobActions))
    .argument('[id]', 'of a job')
    .option('--redis <url>', 'where the queue is', 'redis://localhost:6379')
    .option('--prefix <name>', 'what the keys of the queue begin with')
    .option('--json', 'machine-readable output')
    .option('--watch', 'repeat until it has ended')
    .addHelpText('after', examples)
    .action(async (action: JobAction, id: string | undefined, flags: JobFlags) => {
      const [{ jobs }, { processOutput }] = await Promise.all([import('./jobs-show.ts'), import('../forge/style.ts')]);
      process.exitCode = await jobs(action, id, flags, processOutput({ screen: true }));
    });
}
