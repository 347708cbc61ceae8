// `gpuforge worker`: computes chunks of a queue until it is told to stop.

import type { Command } from 'commander';
import { numberOf } from './number.ts';

interface Flags {
  readonly redis: string;
  readonly ops: string;
  readonly device?: string;
  readonly folder?: string;
  readonly concurrency: string;
  readonly prefix?: string;
  readonly lock?: string;
  readonly check?: string;
}

const examples = `
The operations are the functions that the module exports. Jobs can name them; they cannot bring code.

Examples:
  gpuforge worker --redis redis://localhost:6379 --ops ./ops.mjs
  gpuforge worker --redis rediss://user:password@host:6380 --ops ./ops.mjs --device cuda:0 --folder /mnt/shared
`;

export function register(program: Command): void {
  program
    .command('worker')
    .description('compute chunks of a queue; the process may be killed at any moment')
    .requiredOption('--redis <url>', 'where the queue is')
    .requiredOption('--ops <file>', 'the module whose functions are the operations')
    .option('--device <id>', 'the device to compute on: cuda:0, webgpu, cpu (the default)')
    .option(
      '--folder <path>',
      'the folder that all machines share, or s3://bucket/prefix: inputs are read from it, outputs written to it',
    )
    .option('--concurrency <n>', 'chunks at once', '1')
    .option('--prefix <name>', 'what the keys of the queue begin with')
    .option('--lock <ms>', 'how long this worker may be silent before its chunk goes to another')
    .option('--check <ms>', 'how often this worker looks for silent ones')
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      const [{ startWorker }, { resolve }] = await Promise.all([
        import('../batch/queue/index.ts'),
        import('node:path'),
      ]);
      const number = (name: 'concurrency' | 'lock' | 'check'): number | undefined => {
        const text = flags[name];
        return text === undefined ? undefined : numberOf(`--${name}`, text);
      };
      const worker = await startWorker({
        redis: flags.redis,
        ops: resolve(flags.ops),
        folder: flags.folder === undefined || flags.folder.startsWith('s3://') ? flags.folder : resolve(flags.folder),
        device: flags.device,
        concurrency: number('concurrency'),
        prefix: flags.prefix,
        lockMs: number('lock'),
        checkMs: number('check'),
      });
      const { device, freeMb } = worker.caps;
      const room = freeMb === null ? '' : ` (${Math.round(freeMb)} MB free)`;
      process.stdout.write(
        `worker ${worker.id} on ${device}${room}\noperations: ${worker.ops.join(', ')}\nCtrl+C ends it.\n`,
      );
      const stopped = new Promise<'stopped'>((end) => {
        process.once('SIGINT', () => end('stopped'));
        process.once('SIGTERM', () => end('stopped'));
      });
      const why = await Promise.race([stopped, worker.quarantine]);
      await worker.close();
      const { done, failed, duplicates } = worker.stats();
      if (why !== 'stopped')
        process.stderr.write(
          `gpuforge: this worker stops: ${why}\n  fix: \`gpuforge jobs show ID\` tells which chunks fail. Unfinished ones go to other workers.\n`,
        );
      process.stdout.write(
        `stopped: ${done} chunks done, ${failed} attempts failed, ${duplicates} results discarded\n`,
      );
      // Connections that wait for a Redis which is gone must not keep it alive.
      process.exit(why === 'stopped' ? 0 : 1);
    });
}
