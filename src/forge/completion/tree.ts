// The commands and options of a commander program as plain data, so that completion can never name one that does not exist.

import type { Command } from 'commander';

export interface OptionNode {
  readonly flags: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface CommandNode {
  readonly name: string;
  readonly about: string;
  readonly options: readonly OptionNode[];
  readonly commands: readonly CommandNode[];
  /** Values of the first argument, where they are known. */
  readonly choices: readonly string[];
}

export function treeOf(command: Command): CommandNode {
  const help = command.createHelp();
  return {
    name: command.name(),
    about: plain(command.description()),
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
      about: plain(option.description),
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    })),
    commands: help
      .visibleCommands(command)
      .filter((child) => child.name() !== 'help')
      .map(treeOf),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Every command with the words that lead to it, the program itself first. */
export function walk(
  node: CommandNode,
  path: readonly string[] = [],
): readonly { readonly path: readonly string[]; readonly node: CommandNode }[] {
  return [{ path, node }, ...node.commands.flatMap((child) => walk(child, [...path, child.name]))];
}
