// gpuforge explain-route OP SIZE

import { Argument, type Command, InvalidArgumentError } from 'commander';
import { amount } from '../base/amount.ts';
import { type OperationType, operationTypes } from '../base/operations.ts';

export interface ExplainRouteFlags {
  readonly at?: string;
  readonly wanted?: string;
  readonly rules?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
}

const examples = `
SIZE counts elements (of one operand for a matrix product); 1M, 64k and 2^20 work.

Examples:
  $ gpuforge explain-route matrix_multiply 1M
  $ gpuforge explain-route reduction 2^24 --at cuda:0        the data is on the GPU already
  $ gpuforge explain-route element_wise 64k --wanted host    the result is read back
  $ gpuforge explain-route matrix_multiply 1024 --rules      by the fixed rule table`;

export function register(program: Command): void {
  program
    .command('explain-route')
    .description('say where an operation of some size would run, and why')
    .addArgument(new Argument('<op>', 'the operation').choices(operationTypes))
    .argument('<size>', 'how many elements', elements)
    .option('--at <device>', 'where the data is (default: host memory)')
    .option('--wanted <place>', 'where the result is needed: host or a device (default: not known)')
    .option('--rules', 'decide by the rule table instead of measured costs')
    .option('--json', 'machine-readable output, schema gpuforge.route/1')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async (op: OperationType, size: number, flags: ExplainRouteFlags) => {
      const [{ runExplainRoute }, { processOutput }] = await Promise.all([
        import('./routing-show.ts'),
        import('../forge/style.ts'),
      ]);
      process.exitCode = await runExplainRoute(op, size, flags, processOutput());
    });
}

export function elements(text: string): number {
  const value = amount(text);
  if (!Number.isNaN(value)) return value;
  throw new InvalidArgumentError('It must be a number of elements such as 1000, 64k, 1M or 2^20.');
}
