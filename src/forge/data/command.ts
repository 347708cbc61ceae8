// `gpuforge data`: which tables are used, from when, and whether they are too old. Nothing is asked of the network.

import { EXIT, guarded } from '../config/failure.ts';
import type { Ports } from '../ports.ts';
import { prepare, stale } from '../resolve/command.ts';
import { columns, type Output } from '../style.ts';

export const DATA_SCHEMA = 'gpuforge.data/1';

export function runData(
  ports: Ports,
  action: 'version' | 'check',
  flags: { readonly data?: string; readonly json?: boolean },
  output: Output,
): Promise<number> {
  return guarded(DATA_SCHEMA, flags.json ?? false, output, () => {
    const { config, loaded } = prepare(ports, flags);
    const warnings = stale(config, loaded, ports);
    const tables = Object.entries(loaded.tables).map(([name, table]) => ({
      name,
      title: table.title,
      reviewed: table.reviewed,
    }));
    if (flags.json)
      output.write(
        `${JSON.stringify({ schema: DATA_SCHEMA, reviewed: loaded.reviewed, tables, warnings }, null, 2)}\n`,
      );
    else {
      output.write(columns(tables.map((row) => [row.name, row.reviewed, row.title])));
      output.write(warnings.length > 0 ? `\n${warnings.join('\n')}\n` : '\nthe tables are valid and not too old\n');
    }
    return action === 'check' && warnings.length > 0 ? EXIT.no : EXIT.done;
  });
}
