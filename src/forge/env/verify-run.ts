// `gpuforge verify`: runs an environment's verify.py with its own Python; a failure is explained.

import { join } from 'node:path';
import { ArgumentError } from '../../errors.ts';
import { guarded } from '../config/failure.ts';
import { explain } from '../explain/explain.ts';
import type { Ports } from '../ports.ts';
import type { Output } from '../style.ts';
import { plainText } from '../text/plain.ts';
import { writeExplanation } from './explained.ts';

const VERIFY_SCHEMA = 'gpuforge.verify/1';
const LIMIT_MS = 120_000;

export interface VerifyFlags {
  /** The interpreter; else the one of the environment, else python3. */
  readonly python?: string;
  /** The folder with verify.py. */
  readonly env?: string;
  readonly json?: boolean;
}

export function runVerify(ports: Ports, flags: VerifyFlags, output: Output, cwd = process.cwd()): Promise<number> {
  return guarded(VERIFY_SCHEMA, flags.json ?? false, output, async () => {
    const folder = flags.env ?? cwd;
    const script = join(folder, 'verify.py');
    // What stands there instead, a pipe or a folder, would keep Python waiting.
    if (ports.files.read(script) === undefined) {
      const known = ports.files.exists(folder);
      throw new ArgumentError({
        code: 'FORGE_NO_VERIFY',
        message: known ? `there is no verify.py that can be read in ${folder}` : `there is no folder ${folder}`,
        fix: known
          ? 'Write one with: gpuforge env NAME --format uv,verify; or name the folder with --env.'
          : 'Name the folder of an environment with --env.',
        where: 'forge.verify',
      });
    }
    const own = ports.platform === 'windows' ? ['.venv', 'Scripts', 'python.exe'] : ['.venv', 'bin', 'python'];
    const inside = join(folder, ...own);
    const python = flags.python ?? (ports.files.exists(inside) ? inside : 'python3');
    const result = await ports.processes.run(python, [script], { timeoutMs: LIMIT_MS });
    if (result.outcome === 'not-found') {
      throw new ArgumentError({
        code: 'FORGE_NO_PYTHON',
        message: `${python} cannot be run`,
        fix: 'Name the interpreter with --python, or install the environment first.',
        where: 'forge.verify',
      });
    }
    const text = plainText(`${result.stdout}${result.stderr}`);
    const status = result.outcome === 'exited' ? (result.status ?? 1) : 1;
    if (flags.json) {
      const found = status === 0 ? [] : explain(text, {});
      output.write(
        `${JSON.stringify({ schema: VERIFY_SCHEMA, python, status, timedOut: result.outcome === 'timeout', output: text, explanations: found.map(({ code, title, fix }) => ({ code, title, fix })) }, null, 2)}\n`,
      );
      return status;
    }
    output.write(text.endsWith('\n') || text === '' ? text : `${text}\n`);
    if (result.outcome === 'timeout') output.warn(`no answer within ${LIMIT_MS / 1000} s; ended\n`);
    if (status !== 0) writeExplanation(text, output);
    return status;
  });
}
