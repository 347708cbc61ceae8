// gpuforge explain [FILE|-|TEXT]: reads an error and says what it means here.

import { warnAll } from '../config/command.ts';
import { EXIT, guarded } from '../config/failure.ts';
import { loadConfig, settingOf } from '../config/file.ts';
import { tablesInUse } from '../data/in-use.ts';
import type { Machine } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { machineOf } from '../resolve/command.ts';
import type { MachineFlags } from '../resolve/machine-for.ts';
import { type Output, type Style, styleFor } from '../style.ts';
import { shell, wrap } from '../text/quote.ts';
import { explainText } from './explain.ts';
import { type Input, textOf } from './input.ts';
import { repair } from './repair.ts';
import { EXPLAIN_SCHEMA, type Explanation, type Nearest } from './types.ts';

export interface ExplainFlags extends MachineFlags {
  readonly json?: boolean;
  readonly color?: boolean;
  /** False for --no-machine: explain without looking at this machine. */
  readonly machine?: boolean;
  readonly limit?: number;
  /** Show what may be done by itself, and do it on consent. */
  readonly fix?: boolean;
  readonly yes?: boolean;
}

export function runExplain(
  ports: Ports,
  words: readonly string[],
  flags: ExplainFlags,
  output: Output,
  input: Input,
  known?: Machine,
  confirm?: (question: string) => Promise<boolean>,
): Promise<number> {
  return guarded(EXPLAIN_SCHEMA, flags.json ?? false, output, async () => {
    const text = await textOf(words, input);
    const config = loadConfig(ports);
    const machine = known ?? (flags.machine === false ? undefined : await machineOf(ports, flags, config));
    const { explanations: found, nearest } = explainText(text, {
      ...(machine ? { machine, tables: tablesInUse(ports, config) } : {}),
      limit: flags.limit ?? 3,
    });
    if (flags.json)
      output.write(`${JSON.stringify({ schema: EXPLAIN_SCHEMA, explanations: found, nearest }, null, 2)}\n`);
    else {
      const color = settingOf<string>(config, 'output.color') === 'never' ? false : flags.color;
      output.write(renderExplanations(found, styleFor(output, { color, env: ports.env }), output.columns, nearest));
      warnAll(config.problems, output);
    }
    if (flags.fix && found.length > 0)
      await repair(found, output, {
        processes: ports.processes,
        yes: flags.yes ?? false,
        isRoot: ports.user?.uid === 0,
        offline: settingOf<boolean>(config, 'network.offline'),
        confirm,
      });
    return found.length > 0 ? EXIT.done : EXIT.no;
  });
}

function renderExplanations(
  found: readonly Explanation[],
  style: Style,
  width: number,
  nearest: readonly Nearest[] = [],
): string {
  const columns = Math.max(60, Math.min(width, 110)) - 4;
  if (found.length === 0) {
    return [
      'No known error was recognised in this text.',
      ...guesses(nearest, style),
      'To ask somebody, run gpuforge report: it prints the facts of this machine, to paste beside the text.\n',
    ].join('\n');
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
        const rights = row.os === 'windows' ? ' (as administrator)' : ' (needs root)';
        const [head = '', ...rest] = wrap(`${step.text}${step.needsRoot ? rights : ''}`, columns - 3);
        lines.push(`  ${n + 1}. ${head}`, ...rest.map((line) => `     ${line.trimStart()}`));
        const sudo = step.needsRoot && row.os !== 'windows' ? 'sudo ' : '';
        if (step.command) lines.push(`       ${sudo}${step.command.map(shell).join(' ')}`);
      });
      if (row.links.length > 0) lines.push('', ...row.links.map((link) => style.dim(`  ${link}`)));
      return `${lines.join('\n')}\n`;
    })
    .join('\n');
}

/** A guess has no steps: following them would cost more than asking. */
function guesses(nearest: readonly Nearest[], style: Style): readonly string[] {
  if (nearest.length === 0) return [];
  const [first, ...others] = nearest.map(({ title, code }) => `${title} ${style.dim(`(${code})`)}`);
  const line = nearest[0]!.line;
  return [
    `Nearest, but too little in the text speaks for it: ${[first, ...others].join('; or: ')}.`,
    ...(line === '' ? [] : [style.dim(`  line ${nearest[0]!.lineNumber}: ${line}`)]),
  ];
}

export { type Input, standardInput } from './input.ts';
