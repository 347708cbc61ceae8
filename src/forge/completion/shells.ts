// Completion scripts for four shells, generated from the tree of commands. The scripts are static: completing starts no
// process, so it is instant.

import { type CommandNode, type OptionNode, walk } from './tree.ts';

export const shells = { bash, zsh, fish, powershell } as const;
export type Shell = keyof typeof shells;

/** Words are letters, digits and dashes by construction of commander; anything else is left out rather than escaped. */
const word = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9_.+-]*$/.test(text) || /^--?[A-Za-z0-9][A-Za-z0-9-]*$/.test(text);

const candidates = (node: CommandNode): readonly string[] =>
  [
    ...node.commands.map((child) => child.name),
    ...node.choices,
    ...node.options.flatMap((option) => option.flags),
  ].filter(word);

const withChoices = (node: CommandNode): readonly OptionNode[] =>
  node.options.filter((option) => option.choices.length > 0);

export function bash(root: CommandNode): string {
  const rows = walk(root).flatMap(({ path, node }) => [
    ...withChoices(node).map(
      (option) => `    "${path.join(' ')}|${option.flags.at(-1)}") words="${option.choices.filter(word).join(' ')}" ;;`,
    ),
    `    "${path.join(' ')}|"*) words="${candidates(node).join(' ')}" ;;`,
  ]);
  const names = walk(root)
    .slice(1)
    .map(({ path }) => `"${path.join(' ')}"`);
  return `# bash completion for ${root.name}; install: ${root.name} completion bash > ~/.local/share/bash-completion/completions/${root.name}
_${root.name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" next words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${names.join(' | ')}) path="$next" ;;
    esac
  done
  case "$previous" in -*) ;; *) previous="" ;; esac
  case "$path|$previous" in
${rows.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
  return 0
}
complete -F _${root.name} ${root.name}
`;
}

const quoteZsh = (text: string): string =>
  text
    .replace(/[[\]:'"\\$`]/g, ' ')
    .replace(/ +/g, ' ')
    .trim();

export function zsh(root: CommandNode): string {
  const functions = walk(root).map(({ path, node }) => {
    const name = ['', root.name, ...path].join('_').replaceAll('-', '_');
    const options = node.options.flatMap((option) =>
      option.flags.filter(word).map((flag) => {
        const value = option.takesValue
          ? `:value:${option.choices.length > 0 ? `(${option.choices.filter(word).join(' ')})` : '_files'}`
          : '';
        return `    '${flag}[${quoteZsh(option.about)}]${value}'`;
      }),
    );
    if (node.commands.length === 0) {
      const rest =
        node.choices.length > 0 ? `    '1:value:(${node.choices.filter(word).join(' ')})'` : "    '*:file:_files'";
      return `${name}() {\n  _arguments \\\n${[...options, rest].join(' \\\n')}\n}`;
    }
    const list = node.commands.map((child) => `      '${child.name}:${quoteZsh(child.about)}'`).join('\n');
    const branches = node.commands
      .map((child) => `        ${child.name}) ${name}_${child.name.replaceAll('-', '_')} ;;`)
      .join('\n');
    return `${name}() {
  local line state
  _arguments -C \\
${options.map((option) => `${option} \\`).join('\n')}
    '1: :->command' \\
    '*:: :->rest'
  case $state in
    command)
      local -a commands=(
${list}
      )
      _describe 'command' commands ;;
    rest)
      case $line[1] in
${branches}
      esac ;;
  esac
}`;
  });
  return `#compdef ${root.name}
# zsh completion; install: ${root.name} completion zsh > "\${fpath[1]}/_${root.name}"
${functions.join('\n\n')}

compdef _${root.name} ${root.name}
`;
}

const quoteFish = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

export function fish(root: CommandNode): string {
  const lines = walk(root).flatMap(({ path, node }) => {
    const seen =
      path.length === 0
        ? '__fish_use_subcommand'
        : path.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ');
    const inside =
      node.commands.length > 0 && path.length > 0
        ? `${seen}; and not __fish_seen_subcommand_from ${node.commands.map((child) => child.name).join(' ')}`
        : seen;
    return [
      ...node.commands.map(
        (child) => `complete -c ${root.name} -f -n ${quoteFish(inside)} -a ${child.name} -d ${quoteFish(child.about)}`,
      ),
      ...node.choices.filter(word).map((choice) => `complete -c ${root.name} -f -n ${quoteFish(inside)} -a ${choice}`),
      ...node.options.map((option) => {
        const flags = option.flags
          .filter(word)
          .map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        const value = option.takesValue
          ? option.choices.length > 0
            ? ` -x -a ${quoteFish(option.choices.filter(word).join(' '))}`
            : ' -r'
          : '';
        return `complete -c ${root.name} -n ${quoteFish(seen)} ${flags.join(' ')}${value} -d ${quoteFish(option.about)}`;
      }),
    ];
  });
  return `# fish completion; install: ${root.name} completion fish > ~/.config/fish/completions/${root.name}.fish\n${lines.join('\n')}\n`;
}

const quotePowershell = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export function powershell(root: CommandNode): string {
  const rows = walk(root).map(
    ({ path, node }) =>
      `    ${quotePowershell(path.join(' '))} = @(${candidates(node).map(quotePowershell).join(', ')})`,
  );
  return `# PowerShell completion; install: ${root.name} completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName ${root.name} -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $table = @{
${rows.join('\n')}
  }
  $path = ''
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    $next = ($path + ' ' + $element.ToString()).Trim()
    if ($table.ContainsKey($next)) { $path = $next }
  }
  $table[$path] | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;
}
