// `gpuforge field`: dynamic fields on the command line.

import { type Command, Option } from 'commander';
import type { FieldFlags } from './field-show.ts';

const examples = `
Examples:
  gpuforge field demo                         50 cycles with motors, and what they took
  gpuforge field demo --live --hz 60          a control loop, drawn in the terminal while it runs
  gpuforge field bench --model full --json    how long a cycle takes here
  gpuforge field serve --token secret         a field for each client on port 9999
`;

export function register(program: Command): void {
  const field = program
    .command('field')
    .description('fields that turn sensor values into motor values, cycle by cycle')
    .addHelpText('after', examples);
  const add = (name: string, description: string): Command =>
    field
      .command(name)
      .description(description)
      .addOption(new Option('--model <model>', 'the model').choices(['fused', 'full']).default('fused'))
      .option('-n, --resolution <n>', 'cells along each edge, from 4 on', '32')
      .option('--channels <n>', 'channels of each cell', '64')
      .option('--device <device>', 'auto, gpu, cpu or the id of a device', 'auto')
      .option('--seed <seed>', 'a whole number', '0');
  const run = async (what: string, flags: FieldFlags): Promise<void> => {
    const [{ runField }, { processOutput }] = await Promise.all([
      import('./field-show.ts'),
      import('../forge/style.ts'),
    ]);
    process.exitCode = await runField(what, flags, processOutput({ screen: true }));
  };
  add('demo', 'a run with its motors')
    .option('--live', 'run a control loop and draw it: a slice, sensors, motors, latencies')
    .option('--hz <hz>', 'with --live: cycles per second', '20')
    .option('--seconds <s>', 'with --live: how long', '10')
    .option('--axis <axis>', 'with --live: the slice is across this axis, 0 to 2', '0')
    .option('--channel <n>', 'with --live: the channel of the slice', '0')
    .option('--json', 'machine-readable output, schema gpuforge.field-cli/1')
    .action((flags: FieldFlags) => run('demo', flags));
  add('bench', 'measure cycles; fails if a cycle fails')
    .option('--cycles <n>', 'how many', '100')
    .option('--json', 'machine-readable output, schema gpuforge.field-cli/1')
    .action((flags: FieldFlags) => run('bench', flags));
  add('serve', 'answer sensor values with motors over TCP until interrupted')
    .option('--port <port>', 'default 9999', '9999')
    .option('--host <host>', 'the address to listen at; any but loopback needs a token', '127.0.0.1')
    .option('--token <token>', 'the secret that clients must send')
    .option('--hz <hz>', 'the most requests per second of a client', '1000')
    .option(
      '--telemetry <port>',
      'answer questions about what is served, as JSON, on this port of this machine (0: a free one)',
    )
    .option('--live', 'draw fields, clients and latencies while it serves')
    .option('--save <folder>', 'with --load: save the field there every 1000 cycles and at the end')
    .option('--load <file>', 'share the field of a .gfield file under the name "main"')
    .action((flags: FieldFlags) => run('serve', flags));
}
