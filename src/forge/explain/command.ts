// gpuforge explain [FILE|-|TEXT]: reads an error and says what it means here.

import { readFileSync, statSync } from 'node:fs';
import { ArgumentError } from '../../errors.ts';
import { warnAll } from '../config/command.ts';
import { EXIT, guarded } from '../config/failure.ts';
import { loadConfig } from '../config/file.ts';
import type { Machine } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { type MachineFlags, machineFor } from '../resolve/machine-for.ts';
import { type Output, type Style, styleFor } from '../style.ts';
import { shell, wrap } from '../text/quote.ts';
import { explain } from './explain.ts';
import { EXPLAIN_SCHEMA, type Explanation } from './types.ts';

export interface ExplainFlags extends MachineFlags {
  readonly json?: boolean;
  readonly color?: boolean;
  /** False for --no-machine: explain without looking at this machine. */
  readonly machine?: boolean;
  readonly limit?: number;
}

export interface Input {
  /** All of standard input. */
  read(): Promise<string>;
  readonly isTTY: boolean;
}

/** Largest file that is read. */
const MOST = 64 * 1024 * 1024;

export function runExplain(
  ports: Ports,
  words: readonly string[],
  flags: ExplainFlags,
  output: Output,
  input: Input,
  known?: Machine,
): Promise<number> {
  return guarded(EXPLAIN_SCHEMA, flags.json ?? false, output, async () => {
    const text = await textOf(words, input);
    const config = loadConfig(ports);
    const machine = known ?? (flags.machine === false ? undefined : await machineFor(ports, flags));
    const found = explain(text, { ...(machine ? { machine } : {}), limit: flags.limit ?? 3 });
    if (flags.json) output.write(`${JSON.stringify({ schema: EXPLAIN_SCHEMA, explanations: found }, null, 2)}\n`);
    else {
      output.write(renderExplanations(found, styleFor(output, { color: flags.color, env: ports.env }), output.columns));
      warnAll(config.problems, output);
    }
    return found.length > 0 ? EXIT.done : EXIT.no;
  });
}

async function textOf(words: readonly string[], input: Input): Promise<string> {
  const [first] = words;
  if (first === undefined && input.isTTY) {
    throw new ArgumentError({
      code: 'FORGE_NO_TEXT',
      message: 'there is nothing to explain',
      fix: 'Give a text, a file, or - for standard input: python train.py 2>&1 | gpuforge explain -',
      where: 'forge.explain',
    });
  }
  if (first === undefined || (words.length === 1 && first === '-')) return input.read();
  if (words.length === 1) {
    const stat = statSync(first, { throwIfNoEntry: false });
    if (stat?.isFile()) {
      if (stat.size > MOST)
        throw new ArgumentError({
          code: 'FORGE_TOO_LARGE',
          message: `${first} is larger than 64 MiB`,
          fix: 'Give its end: tail -n 2000 FILE | gpuforge explain -',
          where: 'forge.explain',
        });
      return readFileSync(first, 'utf8');
    }
    if (stat?.isDirectory())
      throw new ArgumentError({
        code: 'FORGE_IS_FOLDER',
        message: `${first} is a folder`,
        fix: 'Name a file in it.',
        where: 'forge.explain',
      });
    // A word that looks like a path and is none was meant as a file.
    if (/^[.~/\\]|\.(?:log|txt|out|err)$/i.test(first) && !/\s/.test(first)) {
      throw new ArgumentError({
        code: 'FORGE_NO_FILE',
        message: `there is no file ${first}`,
        fix: 'Check the path, or put a text in quotation marks.',
        where: 'forge.explain',
      });
    }
  }
  return words.join(' ');
}

export function renderExplanations(found: readonly Explanation[], style: Style, width: number): string {
  const columns = Math.max(60, Math.min(width, 110)) - 4;
  if (found.length === 0) {
    return 'No known error was recognised in this text.\nThat is an honest "no": gpuforge report makes a block with the facts of this machine to paste into an issue.\n';
  }
  const paint = { critical: style.red, error: style.red, warning: style.yellow, information: style.dim } as const;
  return found
    .map((row, i) => {
      const lines = [
        `${paint[row.severity](row.severity)}  ${style.bold(row.title)}  ${style.dim(`${row.code}, ${row.confidence} confidence (${row.score})`)}`,
        style.dim(`  line ${row.evidence.lineNumber}: ${row.evidence.line}`),
        '',
        ...wrap(row.cause, columns).map((line) => `  ${line}`),
      ];
      if (i === 0 && row.evidence.facts.length > 0)
        lines.push(style.dim(`  this machine: ${row.evidence.facts.join(', ')}`));
      lines.push('');
      row.fix.forEach((step, n) => {
        const [head = '', ...rest] = wrap(`${step.text}${step.needsRoot ? ' (needs root)' : ''}`, columns - 3);
        lines.push(`  ${n + 1}. ${head}`, ...rest.map((line) => `     ${line.trimStart()}`));
        if (step.command) lines.push(`       ${step.needsRoot ? 'sudo ' : ''}${step.command.map(shell).join(' ')}`);
      });
      if (row.links.length > 0) lines.push('', ...row.links.map((link) => style.dim(`  ${link}`)));
      return `${lines.join('\n')}\n`;
    })
    .join('\n');
}

export function standardInput(): Input {
  return {
    isTTY: process.stdin.isTTY === true,
    async read() {
      const parts: Buffer[] = [];
      for await (const part of process.stdin) parts.push(part as Buffer);
      return Buffer.concat(parts).toString('utf8');
    },
  };
}
