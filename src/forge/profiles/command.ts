// `gpuforge profiles`: what the profiles hold, and which suits this machine.

import { ArgumentError } from '../../errors.ts';
import { EXIT, guarded } from '../config/failure.ts';
import type { EnvFlags } from '../env/command.ts';
import { runEnv } from '../env/command.ts';
import type { Ports } from '../ports.ts';
import { prepare } from '../resolve/command.ts';
import { columns, type Output } from '../style.ts';
import { wrap } from '../text/quote.ts';
import { allProfiles, findProfile } from './profiles.ts';

const PROFILES_SCHEMA = 'gpuforge.profiles/1';

export function runProfiles(
  ports: Ports,
  action: 'list' | 'show' | 'recommend',
  name: string | undefined,
  flags: EnvFlags,
  output: Output,
): Promise<number> {
  if (action === 'recommend' && name === undefined)
    return runEnv(ports, undefined, { ...flags, profiles: true }, output);
  return guarded(PROFILES_SCHEMA, flags.json ?? false, output, () => {
    if ((action === 'show') !== (name !== undefined)) {
      throw new ArgumentError({
        code: 'FORGE_BAD_VALUE',
        message: action === 'show' ? 'profiles show needs a name' : `profiles ${action} takes no name`,
        fix:
          action === 'show'
            ? 'For example: gpuforge profiles show nlp.'
            : `One profile: gpuforge profiles show ${name}.`,
        where: 'forge.profiles',
      });
    }
    const { config, loaded } = prepare(ports, flags);
    const profiles = allProfiles(loaded.tables, config.profiles);
    const shown = action === 'show' ? [findProfile(profiles, name!)] : profiles;
    if (flags.json) {
      output.write(`${JSON.stringify({ schema: PROFILES_SCHEMA, profiles: shown }, null, 2)}\n`);
      return EXIT.done;
    }
    if (action === 'list') {
      output.write(columns(shown.map((row) => [row.name, row.intent])));
      return EXIT.done;
    }
    for (const row of shown) {
      output.write(
        `${row.name}: ${row.title}\n  ${row.intent}\n  memory: ${row.minGiB} GiB at least, ${row.recommendedGiB} GiB recommended\n`,
      );
      const parts = {
        base: row.base,
        added: row.added,
        optional: row.optional,
        jax: row.jax,
        tensorflow: row.tensorflow,
      };
      for (const [part, names] of Object.entries(parts))
        if (names.length > 0)
          output.write(
            `${wrap(`${part}: ${names.join(', ')}`, 90)
              .map((line) => `  ${line}`)
              .join('\n')}\n`,
          );
    }
    return EXIT.done;
  });
}
