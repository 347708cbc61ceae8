// gpuforge config list | get | set | unset | path

import { columns, type Output, styleFor } from '../style.ts';
import { EXIT, guarded } from './failure.ts';
import { CONFIG_SCHEMA, type ConfigPlace, changeConfig, configPath, findSetting, loadConfig } from './file.ts';

export interface ConfigFlags {
  readonly json?: boolean;
  readonly color?: boolean;
}

const shown = (value: unknown): string =>
  value === null ? '(none)' : Array.isArray(value) ? value.join(',') : String(value);

export function runConfigList(place: ConfigPlace, flags: ConfigFlags, output: Output): Promise<number> {
  return guarded(CONFIG_SCHEMA, flags.json ?? false, output, () => {
    const config = loadConfig(place);
    if (flags.json) {
      const values = Object.fromEntries(
        config.values.map(({ setting, value, origin }) => [
          setting.key,
          { value, origin, variable: setting.variable, about: setting.about },
        ]),
      );
      output.write(
        `${JSON.stringify({ schema: CONFIG_SCHEMA, path: config.file.path, state: config.file.state, problems: config.problems, values, profiles: config.profiles }, null, 2)}\n`,
      );
      return config.problems.length > 0 ? EXIT.no : EXIT.done;
    }
    const style = styleFor(output, { color: flags.color, env: place.env });
    output.write(`${config.file.path}${config.file.state === 'absent' ? ' (not there: defaults apply)' : ''}\n`);
    output.write(
      columns(
        config.values.map(({ setting, value, origin }) => [
          setting.key,
          shown(value),
          style.dim(origin === 'variable' ? setting.variable! : origin),
          style.dim(setting.about),
        ]),
        2,
        2,
      ),
    );
    for (const [name, profile] of Object.entries(config.profiles))
      output.write(
        `  profiles.${name}  ${profile.extends ? `extends ${profile.extends}, ` : ''}${profile.packages.length} packages\n`,
      );
    return warnAll(config.problems, output) ? EXIT.no : EXIT.done;
  });
}

export function runConfigGet(place: ConfigPlace, key: string, flags: ConfigFlags, output: Output): Promise<number> {
  return guarded(CONFIG_SCHEMA, flags.json ?? false, output, () => {
    findSetting(key);
    const config = loadConfig(place);
    const { value, origin } = config.values.find((row) => row.setting.key === key)!;
    output.write(
      flags.json ? `${JSON.stringify({ schema: CONFIG_SCHEMA, key, value, origin }, null, 2)}\n` : `${shown(value)}\n`,
    );
    warnAll(config.problems, output);
    return EXIT.done;
  });
}

/** With `text` undefined the setting goes back to its default. */
export function runConfigSet(
  place: ConfigPlace,
  key: string,
  text: string | undefined,
  flags: ConfigFlags,
  output: Output,
): Promise<number> {
  return guarded(CONFIG_SCHEMA, flags.json ?? false, output, () => {
    const change = changeConfig(configPath(place), key, text);
    const { value, origin } = loadConfig(place).values.find((row) => row.setting.key === key)!;
    if (flags.json)
      output.write(
        `${JSON.stringify({ schema: CONFIG_SCHEMA, key, value, origin, path: change.path, kept: change.kept }, null, 2)}\n`,
      );
    else output.write(`${key} = ${shown(value)}${origin === 'variable' ? ' (a variable overrides the file)' : ''}\n`);
    if (change.kept) output.warn(`warning: ${change.path} was broken; it was kept as ${change.kept} and begun anew\n`);
    return EXIT.done;
  });
}

export function runConfigPath(place: ConfigPlace, flags: ConfigFlags, output: Output): number {
  const path = configPath(place);
  output.write(flags.json ? `${JSON.stringify({ schema: CONFIG_SCHEMA, path }, null, 2)}\n` : `${path}\n`);
  return EXIT.done;
}

export function warnAll(problems: readonly string[], output: Output): boolean {
  for (const problem of problems) output.warn(`warning: ${problem}\n`);
  return problems.length > 0;
}
